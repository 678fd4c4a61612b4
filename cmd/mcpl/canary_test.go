//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// canaries are secrets, each in a place of its own where people keep secrets.
type canaries struct {
	env, inherited, files map[string]string // variables of entries, of the process, of .env
	headers               map[string]string
	args                  []string // arguments with a canary each
	secrets               []string // what must not be seen of args and of URLs
}

func newCanaries() canaries {
	return canaries{
		env: map[string]string{
			"API_TOKEN": "CANARYtoken01", "PLAINVAR": "CANARYplain02", "WEBHOOK": "https://hooks.example/CANARYhook03",
			"SETTINGS": `{"deep": "CANARYjson04"}`, "PRIVATE_KEY": "-----BEGIN KEY-----\nCANARYpem05CANARYpem05\n-----END KEY-----",
			"FROM_FILE": "${FILEVAR}", "FROM_SHELL": "${SHELLVAR}", "DEFAULTED": "${GONE:-CANARYdefault06}",
			"WITH_SPACE": "CANARYspace07 and more",
		},
		inherited: map[string]string{
			"AWS_SECRET_ACCESS_KEY": "CANARYAWSLIVE08", "GITHUB_TOKEN": "CANARYgithub09", "ANTHROPIC_API_KEY": "CANARYanthropic10",
			"DATABASE_URL": "postgres://ada:CANARYdatabase11@127.0.0.1/x", "SOMETHING": "ghp_CANARYshape12CANARY",
			"DB_PASSWORD": "CANARYpassword13", "WEBHOOK": "https://hooks.slack.com/services/T0/B0/CANARYslack38", "SHELLVAR": "CANARYshell14", "NPM_CONFIG__AUTH": "CANARYnpm15",
		},
		files: map[string]string{"FILEVAR": "CANARYfile16", "UNUSED": "CANARYunused17"},
		headers: map[string]string{
			"Authorization": "Bearer CANARYbearer18", "X-Custom": "CANARYcustom19", "Cookie": "sid=CANARYcookie20",
			"X-Shell": "${SHELLVAR}", "X-Two": "Scheme CANARYscheme21",
		},
		args: []string{"--api-key", "CANARYflag22", "--token=CANARYassigned23", "-eGITHUB_TOKEN=CANARYdocker24",
			"Authorization: Bearer CANARYargheader25", "postgres://ada:CANARYurl26@127.0.0.1/x", "napi_CANARYneon27CANARYneon27",
			"AC0123456789abcdef0123456789abcdef/SK0123456789abcdef0123456789abcdef:CANARYtwilio28",
			"c4n4ry29f5c9e17b2d4860a3f5c9e17b2d48", "https://h.example/?apikey=CANARYquery30", "C4nA31Ry7Kq2mVp9Tz4Wb8Xj6",
			`--config={"apiKey":"CANARYmember33"}`, "--env=API_TOKEN=CANARYnested34", "Server=db;Password=CANARYconnection35",
			"--pw", "CANARYpw36", "https://h.example/s/C4nA37Ry7Kq2mVp9Tz4Wb8Xj6/mcp"},
		secrets: []string{"CANARYuser32", "c4n4ry29f5c9", "C4nA31Ry7Kq2", "C4nA37Ry7Kq2"},
	}
}

