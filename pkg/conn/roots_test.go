package conn

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// TestS1RootsComeFirst: the first request follows the answer to the server's question for its roots, which the
// reference file server limits itself to. Only servers that are offered roots cost a ping, and only those that ask for
// them a wait.
func TestS1RootsComeFirst(t *testing.T) {
	t.Parallel()
	asks := mcptest.Behaviour{Asks: []mcptest.Ask{{Method: "roots/list"}}}
	for name, tt := range map[string]struct {
		root string
		when map[string]mcptest.Behaviour
		want []string
	}{
		"asks": {"/w", map[string]mcptest.Behaviour{"notifications/initialized": asks},
			[]string{"ping", "the roots", "ping", "tools/call"}},
		"never asks": {"/w", nil, []string{"ping", "tools/call"}},
		"no ping": {"/w", map[string]mcptest.Behaviour{"ping": {Error: &mcptest.Error{Code: -32601, Message: "what?"}}},
			[]string{"ping", "tools/call"}},
		"has none and asks": {"", map[string]mcptest.Behaviour{"notifications/initialized": asks}, []string{"tools/call"}},
		"has none":          {"", nil, []string{"tools/call"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			received := filepath.Join(t.TempDir(), "received")
			p := newPool(t, scripts{"s": {Methods: tt.when, Received: received, Tools: []mcptest.Tool{{Name: "do"}}}},
				func(o *Options) { o.Root = tt.root })
			if _, err := callFor(t, p, "do", tool.CallOptions{}); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, line := range mcptest.Lines(t, received) {
				for _, what := range []string{"tools/call", "ping"} {
					if strings.Contains(line, `"method":"`+what+`"`) {
						got = append(got, what)
					}
				}
				if strings.Contains(line, `"result":{"roots":[{"uri":"file:///w"`) {
					got = append(got, "the roots")
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("the server received %q, want %q", got, tt.want)
			}
		})
	}
}
