package verb

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/state"
)

func TestListOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "list", map[string]options{
		"all":         {want: &listVerb{listing{verb: "list"}}},
		"one":         {args: []string{"demo"}, want: &listVerb{listing{verb: "list", servers: []string{"demo"}}}},
		"asked again": {args: []string{"--refresh", "demo"}, want: &listVerb{listing{verb: "list", Refresh: true, servers: []string{"demo"}}}},
		"two":         {args: []string{"demo", "papers"}, says: `list takes one server, "papers" is too much`},
	})
}

func TestListAnswers(t *testing.T) {
	t.Parallel()
	checkAnswers(t, fixture, map[string]answer{
		"all": {args: []string{"list"}, text: `SERVER  STATUS     TOOLS  TOKENS  RESOURCES  PROMPTS  ASKED
demo    connected      2     142          0        0  just now
papers  connected      1      19          2        1  just now
down    error          0       0          0        0  just now
off     disabled       0       0          0        0  never
web     connected      1      20          0        0  just now

error down exited with code 3
  See what happened with: mcpl doctor down

4 tools on 3 of 4 servers. Their definitions would cost a model about 181 tokens.
`,
			json: `{"servers":[{"name":"demo","status":"connected","tools":2,"tokens":142,"listed_at":"2026-03-01T12:00:00Z"},{"name":"papers","status":"connected","tools":1,"tokens":19,"resources":2,"prompts":1,"listed_at":"2026-03-01T12:00:00Z"},{"name":"down","status":"error","tools":0,"tokens":0,"error":{"type":"ServerConnectionError","message":"down exited with code 3","traceback":"","help":"See what happened with: mcpl doctor down","server":"down"}},{"name":"off","status":"disabled","tools":0,"tokens":0},{"name":"web","status":"connected","tools":1,"tokens":20,"listed_at":"2026-03-01T12:00:00Z"}],"tools":4,"tokens":181}`},
		"asked again": {args: strings.Fields("list --refresh"), asked: []string{"demo", "down", "papers", "web"}, text: `SERVER  STATUS     TOOLS  TOKENS  RESOURCES  PROMPTS  ASKED
demo    connected      2     142          0        0  just now
papers  connected      1      19          2        1  just now
down    error          0       0          0        0  just now
off     disabled       0       0          0        0  never
web     connected      1      20          0        0  just now

error down exited with code 3
  Run it by hand. See what happened with: mcpl doctor down

4 tools on 3 of 4 servers. Their definitions would cost a model about 181 tokens.
`},
		"one server": {args: strings.Fields("list demo"), text: `add
  Add two numbers. And more.

drop
  Deprecated: drop a table

demo has 2 tools, about 142 tokens.
`,
			json: `{"server":"demo","tools":[{"name":"add","description":"Add two numbers. And more."},{"name":"drop","description":"Deprecated: drop a table"}]}`},
		"a server with more": {args: strings.Fields("list papers"), text: `cite
  Cite a paper

papers has 1 tool, about 19 tokens.
It also has 2 resources (mcpl resources papers) and 1 prompt (mcpl prompts papers)
`,
			json: `{"server":"papers","tools":[{"name":"cite","description":"Cite a paper"}],"resources":2,"prompts":1}`},
		"one asked again": {args: strings.Fields("list web --refresh"), asked: []string{"web"}, text: `look
  Look at a page

web has 1 tool, about 20 tokens.
`,
			json: `{"server":"web","tools":[{"name":"look","description":"Look at a page"}]}`},
		"a server that failed": {args: strings.Fields("list down"), code: 4, text: `error: down exited with code 3
hint: See what happened with: mcpl doctor down
`,
			json: `{"success":false,"error":{"type":"ServerConnectionError","message":"down exited with code 3","traceback":"","help":"See what happened with: mcpl doctor down","server":"down"}}`},
		"a server that is off": {args: strings.Fields("list off"), code: 3, says: []string{"error: off is disabled in its configuration entry"}},
		"an unknown server":    {args: strings.Fields("list dmo"), code: 3, says: []string{`error: there is no server "dmo"`}},
	})
}

