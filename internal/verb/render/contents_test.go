package render

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/results"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// rendered returns an answer as text and as JSON.
func rendered(t testing.TB, r Result) (text, doc string) {
	t.Helper()
	a := &answer{value: r, results: []json.RawMessage{r.JSON()}}
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		if err := output.New(output.Options{Out: &out, Err: &out, JSON: asJSON}).Answer(a); err != nil {
			t.Fatal(err)
		}
		text, doc = doc, out.String()
	}
	return text, doc
}

// wantReads wants that each answer reads as this text and this JSON, and that the wrong ones are refused.
func wantReads(t *testing.T, kind tool.Kind, answers map[string][2]string, wrong ...string) {
	t.Helper()
	for raw, want := range answers {
		r, err := Read(kind, []byte(raw))
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		text, doc := rendered(t, r)
		if text != want[0] || doc != `{"success":true,"result":`+want[1]+"}\n" {
			t.Errorf("%s: %q and %s", raw, text, doc)
		}
	}
	for _, raw := range wrong {
		if r, err := Read(kind, []byte(raw)); err == nil {
			t.Errorf("%s is %+v", raw, r)
		}
	}
}

func TestContents(t *testing.T) {
	t.Parallel()
	wantReads(t, tool.Resource, map[string][2]string{
		`{"contents":[{"uri":"a:b","text":"x\ny"}]}`:                       {"x\ny", `"x\ny"`},
		`{"contents":[{"uri":"a:b","text":""}]}`:                           {"", `""`},
		`{"contents":[{"uri":"a:b","text":" [1, 2.0]\n"}]}`:                {" [1, 2.0]\n", `[1, 2.0]`},
		`{"contents":[{"uri":"a:b","text":"[1,"}]}`:                        {"[1,", `"[1,"`},
		`{"contents":[{"uri":"a:b","mimeType":"x/y","blob":"AQ=="}]}`:      {"[resource a:b x/y, 1 B; save it with --output-dir DIR]\n", `[{"uri":"a:b","mimeType":"x/y","blob":"AQ=="}]`},
		`{"contents":[{"uri":"a:b","mimeType":"x/y","blob":"AQID"}]}`:      {"[resource a:b x/y, 3 B; save it with --output-dir DIR]\n", `[{"uri":"a:b","mimeType":"x/y","blob":"AQID"}]`},
		`{"contents":[{"uri":"a:b","text":"x"},{"uri":"c:d","text":"y"}]}`: {"a:b\nx\nc:d\ny\n", `[{"uri":"a:b","text":"x"},{"uri":"c:d","text":"y"}]`},
		`{"contents":[]}`: {"(the resource answered without content)\n", `[]`},
		`{}`:              {"(the resource answered without content)\n", `[]`},
	}, `{"contents":7}`, `[]`, `{`, `{"contents":["x"]}`, `{"contents":[{"text":5}]}`)
}

func TestMessages(t *testing.T) {
	t.Parallel()
	wantReads(t, tool.Prompt, map[string][2]string{
		`{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"x"}},{"role":"assistant","content":{"type":"text","text":"y"}}],"x":1}`: {
			"user:\nx\n\nassistant:\ny\n",
			`{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"x"}},{"role":"assistant","content":{"type":"text","text":"y"}}]}`},
		`{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"a:b","text":"x"}}}]}`: {
			"user:\na:b\nx\n", `{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"a:b","text":"x"}}}]}`},
		`{"messages":[{"role":"user","content":["odd"]}]}`: {"user:\n[\n  \"odd\"\n]\n", `{"messages":[{"role":"user","content":["odd"]}]}`},
		`{"messages":[]}`: {"(the prompt has no messages)\n", `{"messages":[]}`},
	}, `{"messages":7}`, `[]`, `{`, `{"messages":[{"role":"user"}]}`)
}

// FuzzResults: whatever a server answers to a request is refused, or rendered as one JSON document.
func FuzzResults(f *testing.F) {
	f.Add([]byte(`{"contents":[{"uri":"a:b","text":"{\"a\":1}"}]}`))
	f.Add([]byte(`{"contents":[{"uri":"a:b","blob":"AQID"},null]}`))
	f.Add([]byte(`{"description":null,"messages":[{"role":"user","content":{"type":"image","data":"AQID"}}]}`))
	f.Add([]byte(`{"content":[{"type":"text","text":"x"}],"structuredContent":{"a":1}}`))
	f.Add([]byte(`{"content":[{"type":"image","data":"AQID"}],"structuredContent":{"AQID" : "AQID","b":["\"AQID","AQID"]}}`))
	f.Add([]byte(`{"content":[],"structuredContent":{"a":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="}}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, kind := range []tool.Kind{tool.Tool, tool.Resource, tool.Prompt} {
			r, err := Read(kind, raw)
			if err != nil {
				continue
			}
			if _, doc := rendered(t, r); !json.Valid([]byte(doc)) {
				t.Fatalf("%s: %s is not JSON", kind, doc)
			}
			if words := r.inWords().JSON(); !json.Valid(words) {
				t.Fatalf("%s: in words %s is not JSON", kind, words)
			}
			save := func(content []byte, ext string) (results.Entry, error) {
				return results.Save(dir, "s", "n", content, ext)
			}
			if r, _, err = r.saved(save); err != nil || !json.Valid(r.JSON()) {
				t.Fatalf("%s: with files %s is not JSON, %v", kind, r.JSON(), err)
			}
		}
	})
}
