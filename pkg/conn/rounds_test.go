package conn

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

const (
	askRound   = `{"b":{"method":"elicitation/create","params":` + askName + `},"a":{"method":"roots/list"}}`
	modelRound = `{"m":{"method":"sampling/createMessage","params":{"messages":[]}}}`
)

// A server of 2026-07-28 may want input before it answers.
func TestRounds(t *testing.T) {
	t.Parallel()
	rounds := func(list ...mcptest.Raw) mcptest.Behaviour { return mcptest.Behaviour{Rounds: list} }
	received := t.TempDir() + "/received"
	p := newPool(t, scripts{"s": {Modern: "only", Received: received, Tools: []mcptest.Tool{
		{Name: "two", Replies: true, Behaviour: rounds(askRound, `{"c":{"method":"elicitation/create","params":`+askName+`}}`)},
		{Name: "later", Text: "done", Behaviour: rounds(`{}`)},
		{Name: "model", Behaviour: rounds(modelRound)},
		{Name: "odd", Behaviour: rounds(`{"x":{"method":"nobody/knows"}}`)},
		{Name: "odder", Behaviour: rounds(`[]`)},
		{Name: "oddest", Behaviour: rounds(`{"x":7}`)},
		{Name: "never", Behaviour: rounds(`{}`, `{}`, `{}`, `{}`)},
		{Name: "stateless", Behaviour: mcptest.Behaviour{Result: `{"resultType":"input_required","inputRequests":` + askRound + `}`}},
	}, Resources: []mcptest.Resource{{URI: "x:y", Text: "text", Behaviour: rounds(askRound)}},
		Prompts: []mcptest.Prompt{{Name: "p", Text: "text", Behaviour: rounds(askRound)}}}}, func(o *Options) { o.Root = "/w" })
	a := &audience{}
	opt := tool.CallOptions{Audience: a}
	if got, err := callFor(t, p, "two", opt); err != nil || got != `{"c":{"action":"accept","content":{"name":"Ann"}}}` {
		t.Errorf("got %s, %v", got, err)
	}
	if got := strings.Count(a.said(), "question of s: Your name?"); got != 2 {
		t.Errorf("heard:\n%s", a.said())
	}
	lines := strings.Join(mcptest.Lines(t, received), "\n")
	// No id is used twice, also not by the two clients of the SDK that the handshake takes.
	if !strings.HasPrefix(lines, `{"jsonrpc":"2.0","id":1,"method":"initialize"`) || !strings.Contains(lines, `"id":2,"method":"server/discover"`) ||
		!strings.Contains(lines, `"id":3,"method":"tools/call"`) {
		t.Errorf("received:\n%s", lines)
	}
	first := `"inputResponses":{"b":{"action":"accept","content":{"name":"Ann"}},"a":{"roots":[{"uri":"file:///w","name":"w"}]}},"requestState":"s"`
	if !strings.Contains(lines, first) || !strings.Contains(lines, `"requestState":"ss"`) {
		t.Errorf("received:\n%s", lines)
	}
	if got, err := callFor(t, p, "later", opt); err != nil || got != "done" {
		t.Errorf("got %s, %v", got, err)
	}
	for _, ref := range []tool.Ref{{Server: "s", Name: "x:y", Kind: tool.Resource}, {Server: "s", Name: "p", Kind: tool.Prompt}} {
		if res, err := p.Call(t.Context(), ref, nil, opt); err != nil || !strings.Contains(string(res.Raw), `"text":"text"`) {
			t.Errorf("%s: %+v, %v", ref, res, err)
		}
	}
	for name, message := range map[string]string{
		"model":     "s did not answer tools/call: it asks for the answer of a language model (sampling), and mcpl has none",
		"odd":       "s broke the protocol: it requires nobody/knows as input: mcpl does not offer nobody/knows",
		"odder":     "s broke the protocol: the input that it requires is not what the protocol says",
		"oddest":    "s broke the protocol: the input that it requires is not what the protocol says",
		"never":     "s did not answer tools/call: it asked to come again later 3 times",
		"stateless": "s did not answer tools/call: it asked for more input 10 times",
	} {
		_, err := callFor(t, p, name, opt)
		wantFault(t, err, fault.Protocol, message)
	}
	if got := strings.Count(strings.Join(mcptest.Lines(t, received), "\n"), `"name":"stateless"`); got != maxRounds+1 {
		t.Errorf("asked %d times", got)
	}
}

// The end of the connection ends also the questions that the call itself waits for.
func TestClosedWhileInputIsRequired(t *testing.T) {
	t.Parallel()
	pages := mcptest.Behaviour{Error: &mcptest.Error{Code: -32042, Message: "open", Data: `{"elicitations":[{"mode":"url","url":"https://e.com/1"}]}`}}
	for era, behaviour := range map[string]mcptest.Behaviour{"only": {Rounds: []mcptest.Raw{askRound}}, "": pages} {
		t.Run("modern "+era, func(t *testing.T) {
			t.Parallel()
			p := newPool(t, scripts{"s": {Modern: era, Tools: []mcptest.Tool{{Name: "t", Behaviour: behaviour}}}})
			a := &audience{reply: func(ctx context.Context, q tool.Question) (tool.Reply, error) {
				go p.Close()
				return holding(ctx, q)
			}}
			_, err := callFor(t, p, "t", tool.CallOptions{Audience: a})
			if era != "" {
				wantFault(t, err, fault.Interrupted, "interrupted during tools/call of s")
			} else if err == nil { // the refusal stands, as after a no
				t.Error("no error")
			}
		})
	}
}