// TestListStates holds the states that a server can be in.
func TestListStates(t *testing.T) {
	t.Parallel()
	w := fixture(t)
	w.servers["papers"].down = fault.New(fault.Timeout, "papers did not answer within 30s", "Try again.").On("papers", "")
	w.servers["web"].listing.Notes = []string{"two tools are called look"}
	if got := w.run(t.Context(), "disable", "demo/drop", "down"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	w.app.Now = func() time.Time { return noon.Add(26 * time.Hour) }
	got := w.run(t.Context(), "list", "--refresh")
	want := `SERVER  STATUS     TOOLS  TOKENS  RESOURCES  PROMPTS  ASKED
demo    connected      1     142          0        0  just now
papers  stale          1      19          2        1  just now
down    disabled       0       0          0        0  26 h ago
off     disabled       0       0          0        0  never
web     connected      1      20          0        0  just now

stale papers did not answer within 30s
  Try again.

note web: two tools are called look

3 tools on 3 servers. Their definitions would cost a model about 181 tokens.
`
	if diff := cmp.Diff(want, got.stdout); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	got = w.run(t.Context(), "list", "papers")
	if !strings.Contains(got.stdout, "They may be out of date: papers did not answer within 30s") {
		t.Errorf("%+v", got)
	}
	if got = w.run(t.Context(), "--json", "list", "papers"); !strings.Contains(got.stdout, `"stale":true`) {
		t.Errorf("%+v", got)
	}
	if got = w.run(t.Context(), "search", "cite"); !strings.Contains(got.stdout, "(its server failed when last asked)") {
		t.Errorf("%+v", got)
	}
	if got = w.run(t.Context(), "--json", "search", "cite"); !strings.Contains(got.stdout, `"stale":true`) {
		t.Errorf("%+v", got)
	}
}

// TestListIdleSwitches: what is written to switch something and does not is said.
func TestListIdleSwitches(t *testing.T) {
	t.Parallel()
	w := fixture(t)
	if got := w.run(t.Context(), "disable", "demo/drop"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	file := state.FileIn(w.app.Env.StateDir())
	if err := os.WriteFile(file.Path, []byte(`{"disabled": ["demo/drop", "demo.add", "demo/*", "Demo/add", "demo/gone", "elsewhere/x", "mcp__any__demo_drop"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var answer listAnswer
	got := w.run(t.Context(), "--json", "list")
	if err := json.Unmarshal([]byte(got.stdout), &answer); err != nil {
		t.Fatal(err)
	}
	const nothing = " switches nothing on or off: "
	want := []string{`"demo.add"` + nothing + "it is written demo/add",
		`"demo/*"` + nothing + "patterns are for [[policy]] in config.toml",
		`"Demo/add"` + nothing + "demo has nothing of that name. Names are SERVER or SERVER/TOOL, in the letters that mcpl list shows",
		`"demo/gone"` + nothing + "demo has nothing of that name. Names are SERVER or SERVER/TOOL, in the letters that mcpl list shows"}
	if diff := cmp.Diff(want, answer.Warnings); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestSharedStart: the help for servers that failed alike names no entry's line.
func TestSharedStart(t *testing.T) {
	t.Parallel()
	for _, tc := range [][3]string{
		{"Give it more time, or change it in /x, line 3.", "Give it more time, or change it in /x, line 12.", "Give it more time, or change it in /x."},
		{"Give it more time, or change it in /x.", "Give it more time, or change it in /y.", "Give it more time."},
		{"Wait.", "Wait more.", ""}, {"Same, really.", "Same, really.", "Same, really."}, {"", "x", ""}} {
		if got := sharedStart(tc[0], tc[1]); got != tc[2] {
			t.Errorf("%q and %q share %q", tc[0], tc[1], got)
		}
	}
}

// servers.md, S1/S2: thirty servers with the same failure had thirty lines and as much help.
func TestEqualFailuresAreOneLine(t *testing.T) {
	t.Parallel()
	silent := func(name, help string) *server {
		message := name + " did not answer initialize within 30s"
		return &server{down: fault.New(fault.Timeout, message, help).On(name, "")}
	}
	absent := func(name string) *server {
		return &server{down: fault.New(fault.ServerConnection, "cannot start "+name+": there is no program npx", "Get Node.").On(name, "")}
	}
	servers := map[string]*server{
		"a": silent("a", "Wait."), "b": absent("b"), "c": silent("c", "Wait."), "d": absent("d"), "e": silent("e", "Wait more."),
		"f": {down: fault.New(fault.Timeout, "f did not answer initialize within 9s", "Wait.").On("f", "")}}
	entries := make([]string, 0, len(servers))
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		entries = append(entries, fmt.Sprintf(`%q: {"url": "https://%s.example/"}`, name, name))
	}
	w := newWorld(t, `{"mcpServers": {`+strings.Join(entries, ", ")+`}}`, servers)
	_, got, ok := strings.Cut(w.run(t.Context(), "list", "--refresh").stdout, "\n\n")
	want := `error 3 servers did not answer initialize within 30s
  a, c, e
  For a: Wait.

error 2 servers have the same error: cannot start b: there is no program npx
  b, d
  Get Node.

error f did not answer initialize within 9s
  Wait.

0 tools on 0 of 6 servers. Their definitions would cost a model about 0 tokens.
`
	if !ok || got != want {
		t.Errorf("-want +got\n%s", cmp.Diff(want, got))
	}
	var answer struct {
		Servers []struct{ Error *fault.Fault }
	}
	if err := json.Unmarshal([]byte(w.run(t.Context(), "--json", "list").stdout), &answer); err != nil || len(answer.Servers) != 6 ||
		answer.Servers[2].Error.Message != "c did not answer initialize within 30s" {
		t.Errorf("%v: %+v", err, answer)
	}
}
