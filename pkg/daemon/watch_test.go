//go:build linux || darwin

package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// A request of any method crosses the socket verbatim, its result and the error of a server too.
func TestRequest(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.serve(t.Context(), nil)
	c := h.client(nil)
	params := json.RawMessage("{ \"x\":1.0,\"y\":\"<&>\xff\" }")
	got, err := c.Request(t.Context(), "s", "vendor/any", params, tool.CallOptions{})
	if string(got) != string(params) || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	want := &tool.UpstreamError{Code: -7, Message: "no", Data: json.RawMessage(`{ "n": 9007199254740993 }`)}
	h.talk = func(context.Context, tool.Ref, tool.CallOptions) error { return want }
	var upstream *tool.UpstreamError
	_, err = c.Request(t.Context(), "s", "vendor/any", nil, tool.CallOptions{})
	if !errors.As(err, &upstream) || !reflect.DeepEqual(upstream, want) {
		t.Errorf("error %+v", err)
	}
	h.talk = func(context.Context, tool.Ref, tool.CallOptions) error { return fault.New(fault.Timeout, "late", "") }
	if _, err = c.Request(t.Context(), "s", "vendor/any", nil, tool.CallOptions{}); !fault.Is(err, fault.Timeout) {
		t.Errorf("a fault: %v", err)
	}
	ephemeral := h.client(func(o *ClientOptions) {
		o.Ephemeral = func(string) bool { return true }
		o.InProcess = func() engine.Caller { return localCaller{} }
	})
	if got, err = ephemeral.Request(t.Context(), "s", "ping", nil, tool.CallOptions{}); string(got) != "local" || err != nil {
		t.Errorf("in process: %s, %v", got, err)
	}
}

// capable is an audience with a language model and roots.
type capable struct {
	person
	can tool.Capabilities
}

func (c *capable) Can() tool.Capabilities { return c.can }

func (c *capable) Sample(_ context.Context, s tool.Sampling) (json.RawMessage, error) {
	if s.Server != "s" {
		return nil, errors.New("of another server")
	}
	if string(s.Raw) == "null" {
		return nil, &tool.UpstreamError{Code: -1, Message: "refused", Data: json.RawMessage(`{ "d":1.0 }`)}
	}
	return s.Raw, nil
}

func (c *capable) Roots(context.Context) (json.RawMessage, error) {
	return json.RawMessage(`{ "roots":[] }`), nil
}

// The capabilities of a client's audience cross the socket, and so do requests to its model, for its roots, and raw
// forms.
func TestCapableAudience(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.serve(t.Context(), nil)
	raw := json.RawMessage("{ \"any\":1.0,\"b\":\"\xff\" }")
	h.talk = func(ctx context.Context, _ tool.Ref, got tool.CallOptions) error {
		to := got.Audience
		if can := to.Can(); !can.Sample || !can.Roots {
			t.Errorf("it can %+v", can)
		}
		if res, err := to.Sample(ctx, tool.Sampling{Server: "s", Raw: raw}); string(res) != string(raw) || err != nil {
			t.Errorf("the model: %s, %v", res, err)
		}
		var upstream *tool.UpstreamError
		_, err := to.Sample(ctx, tool.Sampling{Server: "s", Raw: json.RawMessage("null")})
		if !errors.As(err, &upstream) || upstream.Code != -1 || string(upstream.Data) != `{ "d":1.0 }` {
			t.Errorf("the model's error: %v", err)
		}
		if _, err := to.Sample(ctx, tool.Sampling{Server: "x"}); err == nil || err.Error() != "of another server" {
			t.Errorf("another error: %v", err)
		}
		if res, err := to.Roots(ctx); string(res) != `{ "roots":[] }` || err != nil {
			t.Errorf("roots: %s, %v", res, err)
		}
		to.Progress(tool.Progress{Done: 1, Raw: raw})
		to.Message(tool.Message{Level: "info", Data: json.RawMessage("1"), Raw: raw})
		_, err = to.Elicit(ctx, tool.Question{Server: "s", Message: "m", Schema: json.RawMessage(`{}`), Raw: raw})
		return err
	}
	c := &capable{can: tool.Capabilities{Sample: true, Roots: true}}
	c.elicit = func(_ context.Context, q tool.Question) (tool.Reply, error) {
		if string(q.Raw) != string(raw) {
			t.Errorf("question %s", q.Raw)
		}
		return tool.Reply{Action: tool.Decline}, nil
	}
	_, err := h.client(nil).Call(t.Context(), tool.Ref{Server: "s", Name: "t"}, nil, tool.CallOptions{Audience: c})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.progress) != 1 || string(c.progress[0].Raw) != string(raw) ||
		len(c.messages) != 1 || string(c.messages[0].Raw) != string(raw) {
		t.Errorf("heard %+v, %+v", c.progress, c.messages)
	}
}

