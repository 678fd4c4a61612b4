package conn

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// A request of any method crosses verbatim, its result and its error too.
func TestRequest(t *testing.T) {
	t.Parallel()
	received := t.TempDir() + "/received"
	p := newPool(t, scripts{"s": {Received: received, Methods: map[string]mcptest.Behaviour{
		"completion/complete": {Result: `{ "completion":{"values":["<a>&"],"n":9007199254740993, "x":1.0} }`},
		"vendor/odd":          {Error: &mcptest.Error{Code: -32099, Message: "no <such>", Data: `{"why":"so"}`}},
		"vendor/ends":         {Exit: &mcptest.Exit{Code: 3}},
	}}})
	opt := tool.CallOptions{}
	params := json.RawMessage(`{"ref": {"type":"ref/prompt"}, "_meta":{"mine": 9007199254740993,"progressToken":"x"},"n":1.0}`)
	got, err := p.Request(t.Context(), "s", "completion/complete", params, opt)
	if want := `{ "completion":{"values":["<a>&"],"n":9007199254740993, "x":1.0} }`; string(got) != want || err != nil {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
	sent := mcptest.Lines(t, received)
	if want := `"params":{"ref":{"type":"ref/prompt"},"n":1.0,"_meta":{"progressToken":2,"mine":9007199254740993}}}`; !strings.HasSuffix(
		sent[len(sent)-1], want) {
		t.Errorf("sent %s\nwant ...%s", sent[len(sent)-1], want)
	}
	_, err = p.Request(t.Context(), "s", "vendor/odd", nil, opt)
	var upstream *tool.UpstreamError
	if !errors.As(err, &upstream) || upstream.Code != -32099 || upstream.Message != "no <such>" || string(upstream.Data) != `{"why":"so"}` {
		t.Errorf("error %+v", err)
	}
	if _, err = p.Request(t.Context(), "s", "vendor/unknown", nil, opt); !errors.As(err, &upstream) || upstream.Code != -32601 {
		t.Errorf("an unknown method: %v", err)
	}
	for _, odd := range []string{"[]", "{", "7"} {
		if _, err := p.Request(t.Context(), "s", "ping", json.RawMessage(odd), opt); !fault.Is(err, fault.InvalidArguments) {
			t.Errorf("params %s: %v", odd, err)
		}
	}
	if _, err = p.Request(t.Context(), "s", "vendor/ends", nil, opt); !fault.Is(err, fault.ServerConnection) {
		t.Errorf("a server that ends: %v", err)
	}
	if _, err = p.Request(t.Context(), "other", "ping", nil, opt); !fault.Is(err, fault.ServerNotFound) {
		t.Errorf("an unknown server: %v", err)
	}
}

// A server's request to a language model, or for roots, goes to the audience of its call if that has them.
func TestSamplingAndRoots(t *testing.T) {
	t.Parallel()
	ask := func(name, method, params string) mcptest.Tool {
		return mcptest.Tool{Name: name, Replies: true, Behaviour: mcptest.Behaviour{
			Asks: []mcptest.Ask{{Method: method, Params: mcptest.Raw(params), Wait: true}}}}
	}
	p := newPool(t, scripts{"s": {Tools: []mcptest.Tool{
		ask("sample", "sampling/createMessage", `{"maxTokens":1.0,"messages":[]}`),
		ask("refused", "sampling/createMessage", `{"refuse":true}`),
		ask("roots", "roots/list", ``),
	}}}, func(o *Options) { o.Root = "/w" })
	can := tool.Capabilities{Sample: true, Roots: true}
	for name, c := range map[string]struct {
		tool string
		can  tool.Capabilities
		want string
	}{
		"a model answers":       {"sample", can, `{ "role":"assistant","content":{"type":"text","text":"4"}, "model":"m" }`},
		"a model's error":       {"refused", can, `{"code":-1,"message":"no","data":{ "n": 9007199254740993 }}`},
		"there is no model":     {"sample", tool.Capabilities{Roots: true}, noModel},
		"roots of the audience": {"roots", can, `{"roots":[ {"uri":"file:///own"} ]}`},
		"roots of the entry":    {"roots", tool.Capabilities{}, `file:///w`},
	} {
		t.Run(name, func(t *testing.T) { // one after the other: a question over stdio does not say which call of a client asks
			a := &audience{can: c.can}
			got, err := callFor(t, p, c.tool, tool.CallOptions{Audience: a})
			if err != nil || !strings.Contains(got, c.want) {
				t.Errorf("got  %s, %v\nwant %s", got, err, c.want)
			}
		})
	}
	if got, err := callFor(t, p, "sample", tool.CallOptions{}); err != nil || !strings.Contains(got, noModel) {
		t.Errorf("without an audience: %s, %v", got, err)
	}
}

// The raw params travel beside what mcpl has decoded.
func TestRawForms(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var raws []string
	a := &rawAudience{take: func(raw json.RawMessage) {
		mu.Lock()
		defer mu.Unlock()
		raws = append(raws, string(raw))
	}}
	p := newPool(t, scripts{"s": {Tools: []mcptest.Tool{{Name: "t", Text: "x", Behaviour: mcptest.Behaviour{Progress: 1,
		Noise: []string{`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1.0,"own":1.0}}`},
		Asks:  []mcptest.Ask{{Method: "elicitation/create", Params: `{"message":"m","requestedSchema":{"type":"object"},"own":1.0}`, Wait: true}},
	}}}}})
	if _, err := callFor(t, p, "t", tool.CallOptions{Audience: a}); err != nil {
		t.Fatal(err)
	}
	want := []string{`{"level":"info","data":1.0,"own":1.0}`, `{"progressToken":2,"progress":1,"total":1,"message":"step 1"}`,
		`{"message":"m","requestedSchema":{"type":"object"},"own":1.0}`}
	for _, w := range want {
		if !strings.Contains(strings.Join(raws, "\n"), w) {
			t.Errorf("%s is missing in\n%s", w, strings.Join(raws, "\n"))
		}
	}
}

type rawAudience struct {
	tool.Unable
	take func(raw json.RawMessage)
}

func (a *rawAudience) Progress(p tool.Progress) { a.take(p.Raw) }
func (a *rawAudience) Message(m tool.Message)   { a.take(m.Raw) }
func (a *rawAudience) Elicit(_ context.Context, q tool.Question) (tool.Reply, error) {
	a.take(q.Raw)
	return tool.Reply{Action: tool.Accept, Content: json.RawMessage("{}")}, nil
}

// Who watches a server hears of what belongs to no call, until that is stopped; others do not.
func TestWatch(t *testing.T) {
	t.Parallel()
	say := func(method, params string) mcptest.Behaviour {
		return mcptest.Behaviour{Noise: []string{`{"jsonrpc":"2.0","method":"` + method + `","params":` + params + `}`}}
	}
	p := newPool(t, scripts{"s": {Tools: []mcptest.Tool{
		{Name: "updates", Text: "x", Behaviour: say("notifications/resources/updated", `{"uri":"a://b", "n":1.0}`)},
		{Name: "changes", Text: "x", Behaviour: say("notifications/tools/list_changed", `{}`)},
		{Name: "logs", Text: "x", Behaviour: say("notifications/message", `{"level":"info","data":1}`)},
	}}, "other": {Tools: []mcptest.Tool{{Name: "updates", Text: "x", Behaviour: say("notifications/resources/updated", `{}`)}}}})
	events := make(chan tool.Event, 9)
	stop, err := p.Watch(t.Context(), "s", tool.CallOptions{}, func(e tool.Event) { events <- e }) // nothing runs yet
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	short := make(chan tool.Event, 9)
	if _, err := p.Watch(ctx, "s", tool.CallOptions{}, func(e tool.Event) { short <- e }); err != nil {
		t.Fatal(err)
	}
	mustCall(t, p, "other", "updates")
	mustCall(t, p, "s", "logs")
	mustCall(t, p, "s", "updates")
	mustCall(t, p, "s", "changes")
	for _, want := range []tool.Event{{Server: "s", Method: "notifications/resources/updated", Params: json.RawMessage(`{"uri":"a://b", "n":1.0}`)},
		{Server: "s", Method: "notifications/tools/list_changed", Params: json.RawMessage(`{}`)}} {
		for _, heard := range []tool.Event{<-events, <-short} {
			if heard.Server != want.Server || heard.Method != want.Method || string(heard.Params) != string(want.Params) {
				t.Errorf("heard %s %s, want %s", heard.Method, heard.Params, want.Method)
			}
		}
	}
	cancel()
	stop()
	stop() // again does nothing
	mcptest.Wait(t, "nobody watches", func() bool { return !p.watched("s") })
	mustCall(t, p, "s", "updates")
	if len(events)+len(short) != 0 {
		t.Error("an event came after the end")
	}
	if _, err := p.Watch(t.Context(), "unknown", tool.CallOptions{}, nil); !fault.Is(err, fault.ServerNotFound) {
		t.Errorf("an unknown server: %v", err)
	}
	p.Close()
	if _, err := p.Watch(t.Context(), "s", tool.CallOptions{}, nil); err == nil {
		t.Errorf("a closed pool: %v", err)
	}
}

// The data of a server's error crosses byte for byte, whatever the transport.
func TestErrorData(t *testing.T) {
	t.Parallel()
	const data = `{ "n": 9007199254740993, "b":1.0, "a":[] }`
	answer := func(m message) string {
		return `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32099,"message":"no","data": ` + data + ` }}`
	}
	plain := func(status int) func(t *testing.T) *Pool {
		return func(t *testing.T) *Pool {
			return handmadePool(t, &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){
				methodCall: func(w http.ResponseWriter, _ *http.Request, m message) {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(status)
					_, _ = io.WriteString(w, answer(m))
				}}}, "")
		}
	}
	for name, pool := range map[string]func(t *testing.T) *Pool{
		"stdio": func(t *testing.T) *Pool {
			return newPool(t, scripts{"s": {Methods: map[string]mcptest.Behaviour{
				methodCall: {Error: &mcptest.Error{Code: -32099, Message: "no", Data: data}}}}})
		},
		"HTTP, JSON":                plain(http.StatusOK),
		"HTTP, JSON, status of 400": plain(http.StatusBadRequest),
		"HTTP, events": func(t *testing.T) *Pool {
			return handmadePool(t, &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){
				methodCall: func(w http.ResponseWriter, _ *http.Request, m message) { stream(w)(answer(m)) }}}, "")
		},
		"SSE": func(t *testing.T) *Pool {
			return ssePool(t, &sseServer{call: func(send func(string), m message, _ func()) { send(answer(m)) }})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := pool(t)
			_, err := p.Request(t.Context(), "s", methodCall, nil, tool.CallOptions{})
			var upstream *tool.UpstreamError
			if !errors.As(err, &upstream) || upstream.Code != -32099 || string(upstream.Data) != data {
				t.Errorf("error %v with data %s", err, upstream.Data)
			}
			if r := p.slots["s"].session.router; len(r.data) != 0 {
				t.Errorf("%d data are kept after the end of the call", len(r.data))
			}
		})
	}
}

