package form

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/schema"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// FuzzQuestion puts a stranger's question to a person who types anything: it ends, with a reply that is
// a JSON object or a refusal, and drives no terminal.
func FuzzQuestion(f *testing.F) {
	for _, s := range []string{
		whoSchema, `{}`, `null`, `[]`, `{"properties":[]}`, `{"properties":{"a":true,"a":{}}}`, `{"properties":{"":{"type":"array","items":{"enum":[1,null,{}]}}}}`,
		`{"properties":{"a":{"type":"string","pattern":"(a+)+$","minLength":1e400,"oneOf":[{"const":1},2]}},"required":["a","b"]}`,
		`{"properties":{"a":{"$ref":"#"},"b":{"enum":[],"enumNames":7},"c":{"type":"array","items":[]}},"required":"a"}`,
		strings.Repeat(`{"properties":{"a":`, 120) + `1` + strings.Repeat(`}}`, 120),
		`{"properties":{"a":{"enum":[` + strings.Repeat(`"x",`, 2000) + `"y"]}}}`,
	} {
		f.Add([]byte(s), "message \x1b]0;x\x07\u202e", "", "a\n\n1\ny\nc\ny\n")
		f.Add([]byte(s), "", "https://\x1b[2J@h/", "{}\ny\n\n\"\"\n-\ny")
	}
	f.Fuzz(func(t *testing.T, inputSchema []byte, message, page, typed string) {
		q := tool.Question{Message: message, Schema: inputSchema, URL: page}
		var shown strings.Builder
		p := output.New(output.Options{Out: io.Discard, Err: &shown, ErrTTY: output.Terminal{Is: true, Width: 30}})
		opt := Options{Ref: tool.Ref{Server: "demo", Name: "ask"}, Printer: p, Dialog: p.NewDialog(strings.NewReader(typed))}
		checkReply(t, q, New(opt))
		talk := strings.Replace(shown.String(), "\rcalling demo/ask\x1b[K\r\x1b[K", "", 1) // our own status line
		control := func(r rune) bool { return r < 0x20 && r != '\n' && r != '\t' || r == 0x202e }
		if strings.ContainsFunc(talk, control) {
			t.Fatalf("a control character gets out: %q", talk)
		}
		for _, elicit := range [][]string{nil, {typed}, {"accept"}} {
			if CheckAnswers(elicit) != nil {
				continue
			}
			opt.Answers, opt.Dialog = elicit, nil
			a := New(opt)
			reply := checkReply(t, q, a)
			if _, err := a.End(nil, nil); (err != nil) != (reply.Action == tool.Decline) {
				t.Fatalf("%s, and %v", reply.Action, err)
			}
		}
	})
}

func checkReply(t *testing.T, q tool.Question, a *Audience) tool.Reply {
	t.Helper()
	r, err := a.Elicit(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	_, notObject := tool.SplitObject(r.Content)
	if wants := r.Action == tool.Accept && q.URL == ""; wants != (notObject == nil) {
		t.Fatalf("%s with %q", r.Action, r.Content)
	}
	return r
}

// TestHugeQuestions: a form that is too large to fill in is asked for as JSON.
func TestHugeQuestions(t *testing.T) {
	t.Parallel()
	var many []tool.Field
	for i := range 5000 {
		many = append(many, tool.Field{Key: strings.Repeat("k", 1+i), Value: json.RawMessage(`{"type":"string"}`)})
	}
	properties := func(p string) []byte { return []byte(`{"properties":` + p + `}`) }
	for name, raw := range map[string][]byte{
		"many":   properties(string(tool.JoinObject(many[:200]))),
		"large":  properties(`{"a":{"description":"` + strings.Repeat("x", 1<<20) + `"}}`),
		"larger": properties(string(tool.JoinObject(many))),
		"deep":   properties(strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)),
	} {
		if _, ok := schema.Form(raw); ok {
			t.Errorf("%s is a form", name)
		}
		var shown strings.Builder
		p := output.New(output.Options{Out: io.Discard, Err: &shown, ErrTTY: output.Terminal{Is: true}})
		a := New(Options{Printer: p, Dialog: p.NewDialog(strings.NewReader("{\"a\":1}\ny\n"))})
		r, err := a.Elicit(t.Context(), tool.Question{Schema: raw})
		if err != nil || r.Action != tool.Accept || len(shown.String()) > 3*maxQuestionText {
			t.Errorf("%s: %+v, %v, %d bytes shown", name, r, err, shown.Len())
		}
	}
}

// failing is a terminal that went away.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("input/output error") }

func TestTerminalGone(t *testing.T) {
	t.Parallel()
	got := scene{stdin: failing{}}.run(t.Context(), t, asking(formOf(whoSchema)))
	if got.code != 0 || got.stdout != "decline\n" {
		t.Errorf("%+v", got)
	}
}
