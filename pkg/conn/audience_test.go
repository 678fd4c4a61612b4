package conn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// audience writes down what it hears, and answers questions by reply.
type audience struct {
	can   tool.Capabilities
	reply func(ctx context.Context, q tool.Question) (tool.Reply, error) // nil: accepts with {"name":"Ann"}

	mu    sync.Mutex
	heard []string
	gone  bool // nothing may be heard any more
}

func (a *audience) note(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := fmt.Sprintf(format, args...)
	if a.gone {
		text = "TOO LATE: " + text
	}
	a.heard = append(a.heard, text)
}

func (a *audience) Progress(p tool.Progress) { a.note("progress %v/%v %s", p.Done, p.Total, p.Message) }
func (a *audience) Can() tool.Capabilities {
	can := a.can
	can.Elicit = true
	return can
}
func (a *audience) Sample(_ context.Context, s tool.Sampling) (json.RawMessage, error) {
	a.note("sampling of %s: %s", s.Server, s.Raw)
	if strings.Contains(string(s.Raw), "refuse") {
		return nil, &tool.UpstreamError{Code: -1, Message: "no", Data: json.RawMessage(`{ "n": 9007199254740993 }`)}
	}
	return json.RawMessage(`{ "role":"assistant","content":{"type":"text","text":"4"}, "model":"m" }`), nil
}
func (a *audience) Roots(context.Context) (json.RawMessage, error) {
	return json.RawMessage(`{"roots":[ {"uri":"file:///own"} ]}`), nil
}
func (a *audience) Message(m tool.Message) { a.note("message %s %s %s", m.Level, m.Logger, m.Data) }
func (a *audience) Elicit(ctx context.Context, q tool.Question) (tool.Reply, error) {
	a.note("question of %s: %s %s%s", q.Server, q.Message, q.Schema, q.URL)
	if a.reply == nil {
		return tool.Reply{Action: tool.Accept, Content: json.RawMessage(`{"name":"Ann"}`)}, nil
	}
	return a.reply(ctx, q)
}

// said returns what was heard, one a line. What comes after is marked.
func (a *audience) said() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone = true
	return strings.Join(a.heard, "\n")
}

// holding answers when it is given up.
func holding(ctx context.Context, _ tool.Question) (tool.Reply, error) {
	<-ctx.Done()
	return tool.Reply{}, ctx.Err()
}

// callFor calls a tool with an audience, and returns the text of its result.
func callFor(t *testing.T, p *Pool, name string, opt tool.CallOptions) (string, error) {
	t.Helper()
	res, err := p.Call(t.Context(), tool.Ref{Server: "s", Name: name}, json.RawMessage("{}"), opt)
	if err != nil {
		return "", err
	}
	var result struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(res.Raw, &result); err != nil || len(result.Content) == 0 {
		t.Fatalf("result %s: %v", res.Raw, err)
	}
	return result.Content[len(result.Content)-1].Text, nil
}

// asking is a tool that asks and answers with the reply.
func asking(name, params string) mcptest.Tool {
	return mcptest.Tool{Name: name, Replies: true, Behaviour: mcptest.Behaviour{Asks: []mcptest.Ask{
		{Method: "elicitation/create", Params: mcptest.Raw(params), Wait: true}}}}
}

const askName = `{"message":"Your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"},"age" : {"type":"integer"}}}}`

