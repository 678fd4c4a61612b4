package hidden

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTable(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct {
		text, shown, escaped string
		n                    int
	}{
		"plain":                     {"a b\n\tc", "a b\n\tc", "a b\n\tc", 0},
		"other languages":           {"Grüße, 世界, שלום, नमस्ते", "Grüße, 世界, שלום, नमस्ते", "Grüße, 世界, שלום, नमस्ते", 0},
		"line ends":                 {"a\r\nb\rc", "a\nb␍c", "a\r\nb\rc", 0},
		"ESC and DEL":               {"\x1b[2J\x7f", "␛[2J␡", `\u001b[2J\u007f`, 2},
		"C1":                        {"a\u009b2J", "a�2J", `a\u009b2J`, 1},
		"bidi":                      {"a\u202eb\u2066c\u061c\u200f", "a�b�c��", `a\u202eb\u2066c\u061c\u200f`, 4},
		"zero width":                {"a\u200bb\u200c\u2060\ufeff\u00ad", "a�b����", `a\u200bb\u200c\u2060\ufeff\u00ad`, 5},
		"tags":                      {"a\U000e0041\U000e007f", "a��", `a\udb40\udc41\udb40\udc7f`, 2},
		"variation selectors":       {"a\ufe00\ufe0f\U000e0100", "a���", `a\ufe00\ufe0f\udb40\udd00`, 3},
		"letters without a form":    {"\u115f\u3164\uffa0\u034f", "����", `\u115f\u3164\uffa0\u034f`, 4},
		"separators":                {"\u2028\u2029", "��", `\u2028\u2029`, 2},
		"a mark that one sees":      {"\u0600\u0661", "\u0600\u0661", "\u0600\u0661", 0},
		"an emoji in colour":        {"❤️ ☀️ 1️⃣ ©️", "❤️ ☀️ 1️⃣ ©️", "❤️ ☀️ 1️⃣ ©️", 0},
		"a family":                  {"👨‍👩‍👧 👩🏽‍💻 🏳️‍🌈 ❤️‍🔥", "👨‍👩‍👧 👩🏽‍💻 🏳️‍🌈 ❤️‍🔥", "👨‍👩‍👧 👩🏽‍💻 🏳️‍🌈 ❤️‍🔥", 0},
		"a flag with tags":          {"🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f!", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f!", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f!", 0},
		"words behind a flag":       {"🏴\U000e0067\U000e0062\U000e0061", "🏴���", `🏴\udb40\udc67\udb40\udc62\udb40\udc61`, 3},
		"two selectors":             {"❤️\ufe0f", "❤️�", "❤️\\ufe0f", 1},
		"a joiner at the end":       {"👩\u200d", "👩�", `👩\u200d`, 1},
		"a joiner between letters":  {"a\u200db", "a�b", `a\u200db`, 1},
		"two joiners":               {"👩\u200d\u200d👩", "👩��👩", `👩\u200d\u200d👩`, 2},
		"a digit with a selector":   {"1\ufe0f", "1�", `1\ufe0f`, 1},
		"bytes that are not UTF-8":  {"a\x9bb", "a�b", "a�b", 0},
		"a replacement that stands": {"�", "�", "�", 0},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			if got := Show(tc.text); got != tc.shown {
				t.Errorf("shown as %q", got)
			}
			if got := string(Escape([]byte(tc.text))); got != tc.escaped {
				t.Errorf("escaped as %s", got)
			}
			if got := Count(tc.text); got != tc.n {
				t.Errorf("%d are hidden", got)
			}
		})
	}
}

func TestCountJSON(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]int{
		`{"a":"b\n\t\r\\u200b\"","c":[1,null]}`:               0,
		`{"a":"\u200b\udb40\udc41x","\u001b":"` + "\u200b\"}": 4,
		`["\ud83d\udc68\u200d\ud83d\udc69","\u2764\ufe0f"]`:   0,
		`["👩\u200d💻", "👩\u200d", "` + "👩\u200d\"]":            2,
		`{"not": "\u200b"`: 0,
		`"\ud800"`:         0,
	} {
		t.Run(doc, func(t *testing.T) {
			t.Parallel()
			if got := CountJSON([]byte(doc)); got != want {
				t.Errorf("%d, want %d", got, want)
			}
		})
	}
}

// FuzzEscape: the values of a JSON text stay the same, nothing hidden is left, and what is counted is what is escaped.
func FuzzEscape(f *testing.F) {
	f.Add([]byte(`{"a":"b\u200b` + "\u200b❤️\U000e0041" + `","c":1.0}`))
	f.Add([]byte("\"\x9b\x7f👩\u200d💻\""))
	f.Add([]byte(`["` + "🏴\U000e0067" + `"]`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		var before, after any
		if json.Unmarshal(doc, &before) != nil {
			return
		}
		escaped := Escape(doc)
		if err := json.Unmarshal(escaped, &after); err != nil {
			t.Fatalf("%q is not JSON any more: %q", doc, escaped)
		}
		a, _ := json.Marshal(before)
		b, _ := json.Marshal(after)
		if string(a) != string(b) {
			t.Fatalf("%q: %s became %s", doc, a, b)
		}
		if n := Count(string(escaped)); n > 0 || !utf8.Valid(escaped) {
			t.Fatalf("%q still has %d", escaped, n)
		}
		if shown := Show(string(doc)); Count(shown) > 0 || strings.Contains(shown, "\x1b") {
			t.Fatalf("%q is shown as %q", doc, shown)
		}
		if CountJSON(doc) != CountJSON(escaped) {
			t.Fatalf("%q has %d hidden characters, escaped %d", doc, CountJSON(doc), CountJSON(escaped))
		}
	})
}

// TestF5EscapeGrowsWithTheText counts allocations, of which there are a few however long the text is.
func TestF5EscapeGrowsWithTheText(t *testing.T) {
	doc := []byte(`"` + strings.Repeat("\U000e0041👩\u200d💻", 10_000) + `"`)
	if n := testing.AllocsPerRun(5, func() { Escape(doc) }); n > 20 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkEscape(b *testing.B) {
	doc := []byte(strings.Repeat(`{"description":"Grüße an die Welt, and some more words of ASCII"}`, 100))
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		Escape(doc)
	}
}
