package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

const scoped = `{"s": {"command": "fake"}, "own": {"command": "fake", "scope": "session"},
	"user": {"command": "fake", "scope": "user"}, "web": {"url": "https://example.com/mcp"},
	"one": {"url": "https://example.com/mcp", "scope": "shared"}}`

func call(t *testing.T, h *home, server string, opt tool.CallOptions) {
	t.Helper()
	if _, err := h.Caller(h.here(), nil).Call(t.Context(), tool.Ref{Server: server}, nil, opt); err != nil {
		t.Error(err)
	}
}

func watch(t *testing.T, h *home, server, session string, tell func(tool.Event)) (stop func()) {
	t.Helper()
	stop, err := h.Caller(h.here(), nil).Watch(t.Context(), server, tool.CallOptions{Session: session}, tell)
	if err != nil {
		t.Fatal(err)
	}
	return stop
}

// Who shares a server, by the scope of its entry, over both kinds of transport.
func TestScopes(t *testing.T) {
	for server, want := range map[string]int{"s": 1, "own": 3, "user": 2, "web": 3, "one": 1} {
		t.Run(server, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				h := newHome(t, nil)
				h.configure(scoped)
				for range 2 {
					call(t, h, server, tool.CallOptions{Client: "x"}) // as the command line does
					call(t, h, server, tool.CallOptions{Client: "y"})
					call(t, h, server, tool.CallOptions{Session: "1", Client: "1", Principal: "ada"})
					call(t, h, server, tool.CallOptions{Session: "2", Client: "2", Principal: "ada"})
				}
				h.want(want, want)
			})
		})
	}
}

// The server of a session stops with the last watch of it, after its last request, and others stay.
func TestSessionEnds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHome(t, nil)
		h.configure(scoped)
		stops := map[string]func(){}
		for _, session := range []string{"", "1", "2"} {
			stops[session] = watch(t, h, "own", session, nil)
			call(t, h, "own", tool.CallOptions{Session: session})
		}
		h.want(3, 3)
		again := watch(t, h, "own", "1", nil)
		stops["1"]()
		h.want(3, 3)
		again()
		again() // does nothing
		stops[""]()
		h.want(3, 2)
		held := make(chan struct{})
		h.mu.Lock()
		h.call = func(context.Context, tool.Ref, json.RawMessage, tool.CallOptions) (*tool.Result, error) {
			<-held
			return &tool.Result{}, nil
		}
		h.mu.Unlock()
		var wg sync.WaitGroup
		wg.Go(func() { call(t, h, "own", tool.CallOptions{Session: "2"}) })
		synctest.Wait()
		stops["2"]()
		h.want(3, 2)
		close(held)
		wg.Wait()
		h.want(3, 1)
	})
}

// Events of the server of a session reach those who watch it, also after its entry has changed. When it says that its
// lists have changed, it is listed for the index; of many that say so at once, one is.
func TestSessionEvents(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := new(catalogs)
		h := newHome(t, func(o *Options) { o.NewCatalog = f.make })
		h.configure(scoped)
		var heard []string
		for _, session := range []string{"", "1", "2"} {
			watch(t, h, "own", session, func(e tool.Event) { heard = append(heard, session+e.Method) })
			call(t, h, "own", tool.CallOptions{Session: session})
		}
		h.opened[1].tell(tool.Event{Method: "a"})
		h.opened[2].tell(tool.Event{Method: "b"})
		h.opened[0].tell(tool.Event{Method: "c"})
		h.configure(strings.Replace(scoped, `"scope": "session"`, `"scope": "session", "args": ["x"]`, 1))
		later() // the host sees it
		h.want(3, 0)
		call(t, h, "own", tool.CallOptions{Session: "2"})
		call(t, h, "own", tool.CallOptions{Session: "1"})
		h.opened[4].tell(tool.Event{Method: "d"})
		if !slices.Equal(heard, []string{"1a", "2b", "c", "1d"}) {
			t.Errorf("heard %q", heard)
		}
		var listed []string
		h.call = func(_ context.Context, ref tool.Ref, _ json.RawMessage, _ tool.CallOptions) (*tool.Result, error) {
			listed = append(listed, ref.Server)
			return &tool.Result{}, nil
		}
		for range 3 {
			h.opened[4].Changed("own")
			h.opened[3].Changed("own")
		}
		time.Sleep(relistAfter)
		h.want(5, 2)
		if len(listed) != 1 || len(f.made) != 1 {
			t.Errorf("listed %v with %d catalogs", listed, len(f.made))
		}
		// A change after that has its own listing.
		h.opened[4].Changed("own")
		time.Sleep(relistGap + relistAfter)
		h.want(5, 2)
		if len(listed) != 2 {
			t.Errorf("listed %v", listed)
		}
	})
}