// Events of a warm server cross the socket. When the daemon is replaced the watch goes on with the next one, and says
// that events may have been lost.
func TestWatch(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	first, endFirst := context.WithCancel(t.Context())
	ended := h.serve(first, nil)
	c := h.client(nil)
	heard := make(chan tool.Event, 9)
	stop, err := c.Watch(t.Context(), "s", tool.CallOptions{}, func(e tool.Event) { heard <- e })
	if err != nil {
		t.Fatal(err)
	}
	event := tool.Event{Server: "s", Method: "notifications/resources/updated", Params: json.RawMessage("{ \"u\":\"\xff\" }")}
	warm := func() {
		t.Helper()
		if _, err := c.Call(t.Context(), tool.Ref{Server: "s", Name: "t"}, nil, tool.CallOptions{}); err != nil {
			t.Fatal(err)
		}
		h.mu.Lock()
		tell := h.tell
		h.mu.Unlock()
		tell(event)
		if e := <-heard; !reflect.DeepEqual(e, event) {
			t.Errorf("heard %+v", e)
		}
	}
	warm()
	// A watch keeps no daemon from ending, and does not count as a request.
	if st, running, err := Ask(h.place); err != nil || !running || st.Requests != 0 {
		t.Errorf("status %+v, %v, %v", st, running, err)
	}
	endFirst()
	<-ended
	h.serve(t.Context(), nil)
	if e := <-heard; e.Method != "" || e.Server != "s" {
		t.Errorf("after the daemon was replaced heard %+v", e)
	}
	warm()
	stop()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	h.mu.Lock()
	h.tell(event)
	h.mu.Unlock()
	if len(heard) != 0 {
		t.Error("an event came after the end")
	}
	if _, err := h.client(nil).Watch(t.Context(), "unknown", tool.CallOptions{}, nil); !fault.Is(err, fault.ServerNotFound) {
		t.Errorf("an unknown server: %v", err)
	}
}

// Without a daemon the events are those of the server in this process.
func TestWatchInProcess(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for name, change := range map[string]func(*ClientOptions){
		"no daemon":        func(o *ClientOptions) { o.Start = nil },
		"an ephemeral one": func(o *ClientOptions) { o.Ephemeral = func(string) bool { return true } },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := h.client(func(o *ClientOptions) {
				o.InProcess = func() engine.Caller { return localCaller{} }
				change(o)
			})
			heard := make(chan tool.Event, 1)
			if _, err := c.Watch(t.Context(), "s", tool.CallOptions{}, func(e tool.Event) { heard <- e }); err != nil {
				t.Fatal(err)
			}
			if e := <-heard; e.Method != "local" {
				t.Errorf("heard %+v", e)
			}
		})
	}
}

// A client that gives the daemon up goes on with the events of the server in this process.
func TestWatchGivenUp(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	ctx, end := context.WithCancel(t.Context())
	ended := h.serve(ctx, nil)
	c := h.client(func(o *ClientOptions) { o.Start = nil })
	heard := make(chan tool.Event, 9)
	if _, err := c.Watch(t.Context(), "s", tool.CallOptions{}, func(e tool.Event) { heard <- e }); err != nil {
		t.Fatal(err)
	}
	end()
	<-ended
	res, err := c.Call(t.Context(), tool.Ref{Server: "s", Name: "t"}, nil, tool.CallOptions{})
	if err != nil || string(res.Raw) != "local" {
		t.Fatalf("%+v, %v", res, err)
	}
	if e := <-heard; e.Method != "local" {
		t.Errorf("heard %+v", e)
	}
	if e := <-heard; e.Method != "" || e.Server != "s" { // others may have been lost
		t.Errorf("heard %+v", e)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
