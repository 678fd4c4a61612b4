package results

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestF13IndentationStops gives deep JSON lines that are no longer than maxIndent levels need, and keeps its value.
func TestF13IndentationStops(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{maxIndent - 1, maxIndent, maxIndent + 1, 4000, 8000} {
		raw := []byte(strings.Repeat(`{"a":[`, depth/2) + `1,"x"` + strings.Repeat(`]}`, depth/2))
		got := Indented(raw, "  ")
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(got)); err != nil || compact.String() != string(raw) {
			t.Errorf("depth %d became %.100s, %v", depth, compact.String(), err)
		}
		if most := 4*maxIndent*maxIndent + 2*len(raw); len(got) > most {
			t.Errorf("depth %d: %d bytes became %d, more than %d", depth, len(raw), len(got), most)
		}
	}
}

// FuzzIndented compares with encoding/json, which indents at every level.
func FuzzIndented(f *testing.F) {
	f.Add([]byte(`{"a":[1,{},[],"x\\\",{:",null],"b":{"c":-1.5e3}}`), "  ")
	f.Add([]byte(` [ ] `), "")
	f.Fuzz(func(t *testing.T, raw []byte, indent string) {
		var want bytes.Buffer
		if strings.Trim(indent, " ") != "" || bytes.Count(raw, []byte("{"))+bytes.Count(raw, []byte("[")) > maxIndent ||
			json.Indent(&want, bytes.Trim(raw, " \t\r\n"), indent, "  ") != nil {
			return
		}
		if got := Indented(raw, indent); got != indent+want.String()+"\n" {
			t.Fatalf("%q became\n%q, not\n%q", raw, got, want.String())
		}
	})
}

// TestTextIsNoLargerThanIndented: each level costs every line below it two spaces, so the text of 16 kB could take
// 100 MB.
func TestTextIsNoLargerThanIndented(t *testing.T) {
	t.Parallel()
	raw := []byte(strings.Repeat(`[`, 8000) + strings.Repeat(`]`, 8000))
	if got := Text(raw); len(got) > 4*maxIndent*maxIndent+2*len(raw) {
		t.Errorf("%d bytes became %d", len(raw), len(got))
	}
}
