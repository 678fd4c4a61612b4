//go:build linux || darwin

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// face is a client of mcpl serve over stdin and stdout that reads and writes messages by hand.
type face struct {
	t    *testing.T
	in   io.WriteCloser
	exit func() int
	said *bytes.Buffer // on stderr

	mu     sync.Mutex
	more   sync.Cond
	heard  []string // all messages, in order
	ended  bool
	lastID int
}

// lasting returns a command that outlasts the test's context, for what ends in a cleanup.
func lasting(cmd *exec.Cmd) *exec.Cmd {
	own := exec.Command(cmd.Path, cmd.Args[1:]...)
	own.Dir, own.Env = cmd.Dir, cmd.Env
	return own
}

// serve runs mcpl serve in a home.
func (h home) serve(t *testing.T, args ...string) *face {
	t.Helper()
	cmd, _, stderr := h.mcpl(t, append([]string{"serve"}, args...)...)
	cmd = lasting(cmd)
	cmd.Stderr = stderr
	f := &face{t: t, said: stderr}
	f.more.L = &f.mu
	var err error
	if f.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			f.mu.Lock()
			f.heard = append(f.heard, lines.Text())
			f.more.Broadcast()
			f.mu.Unlock()
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.ended = true
		f.more.Broadcast()
	}()
	f.exit = sync.OnceValue(func() int {
		f.in.Close()
		<-read
		return exitCode(t, cmd)
	})
	t.Cleanup(func() {
		if code := f.exit(); code != 0 {
			t.Errorf("serve ended with %d: %s", code, stderr)
		}
	})
	return f
}

// send sends one line.
func (f *face) send(line string) {
	f.t.Helper()
	if _, err := io.WriteString(f.in, line+"\n"); err != nil {
		f.t.Error(err)
	}
}

// until waits for a message that has all these texts, and returns it.
func (f *face) until(texts ...string) string {
	f.t.Helper()
	late := time.AfterFunc(time.Minute, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.ended = true
		f.more.Broadcast()
	})
	defer late.Stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	for seen := 0; ; {
		for ; seen < len(f.heard); seen++ {
			has := true
			for _, text := range texts {
				has = has && strings.Contains(f.heard[seen], text)
			}
			if has {
				return f.heard[seen]
			}
		}
		if f.ended {
			f.t.Fatalf("no message has %q:\n%s", texts, strings.Join(f.heard, "\n"))
		}
		f.more.Wait()
	}
}

// begin sends a request and returns its id as it stands in the response.
func (f *face) begin(method, params string) string {
	f.t.Helper()
	f.mu.Lock()
	f.lastID++
	id := f.lastID
	f.mu.Unlock()
	f.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
	return fmt.Sprintf(`"id":%d,"`, id)
}

// do makes a request and returns the response.
func (f *face) do(method, params string) string {
	f.t.Helper()
	return f.until(f.begin(method, params), `"jsonrpc":"2.0","id":`)
}

// initialize shakes hands.
func (f *face) initialize(capabilities string) string {
	f.t.Helper()
	hello := f.do("initialize", `{"protocolVersion":"2025-06-18","capabilities":`+capabilities+
		`,"clientInfo":{"name":"test","version":"1"}}`)
	f.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return hello
}

// has fails unless a message has these texts.
func (f *face) has(message string, texts ...string) {
	f.t.Helper()
	for _, text := range texts {
		if !strings.Contains(message, text) {
			f.t.Errorf("%q is not in %s", text, message)
		}
	}
}

// odd is a definition that a decoder and an encoder would change.
const odd = `{"name":"odd","x-vendor":{"b":1.0, "a":"<&\u003c"},"icons":[{"src":"data:,x"}],"description":"Adds two numbers.",` +
	`"inputSchema":{"type":"object","properties":{"a":{"type":"number","maximum":9007199254740993}},"required":["a"]},` +
	`"_meta":{"k":1e2}}`

// oddResult is such a result.
const oddResult = `{"content":[{"type":"novel","n":9007199254740993}],"structuredContent":{"b":1.0,"a":"<&\u003c"},"x":1e2}`

func servedScript() mcptest.Script {
	return mcptest.Script{Tools: []mcptest.Tool{{Def: odd, Behaviour: mcptest.Behaviour{Result: oddResult}},
		{Name: "steps", Behaviour: mcptest.Behaviour{Progress: 2}, Text: "done"},
		{Name: "hang", Behaviour: mcptest.Behaviour{Never: true}},
		{Name: "ask", Replies: true, Behaviour: mcptest.Behaviour{Asks: []mcptest.Ask{{Method: "elicitation/create", Wait: true,
			Params: `{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`}}}}},
		Resources: []mcptest.Resource{{URI: "a:one", Text: "first"}},
		Templates: []mcptest.Raw{`{"uriTemplate":"a:item/{id}","name":"items"}`},
		Prompts:   []mcptest.Prompt{{Name: "greet", Text: "hello"}}}
}

