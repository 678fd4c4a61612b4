package tool

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzQuote holds Quote against encoding/json: they have to mean the same string.
func FuzzQuote(f *testing.F) {
	f.Add("plain")
	f.Add("\"\\/\b\f\n\r\t\x00\x1f\x7f<>&\u2028\u2029é漢🙂\xff\xc3")
	f.Fuzz(func(t *testing.T, s string) {
		quoted := Quote(s)
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(s); err != nil {
			t.Fatal(err)
		}
		var a, b string
		if err := json.Unmarshal(quoted, &a); err != nil {
			t.Fatalf("%q became %s: %v", s, quoted, err)
		}
		if err := json.Unmarshal(want.Bytes(), &b); err != nil {
			t.Fatal(err)
		}
		if a != b {
			t.Fatalf("%q became %q, encoding/json makes %q", s, a, b)
		}
	})
}
