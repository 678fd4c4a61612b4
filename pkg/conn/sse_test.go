package conn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// sseServer is a scripted server of the older transport. call answers tools/call, on the stream or not at all. If post
// is not nil, it answers the POST itself.
type sseServer struct {
	call func(send func(data string), m message, hangUp func())
	post func(w http.ResponseWriter, m message) bool

	mu       sync.Mutex
	sessions []*sseSession
	seen     []message
}

type sseSession struct {
	send   func(data string)
	hangUp context.CancelFunc
}

// ServeHTTP implements http.Handler.
func (s *sseServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		s.mu.Lock()
		n := len(s.sessions)
		send := stream(w)
		fmt.Fprintf(w, ": welcome\r\nevent: endpoint\r\ndata: messages?session=%d\r\n\r\n", n)
		w.(http.Flusher).Flush()
		session := &sseSession{send: send, hangUp: cancel}
		s.sessions = append(s.sessions, session)
		s.mu.Unlock()
		<-ctx.Done()
		s.mu.Lock()
		defer s.mu.Unlock()
		session.send = func(string) {} // nothing may be written any more
		return
	}
	var m message
	if json.NewDecoder(r.Body).Decode(&m) != nil || r.URL.Path != "/messages" {
		http.Error(w, "what?", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock() // one writer at a time
	s.seen = append(s.seen, m)
	session := s.sessions[len(s.sessions)-1]
	if s.post != nil && s.post(w, m) {
		return
	}
	w.WriteHeader(http.StatusAccepted)
	if m.ID == nil || m.Method == "" {
		return
	}
	answers := map[string]string{
		"initialize": `{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"old","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"t"}]}`, "tools/call": okResult,
	}
	if m.Method == "tools/call" && s.call != nil {
		s.call(session.send, m, session.hangUp)
		return
	}
	session.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + answers[m.Method] + `}`)
}

func (s *sseServer) wait(t *testing.T, what string, ok func(m message) bool) message {
	t.Helper()
	var found message
	mcptest.Wait(t, what, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		i := slices.IndexFunc(s.seen, ok)
		if i >= 0 {
			found = s.seen[i]
		}
		return i >= 0
	})
	return found
}

func (s *sseServer) starts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

func ssePool(t *testing.T, s *sseServer) *Pool {
	t.Helper()
	return urlPool(t, map[string]string{"s": fmt.Sprintf(`"type": "sse", "url": %q`, serve(t, s)+"/sse")})
}