// TestServeSearch finds, reads and calls tools as a model does that sees four of them.
func TestServeSearch(t *testing.T) {
	t.Parallel()
	h := newHome(t, servedScript())
	f := h.serve(t)
	f.has(f.initialize(`{}`), `"protocolVersion":"2025-06-18"`, `"serverInfo":{"name":"mcpl"`, `search_tools`)
	f.has(f.do("tools/list", `{}`), `"name":"search_tools"`, `"name":"read_tool"`, `"name":"call_tool"`, `"name":"list_servers"`)
	call := func(name, args string) string {
		t.Helper()
		return f.do("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args))
	}
	f.has(call("search_tools", `{"query":"add numbers"}`), `s/odd(a: number)`, `Adds two numbers.`)
	f.has(call("search_tools", `{"query":"paint a fence"}`), `No tool fits`)
	f.has(call("search_tools", `{}`), `"isError":true`, `query is missing`)
	f.has(call("read_tool", `{"names":["s/odd"]}`), `9007199254740993`)
	f.has(call("read_tool", `{"names":["s/nothing"]}`), `"isError":true`, `nothing`)
	f.has(call("list_servers", `{}`), `s: 4 tools, 2 resources, 1 prompts`)
	for _, args := range []string{`{"server":"s","tool":"odd","arguments":{"a":1}}`, `{"tool":"s/odd","arguments":{"a":1}}`,
		`{"tool":"s_odd","arguments":{"a":1}}`, `{"server":"s","tool":"odd","arguments":"{\"a\":1}"}`} {
		f.has(call("call_tool", args), `"result":`+oddResult)
	}
	f.has(call("call_tool", `{"server":"s","tool":"odd","arguments":{"b":1}}`), `"isError":true`, `/b: is not a known key`, `call_tool {\"server\":\"s\",\"tool\":\"odd\",\"arguments\":{\"a\":1}}`)
	f.has(call("call_tool", `{"server":"x","tool":"odd"}`), `"isError":true`, `there is no server`)
	f.has(call("odd", `{}`), `"error":`, `call_tool`)
	f.exit()
	h.gone(t)
}

// TestServeAll passes definitions and results byte for byte, and everything that is not a tool.
func TestServeAll(t *testing.T) {
	t.Parallel()
	f := newHome(t, servedScript()).serve(t, "--expose", "all")
	f.initialize(`{}`)
	f.has(f.do("tools/list", `{}`), strings.Replace(odd, `"odd"`, `"s_odd"`, 1), `"name":"s_steps"`)
	f.has(f.do("tools/call", `{"name":"s_odd","arguments":{"a":1}}`), `"result":`+oddResult+`}`)
	f.has(f.do("tools/call", `{"name":"s_steps","_meta":{"progressToken":"mine"}}`), `"done"`)
	f.until(`"method":"notifications/progress"`, `"progressToken":"mine"`)
	f.has(f.do("tools/call", `{"name":"s_none"}`), `"code":-32602`, `there is no tool`)
	f.has(f.do("resources/list", `{}`), `"uri":"a:one"`)
	f.has(f.do("resources/templates/list", `{}`), `"uriTemplate":"a:item/{id}"`)
	f.has(f.do("resources/read", `{"uri":"a:one"}`), `"text":"first"`)
	f.has(f.do("resources/read", `{"uri":"a:item/7"}`), `a:item/7`)
	f.has(f.do("resources/read", `{"uri":"b:other"}`), `"code":-32002`)
	f.has(f.do("prompts/list", `{}`), `"name":"s_greet"`)
	f.has(f.do("prompts/get", `{"name":"s_greet"}`), `hello`)
	f.has(f.do("ping", `{}`), `"result":{}`)
}

// TestServeQuestions has questions of servers answered by the client whose call caused them, or declined for a client
// that cannot be asked.
func TestServeQuestions(t *testing.T) {
	t.Parallel()
	h := newHome(t, servedScript())
	f := h.serve(t, "--expose", "all")
	f.initialize(`{"elicitation":{}}`)
	id := f.begin("tools/call", `{"name":"s_ask"}`)
	question := f.until(`"method":"elicitation/create"`, `"message":"Who?"`)
	var asked struct{ ID json.RawMessage }
	if err := json.Unmarshal([]byte(question), &asked); err != nil {
		t.Fatal(err)
	}
	f.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":"Ada"}}}`, asked.ID))
	f.has(f.until(id, `"result":`), `Ada`)
	other := h.serve(t, "--expose", "all")
	other.initialize(`{}`)
	other.has(other.do("tools/call", `{"name":"s_ask"}`), `decline`)
}

// TestServeCancel ends a call that its client gives up, by word or by going.
func TestServeCancel(t *testing.T) {
	t.Parallel()
	h := newHome(t, servedScript())
	f := h.serve(t, "--expose", "all")
	f.initialize(`{}`)
	calls := func(n int) {
		mcptest.Wait(t, "the call reaches its server", func() bool {
			return strings.Count(strings.Join(mcptest.Lines(t, h.received), "\n"), `"tools/call"`) == n
		})
	}
	id := f.begin("tools/call", `{"name":"s_hang"}`)
	calls(1)
	f.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + strings.Trim(id, `"id:,`) + `}}`)
	mcptest.WaitLines(t, h.cancelled, 1)
	f.begin("tools/call", `{"name":"s_hang"}`)
	calls(2)
	f.exit()
	h.gone(t)
}

