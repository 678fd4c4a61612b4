package early

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

func TestMain(m *testing.M) {
	mcptest.Maybe()
	os.Exit(m.Run())
}

// built is the real program and a home where its index is fresh.
type built struct {
	exe, dir string
}

func build(t *testing.T) built {
	t.Helper()
	b := built{exe: filepath.Join(t.TempDir(), "mcpl"), dir: t.TempDir()}
	if runtime.GOOS == "windows" {
		b.exe += ".exe"
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", b.exe, "../../cmd/mcpl")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	config, err := os.ReadFile(mcptest.Config(t, map[string]mcptest.Script{
		"demo": {Tools: []mcptest.Tool{
			{Name: "add", Description: "Add two numbers. <b>&amp;</b>", InputSchema: `{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}`},
			{Name: "greet", Description: "Say hello", Text: "hello"},
		}},
		"down": {Start: mcptest.Behaviour{Exit: &mcptest.Exit{Code: 3}}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		".mcp.json":  string(config),
		"empty.json": `{"mcpServers": {}}`,
		"arg.txt":    "1",
		".git/HEAD":  "",
	} {
		path := filepath.Join(b.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.run(t, nil, "list", "--refresh"); got.code != 0 {
		t.Fatalf("list --refresh: %+v", got)
	}
	return b
}

// outcome is what a run leaves behind.
type outcome struct {
	Stdout, Stderr string
	code           int
}

func (b built) command(t *testing.T, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), b.exe, args...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "HOME="+b.dir, "USERPROFILE="+b.dir, "LOCALAPPDATA="+b.dir, "XDG_CACHE_HOME="+b.dir,
		"XDG_STATE_HOME="+b.dir, "XDG_CONFIG_HOME="+b.dir, "MCPL_TRUST=all", "MCPL_DAEMON=off")
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

func (b built) run(t *testing.T, env []string, args ...string) outcome {
	t.Helper()
	cmd := b.command(t, env, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Stdin = &stdout, &stderr, strings.NewReader(`{"a": "from stdin"}`)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// TestEarly runs the built program, since what is initialised when is decided by the linker.
func TestEarly(t *testing.T) {
	t.Parallel()
	b := build(t)
	t.Run("initialisation", b.initialisation)
	t.Run("pipes", b.pipes)
	t.Run("same bytes", b.sameBytes) // which removes the index, so after them
}

// pipes: what can be read only once is not read by a path that then gives up.
func (b built) pipes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: Windows has no /dev/fd")
	}
	for _, line := range []string{"call demo add a=@/dev/fd/3", "call demo add a:=@/dev/fd/3"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, err := w.WriteString("42"); err != nil {
			t.Fatal(err)
		}
		w.Close()
		cmd := b.command(t, nil, strings.Fields(line)...)
		cmd.ExtraFiles = []*os.File{r}
		out, err := cmd.Output()
		if err != nil || strings.Join(strings.Fields(string(out)), "") != `{"a":42}` {
			t.Errorf("%s: %q, %v", line, out, err)
		}
	}
}

// initialisation: what the index can answer does not pay for the SDK, what it cannot does.
func (b built) initialisation(t *testing.T) {
	for _, test := range []struct {
		early bool
		code  int
		line  string
	}{
		{true, 0, "search add"},
		{true, 0, "--json search --limit 2 --schema add numbers"},
		{true, 0, "inspect demo add"},
		{true, 0, "inspect --json demo/add --example"},
		{true, 3, "inspect demo ad"},
		{true, 0, "list"},
		{true, 0, "list demo --json"},
		{true, 4, "list down"},
		{true, 2, "call demo add a=x"},
		{true, 2, "--json call demo.add b=1"},
		{true, 3, "call nosuch add"},
		{true, 2, "search"},
		{true, 0, "search --kind all add"},
		{true, 0, "resources"},
		{true, 0, "prompts demo --json"},
		{true, 3, "read demo note"},
		{true, 3, "prompt demo add"},
		{false, 0, "call demo greet"},
		{false, 0, "search --help"},
		{false, 0, "version"},
		{false, 2, "search --nope"},
	} {
		got := b.run(t, []string{"GODEBUG=inittrace=1"}, strings.Fields(test.line)...)
		if got.code != test.code {
			t.Errorf("%s: exit code %d, want %d\n%s", test.line, got.code, test.code, got.Stderr)
		}
		// runtime.doInit1 prints a line "init NAME @..." for each package with work to do.
		if !strings.Contains(got.Stderr, "init runtime @") {
			t.Fatalf("%s: no trace of initialisation:\n%s", test.line, got.Stderr)
		}
		for _, late := range []string{"github.com/mark3labs/mcp-go", "github.com/santhosh-tekuri/", "init net/http "} {
			if strings.Contains(got.Stderr, late) == test.early {
				t.Errorf("%s: early is %v, but of %s there is in the trace: %v", test.line, test.early, late, !test.early)
			}
		}
	}
}

// sameBytes: with the early path and without it the program prints the same.
func (b built) sameBytes(t *testing.T) {
	// When a server was asked, and how long it lived, depends on the second.
	ages := regexp.MustCompile(`just now|\d+ s ago|\d+\.\d\d s`)
	masked := func(o outcome) outcome {
		o.Stdout = ages.ReplaceAllString(o.Stdout, "AGO")
		return o
	}
	for _, line := range []string{
		"search add", "search --json add numbers", "--json search add", "search add --limit 1 --explain", "search zebra", "--json search zebra",
		"search -m regex (", "search -m vector x", "search --limit -1 x", "search --server demo add", "search --server nosuch x", "search",
		"--json search", "search --limit many x --json", "search --nope", "search -- --json", "-- search add",
		"inspect demo add", "inspect demo/add --json", "--json inspect demo.add --example", "inspect demo", "inspect", "inspect demo ad",
		"inspect ad", "inspect nosuch add", "inspect demo add more", "--json inspect down x",
		"list", "--json list", "list demo", "list down", "list nosuch --json", "list demo down", "-v list demo",
		"call demo add a=x", "call --json demo add", "call demo add a=1 --dry-run", "call demo add a=@arg.txt --dry-run --json",
		"call demo add --stdin", "call demo add - --json", "call demo greet", "call demo nosuch", "call demo add --args-file nosuch",
		"call demo add --title x", "--json call demo add --raw --jq .", "call demo add --max-bytes -1 a=1",
		"--config empty.json list", "--config empty.json --config .mcp.json --json list", "--config empty.json list --config .mcp.json --json",
		"--config nosuch.json --json search x", "list --config empty.json --no-color --json", "--env-file nosuch list",
		"resources", "--json resources demo", "prompts", "prompts nosuch", "read demo", "read demo x:y", "prompt demo", "--json prompt demo x", "search -k all add",
		"search -k x add", "inspect -k prompt demo add", "--connect-timeout 0 list", "--connect-timeout 5s list", "--json --help", "search -h", "help list", "lst", "--verbose", "",
	} {
		args := strings.Fields(line)
		// The run that lists a server says more of its failure than the index keeps.
		b.run(t, nil, args...)
		early, off := b.run(t, nil, args...), b.run(t, []string{"MCPL_EARLY=off"}, args...)
		early, off = masked(early), masked(off)
		if strings.Contains(line, "-v ") { // which tells times
			early.Stderr, off.Stderr = "", ""
		}
		if diff := cmp.Diff(off, early, cmp.AllowUnexported(outcome{})); diff != "" {
			t.Errorf("mcpl %s: -off +early\n%s", line, diff)
		}
	}
	// On an index that is not fresh, and none at all.
	for _, line := range []string{"list demo", "--json search add -s demo", "call demo add a=x"} {
		for _, off := range []string{"on", "off"} {
			if err := os.RemoveAll(filepath.Join(b.dir, "mcpl")); err != nil {
				t.Fatal(err)
			}
			cold := b.run(t, []string{"MCPL_EARLY=" + off}, strings.Fields(line)...)
			warm := b.run(t, []string{"MCPL_EARLY=" + off}, strings.Fields(line)...)
			if diff := cmp.Diff(masked(cold), masked(warm), cmp.AllowUnexported(outcome{})); diff != "" {
				t.Errorf("mcpl %s: -cold +warm\n%s", line, diff)
			}
		}
	}
}
