package tool

import (
	"strings"
	"testing"
)

const (
	someTrace = "0af7651916cd43dd8448eb211c80319c"
	someSpan  = "b7ad6b7169203331"
)

// TestParseTrace takes what the specification allows, and nothing else.
func TestParseTrace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		parent, state string
		want          Trace
	}{
		{"00-" + someTrace + "-" + someSpan + "-01", "a=b", Trace{someTrace, someSpan, true, "a=b"}},
		{"00-" + someTrace + "-" + someSpan + "-00", "", Trace{someTrace, someSpan, false, ""}},
		{"00-" + someTrace + "-" + someSpan + "-03", "a=b\n", Trace{someTrace, someSpan, true, ""}},
		{"00-" + someTrace + "-" + someSpan + "-01", strings.Repeat("x", 513), Trace{someTrace, someSpan, true, ""}},
		{"cc-" + someTrace + "-" + someSpan + "-01-what-comes-later", "", Trace{someTrace, someSpan, true, ""}},
		{"cc-" + someTrace + "-" + someSpan + "-01.what-comes-later", "", Trace{}},
		{"00-" + someTrace + "-" + someSpan + "-01-more", "", Trace{}},
		{"ff-" + someTrace + "-" + someSpan + "-01", "", Trace{}},
		{"00-" + strings.ToUpper(someTrace) + "-" + someSpan + "-01", "", Trace{}},
		{"00-" + strings.Repeat("0", 32) + "-" + someSpan + "-01", "", Trace{}},
		{"00-" + someTrace + "-" + strings.Repeat("0", 16) + "-01", "", Trace{}},
		{"00-" + someTrace + "-" + someSpan + "-0x", "", Trace{}},
		{"00+" + someTrace + "-" + someSpan + "-01", "", Trace{}},
		{"00-" + someTrace, "", Trace{}}, {"", "a=b", Trace{}},
	} {
		if got := ParseTrace(c.parent, c.state); got != c.want {
			t.Errorf("%q, %q: %+v, not %+v", c.parent, c.state, got, c.want)
		}
	}
	if got := (Trace{}).Parent(); got != "" {
		t.Errorf("none is written as %q", got)
	}
}

// FuzzParseTrace: what is read is written as the beginning of what was given, and is read as the same again.
func FuzzParseTrace(f *testing.F) {
	f.Add("00-"+someTrace+"-"+someSpan+"-01", "a=b")
	f.Add("01-"+someTrace+"-"+someSpan+"-09-x", "")
	f.Fuzz(func(t *testing.T, parent, state string) {
		got := ParseTrace(parent, state)
		if got == (Trace{}) {
			return
		}
		if !strings.Contains(parent, got.ID+"-"+got.Span) || ParseTrace(got.Parent(), got.State) != got {
			t.Errorf("%q, %q: %+v, %q", parent, state, got, got.Parent())
		}
	})
}
