package conn

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// sdkServer is a server of mcp-go's with a tool "echo".
func sdkServer() *server.MCPServer {
	s := server.NewMCPServer("sdk", "1.0", server.WithInstructions("Be kind."))
	s.AddTool(mcp.NewTool("echo", mcp.WithString("a")), func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
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
			l, err := p.Tools(t.Context(), "s")
			if err != nil {
				t.Fatal(err)
			}
			if len(l.Tools) != 1 || l.ServerName != "sdk" || l.Instructions != "Be kind." || l.Protocol != "2025-11-25" {
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
