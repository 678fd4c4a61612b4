//go:build linux || darwin

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// TestServeReadsFew reads a definition once, however often its name is given, and only so many.
func TestServeReadsFew(t *testing.T) {
	t.Parallel()
	f := newHome(t, servedScript()).serve(t)
	f.initialize(`{}`)
	names := func(n int, format string) string {
		var list []string
		for i := range n {
			list = append(list, strings.ReplaceAll(format, "#", fmt.Sprint(i)))
		}
		text, err := json.Marshal(map[string][]string{"names": list})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if text := f.textOf("read_tool", names(10_000, "s/odd")); strings.Count(text, `"name":"odd"`) != 1 {
		t.Errorf("%d bytes: %.200s", len(text), text)
	}
	f.has(f.call("read_tool", names(51, "s/odd#")), `"isError":true`, `more than 50 names`)
}

// TestServeEndlessQuery ends a query that a model has written and that would never end.
func TestServeEndlessQuery(t *testing.T) {
	t.Parallel()
	h := newHome(t, mcptest.Script{Tools: []mcptest.Tool{{Name: "large", Text: strings.Repeat("a line of text\n", 5000)}}})
	f := h.serve(t)
	f.initialize(`{}`)
	kept := regexp.MustCompile(`kept as (\w+)`).FindStringSubmatch(f.call("call_tool", `{"tool":"s/large"}`))
	if kept == nil {
		t.Fatal("no result was kept")
	}
	for range 2 { // the first leaves room for the second
		f.has(f.call("read_tool", fmt.Sprintf(`{"result":%q,"jq":"[limit(1;repeat(1)|select(.==2))]"}`, kept[1])),
			`"isError":true`, `took more than 2s`)
	}
}

// TestServeLargeQuery: a query of a model takes neither the memory of the gateway nor much time, and counts as a call.
func TestServeLargeQuery(t *testing.T) {
	t.Parallel()
	h := newHome(t, mcptest.Script{Tools: []mcptest.Tool{{Name: "large", Text: strings.Repeat("a line of text\n", 5000)}}})
	token := h.bearer(t, "few", "--per-minute", "4")
	s, process := h.startAt(t, "127.0.0.1:0")
	kept := regexp.MustCompile(`kept as (\w+)`).FindStringSubmatch(s.call("call_tool", `{"tool":"s/large"}`, token).body)
	if kept == nil {
		t.Fatal("no result was kept")
	}
	before := peak(t, process.Pid)
	ten := "[" + strings.Repeat(".,", 9) + ".]"
	part := func(expr string) reply {
		return s.call("read_tool", fmt.Sprintf(`{"result":%q,"jq":%q}`, kept[1], expr), token)
	}
	s.is(part("[.|"+ten+"|"+ten+"|"+ten+"|"+ten+"|tojson]"), 200, `"isError":true`, "the expression")
	s.is(part(`"x" * 700000000`), 200, `"isError":true`, "the expression")
	s.is(part("."), 200, "a line of text")
	s.is(part("."), 200, "may make 4 calls in a minute")
	if now := peak(t, process.Pid); now > before+200 {
		t.Errorf("the gateway took %d MB, and %d MB before", now, before)
	}
}

// TestServeLongNames: a name that no one has typed is refused in few words, wherever one is taken.
func TestServeLongNames(t *testing.T) {
	t.Parallel()
	s := newHome(t, mcptest.Script{Tools: []mcptest.Tool{{Name: "first"}}, Prompts: []mcptest.Prompt{{Name: "p"}},
		Generate: &mcptest.Generate{Count: 300}}).serveHTTP(t)
	long, many := strings.Repeat("tool_number_", 1<<12), "mcp__"+strings.Repeat("a__", 1<<14)
	for _, exposure := range []string{"search", "activate", "all"} {
		at := site{t, s.url + "/" + exposure, "", 0, nil}
		for _, name := range []string{long, many, "s/" + long, "s_" + long} {
			for _, call := range []struct{ tool, args string }{{name, `{}`},
				{"call_tool", fmt.Sprintf(`{"server":"s","tool":%q}`, name)}, {"call_tool", fmt.Sprintf(`{"server":%q,"tool":"x"}`, name)},
				{"call_tool", fmt.Sprintf(`{"tool":%q}`, name)}, {"read_tool", fmt.Sprintf(`{"names":[%q]}`, name)},
				{"search_tools", fmt.Sprintf(`{"query":"first","server":%q}`, name)},
				{"search_tools", fmt.Sprintf(`{"query":%q}`, name)},
				{"activate", fmt.Sprintf(`{"activate":[%q]}`, name)}, {"enable_tools", fmt.Sprintf(`{"enable":[%q]}`, name)},
			} {
				if r := at.call(call.tool, call.args); r.status != 200 || len(r.body) > 2000 {
					t.Errorf("%s, %.20s %.40s: %d, %d bytes: %.300s", exposure, call.tool, call.args, r.status, len(r.body), r.body)
				}
			}
			r := at.ask("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":%q}}`, name))
			if at.is(r, 200, "there is no prompt"); len(r.body) > 2000 {
				t.Errorf("%d bytes", len(r.body))
			}
		}
	}
}

// TestServeEnablesFew: a request switches only so many tools, by names that may be names, and counts as a call.
func TestServeEnablesFew(t *testing.T) {
	t.Parallel()
	h := newHome(t, servedScript())
	few := h.bearer(t, "few", "--per-minute", "3")
	s := h.serveAt(t, "127.0.0.1:0", "--expose", "all")
	names := func(n int, prefix string) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("%q", prefix+fmt.Sprint(i)))
		}
		return strings.Join(list, ",")
	}
	s.is(s.call("enable_tools", `{"enable":[`+names(500, "s/a")+`],"disable":[`+names(501, "s/b")+`]}`, few), 200, `"isError":true`,
		"more than 1000 names were given")
	s.is(s.call("enable_tools", `{"enable":[`+names(1, strings.Repeat("x", 256))+`]}`, few), 200, `"isError":true`,
		"more than 256 bytes")
	s.is(s.call("enable_tools", `{"enable":[`+names(1000, "s/a")+`]}`, few), 200, `\"success\":true`, "s/a19 and 980 more")
	s.is(s.call("enable_tools", `{"enable":["s_odd"]}`, few), 200, `"isError":true`, "may make 3 calls in a minute")
}

// peak returns the most memory that a process has had, in MB, zero where that is not known.
func peak(t *testing.T, pid int) (megabytes int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	_, after, ok := strings.Cut(string(status), "VmHWM:")
	if _, scanned := fmt.Sscan(after, &megabytes); err != nil || !ok || scanned != nil {
		t.Fatal(err, scanned)
	}
	return megabytes >> 10
}

// TestServeStateOfAnotherCall refuses the state of a waiting call for another tool, and an answer that is none: the
// call waits on, and goes on with the right ones.
func TestServeStateOfAnotherCall(t *testing.T) {
	t.Parallel()
	s := newHome(t, servedScript()).serveHTTP(t, "--expose", "all")
	do := func(name, members string) reply {
		body, headers := modern("tools/call", name, members)
		return s.ask("POST", body, headers...)
	}
	state := func(r reply) string {
		var asked struct{ Result struct{ RequestState string } }
		if err := json.Unmarshal([]byte(r.last()), &asked); err != nil || asked.Result.RequestState == "" {
			t.Fatalf("%v: %+v", err, r)
		}
		return asked.Result.RequestState
	}
	with := func(state, answer string) string {
		return fmt.Sprintf(`"requestState":%q,"inputResponses":{"question":%s},`, state, answer)
	}
	const ada = `{"action":"accept","content":{"name":"Ada"}}`
	first := state(do("s_ask", ""))
	s.is(do("s_odd", with(first, ada)), 200, `"code":-32602`, `another call`)
	again := do("s_ask", with(first, `null`))
	s.is(again, 200, `"resultType":"input_required"`, `Who?`)
	s.is(do("s_ask", with(state(again), ada)), 200, `Ada`, `"resultType":"complete"`)
}
