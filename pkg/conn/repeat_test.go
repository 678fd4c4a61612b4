package conn

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// A call whose stream was ended, to be taken up again (SEP-1699), and then cannot be, may have been carried
// out: it is made again only where that does no harm, whatever the server says to the GET.
func TestStreamThatCannotBeTakenUp(t *testing.T) {
	t.Parallel()
	for _, status := range []int{
		http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnauthorized, http.StatusBadGateway} {
		for _, repeatable := range []bool{false, true} {
			t.Run(fmt.Sprint(status, repeatable), func(t *testing.T) {
				t.Parallel()
				h := &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){
					"tools/call": func(w http.ResponseWriter, _ *http.Request, m message) {
						w.Header().Set("Content-Type", "text/event-stream")
						fmt.Fprint(w, "id: 1\nretry: 10\ndata:\n\n")
					},
					"GET": func(w http.ResponseWriter, r *http.Request, _ message) {
						if r.Header.Get("Last-Event-ID") == "" {
							w.WriteHeader(http.StatusMethodNotAllowed) // there is no other stream
							return
						}
						w.WriteHeader(status)
					}}}
				p := handmadePool(t, h, "")
				_, err := p.Call(t.Context(), tool.Ref{Server: "s", Name: "t"}, nil, tool.CallOptions{Repeatable: repeatable})
				f := wantFault(t, err, fault.ServerConnection, "the connection to s ended before it answered tools/call")
				if !strings.HasPrefix(f.Help, "The server may have done what was asked.") ||
					!strings.Contains(f.Traceback, fmt.Sprint("HTTP ", status)) || strings.Contains(f.Traceback, "Get ") {
					t.Errorf("%+v", f)
				}
				want := map[bool]int{false: 1, true: 2}[repeatable]
				if n := len(h.wait(t, "tools/call", want)); n != want {
					t.Errorf("%d calls", n)
				}
			})
		}
	}
}

// A call that became a task has been carried out, or is being: a session that is lost while the task is
// looked at does not make it again.
func TestTaskOfLostSession(t *testing.T) {
	t.Parallel()
	for _, repeatable := range []bool{false, true} {
		t.Run(fmt.Sprint(repeatable), func(t *testing.T) {
			t.Parallel()
			h := &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){
				"initialize": func(w http.ResponseWriter, _ *http.Request, m message) {
					w.Header().Set("Mcp-Session-Id", "S-1")
					result(w, m, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"hand","version":"1"}}`)
				},
				"tools/call": func(w http.ResponseWriter, _ *http.Request, m message) {
					result(w, m, `{"task":{"taskId":"1","status":"working","pollInterval":1}}`)
				},
				"tasks/get": func(w http.ResponseWriter, _ *http.Request, _ message) { http.NotFound(w, nil) }}}
			p := handmadePool(t, h, "")
			_, err := p.Call(t.Context(), tool.Ref{Server: "s", Name: "t"}, nil, tool.CallOptions{Task: true, Repeatable: repeatable})
			f := wantFault(t, err, fault.ServerConnection, "the connection to s ended before it answered tools/call")
			if !strings.HasPrefix(f.Help, "The server may have done what was asked.") {
				t.Errorf("%+v", f)
			}
			want := map[bool]int{false: 1, true: 2}[repeatable]
			if n := len(h.wait(t, "tools/call", want)); n != want {
				t.Errorf("%d calls", n)
			}
		})
	}
}

// conn does not read what a server writes to the stream of a request after its response, and nothing waits to pass it
// on. The test counts the goroutines of the whole process, so that no other test may run beside it.
func TestAnswersWithoutEnd(t *testing.T) {
	h := &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){
		"tools/call": func(w http.ResponseWriter, _ *http.Request, m message) {
			send := stream(w)
			send(strings.Repeat(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+okResult+"}\n\nevent: message\ndata: ", 50) + "{}")
		}}}
	p := handmadePool(t, h, "")
	mustCall(t, p, "s", "t")
	before := runtime.NumGoroutine()
	for range 20 {
		mustCall(t, p, "s", "t")
	}
	mcptest.Eventually(t, func() (string, bool) {
		now := runtime.NumGoroutine()
		return fmt.Sprintf("%d goroutines, before %d", now, before), now <= before+5
	})
}

// A server that answers the GET of its other stream only when it has something to say holds up the first
// call, and no other.
func TestOtherStreamIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	h := &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){
		"GET": func(_ http.ResponseWriter, r *http.Request, _ message) { <-r.Context().Done() }}}
	p := handmadePool(t, h, "")
	begun := time.Now()
	mustCall(t, p, "s", "t")
	s := p.slots["s"].session
	select {
	case <-s.http.listened:
	default:
		t.Error("the next call waits again")
	}
	if took := time.Since(begun); took < listenGrace {
		t.Errorf("it was waited for %s", took)
	}
}

// The stream of one request ends with its response, however much noise comes before. Its ids name the exchange.
func TestEventFilterEndsWithTheResponse(t *testing.T) {
	t.Parallel()
	const before = "data: noise\n\n: c\n\ndata: {\"a\":1}\n\nid:\ndata:\n\nid: 1\ndata:\n\n"
	const answer = "data: {\"id\":1,\ndata: \"result\":{\"method\":7}}\n\n"
	in := before + "data: {\"id\":1,\"method\":\"m\"}\r\nid:a:2\r\n\r\n" + answer + answer + "data: {\"method\":\"late\"}\n\n"
	taken := 0
	out, err := readAll(newEventFilter(body{strings.NewReader(in)}, "5", func([]byte) { taken++ }))
	want := strings.Replace(before, "id: 1", "id: 5:1", 1) + "id: 5:a:2\r\n\n" + answer
	if err != nil || out != want || taken != 1 {
		t.Errorf("%q, want %q, %d taken, %v", out, want, taken, err)
	}
}
