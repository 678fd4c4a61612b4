package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-launchpad/mcpl/internal/verb"
	"github.com/mcp-launchpad/mcpl/pkg/config"
)

// outcome is what a command line left behind.
type outcome struct {
	code           int
	stdout, stderr string
}

// execute runs a command line in an empty home.
func execute(t *testing.T, args ...string) outcome {
	t.Helper()
	var out, errs bytes.Buffer
	none := func(string) (string, bool) { return "", false }
	env := config.Env{Dir: t.TempDir(), Home: t.TempDir(), GOOS: "linux", Lookup: none}
	app := &verb.App{Env: env, Stdin: strings.NewReader("in"),
		Stdout: &out, Stderr: &errs, Version: "v1.2.3", Now: time.Now, Started: time.Now(), Query: Query}
	app.Script = func(shell string) (string, error) { return Script(app, shell) }
	code := Execute(t.Context(), args, app)
	return outcome{code, out.String(), errs.String()}
}

// TestMistakes holds the answers to command lines that cannot be parsed.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct {
		args []string
		want string
	}{
		"another word for a verb": {strings.Fields("run demo add a=1"), `error: there is no verb "run"
hint: Type: mcpl call demo add a=1
`},
		"arguments as flags": {[]string{"exec", "demo", "add", "--title", "a b", "--n=1", "--dry-run", "--deep"}, `error: there is no verb "exec"
hint: Type: mcpl call demo add 'title=a b' n=1 --dry-run deep=true
`},
		"a misspelt verb": {strings.Fields("serch x"), `error: there is no verb "serch"
hint: Type: mcpl search x
`},
		"a word for a verb with a flag": {strings.Fields("reload"), `error: there is no verb "reload"
hint: Type: mcpl list --refresh
`},
		"an unknown verb": {strings.Fields("frobnicate --x"), `error: there is no verb "frobnicate"
hint: The verbs are search, inspect, call and list. To find a tool: mcpl search "what you want to do". See all with: mcpl --help
`},
		"an argument of a tool as a flag": {strings.Fields("call demo add --title x"), `error: unknown flag: --title
hint: Arguments of a tool are not flags. Write them as title=VALUE, or all of them as one JSON object. Its flags are --args-file, --dry-run, --elicit, --jq, --json, --max-bytes, --max-time, --no-validate, --output-dir, --raw, --stdin, --timeout. See what they do with: mcpl call --help
`},
		"an argument of a prompt as a flag": {strings.Fields("prompt demo p --title x"), `error: unknown flag: --title
hint: Arguments of a prompt are not flags. Write them as title=VALUE, or all of them as one JSON object. Its flags are --args-file, --elicit, --jq, --json, --max-bytes, --max-time, --output-dir, --raw, --stdin, --timeout. See what they do with: mcpl prompt --help
`},
		"a flag of a server's command": {strings.Fields("config add x npx -y"), `error: unknown shorthand flag: 'y' in -y
hint: Flags of the server's command belong behind --, as in: mcpl config add NAME -- COMMAND -y. Its flags are --cwd, --env, --force, --header, --json, --no-try, --to, --transport, --url. See what they do with: mcpl config add --help
`},
		"an unknown flag": {strings.Fields("list --nope"), `error: unknown flag: --nope
hint: Its flags are --json, --refresh. See what they do with: mcpl list --help
`},
		"an unknown flag of no verb": {strings.Fields("--nope"), `error: unknown flag: --nope
hint: Its flags are --config, --connect-timeout, --env-file, --json, --no-color, --no-daemon, --verbose, --version. See what they do with: mcpl --help
`},
		"a verb's flag before it": {strings.Fields("--raw call demo add a=1"), `error: unknown flag: --raw: it belongs behind call or prompt or read
hint: Type: mcpl call --raw demo add a=1
`},
		"a verb's flag before its second word": {strings.Fields("config --force add x -- cmd -y"), `error: unknown flag: --force: it belongs behind config add
hint: Type: mcpl config add --force x -- cmd -y
`},
		"a verb's flag without it": {strings.Fields("--dry-run=true"), `error: unknown flag: --dry-run: it belongs behind call or config import
hint: Type the flag behind its verb, as in: mcpl call --dry-run
`},
		"another verb's flag": {strings.Fields("--raw list demo"), `error: unknown flag: --raw: it belongs behind call or prompt or read
hint: Type the flag behind its verb, as in: mcpl call --raw
`},
		"no expression": {strings.Fields("call demo add --jq="), `error: --jq wants some text, not ""
hint: See the flags with: mcpl call --help
`},
		"no lines": {strings.Fields("result 4466be3b7a0e --lines="), `error: --lines wants some text, not ""
hint: See the flags with: mcpl result --help
`},
		"words for a number": {strings.Fields("search --limit many x"), `error: --limit wants a whole number, not "many"
hint: See the flags with: mcpl search --help
`},
		"words for a time": {strings.Fields("list --connect-timeout soon"), `error: --connect-timeout wants a time like 30s or 2m, not "soon"
hint: See the flags with: mcpl list --help
`},
		"words for a switch": {strings.Fields("list --refresh=maybe"), `error: --refresh wants true or false, not "maybe"
hint: See the flags with: mcpl list --help
`},
		"help for another word": {strings.Fields("help frobnicate"), `error: there is no verb "frobnicate"
hint: The verbs are search, inspect, call and list. To find a tool: mcpl search "what you want to do". See all with: mcpl --help
`},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			got := execute(t, tc.args...)
			if diff := cmp.Diff(tc.want, got.stderr); got.code != 2 || got.stdout != "" || diff != "" {
				t.Errorf("exit code %d, stdout %q, -want +got\n%s", got.code, got.stdout, diff)
			}
			got = execute(t, append([]string{"--json"}, tc.args...)...)
			var doc struct {
				Error struct{ Message, Help string }
			}
			if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil || got.code != 2 || got.stderr != "" {
				t.Fatalf("%v, %+v", err, got)
			}
			if text := "error: " + doc.Error.Message + "\nhint: " + doc.Error.Help + "\n"; text != tc.want {
				t.Errorf("as JSON: %s", text)
			}
		})
	}
}

