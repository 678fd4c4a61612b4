package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]Message{
		`{"jsonrpc":"2.0","id":1,"method":"a","params":{ "x":1.0}}`: {ID: raw("1"), Method: "a", Params: raw(`{ "x":1.0}`)},
		`{"jsonrpc":"2.0","id":"b","method":"a"}`:                   {ID: raw(`"b"`), Method: "a"},
		`{"jsonrpc":"2.0","method":"a","params":null}`:              {Method: "a"},
		`{"jsonrpc":"2.0","id":-3,"result":{"y":"<"}}`:              {ID: raw("-3"), Result: raw(`{"y":"<"}`)},
		`{"id":1,"jsonrpc":"2.0","error":{"code":-1,"message":"m","data":[1]}}`: {ID: raw("1"),
			Error: &tool.UpstreamError{Code: -1, Message: "m", Data: raw("[1]")}},
	} {
		got, wrong := Parse([]byte(raw))
		if wrong != nil || !same(got, want) {
			t.Errorf("%s: %+v, %v", raw, got, wrong)
		}
	}
	for text, code := range map[string]int{
		``: ParseError, `{`: ParseError, `{"jsonrpc":"2.0"} x`: ParseError,
		`[]`: InvalidRequest, `"a"`: InvalidRequest, `{}`: InvalidRequest, `{"jsonrpc":"2.0"}`: InvalidRequest,
		`{"jsonrpc":"2.0","id":null,"method":"a"}`:       InvalidRequest,
		`{"jsonrpc":"2.0","id":1.5,"method":"a"}`:        InvalidRequest,
		`{"jsonrpc":"2.0","id":{},"method":"a"}`:         InvalidRequest,
		`{"jsonrpc":"2.0","id":1,"method":7}`:            InvalidRequest,
		`{"jsonrpc":"2.0","id":1,"method":""}`:           InvalidRequest,
		`{"jsonrpc":"2.0","method":"a","params":[]}`:     InvalidRequest,
		`{"jsonrpc":"2.0","id":1}`:                       InvalidRequest,
		`{"jsonrpc":"2.0","id":1,"result":1,"error":{}}`: InvalidRequest,
		`{"jsonrpc":"2.0","id":1,"error":7}`:             InvalidRequest,
	} {
		if m, wrong := Parse([]byte(text)); wrong == nil || wrong.Code != code {
			t.Errorf("%s: %+v, %+v", text, m, wrong)
		}
	}
	if m, wrong := Parse([]byte(`{"jsonrpc":"1.0","id":4,"method":"a"}`)); wrong == nil || string(m.ID) != "4" {
		t.Errorf("%+v, %v", m, wrong)
	}
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

func same(a, b Message) bool {
	failed := func(m Message) string {
		if m.Error == nil {
			return ""
		}
		return string(errorJSON(m.Error))
	}
	return string(a.ID) == string(b.ID) && a.Method == b.Method && string(a.Params) == string(b.Params) &&
		string(a.Result) == string(b.Result) && failed(a) == failed(b)
}

// FuzzParse: what is parsed and written again is parsed to the same, and what is not parsed is answered.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1.0}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"1","error":{"code":-32601,"message":"<","data":null}}`))
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"id\":1,\n\"result\":[]}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, wrong := Parse(text)
		if wrong != nil {
			if _, err := Parse(Answer(m.ID, nil, wrong)); m.ID != nil && err != nil {
				t.Fatalf("%s: the answer is wrong: %v", text, err)
			}
			return
		}
		var again []byte
		switch {
		case m.IsResponse():
			again = Answer(m.ID, m.Result, m.Error)
		case m.IsRequest():
			again = object(append([]tool.Field{{Key: "id", Value: m.ID}}, fieldsOf(t, Notification(m.Method, m.Params))...))
		default:
			again = Notification(m.Method, m.Params)
		}
		if got, wrong := Parse(Line(again)[:len(again)]); wrong != nil || m.Error == nil && !same(oneLine(m), got) {
			t.Fatalf("%s\n%s\n%+v, %v", text, again, got, wrong)
		}
	})
}

// oneLine returns the message as it is after it was written as one line.
func oneLine(m Message) Message {
	for _, part := range []*json.RawMessage{&m.ID, &m.Params, &m.Result} {
		if *part != nil {
			line := Line(*part)
			*part = line[:len(line)-1]
		}
	}
	return m
}

func fieldsOf(t *testing.T, message []byte) []tool.Field {
	t.Helper()
	fields, err := tool.SplitObject(message)
	if err != nil {
		t.Fatal(err)
	}
	return fields[1:] // without jsonrpc
}

