package tool

import (
	"encoding/json"
	"testing"
)

// FuzzText: a text is what encoding/json makes of it, however it is read.
func FuzzText(f *testing.F) {
	for _, raw := range []string{`"plain"`, `""`, `"a\u00e9"`, `"é"`, "\"\xff\"", ` "x" `, `"`, `"a"b"`, `"\"`, "\"\t\"", "null", "1", "",
		"\"\x7f\"", `"a"`} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var want string
		if json.Unmarshal(raw, &want) != nil {
			want = ""
		}
		if got := Text(raw); got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	})
}
