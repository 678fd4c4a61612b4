package host

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// A request crosses with its limits, and an error of the server is an answer, not a failure of it.
func TestCallerRequest(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	var asked tool.CallOptions
	h.call = func(_ context.Context, ref tool.Ref, args json.RawMessage, opt tool.CallOptions) (*tool.Result, error) {
		if asked = opt; ref.Name == "odd" {
			return nil, &tool.UpstreamError{Code: -7, Message: "no", Data: json.RawMessage(`{ "a":1.0 }`)}
		}
		return &tool.Result{Raw: args}, nil
	}
	s := h.here()
	s.Limits.Call = 7 * time.Second
	c := h.Caller(s, nil)
	params := json.RawMessage(`{ "x":1.0 }`)
	got, err := c.Request(t.Context(), "s", "completion/complete", params, tool.CallOptions{})
	if string(got) != string(params) || err != nil || asked.Timeout != 7*time.Second {
		t.Errorf("got %s, %v with %+v", got, err, asked)
	}
	var upstream *tool.UpstreamError
	_, err = c.Request(t.Context(), "s", "odd", nil, tool.CallOptions{})
	if !errors.As(err, &upstream) || string(upstream.Data) != `{ "a":1.0 }` {
		t.Errorf("error %v", err)
	}
	// A request that never reached the server says nothing about it, however long that took.
	h.call = func(context.Context, tool.Ref, json.RawMessage, tool.CallOptions) (*tool.Result, error) {
		return nil, fault.New(fault.Timeout, "no turn", "").Because(tool.ErrNotSent)
	}
	if _, err = c.Request(t.Context(), "s", "ping", nil, tool.CallOptions{}); !fault.Is(err, fault.Timeout) {
		t.Errorf("without a turn: %v", err)
	}
	if st := h.Status(); len(st) != 1 || st[0].State != "idle" || len(h.opened) != 1 {
		t.Errorf("status %+v", st)
	}
	if _, err := c.Request(t.Context(), "unknown", "ping", nil, tool.CallOptions{}); !fault.Is(err, fault.ServerNotFound) {
		t.Errorf("an unknown server: %v", err)
	}
}

// Events of a warm server reach those who watch it from a client environment that has that server, before it starts,
// and after it was started again with another entry.
func TestCallerWatch(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	c, other := h.Caller(h.here(), nil), h.Caller(h.here("TOKEN=another"), nil)
	heard, elsewhere := make(chan tool.Event, 9), make(chan tool.Event, 9)
	stop, err := c.Watch(t.Context(), "s", tool.CallOptions{}, func(e tool.Event) { heard <- e })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := other.Watch(ctx, "s", tool.CallOptions{}, func(e tool.Event) { elsewhere <- e }); err != nil {
		t.Fatal(err)
	}
	call := func(want int) *homeCaller {
		t.Helper()
		if _, err := c.Call(t.Context(), tool.Ref{Server: "s", Name: "t"}, nil, tool.CallOptions{}); err != nil {
			t.Fatal(err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if len(h.opened) != want {
			t.Fatalf("%d servers were opened, want %d", len(h.opened), want)
		}
		return h.opened[want-1]
	}
	event := tool.Event{Server: "s", Method: "notifications/resources/updated", Params: json.RawMessage(`{ "uri":"a" }`)}
	call(1).tell(event)
	if e := <-heard; e.Method != event.Method || string(e.Params) != string(event.Params) {
		t.Errorf("heard %+v", e)
	}
	h.configure(`{"s": {"command": "changed"}, "b": {"command": "fake"}}`)
	again := call(2)
	again.tell(event)
	if e := <-heard; e.Method != event.Method {
		t.Errorf("after a change heard %+v", e)
	}
	stop()
	stop() // again does nothing
	again.tell(event)
	cancel()
	if len(heard)+len(elsewhere) != 0 {
		t.Error("an event came after the end, or from another client's server")
	}
	if _, err := c.Watch(t.Context(), "unknown", tool.CallOptions{}, nil); !fault.Is(err, fault.ServerNotFound) {
		t.Errorf("an unknown server: %v", err)
	}
}
