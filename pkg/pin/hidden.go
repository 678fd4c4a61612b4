package pin

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/hidden"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Clean makes a server's text harmless: hidden characters and control characters appear as <U+200B>. Newlines and tabs
// become spaces.
func Clean(s string) string {
	var b strings.Builder
	for r, isHidden := range hidden.All(s) {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case isHidden:
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hiddenAnew reports whether after has hidden characters that before did not have.
func hiddenAnew(before, after json.RawMessage) bool {
	now := hiddenIn(after)
	return now != "" && now != hiddenIn(before)
}

// hiddenIn returns the hidden characters in the names and texts of a definition, without the members that no one sees.
func hiddenIn(raw json.RawMessage) string {
	if hidden.CountJSON(raw) == 0 {
		return ""
	}
	if fields, err := tool.SplitObject(raw); err == nil {
		shown := fields[:0]
		for _, f := range fields {
			if f.Key != "icons" && f.Key != "_meta" {
				shown = append(shown, f)
			}
		}
		raw = tool.JoinObject(shown)
	}
	var b strings.Builder
	texts(raw, func(s string) {
		for r, isHidden := range hidden.All(s) {
			if isHidden {
				b.WriteRune(r)
			}
		}
	})
	return b.String()
}

// texts calls use with each string of a JSON value, the names of members too.
func texts(raw json.RawMessage, use func(string)) {
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err != nil {
			return // the end
		}
		if s, ok := token.(string); ok {
			use(s)
		}
	}
}