// TestTree holds what the tree makes of the table of verbs.
func TestTree(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct {
		args []string
		code int
		has  []string // in stdout
		not  string
	}{
		"no verb":             {nil, 0, []string{"Tools:", "Resources and prompts:", "Setup:", "search", "config"}, "renew"},
		"help of a verb":      {strings.Fields("help call"), 0, []string{"Usage:\n  mcpl call SERVER TOOL [ARGS] [flags]", "--dry-run"}, ""},
		"help of a word":      {strings.Fields("help run"), 0, []string{"mcpl call SERVER TOOL"}, ""},
		"help of help":        {strings.Fields("help"), 0, []string{"The three verbs an agent needs"}, ""},
		"help of a sub verb":  {strings.Fields("config add --help"), 0, []string{"mcpl config add NAME URL | JSON | -- COMMAND ARGS...\n"}, "ARGS... [flags]"},
		"help as JSON":        {strings.Fields("version --help --json"), 0, []string{`{"help":"Print the version\n`}, ""},
		"the version":         {strings.Fields("--version"), 0, []string{"mcpl v1.2.3 ("}, ""},
		"the verb version":    {strings.Fields("version --json"), 0, []string{`"version":"v1.2.3"`}, ""},
		"a completion script": {strings.Fields("completion zsh"), 0, []string{"#compdef mcpl"}, ""},
		"completion of verbs": {strings.Fields("__complete c"), 0, []string{"call\tCall one tool", "config\t", ":4\n"}, "search"},
		"of a fixed argument": {strings.Fields("__complete daemon st"), 0, []string{"status\n", ":4\n"}, ""},
		"of a flag":           {strings.Fields("__complete search --method b"), 0, []string{"bm25\nregex\nexact\n:4\n"}, ""},
		"of files":            {strings.Fields("__complete call s t x"), 0, []string{":0\n"}, ""},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			got := execute(t, tc.args...)
			for _, part := range tc.has {
				if !strings.Contains(got.stdout, part) {
					t.Errorf("no %q in\n%s", part, got.stdout)
				}
			}
			if got.code != tc.code || tc.not != "" && strings.Contains(got.stdout, tc.not) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestScript(t *testing.T) {
	t.Parallel()
	for shell, want := range map[string]string{"bash": "__complete", "zsh": "#compdef", "fish": "complete -c mcpl", "powershell": "Register-ArgumentCompleter",
		"pwsh": "Register-ArgumentCompleter", "tcsh": ""} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			got, err := Script(&verb.App{Stdout: io.Discard, Stderr: io.Discard}, shell)
			if err != nil || !strings.Contains(got, want) || (got == "") != (want == "") {
				t.Errorf("%v, %.100s", err, got)
			}
		})
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct {
		expr, value string
		want        string // the results with spaces between
		fails       bool
	}{
		"the value":       {".", `{"b":1.0,"a":10000000000000001}`, `{"a":10000000000000001,"b":1.0}`, false},
		"several results": {".[]", `[1,"x",null]`, `1 "x" null`, false},
		"none":            {"empty", `1`, ``, false},
		"a syntax error":  {".[", `1`, ``, true},
		"an unknown name": {"nope", `1`, ``, true},
		"an error in it":  {".a.b", `{"a":1}`, ``, true},
		"a broken value":  {".", `{`, ``, true},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			query, err := Query(tc.expr)
			var got []json.RawMessage
			if err == nil {
				got, err = query(t.Context(), json.RawMessage(tc.value))
			}
			var texts []string
			for _, raw := range got {
				texts = append(texts, string(raw))
			}
			if text := strings.Join(texts, " "); text != tc.want || (err != nil) != tc.fails {
				t.Errorf("got %s, %v", text, err)
			}
		})
	}
}
