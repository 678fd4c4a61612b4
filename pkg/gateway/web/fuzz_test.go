package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// FuzzRequests has the server read any request: it answers with a status of HTTP, and each body with JSON or events.
func FuzzRequests(f *testing.F) {
	modern := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	for _, seed := range [][4]string{
		{"POST", "/mcp", "Content-Type: application/json\nAccept: */*", initialize},
		{"POST", "/mcp/search", "Content-Type: application/json;charset=x\nAccept: application/json,text/*;q=0", ping},
		{"POST", "/mcp/activate", "Content-Type: application/json\nAccept: */*\nMcp-Protocol-Version: 2026-07-28\n" +
			"Mcp-Method: tools/list", modern},
		{"GET", "/mcp", "Accept: text/event-stream\nMcp-Session-Id: x\nLast-Event-Id: 1-99999999999999999999", ""},
		{"DELETE", "/api/mcp/token", "Origin: http://[::1\nAuthorization: Bearer", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	s, _, _ := start(f)
	f.Fuzz(func(t *testing.T, method, path, headers, body string) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // a stream lasts until its client goes
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, method, "http://localhost/", strings.NewReader(body))
		if err != nil {
			return // no request of HTTP
		}
		r.URL.Path, r.Header = path, make(http.Header)
		for line := range strings.Lines(headers) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			if name == "Host" {
				r.Host = value
			}
			r.Header.Add(name, strings.TrimSpace(value))
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code < 200 || w.Code > 599 {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
	})
}
