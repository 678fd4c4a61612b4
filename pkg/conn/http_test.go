package conn

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// sdkServer is a server of mcp-go's with a tool "echo".
func sdkServer() *server.MCPServer {
	s := server.NewMCPServer("sdk", "1.0", server.WithInstructions("Be kind."))
	echo := mcp.NewTool("echo", mcp.WithString("a"))
	s.AddTool(echo, func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(fmt.Sprint(req.GetArguments()["a"])), nil
	})
	return s
}

// urlPool returns a pool over servers by URL, each "name": entry without its braces.
func urlPool(t *testing.T, entries map[string]string, change ...func(*Options)) *Pool {
	t.Helper()
	path := filepath.Join(t.TempDir(), ".mcp.json")
	var list []string
	for name, entry := range entries {
		list = append(list, fmt.Sprintf("%q: {%s}", name, entry))
	}
	write(t, path, `{"mcpServers": {`+strings.Join(list, ", ")+`}}`)
	return poolOver(t, path, change...)
}

// serve runs a handler on 127.0.0.1 until the end of the test and returns its URL.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL
}

// serveSSE runs mcp-go's server over the older transport and returns the URL of its stream.
func serveSSE(t *testing.T) string {
	t.Helper()
	return serve(t, server.NewSSEServer(sdkServer())) + "/sse"
}

func TestTransports(t *testing.T) {
	t.Parallel()
	streamable := serve(t, server.NewStreamableHTTPServer(sdkServer(), server.WithStateful(true))) + "/mcp"
	sse := serveSSE(t)
	for name, entry := range map[string]string{
		"http":           fmt.Sprintf(`"type": "http", "url": %q`, streamable),
		"sse":            fmt.Sprintf(`"type": "sse", "url": %q`, sse),
		"http by itself": fmt.Sprintf(`"url": %q`, streamable),
		"sse by itself":  fmt.Sprintf(`"url": %q`, sse),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := urlPool(t, map[string]string{"s": entry})
			l, err := p.List(t.Context(), "s", tool.CallOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if len(l.Tools) != 1 || l.ServerName != "sdk" || l.Instructions != "Be kind." || l.Known.Protocol != "2025-11-25" {
				t.Errorf("got %+v", l)
			}
			for range 3 {
				if got := mustCall(t, p, "s", "echo", `{"a":"b"}`); got != "b" {
					t.Errorf("got %q", got)
				}
			}
		})
	}
}

// Each request carries the entry's headers, but for what is the protocol's own; closing the pool ends the session.
func TestHeadersAndSession(t *testing.T) {
	t.Parallel()
	h := &handmade{}
	p := handmadePool(t, h, `, "headers": {"Authorization": "Bearer tok-123456", "x-team": "blue", "User-Agent": "me", "Host": "mcp.internal",
		"Accept": "text/plain", "content-type": "text/plain", "Mcp-Session-Id": "mine"}`)
	mustCall(t, p, "s", "t")
	p.Close()
	if got, want := h.names(), "initialize notifications/initialized GET tools/call DELETE"; got != want {
		t.Errorf("requests %s, want %s", got, want)
	}
	for i, s := range h.all() {
		if s.header.Get("Authorization") != "Bearer tok-123456" || s.header.Get("X-Team") != "blue" || s.header.Get("User-Agent") != "me" {
			t.Errorf("%s: %v", s.what, s.header)
		}
		if len(s.header.Values("Content-Type")) > 1 || len(s.header.Values("Mcp-Session-Id")) > 1 {
			t.Errorf("%s: %v", s.what, s.header)
		}
		accept := "application/json, text/event-stream"
		if s.what == "GET" {
			accept = "text/event-stream"
		}
		if s.what != "DELETE" && (s.header.Get("Content-Type") != "application/json" || s.header.Get("Accept") != accept) {
			t.Errorf("%s: %v", s.what, s.header)
		}
		if i > 0 && (s.header.Get("Mcp-Session-Id") != "S-1" || s.header.Get("Mcp-Protocol-Version") != "2025-11-25") {
			t.Errorf("%s: %v", s.what, s.header)
		}
	}
}

