package verb

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

func TestConfigImportOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "config import", map[string]options{
		"all": {want: &configImportVerb{plain: plain{[]string{}}}},
		"some": {args: []string{"a", "b", "--from", "cursor,zed", "--from", "codex"},
			want: &configImportVerb{From: []string{"cursor", "zed", "codex"}, plain: plain{[]string{"a", "b"}}}},
		"all flags": {args: []string{"--to", "f", "--yes", "--dry-run", "--keep-secrets"},
			want: &configImportVerb{To: "f", Yes: true, DryRun: true, KeepSecrets: true, plain: plain{[]string{}}}},
	})
}

// otherClients returns a world with servers of Cursor, in a project of its own configuration.
func otherClients(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, `{"mcpServers": {"demo": {"command": "demo"}, "taken": {"command": "mine"}}}`, nil)
	path := filepath.Join(w.app.Env.Home, ".cursor", "mcp.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`{"mcpServers": {
  "notes": {"command": "notes", "env": {"GITHUB_TOKEN": "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB", "REGION": "${REGION}"}},
  "taken": {"command": "theirs"},
  "@scope/x": {"url": "https://x.example/mcp"},
  "same": {"command": "demo"}
}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	w.servers = map[string]*server{
		"scope-x":      offering(t, "", `{"name":"x","inputSchema":{"type":"object"}}`),
		"taken-cursor": {down: fault.New(fault.ServerConnection, "it is down", "Start it.")},
	}
	return w
}

func TestConfigImportAnswers(t *testing.T) {
	t.Parallel()
	checkAnswers(t, otherClients, map[string]answer{
		"a plan": {args: strings.Fields("config import --dry-run --from cursor"), text: `Files of other clients
  cursor  4 servers  HOME/.cursor/mcp.json

To take  into DIR/.mcp.json (in the working directory)
  notes from cursor  HOME/.cursor/mcp.json:2
    notes
    literal secret in env GITHUB_TOKEN: ${GITHUB_TOKEN} instead
    needs the variable REGION (in env.REGION), which is not set
  taken-cursor from cursor  HOME/.cursor/mcp.json:3
    theirs
    called "taken" there
  scope-x from cursor  HOME/.cursor/mcp.json:4
    https://x.example/mcp
    called "@scope/x" there

Skipped
  same from cursor: already there as demo

Variables to set
  Add GITHUB_TOKEN=... to DIR/.env. Its value is in HOME/.cursor/mcp.json (env GITHUB_TOKEN)
    or get a new one at https://github.com/settings/tokens
`},
		"written": {args: strings.Fields("config import --yes"), asked: []string{"scope-x", "taken-cursor"}, says: []string{"Wrote 3 servers to DIR/.mcp.json",
			"  notes\n    variable missing: ", "  taken-cursor\n    cannot be reached: it is down\n      Start it.\n", "  scope-x\n    ok: 1 tool over stdio\n"}},
		"written untried": {args: strings.Fields("config import --yes --no-try"), says: []string{"Wrote 3 servers to DIR/.mcp.json",
			"  notes\n    needs the variable REGION (in env.REGION), which is not set\n"}},
		"without consent": {args: strings.Fields("config import notes"), code: 6, text: `error: writing 1 server to DIR/.mcp.json needs your consent
  notes from cursor
hint: See what would be written with: mcpl config import --dry-run. Write it with: mcpl config import --yes
`},
		"an unknown name": {args: strings.Fields("config import nosuch"), code: 3, text: `error: no client has a server "nosuch"
hint: See what there is with: mcpl config import --dry-run
`},
		"secrets are kept":  {args: strings.Fields("config import --dry-run --keep-secrets notes"), says: []string{"copied as it is"}},
		"nothing is left":   {args: strings.Fields("config import same --yes"), says: []string{"There is nothing to take."}},
		"an unknown client": {args: strings.Fields("config import --from nosuch"), code: 2, says: []string{"nosuch"}},
	})
}

