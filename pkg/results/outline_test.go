package results

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// TestStructure: deep and wide values are described within bounds.
func TestStructure(t *testing.T) {
	t.Parallel()
	var wide []tool.Field
	for i := range 40 {
		wide = append(wide, tool.Field{Key: strings.Repeat("k", i+1), Value: json.RawMessage("1")})
	}
	for title, tc := range map[string]struct {
		raw  string
		want string
	}{
		"numbers":      {`1.50`, `1.50`},
		"null":         {`null`, `null`},
		"an empty one": {`[]`, `"list, 0 items, 2 B"`},
		"deep":         {`{"a":{"b":{"c":{"d":1}}}}`, `{"a":{"b":{"c":"object, 1 key, 7 B"}}}`},
		"deep lists":   {`[[[[1]]]]`, `["list, 1 item, 9 B",["list, 1 item, 7 B",["list, 1 item, 5 B","list, 1 item, 3 B"]]]`},
		"wide":         {string(tool.JoinObject(wide)), `"…":"10 more keys"}`},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			if got := string(structure(json.RawMessage(tc.raw), 3)); !strings.HasSuffix(got, tc.want) {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
