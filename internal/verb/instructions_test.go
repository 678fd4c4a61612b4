package verb

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInstructionsOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "instructions", map[string]options{
		"printed": {want: &instructionsVerb{}},
		"written": {args: []string{"--write", "AGENTS.md"}, want: &instructionsVerb{Write: "AGENTS.md"}},
		"a word":  {args: []string{"AGENTS.md"}, says: `instructions does not take "AGENTS.md"`},
	})
}

func TestInstructionsAnswers(t *testing.T) {
	t.Parallel()
	checkAnswers(t, fixture, map[string]answer{
		"printed": {args: []string{"instructions"}, text: `## MCP tools through mcpl

Tools of MCP servers are reached by shell commands. Do not guess names or arguments: search, inspect, then call.

    mcpl --json search "what you want to do"
    mcpl --json inspect SERVER TOOL
    mcpl --json call SERVER TOOL '{"key": "value"}'

Resources and prompts: search --kind all, then mcpl read SERVER URI or mcpl prompt SERVER NAME key=value.
A failure is {"success":false,"error":{...}}: follow its "help". Servers:
- demo (2 tools): add, drop
- papers (1 tool): cite
- down
- web (1 tool): look
`,
			json: `{"text":"## MCP tools through mcpl\n\nTools of MCP servers are reached by shell commands. Do not guess names or arguments: search, inspect, then call.\n\n    mcpl --json search \"what you want to do\"\n    mcpl --json inspect SERVER TOOL\n    mcpl --json call SERVER TOOL '{\"key\": \"value\"}'\n\nResources and prompts: search --kind all, then mcpl read SERVER URI or mcpl prompt SERVER NAME key=value.\nA failure is {\"success\":false,\"error\":{...}}: follow its \"help\". Servers:\n- demo (2 tools): add, drop\n- papers (1 tool): cite\n- down\n- web (1 tool): look\n"}`},
	})
}

// TestInstructionsFile holds what becomes of a file that the snippet is written into.
func TestInstructionsFile(t *testing.T) {
	t.Parallel()
	const begin, end = beginMarker + "\n", endMarker
	for title, tc := range map[string]struct {
		before string // "": there is no file
		link   bool   // to it, with the name that is given
		after  string // with SNIPPET for the snippet
		code   int
		says   string
	}{
		"a new file":          {after: begin + "SNIPPET" + end + "\n", says: "Written to AGENTS.md, between " + beginMarker},
		"at the end":          {before: "# Rules\n\n\n", after: "# Rules\n\n" + begin + "SNIPPET" + end + "\n", says: "Written to"},
		"in place of the old": {before: "a" + begin + "old" + end + "b", after: "a" + begin + "SNIPPET" + end + "b", says: "Written to"},
		"through a link":      {before: "# Rules\n", link: true, after: "# Rules\n\n" + begin + "SNIPPET" + end + "\n", says: "Written to"},
		"without an end":      {before: begin + "old", after: begin + "old", code: 2, says: "error: cannot write AGENTS.md"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			w := fixture(t)
			snippet := w.run(t.Context(), "instructions").stdout
			path := filepath.Join(w.dir, "AGENTS.md")
			if tc.before != "" {
				w.write("AGENTS.md", tc.before)
			}
			given := path
			if tc.link {
				given = filepath.Join(w.dir, "CLAUDE.md")
				if err := os.Symlink("AGENTS.md", given); err != nil {
					t.Fatal(err)
				}
			}
			got := w.run(t.Context(), "instructions", "--write", given)
			text := strings.ReplaceAll(got.stdout+got.stderr, "DIR/", "")
			if says := strings.ReplaceAll(text, "CLAUDE.md", "AGENTS.md"); got.code != tc.code || !strings.HasPrefix(says, tc.says) {
				t.Errorf("exit code %d, %s", got.code, text)
			}
			if want := strings.ReplaceAll(tc.after, "SNIPPET", snippet); w.read("AGENTS.md") != want {
				t.Errorf("got\n%s\nwant\n%s", w.read("AGENTS.md"), want)
			}
			if info, err := os.Lstat(given); err != nil || tc.link != (info.Mode()&os.ModeSymlink != 0) {
				t.Errorf("%v, %v", info, err)
			}
			if tc.code != 0 {
				return
			}
			if got := w.run(t.Context(), "--json", "instructions", "--write", given); strings.Contains(got.stdout, `"changed"`) {
				t.Errorf("the second time: %s", got.stdout)
			}
			if got := w.run(t.Context(), "instructions", "--write", given); !strings.HasSuffix(got.stdout, "is up to date.\n") {
				t.Errorf("the third time: %s", got.stdout)
			}
		})
	}
}

// TestInstructionsBudget: many servers share the budget, down to their names.
func TestInstructionsBudget(t *testing.T) {
	t.Parallel()
	var entries []string
	servers := map[string]*server{}
	for i := range 60 {
		name := fmt.Sprintf("server%02d", i)
		entries = append(entries, fmt.Sprintf("%q: {\"command\": \"x\"}", name))
		servers[name] = offering(t, strings.Repeat("words ", 100), `{"name":"t","inputSchema":{"type":"object"}}`)
	}
	w := newWorld(t, `{"mcpServers": {`+strings.Join(entries, ",")+`}}`, servers).built()
	text := w.run(t.Context(), "instructions").stdout
	if !strings.Contains(text, "\n- server59 (1 tool)\n") || len(text) > 2*snippetBudget {
		t.Errorf("%d bytes:\n%s", len(text), text)
	}
}

func TestClipWords(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct {
		text string
		n    int
		want string
	}{
		"it fits":       {"two words", 20, "two words"},
		"one does":      {"two words", 8, "two…"},
		"none does":     {"words", 5, ""},
		"line breaks":   {"two\n\n words", 20, "two words"},
		"a final comma": {"two, words", 9, "two…"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			if got := clipWords(tc.text, tc.n); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