// A session that the server has forgotten is replaced, and the call made again: it was not carried out.
func TestForgottenSession(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	h := &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){
		"tools/call": func(w http.ResponseWriter, _ *http.Request, m message) {
			if calls.Add(1) == 2 {
				refuse(w, http.StatusNotFound, m.ID, -32001, "Session not found")
				return
			}
			result(w, m, okResult)
		}}}
	p := handmadePool(t, h, "")
	for range 3 {
		if got := mustCall(t, p, "s", "t"); got != "ok" {
			t.Errorf("got %q", got)
		}
	}
	if n := len(h.wait(t, "initialize", 2)); n != 2 || calls.Load() != 4 {
		t.Errorf("%d sessions, %d calls", n, calls.Load())
	}
}

// Some servers say it in another way. A request that may do harm fails, since they might mean something else; the
// next has a new session. Another is made again.
func TestForgottenSessionOfAnotherKind(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	h := &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){
		"tools/call": func(w http.ResponseWriter, _ *http.Request, m message) {
			switch calls.Add(1) {
			case 1:
				refuse(w, http.StatusBadRequest, []byte("null"), mcp.INVALID_PARAMS, "which tool?")
			case 2:
				refuse(w, http.StatusBadRequest, []byte("null"), serverError, "No valid session ID")
			case 4, 6, 7:
				refuse(w, http.StatusBadRequest, m.ID, serverError, "No valid session ID")
			default:
				result(w, m, okResult)
			}
		}}}
	p := handmadePool(t, h, "")
	_, err := callTool(t.Context(), p, "s", "t")
	wantFault(t, err, fault.Protocol, "s refused tools/call: which tool?")
	_, err = callTool(t.Context(), p, "s", "t")
	f := wantFault(t, err, fault.Protocol, "s refused tools/call: No valid session ID")
	if !strings.Contains(f.Help, "Type the command again") {
		t.Error(f.Help)
	}
	mustCall(t, p, "s", "t")
	again := func() error {
		_, err := p.Call(t.Context(), tool.Ref{Server: "s", Name: "t"}, nil, tool.CallOptions{Repeatable: true})
		return err
	}
	if err := again(); err != nil || calls.Load() != 5 {
		t.Errorf("%v, %d calls", err, calls.Load())
	}
	wantFault(t, again(), fault.Protocol, "s refused tools/call: No valid session ID")
	if n := len(h.wait(t, "initialize", 4)); n != 4 || calls.Load() != 7 {
		t.Errorf("%d sessions, %d calls", n, calls.Load())
	}
}

// A call under way in a session that is replaced is lost, not interrupted.
func TestReplacedSession(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	h := &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){
		"tools/call": func(w http.ResponseWriter, r *http.Request, m message) {
			switch calls.Add(1) {
			case 1:
				<-r.Context().Done()
			case 2:
				http.NotFound(w, r)
			default:
				result(w, m, okResult)
			}
		}}}
	p := handmadePool(t, h, "")
	first := make(chan error, 1)
	go func() { // ends when its session is replaced
		_, err := callTool(t.Context(), p, "s", "t")
		first <- err
	}()
	h.wait(t, "tools/call", 1)
	mustCall(t, p, "s", "t")
	wantFault(t, <-first, fault.ServerConnection, "the connection to s ended before it answered tools/call")
}

// A server that forgets every session is not asked for ever.
func TestForgetfulServer(t *testing.T) {
	t.Parallel()
	h := &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){
		"tools/call": func(w http.ResponseWriter, _ *http.Request, m message) { http.NotFound(w, nil) }}}
	p := handmadePool(t, h, "")
	_, err := callTool(t.Context(), p, "s", "t")
	wantFault(t, err, fault.ServerConnection, "s ended its session before it answered tools/call")
	if n := len(h.wait(t, "tools/call", 2)); n != 2 {
		t.Errorf("%d calls", n)
	}
}