// A request of the server is not taken for the answer to ours, though it has the same id.
func TestServerAsksOverSSE(t *testing.T) {
	t.Parallel()
	s := &sseServer{call: func(send func(string), m message, _ func()) {
		send("not JSON")
		send(`{"level":"info"}`)
		send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"method":"ping"}`)
		send(strings.ReplaceAll(`{"jsonrpc":"2.0",`+"\n"+`"id":`+string(m.ID)+`,"result":`+okResult+`}`, "\n", "\ndata:"))
	}}
	p := ssePool(t, s)
	if got := mustCall(t, p, "s", "t"); got != "ok" {
		t.Errorf("got %q", got)
	}
	s.wait(t, "answer to ping", func(m message) bool { return m.Method == "" && string(m.Result) == "{}" })
}

// brokenStream returns a server whose first stream ends in the middle of a call.
func brokenStream() *sseServer {
	s := &sseServer{}
	s.call = func(send func(string), m message, hangUp func()) {
		if len(s.sessions) == 1 {
			hangUp()
			return
		}
		send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + okResult + `}`)
	}
	return s
}

// A stream that ends in the middle of a call ends the call; the next one opens another stream.
func TestStreamEnds(t *testing.T) {
	t.Parallel()
	s := brokenStream()
	p := ssePool(t, s)
	quick(t, "the call", 5*time.Second, func() {
		_, err := callTool(t.Context(), p, "s", "t")
		f := wantFault(t, err, fault.ServerConnection, "the connection to s ended before it answered tools/call")
		if !strings.Contains(f.Traceback, "the stream of events ended: EOF") {
			t.Errorf("traceback %s", f.Traceback)
		}
	})
	mustCall(t, p, "s", "t")
	if n := s.starts(); n != 2 {
		t.Errorf("%d streams", n)
	}
}

// The same where the call does no harm: it is made again.
func TestStreamEndsRepeatable(t *testing.T) {
	t.Parallel()
	s := brokenStream()
	_, err := ssePool(t, s).Call(t.Context(), tool.Ref{Server: "s", Name: "t"}, nil, tool.CallOptions{Repeatable: true})
	if err != nil || s.starts() != 2 {
		t.Errorf("error %v, %d streams", err, s.starts())
	}
}

func TestRefusedPost(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]struct {
		typ     fault.Type
		message string
	}{
		401: {fault.AuthRequired, "s wants a login: HTTP 401 Unauthorized"},
		404: {fault.ServerConnection, "s has nothing at this path: HTTP 404"},
		500: {fault.ServerConnection, "s answered tools/call with HTTP 500 Internal Server Error"},
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			p := ssePool(t, &sseServer{post: func(w http.ResponseWriter, m message) bool {
				if m.Method == "tools/call" {
					w.WriteHeader(status)
				}
				return m.Method == "tools/call"
			}})
			_, err := callTool(t.Context(), p, "s", "t")
			wantFault(t, err, want.typ, want.message)
		})
	}
}

func TestCancelledOverSSE(t *testing.T) {
	t.Parallel()
	s := &sseServer{call: func(func(string), message, func()) {}}
	p := ssePool(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // ends with the call
		s.wait(t, "call", func(m message) bool { return m.Method == "tools/call" })
		cancel()
	}()
	_, err := callTool(ctx, p, "s", "t")
	wantFault(t, err, fault.Interrupted, "interrupted during tools/call of s")
	s.wait(t, "cancellation", func(m message) bool { return m.Method == "notifications/cancelled" })
	quick(t, "Close", 2*time.Second, func() { p.Close() })
}

func TestEvents(t *testing.T) {
	t.Parallel()
	for stream, want := range map[string]string{
		"":                                    "",
		"data: a\n\n":                         "a\n",
		"data:a\r\n\r\ndata:  b\n\n":          "a\n b\n",
		"data: a\ndata: b\n\n":                "a b\n",
		"event: message\ndata: a\n\n":         "a\n",
		"event: ping\ndata: a\n\ndata: b\n\n": "b\n",
		"event: ping\n\ndata: b\n\n":          "b\n",
		": comment\nid: 1\nretry: 5\ndata\ndata: b\n\n": " b\n",
		"data: a\n":                "", // cut off
		"\n\n\n":                   "",
		"data: a: b\nother: c\n\n": "a: b\n",
	} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(stream),
			"byte by byte": iotest.OneByteReader(strings.NewReader(stream))} {
			got, err := io.ReadAll(newEventReader(r))
			if err != nil || string(got) != want {
				t.Errorf("%s %q: %q, %v; want %q", name, stream, got, err, want)
			}
		}
	}
	e := newEventReader(strings.NewReader("data: " + strings.Repeat("x", 200<<10) + "\n\n"))
	if got, err := io.ReadAll(e); err != nil || len(got) != 200<<10+1 {
		t.Errorf("a long line: %d bytes, %v", len(got), err)
	}
	for _, stream := range []string{"data: 12345678901\n\n", "data: 12345\ndata: 123456\n\n", ": a long comment without an end"} {
		e := newEventReader(strings.NewReader(stream))
		e.limit = 16
		if _, err := io.ReadAll(e); !errors.Is(err, errTooLong) {
			t.Errorf("%q: %v", stream, err)
		}
	}
}

// FuzzEvents: whatever comes, messages are lines, none empty, in which every byte was in the stream.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("event: message\ndata: {\"a\":1}\r\n\r\n: x\ndata\n\nevent:\ndata: a\ndata: b\n\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		e := newEventReader(strings.NewReader(string(raw)))
		e.limit = 64
		got, err := io.ReadAll(e)
		if err != nil && !errors.Is(err, errTooLong) {
			t.Fatal(err)
		}
		if len(got) > 0 && got[len(got)-1] != '\n' {
			t.Fatalf("%q gives %q", raw, got)
		}
		for line := range strings.Lines(string(got)) {
			for part := range strings.SplitSeq(strings.TrimSuffix(line, "\n"), " ") {
				if len(line) > 65 || !strings.Contains(string(raw), part) {
					t.Fatalf("%q gives %q", raw, line)
				}
			}
		}
	})
}

// FuzzErrorIn: errorIn returns JSON with the id of the request and an error.
func FuzzErrorIn(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"m","data":{}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","error":null}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		body := (&httpExchange{request: "null"}).errorIn(raw)
		if body == nil {
			return
		}
		var m map[string]json.RawMessage
		if err := json.Unmarshal(body, &m); err != nil || len(m) != 3 || string(m["id"]) != "null" || m["error"] == nil {
			t.Fatalf("%q gives %s (%v)", raw, body, err)
		}
	})
}

// An SDK's request belongs to the exchange that its header names, and a GET to that of the last event; neither name
// reaches the server. Requests that name none have an exchange of their own.
func TestExchanges(t *testing.T) {
	t.Parallel()
	sent := make(chan *http.Request, 1)
	base := tripperFunc(func(req *http.Request) (*http.Response, error) {
		sent <- req
		return &http.Response{StatusCode: http.StatusAccepted, Body: http.NoBody, Request: req, Header: http.Header{}}, nil
	})
	at, err := url.Parse("https://mcp.example/mcp")
	if err != nil {
		t.Fatal(err)
	}
	var of *httpExchange
	e := &exchanges{open: make(map[string]*httpExchange), tripper: &roundTripper{base: base, origin: at,
		answered: func(x *httpExchange, _ *http.Request, _ *http.Response) { of = x }}}
	first, headers, endFirst := e.begin(mcp.NewRequestId(int64(1)), http.Header{"X": {"y"}})
	second, _, _ := e.begin(mcp.NewRequestId(int64(2)), nil)
	for _, tt := range []struct {
		name, method string
		headers      http.Header
		want         *httpExchange
		last         string
	}{
		{"post", http.MethodPost, headers, first, ""},
		{"resumed", http.MethodGet, http.Header{"Last-Event-Id": {"2:a:7"}}, second, "a:7"},
		{"notification", http.MethodPost, http.Header{}, nil, ""},
	} {
		of = nil
		if resp, err := e.RoundTrip(&http.Request{Method: tt.method, URL: at, Header: tt.headers}); err == nil {
			resp.Body.Close()
		}
		req := <-sent
		if of != tt.want || req.Header.Get(exchangeHeader) != "" || req.Header.Get("Last-Event-ID") != tt.last {
			t.Errorf("%s: exchange %p, headers %v", tt.name, of, req.Header)
		}
	}
	if !second.came.resumed || first.came.resumed || headers.Get("X") != "y" {
		t.Errorf("accepted %v, %v; headers %v", first.came.resumed, second.came.resumed, headers)
	}
	if endFirst(); e.find("1") == first || e.find("2") != second {
		t.Error("an exchange that has ended is found, or one that has not is lost")
	}
}

func TestLimitedBody(t *testing.T) {
	t.Parallel()
	m := &limitedBody{events: true, exchange: new(httpExchange)}
	for _, part := range []string{"data: 12\n", "\n", "data: 3\r\n\r", "\n", "ab"} {
		m.measure([]byte(part))
	}
	if m.size != len("ab")+1 { // a line counts with its end
		t.Errorf("size %d", m.size)
	}
	m = &limitedBody{ReadCloser: io.NopCloser(strings.NewReader("abc")), exchange: new(httpExchange), size: maxMessage}
	if _, err := io.ReadAll(m); !errors.Is(err, errTooLong) {
		t.Error(err)
	}
	if ended := m.exchange.result().ended; !errors.Is(ended, errTooLong) {
		t.Error(ended)
	}
}