// A call that waits for pages to be opened is made again once they are.
func TestPagesToOpen(t *testing.T) {
	t.Parallel()
	wants := func(data mcptest.Raw, times int) mcptest.Behaviour {
		return mcptest.Behaviour{Error: &mcptest.Error{Code: -32042, Message: "open", Data: data}, ErrorTimes: times}
	}
	const pages = `{"elicitations":[{"mode":"url","message":"Log in","url":"https://e.com/1","elicitationId":"1"},{"mode":"url","message":"","url":"https://e.com/2"}]}`
	p := newPool(t, scripts{"s": {Tools: []mcptest.Tool{
		{Name: "once", Text: "done", Behaviour: wants(pages, 1)}, {Name: "always", Behaviour: wants(pages, 0)},
		{Name: "none", Behaviour: wants(`{"elicitations":[]}`, 0)}, {Name: "form", Behaviour: wants(`{"elicitations":[`+askName+`]}`, 0)},
	}}})
	a := &audience{}
	if got, err := callFor(t, p, "once", tool.CallOptions{Audience: a}); err != nil || got != "done" {
		t.Errorf("got %s, %v", got, err)
	}
	if got := a.said(); got != "question of s: Log in https://e.com/1\nquestion of s:  https://e.com/2" {
		t.Errorf("heard %s", got)
	}
	_, err := callFor(t, p, "always", tool.CallOptions{Audience: &audience{}})
	wantFault(t, err, fault.Protocol, "s refused tools/call: open")
	_, err = callFor(t, p, "always", tool.CallOptions{})
	f := wantFault(t, err, fault.ApprovalRequired, "s wants you to open a page first")
	if f.Help != "Open it if you trust it, and type the command again:\n  https://e.com/1 Log in\n  https://e.com/2" || f.Tool != "always" {
		t.Errorf("help %s", f.Help)
	}
	for _, name := range []string{"none", "form"} {
		_, err = callFor(t, p, name, tool.CallOptions{Audience: &audience{}})
		wantFault(t, err, fault.Protocol, "s refused tools/call: open")
	}
}

