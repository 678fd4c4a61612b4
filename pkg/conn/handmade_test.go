package conn

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// handmade is a scripted server over Streamable HTTP. It answers methods without a script as the protocol says, with
// the session "S-1" and a tool that answers "ok".
type handmade struct {
	on map[string]func(w http.ResponseWriter, r *http.Request, m message)

	mu       sync.Mutex
	requests []seen
}

// message is a JSON-RPC message.
type message struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
}

// seen is a request that came in.
type seen struct {
	what   string // the method of the message, else that of HTTP; "answer" is one to the server
	header http.Header
	params string
}

// ServeHTTP implements http.Handler.
func (h *handmade) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	m := message{Method: r.Method}
	if r.Method == http.MethodPost {
		m.Method = "answer"
		if err := json.Unmarshal(body, &m); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	h.mu.Lock()
	h.requests = append(h.requests, seen{m.Method, r.Header, string(m.Params) + string(m.Result) + string(m.Error)})
	h.mu.Unlock()
	if f := h.on[m.Method]; f != nil {
		f(w, r, m)
		return
	}
	h.answer(w, m)
}

// answer does as the protocol says.
func (h *handmade) answer(w http.ResponseWriter, m message) {
	switch m.Method {
	case "initialize":
		w.Header().Set("Mcp-Session-Id", "S-1")
		result(w, m, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"hand","version":"1"}}`)
	case "tools/list":
		result(w, m, `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`)
	case "tools/call":
		result(w, m, okResult)
	case "GET":
		w.WriteHeader(http.StatusMethodNotAllowed)
	case "DELETE":
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

const okResult = `{"content":[{"type":"text","text":"ok"}]}`

func result(w http.ResponseWriter, m message, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func refuse(w http.ResponseWriter, status int, id json.RawMessage, code int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, text)
}

// stream starts a stream of events; each call of the function sends one.
func stream(w http.ResponseWriter) func(data string) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	flusher := w.(http.Flusher)
	flusher.Flush()
	return func(data string) {
		fmt.Fprintf(w, "event: message\ndata: %s\n\n", data)
		flusher.Flush()
	}
}

// breakOff ends the connection in the middle of an answer.
func breakOff(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		conn.Close()
	}
}

// all returns the requests so far.
func (h *handmade) all() []seen {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]seen(nil), h.requests...)
}

// names returns what the requests so far were, joined by spaces.
func (h *handmade) names() string {
	var names []string
	for _, s := range h.all() {
		names = append(names, s.what)
	}
	return strings.Join(names, " ")
}

// wait waits until n requests of a kind have come and returns them.
func (h *handmade) wait(t *testing.T, what string, n int) []seen {
	t.Helper()
	var found []seen
	mcptest.Eventually(t, func() (string, bool) {
		found = slices.DeleteFunc(h.all(), func(s seen) bool { return s.what != what })
		return fmt.Sprintf("%d requests %s have come: %s", len(found), what, h.names()), len(found) >= n
	})
	return found
}

// handmadePool returns a pool over a handmade server "s" whose entry has some more fields.
func handmadePool(t *testing.T, h *handmade, more string, change ...func(*Options)) *Pool {
	t.Helper()
	return urlPool(t, map[string]string{"s": fmt.Sprintf(`"url": %q%s`, serve(t, h)+"/mcp", more)}, change...)
}

// body is a body of an answer.
type body struct{ io.Reader }

func (body) Close() error { return nil }

func readAll(r io.Reader) (string, error) {
	all, err := io.ReadAll(r)
	return string(all), err
}
