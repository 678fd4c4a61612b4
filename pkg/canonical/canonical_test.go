package canonical

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, raw, want string }{
		{"white space goes", " { \"b\" : [ 1 , true,null ] ,\n\"a\":{} } ", `{"a":{},"b":[1,true,null]}`},
		{"the order of lists stays", `[3,1,2]`, `[3,1,2]`},
		// RFC 8785, section 3.2.3
		{"members by UTF-16", `{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh",` +
			`"1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			`{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","ö":"Latin Small Letter O With Diaeresis",` +
				`"€":"Euro Sign","😀":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`},
		// RFC 8785, section 3.2.2
		{"the RFC's example", `{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],` +
			`"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`,
			`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],` +
				`"string":"€$\u000f\nA'B\"\\\\\"/"}`},
		{"escapes", `"\b\t\n\f\r\u001f\u007f\u2028<>&"`, `"\b\t\n\f\r\u001f` + "\u007f\u2028" + `<>&"`},
		{"numbers", `[0,-0,-0.0,0e5,1.0,100e-2,1e2,1e21,1e20,-5,1e-6,1e-7,9007199254740991]`,
			`[0,0,0,0,1,1,100,1e+21,100000000000000000000,-5,0.000001,1e-7,9007199254740991]`},
		{"large integers stay distinct", `[9007199254740993,9223372036854775807,123456789012345678901234567890,-18446744073709551617]`,
			`[9007199254740993,9223372036854775807,123456789012345678901234567890,-18446744073709551617]`},
		{"beyond a double", `[1e999,-2E+999]`, `[1e999,-2E+999]`},
		{"the same name twice", `{"b":1,"a":2,"a":1}`, `{"a":2,"a":1,"b":1}`},
		{"a scalar", ` "x" `, `"x"`},
		{"empty", `[[],{}, ""]`, `[[],{},""]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := JSON([]byte(tt.raw))
			if err != nil || string(got) != tt.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, tt.want)
			}
		})
	}
}

func TestNotJSON(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"", "{", `{"a"}`, "1 2", "nul", strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)} {
		if got, err := JSON([]byte(raw)); err == nil {
			t.Errorf("%.20q has the form %q", raw, got)
		}
		if got, err := Hash([]byte(raw)); err == nil {
			t.Errorf("%.20q has the hash %q", raw, got)
		}
	}
}

func TestHash(t *testing.T) {
	t.Parallel()
	a, err := Hash([]byte(`{"a":1,"b":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Hash([]byte(` {"b":"\u0078","a":1.0}`))
	if err != nil || a != b {
		t.Errorf("%s and %s, %v", a, b, err)
	}
	if c, err := Hash([]byte(`{"a":1,"b":"y"}`)); err != nil || c == a || len(c) != 64 {
		t.Errorf("another value has %s, %v", c, err)
	}
}

func TestDeep(t *testing.T) {
	t.Parallel()
	deep := []byte(strings.Repeat(`{"a":[`, 4900) + `"` + strings.Repeat("x", 1<<20) + `"` + strings.Repeat("]}", 4900))
	if got, err := JSON(deep); err != nil || !bytes.Equal(got, deep) {
		t.Error("it became something else", err)
	}
}

// FuzzJSON: the form means the same, is its own form, and equal values have the same one.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`{"b":[1,2.50,-0,1e400],"a":"\ud83d\ude00\ud800\u0000"}`, `[]`, `{"a":1,"a":2}`, `"é"`, ` 9007199254740993 `, `{"a":}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		form, err := JSON(raw)
		if err != nil {
			if json.Valid(raw) {
				t.Fatalf("%q is refused: %v", raw, err)
			}
			return
		}
		again, err := JSON(form)
		if err != nil || !bytes.Equal(again, form) {
			t.Fatalf("%q became %q, and then %q (%v)", raw, form, again, err)
		}
		var spaced bytes.Buffer
		if err := json.Indent(&spaced, raw, " ", "\t"); err != nil {
			t.Fatal(err)
		}
		if other, err := JSON(spaced.Bytes()); err != nil || !bytes.Equal(other, form) {
			t.Fatalf("%q became %q, but indented %q (%v)", raw, form, other, err)
		}
		var a, b any
		if json.Unmarshal(raw, &a) == nil && (json.Unmarshal(form, &b) != nil || !reflect.DeepEqual(a, b)) {
			t.Fatalf("%q became %q, which means %v and not %v", raw, form, b, a)
		}
	})
}

func BenchmarkJSON(b *testing.B) {
	raw := []byte(`{"name":"create_issue","description":"Creates an issue in a repository and returns it.","inputSchema":` +
		`{"type":"object","properties":{` + strings.Repeat(`"parameter":{"type":"string","description":"One of many."},`, 20) +
		`"z":{"type":"number","minimum":1.0}},"required":["parameter"]}}`)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Hash(raw); err != nil {
			b.Fatal(err)
		}
	}
}