// Over HTTP a question goes to the request in whose stream it came, and the answer in a request of
// its own.
func TestAskedOverHTTP(t *testing.T) {
	t.Parallel()
	h := &handmade{}
	h.on = map[string]func(http.ResponseWriter, *http.Request, message){
		"tools/call": func(w http.ResponseWriter, r *http.Request, m message) {
			var p struct {
				Name string
				Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
			}
			if err := json.Unmarshal(m.Params, &p); err != nil {
				t.Error(err)
			}
			send := stream(w)
			send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(p.Meta.ProgressToken) + `,"progress":1}}`)
			send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"for ` + p.Name + `"}}`)
			send(`{"jsonrpc":"2.0","id":"q-` + p.Name + `","method":"elicitation/create","params":{"message":"for ` + p.Name + `","requestedSchema":{"type":"object"}}}`)
			h.wait(t, "answer", map[string]int{"one": 1, "two": 3, "three": 3}[p.Name])
			send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + okResult + `}`)
		},
	}
	p := handmadePool(t, h, "")
	nobody, err := p.Call(t.Context(), tool.Ref{Server: "s", Name: "one"}, nil, tool.CallOptions{})
	if err != nil || string(nobody.Raw) != okResult {
		t.Fatal(err)
	}
	// Two at the same time, each answered by its own.
	var wg sync.WaitGroup
	for _, name := range []string{"two", "three"} {
		wg.Go(func() {
			a := &audience{reply: func(context.Context, tool.Question) (tool.Reply, error) {
				return tool.Reply{Action: tool.Accept, Content: json.RawMessage(`{"name":"` + name + `"}`)}, nil
			}}
			if _, err := callFor(t, p, name, tool.CallOptions{Audience: a}); err != nil {
				t.Error(err)
			}
			heard := a.said()
			for _, part := range []string{"progress 1/0 ", `message info  "for ` + name + `"`, "question of s: for " + name + " {"} {
				if !strings.Contains(heard, part) || strings.Count(heard, "for ") != 2 {
					t.Errorf("%s is not in\n%s", part, heard)
				}
			}
		})
	}
	wg.Wait()
	var got []string
	for _, answer := range h.wait(t, "answer", 3) {
		got = append(got, answer.params)
		if answer.header.Get("Mcp-Session-Id") != "S-1" || answer.header.Get("Mcp-Protocol-Version") != "2025-11-25" {
			t.Errorf("headers %v", answer.header)
		}
	}
	slices.Sort(got)
	if strings.Join(got, " ") != `{"action":"accept","content":{"name":"three"}} {"action":"accept","content":{"name":"two"}} {"action":"decline"}` {
		t.Errorf("answers %s", got)
	}
}

// A stream that the server ends before its response is resumed where it ended, although the last event was not the
// response (MCP 2025-11-25, transports, resumability).
func TestResumedStream(t *testing.T) {
	t.Parallel()
	h := &handmade{}
	var id json.RawMessage
	note := func(w io.Writer, n int) {
		fmt.Fprintf(w, "id: e%d\nretry: 10\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":%d}}\n\n", n, id, n)
	}
	h.on = map[string]func(http.ResponseWriter, *http.Request, message){
		"tools/call": func(w http.ResponseWriter, _ *http.Request, m message) {
			id = m.ID
			stream(w)
			note(w, 1)
		},
		"GET": func(w http.ResponseWriter, r *http.Request, _ message) {
			if r.Header.Get("Last-Event-ID") == "" {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			send := stream(w)
			if r.Header.Get("Last-Event-ID") == "e1" {
				note(w, 2)
				return
			}
			send(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + okResult + `}`)
		},
	}
	p := handmadePool(t, h, "")
	a := &audience{}
	if got, err := callFor(t, p, "t", tool.CallOptions{Audience: a}); err != nil || got != "ok" || a.said() != "progress 1/0 \nprogress 2/0 " {
		t.Errorf("got %s, %v; heard %s", got, err, a.said())
	}
	if got := h.wait(t, "GET", 3); got[1].header.Get("Last-Event-ID") != "e1" || got[2].header.Get("Last-Event-ID") != "e2" {
		t.Errorf("%+v", got)
	}
}

// Requests and notifications are taken out of a stream, whatever its shape; the fields to resume it stay.
func TestEventFilter(t *testing.T) {
	t.Parallel()
	const note = `{"jsonrpc":"2.0","method":"a"}`
	for _, tt := range []struct{ in, out, taken string }{
		{"data: {\"id\":1}\n\n", "data: {\"id\":1}\n\n", ""},
		{"id: 7\nretry: 5\nevent: message\ndata: " + note + "\n\ndata: x\n\n", "id: 7\nretry: 5\n\ndata: x\n\n", note},
		{"data:{\"jsonrpc\":\"2.0\",\r\ndata:\"method\":\"a\"}\r\n\r\n: ping\n\n", "\n: ping\n\n", `{"jsonrpc":"2.0", "method":"a"}`},
		{"id: 1\ndata:\n\n", "id: 1\ndata:\n\n", ""},
		{"data: " + note, "\n", note},
		{"data: {\"result\":{\"method\":\"a\"}}\n\n", "data: {\"result\":{\"method\":\"a\"}}\n\n", ""},
	} {
		var taken []string
		take := func(m []byte) { taken = append(taken, strings.TrimSpace(string(m))) }
		out, err := readAll(newEventFilter(body{strings.NewReader(tt.in)}, "", take))
		if err != nil || out != tt.out || strings.Join(taken, "|") != tt.taken {
			t.Errorf("%q: passed on %q, taken %q, %v", tt.in, out, taken, err)
		}
	}
}

func TestKnown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := newPool(t, scripts{
		"new": {Modern: "both", Received: dir + "/new"}, "old": {Received: dir + "/old"}})
	for _, tt := range []struct{ server, first, protocol string }{{"new", "server/discover", "2026-07-28"}, {"old", "server/discover", "2025-11-25"}} {
		l, err := p.List(t.Context(), tt.server, tool.CallOptions{Known: tool.Known{Protocol: "2026-07-28", Transport: "stdio"}})
		if err != nil || l.Known.Protocol != tt.protocol {
			t.Errorf("%+v, %v", l.Known, err)
		}
		if got := mcptest.Lines(t, dir+"/"+tt.server)[0]; !strings.Contains(got, tt.first) {
			t.Errorf("%s was first asked %s", tt.server, got)
		}
	}
}

func TestPinned(t *testing.T) {
	t.Parallel()
	h := &handmade{}
	p := handmadePool(t, h, `, "protocol": "2025-03-26"`)
	_, err := p.List(t.Context(), "s", tool.CallOptions{Known: tool.Known{Protocol: "2026-07-28"}})
	f := wantFault(t, err, fault.Protocol, "s speaks revision 2025-11-25 of the protocol, not 2025-03-26")
	if !strings.Contains(f.Help, `Correct "protocol" of s in `) {
		t.Errorf("help %s", f.Help)
	}
	if got := h.wait(t, "initialize", 1)[0].params; !strings.Contains(got, `"protocolVersion":"2025-03-26"`) || strings.Contains(h.names(), "discover") {
		t.Errorf("%s: %s", h.names(), got)
	}
	same := handmadePool(t, &handmade{}, `, "protocol": "2025-11-25"`)
	if _, err := same.List(context.Background(), "s", tool.CallOptions{}); err != nil {
		t.Error(err)
	}
}