// TestServeBadInput answers lines that are not messages, and goes on.
func TestServeBadInput(t *testing.T) {
	t.Parallel()
	f := newHome(t, servedScript()).serve(t)
	for line, want := range map[string]string{
		`{`: `"code":-32700`, `[]`: `"code":-32600`, `{"jsonrpc":"2.0","id":null,"method":"ping"}`: `"code":-32600`,
		`{"jsonrpc":"1.0","id":"old","method":"ping"}`:                       `"id":"old","error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":"list","method":"ping","params":[]}`:          `"id":"list","error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":"none","method":"no/such"}`:                   `"id":"none","error":{"code":-32601`,
		`{"jsonrpc":"2.0","id":"meta","method":"ping","params":{"_meta":7}}`: `"id":"meta","error":{"code":-32602`,
	} {
		f.send(line)
		f.until(want)
	}
	f.send(`{"jsonrpc":"2.0","id":"stray","result":{}}`)
	f.has(f.do("ping", `{}`), `"result":{}`)
}

// TestServeFollowsConfiguration tells a client of a server that comes and of one that goes.
func TestServeFollowsConfiguration(t *testing.T) {
	t.Parallel()
	h := newHome(t, servedScript())
	f := h.serve(t, "--expose", "all")
	f.initialize(`{}`)
	f.has(f.do("tools/list", `{}`), `"s_odd"`)
	file := filepath.Join(h.dir, ".mcp.json")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, content := range [][]byte{bytes.Replace(before, []byte(`"s":`), []byte(`"t":`), 1), []byte(`{"mcpServers":{}}`), before} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		mcptest.Wait(t, "the client is told", func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return strings.Count(strings.Join(f.heard, "\n"), `notifications/tools/list_changed`) > i
		})
		want := []string{`"name":"t_odd"`, `"tools":[{"name":"enable_tools"`, `"name":"s_odd"`}[i]
		f.has(f.do("tools/list", `{}`), want)
	}
}

// TestServeCrash takes what a server offers out of the lists when it crashes, until it answers again.
func TestServeCrash(t *testing.T) {
	t.Parallel()
	script := servedScript()
	script.Tools = append(script.Tools, mcptest.Tool{Name: "crash", Behaviour: mcptest.Behaviour{Exit: &mcptest.Exit{Code: 3}}})
	f := newHome(t, script).serve(t, "--expose", "all")
	f.initialize(`{}`)
	f.has(f.do("tools/list", `{}`), `"s_crash"`)
	f.do("tools/call", `{"name":"s_odd","arguments":{"a":1}}`)
	f.has(f.do("tools/call", `{"name":"s_crash"}`), `"isError":true`, `exited with code 3`)
	told := func(n int) {
		mcptest.Wait(t, "the client is told", func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return strings.Count(strings.Join(f.heard, "\n"), `notifications/tools/list_changed`) >= n
		})
	}
	told(1)
	f.has(f.do("tools/list", `{}`), `"tools":[{"name":"enable_tools"`)
	told(2)
	f.has(f.do("tools/list", `{}`), `"s_odd"`)
}