// seen returns a secret that a text holds, "" if there is none. Those of arguments count only if args says so.
func (c canaries) seen(text []byte, args bool) string {
	for word := range strings.FieldsFuncSeq(string(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) {
		i := strings.Index(word, "CANARY")
		if i >= 0 && (args || !strings.Contains(strings.Join(c.args, "\n"), word[i:])) {
			return word
		}
	}
	for _, secret := range c.secrets {
		if args && bytes.Contains(text, []byte(secret)) {
			return secret
		}
	}
	return ""
}

// config returns a configuration of servers that tell all they know, each in another way. live is a server that works.
func (c canaries) config(web, closed string) string {
	env, headers, args := object(c.env), object(c.headers), list(c.args)
	tell := func(code string) string {
		return fmt.Sprintf(`{"command": "sh", "args": ["-c", %q, "sh", %s], "env": %s}`, code, args, env)
	}
	remote := func(url string) string {
		return fmt.Sprintf(`{"url": %q, "headers": %s, "allowHTTP": true}`, url, headers)
	}
	return fmt.Sprintf(`{"mcpServers": {
		"s": {"command": "sh", "args": ["-c", "env >&2; exec mcptest script.json"], "env": %s},
		"exits": %s, "talks": %s, "missing": {"command": "no-such-program", "args": [%s], "env": %s},
		"broken": %s, "html": %s, "refuses": %s, "moves": %s, "closed": %s}}`,
		env, tell(`env >&2; echo "$@" >&2; exit 3`), tell(`read -r line; env; echo "$@"; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; cat >&2`),
		args, env, remote(web+"/500"), remote(web+"/html"), remote(web+"/error"), remote(web+"/moved"),
		remote(strings.Replace(closed, "http://", "http://ada:CANARYuser32@", 1)+"/?key=CANARYquery30"))
}

// tellAll answers each request with all that came with it, as a page, an error or a redirect, as its path says.
func tellAll(w http.ResponseWriter, r *http.Request) {
	var all strings.Builder
	_ = r.Header.Write(&all) // a builder takes all
	body, _ := io.ReadAll(r.Body)
	text := r.URL.String() + "\n" + all.String() + string(body)
	switch r.URL.Path {
	case "/500":
		http.Error(w, text, http.StatusInternalServerError)
	case "/html":
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<html>%s</html>", text)
	case "/error":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": %q}}`, text)
	default:
		w.Header().Set("Location", "http://elsewhere.example/?"+strings.ReplaceAll(r.Header.Get("X-Custom"), " ", "+"))
		w.WriteHeader(http.StatusFound)
	}
}

// TestF8Canaries: no secret is in an answer, an error, a log, a file of mcpl or a command line, with the daemon and
// without it.
func TestF8Canaries(t *testing.T) {
	t.Parallel()
	script := mcptest.Script{Tools: []mcptest.Tool{{Name: "t", Text: "fine"},
		{Name: "fails", Behaviour: mcptest.Behaviour{Stderr: []string{"it is CANARYAWSLIVE08 CANARYplain02"},
			Error: &mcptest.Error{Code: -32603, Message: "refused CANARYtoken01 CANARYgithub09"}}},
		{Name: "asks", Behaviour: mcptest.Behaviour{Asks: []mcptest.Ask{
			{Method: "notifications/message", Params: mcptest.Raw(`{"level": "info", "data": {"x": "CANARYplain02"}}`), ID: mcptest.Raw("none")},
			{Method: "elicitation/create", Params: mcptest.Raw(`{"message": "Is it CANARYtoken01?", "requestedSchema": {"type": "object",
				"properties": {"x": {"type": "string"}}}}`), Wait: true}}}},
		{Name: "ends", Behaviour: mcptest.Behaviour{Stderr: []string{"CANARYpem05CANARYpem05"}, Exit: &mcptest.Exit{Code: 1}}}}}
	for _, daemon := range []string{"on", "off"} {
		t.Run("daemon "+daemon, func(t *testing.T) {
			t.Parallel()
			h := newHome(t, script)
			if daemon == "on" {
				h = newWarmHome(t, script)
			}
			found := searchCanaries(t, h, newCanaries())
			if logs, _ := filepath.Glob(filepath.Join(h.dir, "mcpl", "daemon", "*.log")); (len(logs) > 0) != (daemon == "on") {
				t.Errorf("logs %q among %q", logs, found)
			}
		})
	}
}

// searchCanaries lets servers with canaries tell all they know to each verb, looks for the canaries in all that mcpl
// says and writes, and returns the names of the files that it looked at.
func searchCanaries(t *testing.T, h home, c canaries) []string {
	t.Helper()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(tellAll))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Start()
	t.Cleanup(srv.Close)
	closed := httptest.NewServer(nil)
	closed.Close()
	var dotenv strings.Builder
	for name, value := range c.files {
		fmt.Fprintf(&dotenv, "%s=%s\n", name, value)
	}
	own := filepath.Join(h.dir, "own")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(h.dir, ".env"), dotenv.String())
	write(filepath.Join(own, "mcp.json"), c.config(srv.URL, closed.URL))
	h.vars = append(h.vars, "MCPL_CONFIG="+filepath.Join(own, "mcp.json"))
	for name, value := range c.inherited {
		h.vars = append(h.vars, name+"="+value)
	}
	servers := strings.Fields("s exits talks missing broken html refuses moves closed")
	lines := [][]string{{"list", "--refresh"}, {"list"}, {"-v", "list", "--refresh"}, {"doctor"}, {"-v", "doctor"}, {"config"},
		{"search", "fine"}, {"auth", "status"}, {"instructions"}, {"call", "s", "t"}, {"-v", "call", "s", "fails"},
		{"call", "s", "fails"}, {"call", "s", "ends"}, {"call", "s", "asks"}, {"-v", "call", "s", "asks"}, {"inspect", "s", "t"}, {"disable", "html"}, {"daemon", "status"},
		{"enable", "html"}}
	for _, name := range servers {
		lines = append(lines, []string{"list", name, "--refresh"}, []string{"call", name, "t"},
			[]string{"call", name, "t", "--dry-run", "--no-validate"})
	}
	for _, line := range lines {
		for _, flags := range [][]string{nil, {"--json"}} {
			cmd, stdout, stderr := h.mcpl(t, append(flags, append(line, "--connect-timeout", "20s")...)...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			code := exitCode(t, cmd)
			if got := c.seen(append(stdout.Bytes(), stderr.Bytes()...), true); got != "" {
				t.Errorf("mcpl %q %q, exit code %d, shows %s:\n%s%s", flags, line, code, got, stdout, stderr)
			}
		}
	}
	searchCommandLines(t, c)
	return searchFiles(t, h, c)
}