// Only what does no harm is asked again when the connection breaks off.
func TestRepeat(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		repeatable bool
		breaks     int64
		calls      int
		ok         bool
	}{
		{"not repeatable", false, 1, 1, false},
		{"repeatable", true, 1, 2, true},
		{"broken for good", true, 9, 2, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			h := &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){
				"tools/call": func(w http.ResponseWriter, _ *http.Request, m message) {
					if calls.Add(1) <= tt.breaks {
						breakOff(w)
						return
					}
					result(w, m, okResult)
				}}}
			p := handmadePool(t, h, "")
			_, err := p.Call(t.Context(), tool.Ref{Server: "s", Name: "t"}, nil, tool.CallOptions{Repeatable: tt.repeatable})
			if tt.ok != (err == nil) {
				t.Errorf("error %v", err)
			}
			if err != nil {
				f := wantFault(t, err, fault.ServerConnection, "the connection to s ended before it answered tools/call")
				if f.Tool != "t" || !strings.HasPrefix(f.Help, "The server may have done what was asked.") {
					t.Errorf("%+v", f)
				}
			}
			if n := len(h.wait(t, "tools/call", tt.calls)); n != tt.calls {
				t.Errorf("%d calls", n)
			}
		})
	}
}

// A call that is given up is cancelled at the server, and its request ended.
func TestCancelledOverHTTP(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	h := &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){
		"tools/call": func(w http.ResponseWriter, r *http.Request, _ message) {
			stream(w)
			<-r.Context().Done()
			close(ended)
		}}}
	p := handmadePool(t, h, "")
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // ends with the call
		h.wait(t, "tools/call", 1)
		cancel()
	}()
	quick(t, "the call", 5*time.Second, func() {
		_, err := callTool(ctx, p, "s", "t")
		wantFault(t, err, fault.Interrupted, "interrupted during tools/call of s")
	})
	if got := h.wait(t, "notifications/cancelled", 1)[0].params; !strings.Contains(got, `"requestId":2`) {
		t.Errorf("cancelled %s", got)
	}
	<-ended
	p.Close()
	if got := h.names(); !strings.HasSuffix(got, "notifications/cancelled DELETE") {
		t.Errorf("requests %s", got)
	}
}

// From 2026-07-28 on, the end of the request is the cancellation.
func TestCancelledOverModernHTTP(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	h := &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){
		"initialize": func(w http.ResponseWriter, _ *http.Request, m message) {
			refuse(w, http.StatusNotFound, m.ID, mcp.METHOD_NOT_FOUND, "no")
		},
		"server/discover": func(w http.ResponseWriter, _ *http.Request, m message) {
			result(w, m, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
		},
		"tools/call": func(_ http.ResponseWriter, r *http.Request, _ message) {
			<-r.Context().Done()
			close(ended)
		}}}
	p := handmadePool(t, h, "")
	_, err := p.Call(t.Context(), tool.Ref{Server: "s", Name: "t"}, nil, tool.CallOptions{Timeout: 100 * time.Millisecond})
	wantFault(t, err, fault.Timeout, "s did not answer tools/call within 100ms")
	<-ended
	p.Close()
	if got, want := h.names(), "initialize server/discover tools/call"; got != want {
		t.Errorf("requests %s, want %s", got, want)
	}
}

// Closing is quick whatever the server does, and ends what is under way.
func TestCloseOfBadServers(t *testing.T) {
	t.Parallel()
	hang := func(_ http.ResponseWriter, r *http.Request, _ message) { <-r.Context().Done() }
	t.Run("hangs at DELETE", func(t *testing.T) {
		t.Parallel()
		p := handmadePool(t, &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){"DELETE": hang}}, "")
		mustCall(t, p, "s", "t")
		quick(t, "Close", goodbyeTimeout+2*time.Second, func() { p.Close() })
	})
	t.Run("is dead", func(t *testing.T) {
		t.Parallel()
		srv := httptest.NewServer(&handmade{})
		p := urlPool(t, map[string]string{"s": fmt.Sprintf(`"url": %q`, srv.URL)})
		mustCall(t, p, "s", "t")
		srv.CloseClientConnections()
		srv.Close()
		quick(t, "Close", 2*time.Second, func() { p.Close() })
	})
	t.Run("in the middle of a call", func(t *testing.T) {
		t.Parallel()
		h := &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){"tools/call": hang}}
		p := handmadePool(t, h, "")
		failed := make(chan error, 1)
		go func() { // ends with the call
			_, err := callTool(t.Context(), p, "s", "t")
			failed <- err
		}()
		h.wait(t, "tools/call", 1)
		quick(t, "Close", 2*time.Second, func() { p.Close() })
		wantFault(t, <-failed, fault.Interrupted, "interrupted during tools/call of s")
	})
}