func TestProgress(t *testing.T) {
	t.Parallel()
	p := newPool(t, scripts{"s": {Tools: []mcptest.Tool{
		{Name: "p", Text: "done", Behaviour: mcptest.Behaviour{Progress: 3,
			Noise: []string{`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":9999,"progress":7}}`,
				`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"2","progress":7}}`,
				`{"jsonrpc":"2.0","method":"notifications/progress","params":[]}`,
				`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","logger":"db","data":{"b":1,"a":[ 2]}}}`,
				`{"jsonrpc":"2.0","method":"notifications/message","params":7}`}}},
	}}})
	a := &audience{}
	if got, err := callFor(t, p, "p", tool.CallOptions{Audience: a}); err != nil || got != "done" {
		t.Errorf("got %q, %v", got, err)
	}
	want := `message warning db {"b":1,"a":[ 2]}` + "\nprogress 1/3 step 1\nprogress 2/3 step 2\nprogress 3/3 step 3"
	if got := a.said(); got != want {
		t.Errorf("heard:\n%s", got)
	}
	mustCall(t, p, "s", "p") // without an audience
	r, questions := p.slots["s"].session.router, 0
	r.questions.Range(func(_, _ any) bool { questions++; return true })
	if len(r.requests)+len(r.calls)+questions != 0 {
		t.Errorf("the router remembers %d requests, %d calls, %d questions", len(r.requests), len(r.calls), questions)
	}
	if got := a.said(); got != want {
		t.Errorf("heard after the end:\n%s", got)
	}
}

// Progress keeps a request alive beyond its limit, but not for ever.
func TestProgressExtendsTheLimit(t *testing.T) {
	t.Parallel()
	const tick = 50 * time.Millisecond
	p := newPool(t, scripts{"s": {Tools: []mcptest.Tool{
		{Name: "long", Text: "done", Behaviour: mcptest.Behaviour{Progress: 60, Every: mcptest.Duration(tick)}},
		{Name: "endless", Behaviour: mcptest.Behaviour{Progress: 1000, Every: mcptest.Duration(tick)}},
	}}})
	// The limit is 40 ticks: a machine would have to sleep for two seconds to miss it.
	if got, err := callFor(t, p, "long", tool.CallOptions{Timeout: 40 * tick}); err != nil || got != "done" {
		t.Errorf("got %q, %v", got, err)
	}
	_, err := callFor(t, p, "endless", tool.CallOptions{Timeout: 40 * tick, MaxTime: 10 * tick})
	f := wantFault(t, err, fault.Timeout, "s did not finish tools/call within 500ms in all")
	if f.Help != "Give it more time with --max-time 1s." {
		t.Errorf("help %s", f.Help)
	}
}