// Sessions have a bound of their own: idle servers make room for others, and servers in use do not. Servers that are
// shared do not count.
func TestSessionBound(t *testing.T) {
	for name, bound := range map[string]int{"own": maxOwnProcesses, "web": maxOwnConnections} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				h := newHome(t, nil)
				h.configure(scoped)
				time.Sleep(2 * settleTime) // the configuration is not read for each call any more
				call(t, h, name, tool.CallOptions{})
				for i := range 5 {
					call(t, h, name, tool.CallOptions{Session: fmt.Sprint("idle", i)})
				}
				h.want(6, 6)
				held := make(chan struct{})
				h.call = func(context.Context, tool.Ref, json.RawMessage, tool.CallOptions) (*tool.Result, error) {
					<-held
					return &tool.Result{}, nil
				}
				var wg sync.WaitGroup
				for i := range bound {
					wg.Go(func() { call(t, h, name, tool.CallOptions{Session: fmt.Sprint("busy", i)}) })
				}
				h.want(6+bound, 1+bound)
				_, err := h.Caller(h.here(), nil).Call(t.Context(), tool.Ref{Server: name}, nil, tool.CallOptions{Session: "more"})
				if !fault.Is(err, fault.ServerConnection) || !strings.Contains(err.Error(), fmt.Sprintf("%d sessions or users use %s", bound, name)) {
					t.Errorf("one more: %v", err)
				}
				wg.Go(func() { call(t, h, name, tool.CallOptions{}) })
				h.want(6+bound, 1+bound)
				close(held)
				wg.Wait()
			})
		})
	}
}

// A principal with many sessions leaves room for those of others: it has a share, in which its own idle servers make
// room. When all are taken, what is idle of the largest holder ends first.
func TestSessionShares(t *testing.T) {
	for name, bound := range map[string]int{"own": maxOwnProcesses, "web": maxOwnConnections} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				h := newHome(t, nil)
				h.configure(scoped)
				time.Sleep(2 * settleTime) // the configuration is not read for each call any more
				held, hold := make(chan struct{}), false
				h.call = func(context.Context, tool.Ref, json.RawMessage, tool.CallOptions) (*tool.Result, error) {
					if hold {
						<-held
					}
					return &tool.Result{}, nil
				}
				of := func(who tool.Principal, i int) tool.CallOptions {
					return tool.CallOptions{Principal: who, Session: fmt.Sprint(who, i)}
				}
				share := bound / ownShare
				call(t, h, name, of("ada", 0)) // idle for longest of all
				for i := range share + 3 {
					call(t, h, name, of("eve", i))
				}
				h.want(share+4, share+1) // three of eve's have made room
				for _, who := range []tool.Principal{"bob", "", "kay"} {
					for i := range share - 1 {
						call(t, h, name, of(who, i))
					}
				}
				call(t, h, name, of("", share))
				call(t, h, name, of("", share+1))
				h.want(share+4+3*(share-1)+2, bound)
				call(t, h, name, of("ada", 1)) // one of the largest holder's makes room: not ada's, though it is older
				opened := share + 4 + 3*(share-1) + 3
				h.want(opened, bound)
				call(t, h, name, of("ada", 0))
				h.want(opened, bound)

				hold = true
				var wg sync.WaitGroup
				for i := range share {
					wg.Go(func() { call(t, h, name, of("mallory", i)) })
				}
				h.want(opened+share, bound)
				_, err := h.Caller(h.here(), nil).Call(t.Context(), tool.Ref{Server: name}, nil, of("mallory", share))
				if !fault.Is(err, fault.ServerConnection) || !strings.Contains(err.Error(), fmt.Sprintf("%d sessions of this client", share)) {
					t.Errorf("one more than its share: %v", err)
				}
				wg.Go(func() { call(t, h, name, of("kay", share)) })
				h.want(opened+share+1, bound)
				close(held)
				wg.Wait()
			})
		})
	}
}
