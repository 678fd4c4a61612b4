package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestParseDef(t *testing.T) {
	t.Parallel()
	raw := `{ "name" : "a", "icons":[{"src":"x"}],"x-vendor": {"b":1,  "a":2},"_meta":{"k":1}, "title":"T","description":"D",
		"inputSchema":{ "type":"object", "required":[]},"outputSchema":true,"annotations":{"readOnlyHint":true,"title":"A"}}`
	d, err := Parse(Tool, []byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if d.Name != "a" || d.Title != "T" || d.Description != "D" || d.DisplayTitle() != "T" {
		t.Errorf("got %+v", d)
	}
	if string(d.InputSchema) != `{ "type":"object", "required":[]}` || string(d.OutputSchema) != "true" {
		t.Errorf("schemas %s, %s", d.InputSchema, d.OutputSchema)
	}
	want := `{"name":"a","x-vendor":{"b":1,  "a":2},"title":"T","description":"D","inputSchema":{ "type":"object", "required":[]},` +
		`"outputSchema":true,"annotations":{"readOnlyHint":true,"title":"A"}}`
	if got := string(d.Raw()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if d.Tokens() != (len(want)+3)/4 {
		t.Errorf("%d tokens of %d bytes", d.Tokens(), len(want))
	}
	if whole := string(d.Whole()); whole != `{"name":"a","icons":[{"src":"x"}],"x-vendor":{"b":1,  "a":2},"_meta":{"k":1},`+want[len(`{"name":"a","x-vendor":{"b":1,  "a":2},`):] {
		t.Errorf("whole it is %s", whole)
	}
	again, err := Parse(Tool, d.Raw())
	if err != nil || !bytes.Equal(again.Raw(), d.Raw()) {
		t.Errorf("again: %s, %v", again.Raw(), err)
	}
}

func TestParseDefOdd(t *testing.T) {
	t.Parallel()
	for raw, ok := range map[string]bool{
		`{"name":"a"}`: true, `{"name":"a","inputSchema":"none"}`: true, `{"name":"a","title":7}`: true, `{"name":"b","name":"a"}`: true,
		`{"name":"a","annotations":[]}`: true,
		`{"name":""}`:                   false, `{"name":7}`: false, `{}`: false, `[]`: false, `null`: false, `"a"`: false, ``: false,
		`{"name":"a"`: false, `{"name":"a"} x`: false,
	} {
		d, err := Parse(Tool, []byte(raw))
		if (err == nil) != ok {
			t.Errorf("%s: %v", raw, err)
		}
		if ok && (d.Name != "a" || d.DisplayTitle() != "") {
			t.Errorf("%s: %+v", raw, d)
		}
	}
	if _, err := Parse(Tool, []byte("[]")); !errors.Is(err, ErrNotObject) {
		t.Errorf("of a list: %v", err)
	}
}

func TestHints(t *testing.T) {
	t.Parallel()
	d := Def{Annotations: json.RawMessage(`{"title":"Old place","readOnlyHint":false,"openWorldHint":true}`)}
	h := d.Hints()
	if h.ReadOnly == nil || *h.ReadOnly || h.OpenWorld == nil || !*h.OpenWorld || h.Destructive != nil ||
		h.Idempotent != nil {
		t.Errorf("got %+v", h)
	}
	if d.DisplayTitle() != "Old place" {
		t.Errorf("title %q", d.DisplayTitle())
	}
	for _, odd := range []string{`{"readOnlyHint":"yes","title":"x"}`, `[]`, ``} {
		if (Def{Annotations: json.RawMessage(odd)}).Hints() != (Hints{}) {
			t.Errorf("%s means something", odd)
		}
	}
}

// TestJoinObject gives an object back as it was written, but for the white space between its members.
func TestJoinObject(t *testing.T) {
	t.Parallel()
	const raw = `{"\u003c\/\ud800":{ "a" : 1e2},"a":-0,"a":"\u00e9","` + "\u2028" + `":[]}`
	fields, err := SplitObject([]byte(" " + strings.ReplaceAll(raw, ",", " , ")))
	if got := JoinObject(fields); err != nil || string(got) != raw {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestSplitArray(t *testing.T) {
	t.Parallel()
	list, err := SplitArray([]byte(` [ {"a": 1.0 }, "x",[ ] ] `))
	if err != nil || len(list) != 3 || string(list[0]) != `{"a": 1.0 }` || string(list[2]) != "[ ]" {
		t.Errorf("got %s, %v", list, err)
	}
	if _, err := SplitArray([]byte(`{}`)); err == nil {
		t.Error("an object is no list")
	}
}

// TestSplitValidArray: it splits as SplitArray does.
func TestSplitValidArray(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`[]`, ` [ ] `, `[1]`, ` [ {"a": [1,"]"] }, "x\"]", [ [ ] ] ,null,-1e5 ] `, `[true,"",{}]`} {
		want, err := SplitArray([]byte(raw))
		if got := SplitValidArray([]byte(raw)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
	for _, raw := range []string{`{}`, `null`, `"[]"`, ` 1`} {
		if got := SplitValidArray([]byte(raw)); got != nil {
			t.Errorf("%s: %q", raw, got)
		}
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	if got := string(Quote("a<b>&\"\n\x00é")); got != `"a<b>&\"\n\u0000é"` {
		t.Errorf("got %s", got)
	}
}

func TestRef(t *testing.T) {
	t.Parallel()
	if got := (Ref{Server: "s", Name: "t"}).String(); got != "s/t" {
		t.Error(got)
	}
}

// FuzzSplitObject: what is split and joined again says the same, values byte for byte; other
// bytes give an error, never a panic.
func FuzzSplitObject(f *testing.F) {
	for _, seed := range []string{`{}`, ` { "a" : 1 , "b":[{"c":"}]"}],"d":"\\\"","a":-1.0e5 } `, `{"é\u0000":null,"x":{"y":{}}}`, `[]`, `{"a":}`, `{"a":"`,
		`{"a\"b":true}`, strings.Repeat(`{"a":`, 50) + "1" + strings.Repeat("}", 50)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		fields, err := SplitObject(raw)
		if err != nil {
			if json.Valid(raw) && bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
				t.Fatalf("an object is refused: %v", err)
			}
			return
		}
		var whole any
		if err := json.Unmarshal(raw, &whole); err != nil {
			t.Fatal(err)
		}
		for _, field := range fields {
			if !json.Valid(field.Value) || !bytes.Contains(raw, field.Value) {
				t.Fatalf("value %q", field.Value)
			}
		}
		joined := JoinObject(fields)
		again, err := SplitObject(joined)
		if err != nil || !bytes.Equal(JoinObject(again), joined) {
			t.Fatalf("%q joined is %q, and then %q (%v)", raw, joined, JoinObject(again), err)
		}
		var rejoined any
		if err := json.Unmarshal(joined, &rejoined); err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(whole)
		b, _ := json.Marshal(rejoined)
		if !bytes.Equal(a, b) {
			t.Fatalf("%s became %s", a, b)
		}
	})
}