// However a plain response is cut into pieces, it is looked at once: as soon as it is whole.
func TestErrorInPieces(t *testing.T) {
	t.Parallel()
	const answer = `{"id":1,"error":{"data":[{"a":"}\\\"]}"},{}],"code":1}}`
	for name, reader := range map[string]func(io.Reader) io.Reader{
		"whole":        func(r io.Reader) io.Reader { return r },
		"byte by byte": iotest.OneByteReader,
		"in halves":    iotest.HalfReader,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var taken []string
			b := &limitedBody{ReadCloser: io.NopCloser(reader(strings.NewReader(answer + "\n{}{}"))), exchange: new(httpExchange),
				take: func(message []byte) { taken = append(taken, string(message)) }}
			if _, err := io.ReadAll(b); err != nil || len(taken) != 1 || !strings.HasPrefix(taken[0], answer) {
				t.Errorf("looked at %q, %v", taken, err)
			}
		})
	}
}

// TestElicitingIsDeclaredForThoseWhoCan: a request of MCP 2026-07-28 says that questions can be asked only if its
// audience can.
func TestElicitingIsDeclaredForThoseWhoCan(t *testing.T) {
	t.Parallel()
	s := &session{version: "2026-07-28"}
	for _, can := range []bool{true, false} {
		c := &call{audience: &unasked{can}}
		if got := s.capabilities(true, c).Elicitation != nil; got != can {
			t.Errorf("%v: %v", can, got)
		}
	}
	if s.capabilities(false, nil).Elicitation == nil {
		t.Error("the handshake does not declare it")
	}
}

// unasked is an audience that can be asked, or not.
type unasked struct{ can bool }

func (u *unasked) Can() tool.Capabilities { return tool.Capabilities{Elicit: u.can} }

func (*unasked) Progress(tool.Progress) {}
func (*unasked) Message(tool.Message)   {}
func (*unasked) Elicit(context.Context, tool.Question) (tool.Reply, error) {
	return tool.Reply{Action: tool.Decline}, nil
}
func (*unasked) Sample(context.Context, tool.Sampling) (json.RawMessage, error) { return nil, nil }
func (*unasked) Roots(context.Context) (json.RawMessage, error)                 { return nil, nil }
