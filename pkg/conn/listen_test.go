package conn

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// changes returns an option that reports each change of lists into the channel.
func changes(listen bool) (chan string, func(*Options)) {
	c := make(chan string, 100)
	return c, func(o *Options) { o.Changed, o.Listen = func(server string) { c <- server }, listen }
}

// heard waits for a change.
func heard(t *testing.T, c <-chan string) {
	t.Helper()
	select {
	case name := <-c:
		if name != "s" {
			t.Errorf("heard of %s", name)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("no change was heard of")
	}
}

// Every kind of list_changed is passed on, but not those of the handshake.
func TestChangedLists(t *testing.T) {
	t.Parallel()
	var tell []mcptest.Ask
	for _, what := range []string{"tools", "resources", "prompts"} {
		tell = append(tell, mcptest.Ask{Method: "notifications/" + what + "/list_changed", ID: "none"})
	}
	c, option := changes(false)
	p := newPool(t, scripts{"s": {Methods: map[string]mcptest.Behaviour{"initialize": {Asks: tell[:1]}},
		Tools: []mcptest.Tool{{Name: "t", Behaviour: mcptest.Behaviour{Asks: tell}}}}}, option)
	mustCall(t, p, "s", "t")
	if len(c) != 3 {
		t.Errorf("heard of %d changes", len(c))
	}
}

// The stream of a GET is opened again when it ends, until the server has none any more.
func TestListenOverHTTP(t *testing.T) {
	t.Parallel()
	gets := 0
	h := &handmade{}
	type handler = func(http.ResponseWriter, *http.Request, message)
	h.on = map[string]handler{"GET": func(w http.ResponseWriter, r *http.Request, _ message) {
		if gets++; gets > 2 {
			w.WriteHeader(http.StatusNotFound) // which is not the end of the session
			return
		}
		send := stream(w)
		send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"p%d","method":"ping"}`, gets))
		send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	}}
	c, option := changes(true)
	p := handmadePool(t, h, "", option)
	mustCall(t, p, "s", "t")
	heard(t, c)
	heard(t, c)
	got := h.wait(t, "GET", 3)
	h.wait(t, "answer", 2)
	if got[0].header.Get("Mcp-Session-Id") != "S-1" || got[0].header.Get("Accept") != "text/event-stream" {
		t.Errorf("headers %v", got[0].header)
	}
	mustCall(t, p, "s", "t")
	p.Close()
	if got := len(h.wait(t, "initialize", 1)); got != 1 {
		t.Errorf("%d sessions", got)
	}
}

// Without a wish for notifications the stream is opened by the first call alone: what its server asks
// may come there.
func TestAskedOnTheOtherStream(t *testing.T) {
	t.Parallel()
	h := &handmade{}
	asked := make(chan struct{})
	h.on = map[string]func(http.ResponseWriter, *http.Request, message){
		"GET": func(w http.ResponseWriter, r *http.Request, _ message) {
			send := stream(w)
			<-asked
			send(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":` + askName + `}`)
			<-r.Context().Done()
		},
		"tools/call": func(w http.ResponseWriter, _ *http.Request, m message) {
			close(asked)
			h.wait(t, "answer", 1)
			result(w, m, okResult)
		},
	}
	p := handmadePool(t, h, "")
	if _, err := p.List(t.Context(), "s", tool.CallOptions{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(h.names(), "GET") {
		t.Errorf("requests %s", h.names())
	}
	if _, err := callFor(t, p, "t", tool.CallOptions{Audience: &audience{}}); err != nil {
		t.Fatal(err)
	}
	if got := h.wait(t, "answer", 1)[0].params; got != `{"action":"accept","content":{"name":"Ann"}}` {
		t.Errorf("answer %s", got)
	}
	p.Close()
	if got := h.names(); !strings.HasPrefix(got, "initialize notifications/initialized tools/list GET tools/call answer ") {
		t.Errorf("requests %s", got)
	}
}

// From 2026-07-28 on a subscription brings them, over any transport.
func TestSubscription(t *testing.T) {
	t.Parallel()
	const changed = `{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"1"}}}`
	h := &handmade{}
	h.on = map[string]func(http.ResponseWriter, *http.Request, message){
		"server/discover": func(w http.ResponseWriter, _ *http.Request, m message) {
			result(w, m, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{"listChanged":true}}}`)
		},
		"subscriptions/listen": func(w http.ResponseWriter, r *http.Request, m message) {
			stream(w)(changed)
			<-r.Context().Done()
		},
	}
	c, option := changes(true)
	p := handmadePool(t, h, `, "protocol": "2026-07-28"`, option)
	mustCall(t, p, "s", "t")
	heard(t, c)
	if got := h.wait(t, "subscriptions/listen", 1)[0].params; !strings.HasPrefix(got, `{"notifications":{"promptsListChanged":true},"_meta":{`) {
		t.Errorf("params %s", got)
	}
	p.Close()

	c, option = changes(true)
	over := newPool(t, scripts{"s": {Modern: "only", Methods: map[string]mcptest.Behaviour{"subscriptions/listen": {Asks: []mcptest.Ask{
		{Method: "notifications/tools/list_changed", ID: "none"}}}}}}, option)
	if _, err := over.List(t.Context(), "s", tool.CallOptions{}); err != nil {
		t.Fatal(err)
	}
	heard(t, c)
	var log strings.Builder
	none := newPool(t, scripts{"s": {Modern: "only", Capabilities: `{"tools":{}}`}}, func(o *Options) { o.Listen, o.Log = true, logTo(&log) })
	if _, err := none.List(t.Context(), "s", tool.CallOptions{}); err != nil {
		t.Fatal(err)
	}
	none.Close()
	if !strings.Contains(log.String(), "s: it sends no notifications: it declares none\n") {
		t.Errorf("log:\n%s", log.String())
	}
}

// With a log, a server is asked for all its messages; they reach it masked and cut.
func TestLogMessages(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	received := t.TempDir() + "/received"
	say := func(params string) mcptest.Ask {
		return mcptest.Ask{Method: "notifications/message", Params: mcptest.Raw(params), ID: "none"}
	}
	p := newPool(t, scripts{"s": {Received: received, Capabilities: `{"tools":{},"logging":{}}`,
		Tools: []mcptest.Tool{{Name: "t", Behaviour: mcptest.Behaviour{Asks: []mcptest.Ask{
			say(`{"level":"info","logger":"db","data":"ready"}`), say(`{"level":"debug","data":{"a": 1}}`), say(`{"level":"error","data":"` + strings.Repeat("x", maxLogged+1) + `"}`)}}}}}},
		func(o *Options) { o.Log = logTo(&log) })
	mustCall(t, p, "s", "t")
	p.Close()
	for _, part := range []string{"s: info db: ready\n", `s: debug: {"a": 1}` + "\n", "s: error: " + strings.Repeat("x", maxLogged-len("error: ")) + "…\n"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("%q is not in the log", part[:min(len(part), 60)])
		}
	}
	if got := mcptest.Lines(t, received)[2]; !strings.Contains(got, `"method":"logging/setLevel","params":{"level":"debug"}`) {
		t.Errorf("received %s", got)
	}
}

// An entry that leaves the transport open is reached first over the one that worked before.
func TestKnownTransport(t *testing.T) {
	t.Parallel()
	old := &sseServer{}
	url := serve(t, old) + "/sse"
	var log strings.Builder
	p := urlPool(t, map[string]string{"s": fmt.Sprintf(`"url": %q`, url)}, func(o *Options) { o.Log = logTo(&log) })
	l, err := p.List(t.Context(), "s", tool.CallOptions{Known: tool.Known{Protocol: "2024-11-05", Transport: "sse"}})
	if err != nil || l.Known != (tool.Known{Protocol: "2024-11-05", Transport: "sse"}) {
		t.Errorf("%+v, %v", l.Known, err)
	}
	p.Close()
	if strings.Contains(log.String(), "over http") {
		t.Errorf("log:\n%s", log.String())
	}
	// The server speaks another revision than is known.
	h := &handmade{}
	moved := handmadePool(t, h, "")
	l, err = moved.List(t.Context(), "s", tool.CallOptions{Known: tool.Known{Transport: "sse"}})
	if err != nil || l.Known.Transport != "http" || !strings.HasPrefix(h.names(), "GET initialize") {
		t.Errorf("%+v, %v: %s", l.Known, err, h.names())
	}
	gone := urlPool(t, map[string]string{"s": `"url": "http://127.0.0.1:1/"`})
	_, err = gone.List(t.Context(), "s", tool.CallOptions{Known: tool.Known{Transport: "sse"}})
	if err == nil || !strings.Contains(err.Error(), "nothing listens at 127.0.0.1:1") {
		t.Error(err)
	}
}

// A server that asks and asks, and waits for no answer, costs us no more than so many at a time.
func TestTooManyQuestions(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	var asks []mcptest.Ask
	for i := range maxWaiting + 10 {
		asks = append(asks, mcptest.Ask{Method: "elicitation/create", Params: askName, ID: mcptest.Raw(fmt.Sprint(1000 + i))})
	}
	asks = append(asks, mcptest.Ask{Method: "notifications/tools/list_changed", ID: "none"})
	c, option := changes(false)
	p := newPool(t,
		scripts{"s": {Tools: []mcptest.Tool{{Name: "t", Behaviour: mcptest.Behaviour{Asks: asks, Never: true}}}}}, option,
		func(o *Options) { o.Log = logTo(&log) })
	done := make(chan error, 1)
	hold := &audience{reply: holding}
	go func() { // ends with the pool
		_, err := p.Call(t.Context(), tool.Ref{Server: "s", Name: "t"}, nil, tool.CallOptions{Audience: hold})
		done <- err
	}()
	heard(t, c)
	p.Close()
	<-done
	if got := strings.Count(log.String(), "questions of the server wait for an answer; elicitation/create is dropped"); got != 10 {
		t.Errorf("%d were dropped", got)
	}
}

// A caller subscribes to a resource of a server since 2026-07-28 as it does at an older one: a request is held open for
// it, once, and ends with the subscription. A refusal of the server is the answer.
func TestSubscribeToResource(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	received, cancelled := dir+"/received", dir+"/cancelled"
	script := mcptest.Script{Modern: "only", Received: received, Cancelled: cancelled, Capabilities: `{"tools":{},"resources":{"subscribe":true}}`,
		Methods: map[string]mcptest.Behaviour{"subscriptions/listen": {Asks: []mcptest.Ask{{Method: "notifications/resources/updated",
			Params: `{"uri":"a:one","_meta":{"io.modelcontextprotocol/subscriptionId":1}}`, ID: "none"}}}}}
	refusing := mcptest.Script{Modern: "only", Methods: map[string]mcptest.Behaviour{"subscriptions/listen": {
		Error: &mcptest.Error{Code: -32602, Message: "no such resource"}}}}
	p := newPool(t, scripts{"s": script, "no": refusing})
	events := make(chan tool.Event, 9)
	if _, err := p.Watch(t.Context(), "s", tool.CallOptions{}, func(e tool.Event) { events <- e }); err != nil {
		t.Fatal(err)
	}
	ask := func(server, method string) error {
		_, err := p.Request(t.Context(), server, method, json.RawMessage(`{"uri":"a:one"}`), tool.CallOptions{})
		return err
	}
	for range 2 {
		if err := ask("s", "resources/subscribe"); err != nil {
			t.Fatal(err)
		}
	}
	if e := <-events; e.Method != "notifications/resources/updated" || !strings.Contains(string(e.Params), `"a:one"`) {
		t.Errorf("heard %+v", e)
	}
	listens := func() int {
		return strings.Count(strings.Join(mcptest.Lines(t, received), "\n"), `"resourceSubscriptions":["a:one"]`)
	}
	if n := listens(); n != 1 {
		t.Errorf("%d requests are held open", n)
	}
	if err := ask("s", "resources/unsubscribe"); err != nil {
		t.Fatal(err)
	}
	mcptest.WaitLines(t, cancelled, 1)
	if err := ask("s", "resources/unsubscribe"); err != nil { // again does nothing
		t.Error(err)
	}
	if err := ask("s", "resources/subscribe"); err != nil || listens() != 2 {
		t.Errorf("once more: %v, %d requests", err, listens())
	}
	var refused *tool.UpstreamError
	for range 2 {
		if err := ask("no", "resources/subscribe"); !errors.As(err, &refused) || refused.Code != -32602 {
			t.Errorf("refused: %v", err)
		}
	}
}
