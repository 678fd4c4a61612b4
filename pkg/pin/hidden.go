package pin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Clean makes a server's text harmless: hidden characters and control characters appear as <U+200B>. Newlines and tabs
// become spaces.
func Clean(s string) string {
	var b strings.Builder
	walk(s, func(r rune, isHidden bool) {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case isHidden:
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
	})
	return b.String()
}

// hiddenAnew reports whether after has hidden characters that before did not have.
func hiddenAnew(before, after json.RawMessage) bool {
	now := hiddenIn(after)
	return now != "" && now != hiddenIn(before)
}

// hiddenIn returns the hidden characters in the names and texts of a definition, without the members that no one sees.
func hiddenIn(raw json.RawMessage) string {
	if !bytes.Contains(raw, []byte(`\u`)) && bytes.IndexFunc(raw, hides) < 0 {
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
		walk(s, func(r rune, isHidden bool) {
			if isHidden {
				b.WriteRune(r)
			}
		})
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

// walk calls use with each character, and whether it is hidden. The parts of an emoji are not.
func walk(s string, use func(r rune, isHidden bool)) {
	runes := []rune(s)
	for i, r := range runes {
		isHidden := hides(r)
		switch {
		case i == 0 || !isHidden:
		case r == 0xfe0f || r == 0xfe0e:
			isHidden = !emojiBase(runes[i-1]) && !strings.ContainsRune("#*0123456789", runes[i-1])
		case r == 0x200d && i+1 < len(runes):
			isHidden = !(emojiBase(runes[i-1]) || runes[i-1] == 0xfe0f) || !emojiBase(runes[i+1])
		}
		use(r, isHidden)
	}
}

// hides reports characters that a reader does not see, or that change how others are seen: controls, format characters,
// line separators, variation selectors, and letters without a shape.
func hides(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return false
	case r >= 0x20 && r < 0x7f:
		return false
	case r == 0x34f || r == 0x115f || r == 0x1160 || r == 0x3164 || r == 0xffa0 || r == 0x17b4 || r == 0x17b5:
		return true
	case r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector)
}

// emojiBase reports characters that emoji are made of.
func emojiBase(r rune) bool {
	return r >= 0x1f000 && r < 0x1fb00 || r >= 0x2190 && r < 0x2c00 && unicode.In(r, unicode.So, unicode.Sm) ||
		strings.ContainsRune("©®‼⁉™ℹ〰〽㊗㊙", r)
}