// conn answers what a server asks during a call on the way, even if its ids are ours.
func TestServerAsksOverHTTP(t *testing.T) {
	t.Parallel()
	h := &handmade{}
	h.on = map[string]func(http.ResponseWriter, *http.Request, message){
		"tools/call": func(w http.ResponseWriter, _ *http.Request, m message) {
			send := stream(w)
			send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
			send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"method":"ping"}`)
			send(`{"jsonrpc":"2.0","id":"r","method":"roots/list"}`)
			h.wait(t, "answer", 2)
			send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + okResult + `}`)
		}}
	p := handmadePool(t, h, "")
	if got := mustCall(t, p, "s", "t"); got != "ok" {
		t.Errorf("got %q", got)
	}
	answers := h.wait(t, "answer", 2)
	got := answers[0].params + answers[1].params
	if !strings.Contains(got, "{}") || !strings.Contains(got, "-32601") {
		t.Errorf("answers %s", got)
	}
}

func TestManyCallsOverHTTP(t *testing.T) {
	t.Parallel()
	streamable := serve(t, server.NewStreamableHTTPServer(sdkServer())) + "/mcp"
	p := urlPool(t, map[string]string{"a": fmt.Sprintf(`"url": %q`, streamable), "b": fmt.Sprintf(`"type": "sse", "url": %q`, serveSSE(t))})
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			want := fmt.Sprint("n", i)
			if got := mustCall(t, p, []string{"a", "b"}[i%2], "echo", fmt.Sprintf(`{"a":%q}`, want)); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	wg.Wait()
}

// A server of revision 2026-07-28 alone: initialize is a method it does not know. Here that is
// mcp-go's server behind a handler, since by itself it speaks the older revisions too; it insists
// on the headers of that revision.
func TestModernServerOverHTTP(t *testing.T) {
	t.Parallel()
	for status, code := range map[int]int{http.StatusNotFound: mcp.METHOD_NOT_FOUND,
		http.StatusBadRequest: mcp.UNSUPPORTED_PROTOCOL_VERSION, http.StatusOK: mcp.METHOD_NOT_FOUND} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			sdk := server.NewMCPServer("sdk", "1.0")
			sdk.AddTool(mcp.NewToolWithRawSchema("echo", "", []byte(`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"Region"}}}`)),
				func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return mcp.NewToolResultText(fmt.Sprint(req.GetArguments()["a"], req.Header.Get("Mcp-Param-Region"))), nil
				})
			modern := server.NewStreamableHTTPServer(sdk)
			h := &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){
				"initialize": func(w http.ResponseWriter, _ *http.Request, m message) { refuse(w, status, m.ID, code, "no") }}}
			for _, method := range []string{"server/discover", "tools/list", "tools/call"} {
				h.on[method] = func(w http.ResponseWriter, r *http.Request, m message) {
					r.Body = io.NopCloser(strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, m.ID, m.Method, m.Params)))
					modern.ServeHTTP(w, r)
				}
			}
			p := handmadePool(t, h, "")
			for range 2 {
				if got := mustCall(t, p, "s", "echo", `{"a":"eu"}`); got != "eueu" {
					t.Errorf("got %q", got)
				}
			}
			l, err := p.List(t.Context(), "s", tool.CallOptions{})
			if err != nil || len(l.Tools) != 1 || l.Known.Protocol != "2026-07-28" {
				t.Errorf("got %+v, %v", l, err)
			}
			p.Close()
			if got, want := h.names(), "initialize server/discover tools/call tools/list tools/call tools/call tools/list"; got != want {
				t.Errorf("requests %s, want %s", got, want)
			}
		})
	}
}

// A call that brings the tool's schema repeats the marked arguments in headers at once, and without
// those of an outdated schema when the server refuses them.
func TestArgumentsInHeaders(t *testing.T) {
	t.Parallel()
	const current = `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"string"}}}`
	for name, tt := range map[string]struct {
		protocol, schema string
		refuse           bool
		requests, got    string
	}{
		"marked":          {"2026-07-28", current, false, "tools/call", `=?base64?RcO8?=`},
		"older revision":  {"2025-11-25", current, false, "tools/call", ``},
		"nothing marked":  {"2026-07-28", ``, false, "tools/call", ``},
		"marked wrongly":  {"2026-07-28", strings.Replace(current, "Region", "Re gion", 1), false, "tools/call", ``},
		"marked formerly": {"2026-07-28", strings.Replace(current, "Region", "Old", 1), true, "tools/call tools/list tools/call", `=?base64?RcO8?=`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){
				"initialize": func(w http.ResponseWriter, _ *http.Request, m message) {
					result(w, m, `{"protocolVersion":"`+tt.protocol+`","capabilities":{"tools":{}},"serverInfo":{"name":"hand","version":"1"}}`)
				},
				"tools/list": func(w http.ResponseWriter, _ *http.Request, m message) {
					result(w, m, `{"tools":[{"name":"t","inputSchema":`+current+`}]}`)
				},
				"tools/call": func(w http.ResponseWriter, r *http.Request, m message) {
					if tt.refuse && r.Header.Get("Mcp-Param-Region") == "" {
						refuse(w, http.StatusBadRequest, m.ID, mcp.HEADER_MISMATCH, "no Mcp-Param-Region")
						return
					}
					result(w, m, okResult)
				},
			}}
			p := handmadePool(t, h, "")
			opt := tool.CallOptions{HeaderSchema: tt.schema}
			if _, err := p.Call(t.Context(), tool.Ref{Server: "s", Name: "t"}, []byte(`{"a":"Eü","b":"x"}`), opt); err != nil {
				t.Fatal(err)
			}
			all := slices.DeleteFunc(h.all(), func(s seen) bool { return s.what == "GET" }) // of older revisions
			var names []string
			for _, s := range all {
				names = append(names, s.what)
			}
			if got := strings.Join(names, " "); got != "initialize notifications/initialized "+tt.requests {
				t.Errorf("requests %s", got)
			}
			last := all[len(all)-1].header
			if got := last.Get("Mcp-Param-Region"); got != tt.got || last.Get("Mcp-Param-Old") != "" || last.Get("Mcp-Param-B") != "" {
				t.Errorf("headers %v", last)
			}
		})
	}
}

// Tools whose marks no header can be made of are left out, alone and where headers are made: over
// HTTP, from 2026-07-28 on.
func TestWrongMarks(t *testing.T) {
	t.Parallel()
	for protocol, want := range map[string]string{"2026-07-28": "t,fine", "2025-11-25": "t,spaced,fine"} {
		h := &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){
			"initialize": func(w http.ResponseWriter, _ *http.Request, m message) {
				result(w, m, `{"protocolVersion":"`+protocol+`","capabilities":{"tools":{}},"serverInfo":{"name":"hand","version":"1"}}`)
			},
			"tools/list": func(w http.ResponseWriter, _ *http.Request, m message) {
				result(w, m, `{"tools":[{"name":"t","inputSchema":{"type":"object"}},
					{"name":"spaced","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"My Region"}}}},
					{"name":"fine","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"Region"}}}}]}`)
			},
		}}
		l, err := handmadePool(t, h, "").List(t.Context(), "s", tool.CallOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, def := range l.Tools {
			names = append(names, def.Name)
		}
		if got := strings.Join(names, ","); got != want {
			t.Errorf("%s: tools %s, want %s", protocol, got, want)
		}
		if noted := len(l.Notes) == 1 && strings.Contains(l.Notes[0], `"spaced"`); noted != (protocol == "2026-07-28") {
			t.Errorf("%s: notes %q", protocol, l.Notes)
		}
	}
}