func TestElicitation(t *testing.T) {
	t.Parallel()
	const url = `{"mode":"url","message":"Log in","url":"https://example.com/login?a=1","elicitationId":"e"}`
	giving := func(r tool.Reply) func(context.Context, tool.Question) (tool.Reply, error) {
		return func(context.Context, tool.Question) (tool.Reply, error) { return r, nil }
	}
	for _, tt := range []struct {
		name, params string
		audience     *audience
		heard, reply string
	}{
		{"accepted, the schema byte for byte", askName, &audience{},
			`question of s: Your name? {"type":"object","properties":{"name":{"type":"string"},"age" : {"type":"integer"}}}`,
			`{"action":"accept","content":{"name":"Ann"}}`},
		{"declined", askName, &audience{reply: giving(tool.Reply{Action: tool.Decline, Content: json.RawMessage(`{}`)})}, "question", `{"action":"decline"}`},
		{"given up", askName,
			&audience{reply: func(context.Context, tool.Question) (tool.Reply, error) { return tool.Reply{}, errors.New("no") }},
			"question", `{"action":"cancel"}`},
		{"no such action", askName, &audience{reply: giving(tool.Reply{Action: "yes"})}, "question", `{"action":"cancel"}`},
		{"no object", askName, &audience{reply: giving(tool.Reply{Action: tool.Accept, Content: json.RawMessage(`[]`)})}, "question", `{"action":"cancel"}`},
		{"nobody there", askName, nil, "", `{"action":"decline"}`},
		{"a page", url, &audience{reply: giving(tool.Reply{Action: tool.Accept, Content: json.RawMessage(`{}`)})},
			`question of s: Log in https://example.com/login?a=1`, `{"action":"accept"}`},
		{"a file", `{"mode":"url","message":"m","url":"file:///etc/passwd"}`, &audience{}, "", `{"code":-32602,"message":"url is not an http:// or https:// address"}`},
		{"no schema", `{"message":"m"}`, &audience{}, "", `{"code":-32602,"message":"requestedSchema is not an object"}`},
		{"no such mode", `{"mode":"x"}`, &audience{}, "", `{"code":-32602,"message":"mcpl knows only the modes form and url"}`},
		{"no params", `7`, &audience{}, "", `{"code":-32602,"message":"the params of elicitation/create cannot be read"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t, scripts{"s": {Tools: []mcptest.Tool{asking("ask", tt.params)}}})
			opt := tool.CallOptions{}
			if tt.audience != nil {
				opt.Audience = tt.audience
			}
			got, err := callFor(t, p, "ask", opt)
			if err != nil || got != tt.reply {
				t.Errorf("reply %s, %v", got, err)
			}
			if tt.audience != nil && (!strings.HasPrefix(tt.audience.said(), tt.heard) ||
				tt.heard == "" && tt.audience.said() != "") {
				t.Errorf("heard %s", tt.audience.said())
			}
		})
	}
}

// A limit does not pass while a person thinks. The question ends with its request.
func TestQuestionsAndLimits(t *testing.T) {
	t.Parallel()
	p := newPool(t, scripts{"s": {Tools: []mcptest.Tool{asking("ask", askName), asking("slow", askName)}}})
	pauses := 0
	a := &audience{reply: func(context.Context, tool.Question) (tool.Reply, error) {
		c := p.slots["s"].session.router.calls[0].clock
		c.mu.Lock()
		defer c.mu.Unlock()
		pauses = c.pauses
		return tool.Reply{Action: tool.Decline}, nil
	}}
	if got, err := callFor(t, p, "ask", tool.CallOptions{Audience: a}); err != nil || got != `{"action":"decline"}` || pauses != 1 {
		t.Errorf("got %q, %v; the clock stood still %d times", got, err, pauses)
	}

	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan struct{})
	b := &audience{reply: func(ctx context.Context, _ tool.Question) (tool.Reply, error) {
		cancel()
		<-ctx.Done()
		close(given)
		return tool.Reply{}, ctx.Err()
	}}
	_, err := p.Call(ctx, tool.Ref{Server: "s", Name: "slow"}, nil, tool.CallOptions{Audience: b})
	wantFault(t, err, fault.Interrupted, "interrupted during tools/call of s")
	select {
	case <-given:
	default:
		t.Error("the call has returned before its question was given up")
	}
}

// The server takes its question back: the one who is asked learns it.
func TestQuestionTakenBack(t *testing.T) {
	t.Parallel()
	tl := mcptest.Tool{Name: "ask", Text: "done", Behaviour: mcptest.Behaviour{Asks: []mcptest.Ask{
		{Method: "elicitation/create", Params: askName, ID: `"q"`},
		{Method: "ping", Wait: true},
		{Method: "notifications/cancelled", Params: `{"requestId":"q"}`, ID: "none"},
		{Method: "notifications/cancelled", Params: `{"requestId":"none such"}`, ID: "none"},
	}}}
	answers := t.TempDir() + "/answers"
	p := newPool(t, scripts{"s": {Answers: answers, Tools: []mcptest.Tool{tl}}})
	a := &audience{reply: func(ctx context.Context, _ tool.Question) (tool.Reply, error) {
		<-ctx.Done() // were it not withdrawn, no answer would come
		return tool.Reply{}, ctx.Err()
	}}
	if _, err := callFor(t, p, "ask", tool.CallOptions{Audience: a}); err != nil {
		t.Error(err)
	}
	if got := strings.Join(mcptest.WaitLines(t, answers, 2), "\n"); !strings.Contains(got, `{"jsonrpc":"2.0","id":"q","result":{"action":"cancel"}}`) {
		t.Errorf("answers:\n%s", got)
	}
}

// Over HTTP too a withdrawn question is answered, although what asked it has ended.
func TestQuestionTakenBackOverHTTP(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	h := &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){
		"tools/call": func(w http.ResponseWriter, r *http.Request, m message) {
			send := stream(w)
			send(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":` + askName + `}`)
			select {
			case <-asked:
			case <-r.Context().Done():
			}
			send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}`)
			send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + okResult + `}`)
		},
	}}
	p := handmadePool(t, h, "")
	a := &audience{reply: func(ctx context.Context, _ tool.Question) (tool.Reply, error) {
		close(asked)
		<-ctx.Done()
		return tool.Reply{}, ctx.Err()
	}}
	if got, err := callFor(t, p, "t", tool.CallOptions{Audience: a}); got != "ok" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got := h.wait(t, "answer", 1)[0].params; got != `{"action":"cancel"}` {
		t.Errorf("answered with %s", got)
	}
}

// Over stdio a question goes to the oldest running request that has an audience.
func TestOldestIsAsked(t *testing.T) {
	t.Parallel()
	received := t.TempDir() + "/received"
	p := newPool(t, scripts{"s": {Received: received, Tools: []mcptest.Tool{
		{Name: "wait", Behaviour: mcptest.Behaviour{Delay: mcptest.Duration(time.Minute)}},
		asking("ask", askName)}}})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wait := func(n int, a tool.Audience) {
		wg.Go(func() {
			_, err := p.Call(ctx, tool.Ref{Server: "s", Name: "wait"}, nil, tool.CallOptions{Audience: a})
			wantFault(t, err, fault.Interrupted, "")
		})
		mcptest.WaitLines(t, received, n)
	}
	oldest, second, own := &audience{}, &audience{}, &audience{}
	wait(3, nil)
	wait(4, oldest)
	wait(5, second)
	if got, err := callFor(t, p, "ask", tool.CallOptions{Audience: own}); err != nil || !strings.Contains(got, "Ann") {
		t.Errorf("got %s, %v", got, err)
	}
	cancel()
	wg.Wait()
	if oldest.said() == "" || second.said()+own.said() != "" {
		t.Errorf("heard: %q, %q, %q", oldest.said(), second.said(), own.said())
	}
}

// A call that is being asked something waits for that answer: what is asked meanwhile is for another.
func TestQuestionsAtTheSameTime(t *testing.T) {
	t.Parallel()
	p := newPool(t, scripts{"s": {Tools: []mcptest.Tool{asking("ask", askName)}}})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 2 {
		asked := make(chan struct{})
		a := &audience{reply: func(ctx context.Context, q tool.Question) (tool.Reply, error) {
			close(asked) // a second question to this one would panic
			return holding(ctx, q)
		}}
		wg.Go(func() {
			_, err := p.Call(ctx, tool.Ref{Server: "s", Name: "ask"}, nil, tool.CallOptions{Audience: a})
			wantFault(t, err, fault.Interrupted, "")
		})
		<-asked
	}
	if got, err := callFor(t, p, "ask", tool.CallOptions{Audience: &audience{}}); err != nil || !strings.Contains(got, "Ann") {
		t.Errorf("got %s, %v", got, err)
	}
	cancel()
	wg.Wait()
}

// A URL that no person should be sent to, or could not judge, is refused; what a server adds stays on its line.
func TestQuestionableURLs(t *testing.T) {
	t.Parallel()
	for url, ok := range map[string]bool{"https://example.com/a?b=c#d": true, "http://127.0.0.1:80/": true, "https://example.com/ü": true,
		"javascript:alert(1)": false, "file:///etc/passwd": false, "data:text/html,x": false, "//example.com": false, "https://": false, "https://:443/": false,
		"https://bank.example@evil.example/": false, "https://a:b@evil.example/": false, "https://example.com/\nhint: mcpl auth logout s": false,
		"https://example.com/?a=\u202egpj": false, "https://example.com/a b": false, "https://example.com/" + strings.Repeat("a", maxURL): false} {
		q, wrong := questionIn("s", json.RawMessage(`{"mode":"url","message":"m","url":`+string(tool.Quote(url))+`}`))
		if (wrong == "") != ok || ok && q.URL != url {
			t.Errorf("%q: %q %+v", url, wrong, q)
		}
	}
	s := &session{server: &config.Server{Name: "s"}}
	f := s.pagesFirst(&unopened{pages: []tool.Question{{URL: "https://example.com/", Message: "now\nhint: mcpl auth logout s"}}, cause: new(refusal)})
	if strings.Count(f.Help, "\n") != 1 {
		t.Errorf("%q", f.Help)
	}
}