func TestReader(t *testing.T) {
	t.Parallel()
	r := NewReader(strings.NewReader("\n{\"a\":1}\r\n  \n"+strings.Repeat("x", 100_000)+"\nlast"), 100_001)
	for _, want := range []string{`{"a":1}`, strings.Repeat("x", 100_000), "last"} {
		if line, err := r.Next(); err != nil || string(line) != want {
			t.Fatalf("%.20q of %d bytes, %v", line, len(line), err)
		}
	}
	if line, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("%q, %v", line, err)
	}
	if _, err := NewReader(strings.NewReader("too long\n"), 5).Next(); !errors.Is(err, ErrTooLong) {
		t.Error(err)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	got := AppendEvent(AppendEvent(nil, "1-0", []byte("{\n\"a\":1}")), "", nil)
	if want := "id: 1-0\ndata: { \"a\":1}\n\ndata: \n\n"; string(got) != want {
		t.Errorf("%q", got)
	}
	if line := Line([]byte("{\r\n}")); !bytes.Equal(line, []byte("{  }\n")) {
		t.Errorf("%q", line)
	}
}

func TestRevisions(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{"2024-11-05": "2024-11-05", "2025-11-25": "2025-11-25", Latest: LatestWithSessions,
		"2023-01-01": LatestWithSessions, "": LatestWithSessions, "2099-01-01": LatestWithSessions} {
		if got := Agreed(asked); got != want {
			t.Errorf("%s: %s", asked, got)
		}
	}
	for _, revision := range Revisions() {
		if IsModern(revision) != (revision == Latest) || !Knows(revision) {
			t.Error(revision)
		}
	}
}

const headerSchema = `{"type":"object","properties":{"to":{"type":"string","x-mcp-header":"To"},
	"in":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}},"plain":{"type":"string"}}}`

func TestCheckHeaders(t *testing.T) {
	t.Parallel()
	call := func(args string) Message {
		return Message{Method: "tools/call", Params: raw(`{"name":"t é","arguments":` + args + `}`)}
	}
	name := NameHeader + ": =?base64?dCDDqQ==?="
	for _, c := range []struct {
		m       Message
		headers []string
		ok      bool
	}{
		{Message{Method: "tools/list"}, []string{"Mcp-Method: tools/list"}, true},
		{Message{Method: "tools/list"}, []string{"Mcp-Method: TOOLS/LIST"}, false},
		{Message{Method: "tools/list"}, nil, false},
		{Message{Method: "resources/read", Params: raw(`{"uri":"a:b"}`)}, []string{"Mcp-Method: resources/read", "Mcp-Name: a:b"}, true},
		{Message{Method: "resources/read", Params: raw(`{"uri":"a:b"}`)}, []string{"Mcp-Method: resources/read"}, false},
		{call(`{}`), []string{"Mcp-Method: tools/call", name}, true},
		{call(`{}`), []string{"Mcp-Method: tools/call", NameHeader + ": =?base64?dCDDqQ=?="}, false},
		{call(`{"to":"x","in":{"n":7}}`), []string{"Mcp-Method: tools/call", name, "Mcp-Param-To: x", "Mcp-Param-N: 7"}, true},
		{call(`{"to":"x","in":{"n":7}}`), []string{"Mcp-Method: tools/call", name, "Mcp-Param-To: =?base64?eA==?=", "Mcp-Param-N: 7.0"}, true},
		{call(`{"to":"x"}`), []string{"Mcp-Method: tools/call", name}, false},
		{call(`{"to":"x"}`), []string{"Mcp-Method: tools/call", name, "Mcp-Param-To: y"}, false},
		{call(`{"to":null}`), []string{"Mcp-Method: tools/call", name, "Mcp-Param-To: y"}, false},
		{call(`{"to":""}`), []string{"Mcp-Method: tools/call", name, "Mcp-Param-To: "}, true},
		{call(`7`), []string{"Mcp-Method: tools/call", name}, true},
	} {
		header := func(name string) (string, bool) {
			for _, line := range c.headers {
				if value, ok := strings.CutPrefix(line, name+": "); ok {
					return value, true
				}
			}
			return "", false
		}
		if wrong := CheckHeaders(c.m, raw(headerSchema), header); (wrong == "") != c.ok {
			t.Errorf("%s %s with %q: %q", c.m.Method, c.m.Params, c.headers, wrong)
		}
	}
}

func FuzzCheckHeaders(f *testing.F) {
	f.Add(`{"name":"a","arguments":{"to":1}}`, headerSchema, "=?base64?eA==?=")
	f.Add(`{"uri":7}`, `{"properties":{"a":true}}`, "")
	f.Fuzz(func(t *testing.T, params, schema, value string) {
		if !json.Valid([]byte(params)) || !json.Valid([]byte(schema)) {
			return
		}
		for _, method := range []string{"tools/call", "resources/read"} {
			CheckHeaders(Message{Method: method, Params: raw(params)}, raw(schema), func(name string) (string, bool) {
				if name == MethodHeader {
					return method, true
				}
				return value, true
			})
		}
	})
}