// searchFiles reads every file that mcpl has written: cache, state and logs.
func searchFiles(t *testing.T, h home, c canaries) (found []string) {
	t.Helper()
	err := filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(h.dir, path)
		if err != nil || !strings.HasPrefix(name, "mcpl"+string(filepath.Separator)) {
			return err
		}
		found = append(found, filepath.Base(path))
		data, err := os.ReadFile(path)
		if got := c.seen(data, true); got != "" {
			t.Errorf("%s holds %s", name, got)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for _, name := range []string{"tool_index.json", "index_metadata.json", "search.idx", "tool-state.json"} {
		if !slices.Contains(found, name) {
			t.Errorf("%s was not looked at, only %v", name, found)
		}
	}
	return found
}

// searchCommandLines reads the command lines of all processes. Those of servers have the arguments of their entries.
func searchCommandLines(t *testing.T, c canaries) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no processes: %v", err)
	}
	for _, path := range paths {
		line, _ := os.ReadFile(path) // it may have ended
		program, _, _ := bytes.Cut(line, []byte{0})
		if got := c.seen(line, strings.HasPrefix(filepath.Base(string(program)), "mcpl")); got != "" {
			t.Errorf("%s: %s in %q", path, got, line)
		}
	}
}

// object returns a JSON object of texts.
func object(values map[string]string) string {
	var members []string
	for name, value := range values {
		members = append(members, fmt.Sprintf("%s: %s", jsonText(name), jsonText(value)))
	}
	return "{" + strings.Join(members, ", ") + "}"
}

func list(values []string) string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = jsonText(value)
	}
	return strings.Join(texts, ", ")
}

func jsonText(text string) string {
	data, _ := json.Marshal(text) // a string cannot fail
	return string(data)
}