// TestConfigImportWrites: the file has what the plan says, without the secret.
func TestConfigImportWrites(t *testing.T) {
	t.Parallel()
	w := otherClients(t)
	if got := w.run(t.Context(), "config", "import", "--yes"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	text := w.read(".mcp.json")
	for _, part := range []string{`"notes"`, `"taken-cursor"`, `"scope-x"`, `"${GITHUB_TOKEN}"`, `"${REGION}"`} {
		if !strings.Contains(text, part) {
			t.Errorf("%s is not in\n%s", part, text)
		}
	}
	if strings.Contains(text, "ghp_") || strings.Contains(text, `"same"`) {
		t.Errorf("a secret or a server that is there already:\n%s", text)
	}
	again := w.run(t.Context(), "config", "import", "--yes")
	if again.code != 0 || !strings.Contains(again.stdout, "There is nothing to take.") {
		t.Errorf("the second time: %+v", again)
	}
}

// TestConfigImportAsks holds what a person at a terminal sees and answers.
func TestConfigImportAsks(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct {
		typed   string
		end     bool // before anything is typed
		code    int
		written bool
		says    string
	}{
		"yes":         {typed: "y\n", written: true, says: "Wrote 1 server to "},
		"yes, loud":   {typed: " YES \n", written: true, says: "Wrote 1 server to "},
		"no":          {typed: "n\n", says: "note: nothing was written"},
		"nothing":     {typed: "\n", says: "note: nothing was written"},
		"the end":     {typed: "", says: "note: nothing was written"},
		"interrupted": {end: true, code: 130, says: "interrupted"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			w := otherClients(t)
			stdin, typing, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer stdin.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tc.end {
				cancel()
				defer typing.Close() // after the run: the end of the input is an answer
			} else if _, err := typing.WriteString(tc.typed); err != nil {
				t.Fatal(err)
			} else if err := typing.Close(); err != nil {
				t.Fatal(err)
			}
			w.atTerminal(stdin)
			before := w.read(".mcp.json")
			got := w.run(ctx, "config", "import", "notes")
			text := got.stdout + got.stderr
			if got.code != tc.code || !strings.Contains(text, tc.says) || !strings.Contains(text, "Write 1 server to ") {
				t.Errorf("%d\n%s", got.code, text)
			}
			if written := w.read(".mcp.json") != before; written != tc.written {
				t.Errorf("written: %v", written)
			}
		})
	}
}

func TestAllowedName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"a": "a", "@a/b": "a-b", "a\x00b\n": "ab", "@": "unnamed", "": "unnamed"} {
		if got := allowedName(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}

func TestCandidate(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{1: "a", 2: "a-zed", 3: "a-zed-2", 4: "a-zed-3"} {
		if got := candidate("a", "zed", n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestPairs(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct {
		flag  string
		texts []string
		want  []config.KeyValue // nil if they are refused
	}{
		"a value with =":          {"--env", []string{"A=b=c"}, []config.KeyValue{{Name: "A", Value: "b=c"}}},
		"no value":                {"--env", []string{"A="}, []config.KeyValue{{Name: "A"}}},
		"a variable with a colon": {"--env", []string{"A=x: y"}, []config.KeyValue{{Name: "A", Value: "x: y"}}},
		"a header as for curl":    {"--header", []string{"A: b=c"}, []config.KeyValue{{Name: "A", Value: "b=c"}}},
		"a header with =":         {"--header", []string{"A=Bearer: c"}, []config.KeyValue{{Name: "A", Value: "Bearer: c"}}},
		"one name twice": {"--env", []string{"A=1", "B=2", "A=3"},
			[]config.KeyValue{{Name: "A", Value: "3"}, {Name: "B", Value: "2"}}},
		"no name": {"--env", []string{"=x"}, nil},
		"no sign": {"--env", []string{"secret"}, nil},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			got, err := pairs(tc.flag, tc.texts)
			if (err == nil) != (tc.want != nil) || len(got) != len(tc.want) {
				t.Fatalf("%v, %v", got, err)
			}
			for i, pair := range got {
				if pair != tc.want[i] {
					t.Errorf("got %v, want %v", got, tc.want)
				}
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("%v tells what may be a secret", err)
			}
		})
	}
}
