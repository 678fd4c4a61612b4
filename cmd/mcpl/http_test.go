//go:build unix

package main

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// webServer is an MCP server over Streamable HTTP with the tool "t", "hang" that never answers, and "lose" that ends
// the stream of its answer before that. It remembers for which URL each message came.
type webServer struct {
	mu    sync.Mutex
	came  []string
	again chan struct{} // closed, and made anew, at each message
}

func newWebServer() *webServer { return &webServer{again: make(chan struct{})} }

// ServeHTTP implements http.Handler.
func (s *webServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name string }
	}
	_ = json.NewDecoder(r.Body).Decode(&m) // a DELETE has no body
	s.mu.Lock()
	s.came = append(s.came, r.Method+" "+r.URL.String()+" "+m.Method)
	close(s.again)
	s.again = make(chan struct{})
	s.mu.Unlock()
	answers := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"web","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"t"},{"name":"hang"},{"name":"lose"}]}`,
		"ping":       `{}`,
		"tools/call": `{"content":[{"type":"text","text":"ok"}]}`,
	}
	switch {
	case m.Params.Name == "hang":
		<-r.Context().Done()
	case m.Params.Name == "lose":
		w.Header().Set("Content-Type", "text/event-stream")
	case answers[m.Method] == "":
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Mcp-Session-Id", "S")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, answers[m.Method])
	}
}

// wait waits until a request has come that what is a part of.
func (s *webServer) wait(t *testing.T, what string) {
	t.Helper()
	end := time.After(time.Minute)
	for {
		s.mu.Lock()
		all, again := strings.Join(s.came, "\n"), s.again
		s.mu.Unlock()
		if strings.Contains(all, what) {
			return
		}
		select {
		case <-again:
		case <-end:
			t.Fatalf("%s has not come, only\n%s", what, all)
		}
	}
}

// webHome is a folder with a configuration of one server "s", given by its entry.
func webHome(t *testing.T, entry string) home {
	t.Helper()
	h := home{dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(h.dir, ".mcp.json"), []byte(`{"mcpServers": {"s": {`+entry+`}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return h
}

// A certificate of an authority that the system does not know is refused, and accepted where
// SSL_CERT_FILE names it, as the help says.
func TestTLS(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(newWebServer())
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	h := webHome(t, fmt.Sprintf(`"url": %q`, srv.URL))
	cmd, stdout, _ := h.mcpl(t, "--json", "call", "s", "t")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, cmd); code != 4 || !strings.Contains(stdout.String(), "does not trust") ||
		!strings.Contains(stdout.String(), "SSL_CERT_FILE=") {
		t.Errorf("exit code %d: %s", code, stdout)
	}
	if runtime.GOOS == "darwin" {
		t.Skip("the system's own store of certificates decides on macOS, not SSL_CERT_FILE")
	}
	ca := filepath.Join(h.dir, "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd, stdout, stderr := h.mcpl(t, "--json", "call", "s", "t")
	cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+ca)
	if err := cmd.Run(); err != nil || !strings.Contains(stdout.String(), `"result":"ok"`) {
		t.Errorf("%v: %s%s", err, stdout, stderr)
	}
}

// The proxy of the environment is used.
func TestProxy(t *testing.T) {
	t.Parallel()
	s := newWebServer()
	proxy := httptest.NewServer(s)
	t.Cleanup(proxy.Close)
	h := webHome(t, `"url": "http://mcp.example.test/mcp", "allowHTTP": true`)
	cmd, stdout, stderr := h.mcpl(t, "--json", "call", "s", "t")
	cmd.Env = append(cmd.Env, "HTTP_PROXY="+proxy.URL, "http_proxy="+proxy.URL, "NO_PROXY=", "no_proxy=")
	if err := cmd.Run(); err != nil || !strings.Contains(stdout.String(), `"result":"ok"`) {
		t.Errorf("%v: %s%s", err, stdout, stderr)
	}
	s.wait(t, "POST http://mcp.example.test/mcp tools/call")
	s.wait(t, "DELETE http://mcp.example.test/mcp")
}

// Ctrl-C cancels the call at the server, ends the session and exits with 130.
func TestInterruptedCallOverHTTP(t *testing.T) {
	t.Parallel()
	s := newWebServer()
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	cmd, stdout, stderr := webHome(t, fmt.Sprintf(`"url": %q`, srv.URL)).mcpl(t, "--json", "call", "s", "hang")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.wait(t, "tools/call")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, cmd); code != 130 || !strings.Contains(stdout.String(), "InterruptedError") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	s.wait(t, "notifications/cancelled")
	s.wait(t, "DELETE")
}