// TestServeKeepsLargeResults shows a model the outline of a large result, and lets it read on.
func TestServeKeepsLargeResults(t *testing.T) {
	t.Parallel()
	script := servedScript()
	lines := strings.Repeat("all the same\n", 3000) + "the last"
	text, err := json.Marshal(lines)
	if err != nil {
		t.Fatal(err)
	}
	result := `{"content":[{"type":"text","text":` + string(text) + `},{"type":"image","data":"AQID","mimeType":"image/png"}],"_meta":{"k":1}}`
	script.Tools = append(script.Tools, mcptest.Tool{Name: "large", Behaviour: mcptest.Behaviour{Result: mcptest.Raw(result)}},
		mcptest.Tool{Name: "list", Structured: mcptest.Raw(`{"items":[` + strings.Repeat(`{"n":1},`, 5000) + `{"n":2}]}`)})
	f := newHome(t, script).serve(t)
	f.initialize(`{}`)
	call := func(name, args string) string {
		t.Helper()
		return f.do("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args))
	}
	kept := func(answer string) string {
		t.Helper()
		_, rest, ok := strings.Cut(answer, "is kept as ")
		if !ok || len(answer) > 3000 {
			t.Fatalf("%d bytes: %.500s", len(answer), answer)
		}
		return rest[:12]
	}
	answer := call("call_tool", `{"tool":"s/large"}`)
	id := kept(answer)
	f.has(answer, `39.0 kB`, `The first of its 3,001 lines`, `"data":"AQID"`, `"_meta":{"k":1}`, `\"lines\": \"21:60\"`)
	f.has(call("read_tool", fmt.Sprintf(`{"result":%q,"lines":"3000:"}`, id)), `all the same\nthe last"`)
	f.has(call("call_tool", fmt.Sprintf(`{"result":%q,"grep":"last"}`, id)), `3001:the last`)
	f.has(call("read_tool", fmt.Sprintf(`{"result":%q}`, id)), `are not shown: select fewer lines`)
	f.has(call("read_tool", `{"result":"0123456789ab"}`), `"isError":true`)
	f.has(call("read_tool", fmt.Sprintf(`{"result":%q,"lines":"x"}`, id)), `"isError":true`, `not a range of lines`)
	id = kept(call("call_tool", `{"tool":"s/list"}`))
	f.has(call("read_tool", fmt.Sprintf(`{"result":%q,"jq":".items[-1].n"}`, id)), `"text":"2"`)
	f.has(call("read_tool", fmt.Sprintf(`{"result":%q,"jq":".["}`, id)), `"isError":true`, `jq: `)
}

// TestServeExposures: the tools that each exposure shows are these, letter for letter.
func TestServeExposures(t *testing.T) {
	t.Parallel()
	for _, expose := range []string{"search", "activate", "all"} {
		t.Run(expose, func(t *testing.T) {
			t.Parallel()
			f := newHome(t, servedScript()).serve(t, "--expose", expose)
			f.initialize(`{}`)
			var got bytes.Buffer
			if err := json.Indent(&got, []byte(f.do("tools/list", `{}`)), "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			file := filepath.Join("testdata", "serve", expose+".json")
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("with go test ./cmd/mcpl -run ServeExposures -update it would be right:\n%s", diff)
			}
		})
	}
}

// TestServeUnapproved starts no server of a project that a person has not approved, and says who approves it.
func TestServeUnapproved(t *testing.T) {
	t.Parallel()
	h := newHome(t, servedScript())
	h.vars = []string{"MCPL_TRUST="}
	for _, expose := range []string{"search", "activate", "all"} {
		f := h.serve(t, "--expose", expose)
		f.initialize(`{}`)
		f.do("tools/list", `{}`)
		f.do("resources/list", `{}`)
		switch expose {
		case "search":
			f.has(f.do("tools/call", `{"name":"list_servers"}`), `mcpl trust s`)
			f.has(f.do("tools/call", `{"name":"call_tool","arguments":{"server":"s","tool":"odd","arguments":{"a":1}}}`),
				`"isError":true`, `mcpl trust s`)
			f.has(f.do("tools/call", `{"name":"search_tools","arguments":{"query":"add"}}`), `Not searched: s comes with this project`)
		case "activate":
			f.do("tools/call", `{"name":"activate","arguments":{"activate":["s"]}}`)
		default:
			f.do("tools/call", `{"name":"s_odd","arguments":{"a":1}}`)
		}
		f.exit()
	}
	if _, err := os.Stat(h.starts); err == nil {
		t.Errorf("the server was started: %s", mcptest.Lines(t, h.starts))
	}
}
