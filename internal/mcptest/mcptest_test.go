package mcptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Maybe()
	os.Exit(m.Run())
}

const (
	initLine = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`
	listLine = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	initDone = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	initAns  = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18",` +
		`"serverInfo":{"name":"mcptest","version":"1.0.0"},"capabilities":{"tools":{"listChanged":true}}}}`
	info2026 = `"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"mcptest","version":"1.0.0"}}`
)

func call(id int, name, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, name, args)
}

func meta(id int, method, version string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":%q}}}`,
		id, method, version)
}

// TestTranscripts drives Main with pipes: lines in, lines out.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, script string
		in, out      []string
	}{
		{"handshake and empty list", `{}`,
			[]string{initLine, initDone, listLine, `{"jsonrpc":"2.0","id":"p","method":"ping"}`},
			[]string{initAns, `{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`, `{"jsonrpc":"2.0","id":"p","result":{}}`}},
		{"wrong time, unknown method, no JSON", `{}`,
			[]string{listLine, initLine, meta(3, "server/discover", modern), `{"id":4,"method":"x/y"}`, `{]`},
			[]string{
				`{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"tools/list before initialize"}}`, initAns,
				`{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"method not found: server/discover"}}`,
				`{"jsonrpc":"2.0","id":4,"error":{"code":-32601,"message":"method not found: x/y"}}`,
				`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"invalid character ']' looking for beginning of object key string"}}`}},
		{"definitions byte for byte, twice the same name", `{"tools":[{"def":{"name" : "a",  "inputSchema": 7}},{"def":"{\"name\":\"a\" ,}"}]}`,
			[]string{initLine, listLine, call(3, "a", `{"x" : 1}`), call(4, "b", `{}`)},
			[]string{initAns, `{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name" : "a",  "inputSchema": 7},{"name":"a" ,}]}}`,
				`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"{\"x\" : 1}"}]}}`,
				`{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"unknown tool"}}`}},
		{"noise", `{"start":{"noise":["hello","{\"id\":1}"]},"between":["[1]"],"methods":{"initialize":{"noise":["n"]}}}`,
			[]string{initLine, listLine},
			[]string{"hello", `{"id":1}`, "n", "[1]", initAns, "[1]", `{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`}},
		{"errors, results and silence by method",
			`{"methods":{"tools/list":{"error":{"code":-32603,"message":"down","data":{"a": 1}}},"ping":{"never":true},"x":{"result":[ ]}}}`,
			[]string{initLine, listLine, `{"id":3,"method":"ping"}`, `{"id":4,"method":"x"}`},
			[]string{initAns, `{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"down","data":{"a": 1}}}`,
				`{"jsonrpc":"2.0","id":4,"result":[ ]}`}},
		{"requests of its own and list_changed", `{"listChanged":2,"methods":{"notifications/initialized":{"asks":[` +
			`{"method":"roots/list"},{"method":"x/y","params":{"a": 1},"id":"\"s\""},{"method":"note","id":"none"}]}}}`,
			[]string{initLine, initDone},
			[]string{initAns, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
				`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
				`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`,
				`{"jsonrpc":"2.0","id":"s","method":"x/y","params":{"a": 1}}`,
				`{"jsonrpc":"2.0","method":"note"}`}},
		{"tool results", `{"tools":[{"name":"f","text":"no","isError":true},{"name":"s","structured":{"a" : 1}},{"name":"b","bytes":10},
			{"name":"e","error":{"code":7,"message":"m"}},{"name":"r","result":{"content" :[]}},{"name":"u","env":"MCPTEST_UNSET"}]}`,
			[]string{initLine, call(1, "f", `{}`), call(2, "s", `{}`), call(3, "b", `{}`), call(4, "e", `{}`), call(5, "r", `{}`), call(6, "u", `{}`)},
			[]string{initAns, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"no"}],"isError":true}}`,
				`{"jsonrpc":"2.0","id":2,"result":{"content":[],"structuredContent":{"a" : 1}}}`,
				`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"mcptest mc"}]}}`,
				`{"jsonrpc":"2.0","id":4,"error":{"code":7,"message":"m"}}`, `{"jsonrpc":"2.0","id":5,"result":{"content" :[]}}`,
				`{"jsonrpc":"2.0","id":6,"result":{"content":[{"type":"text","text":"MCPTEST_UNSET is not set"}]}}`}},
		{"another definition after a call", `{"tools":[{"name":"f","text":"x","then":[{"name":"g"}]}]}`,
			[]string{initLine, call(3, "f", `{}`), listLine, call(4, "f", `{}`)},
			[]string{initAns, `{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"x"}]}}`,
				`{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"g","description":"","inputSchema":{"type":"object"}}]}}`,
				`{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"unknown tool"}}`}},
		{"progress", `{"tools":[{"name":"p","progress":2,"text":"done"}]}`,
			[]string{initLine, `{"id":2,"method":"tools/call","params":{"name":"p","_meta":{"progressToken":"k"}}}`, call(3, "p", `{}`)},
			[]string{initAns,
				`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"k","progress":1,"total":2,"message":"step 1"}}`,
				`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"k","progress":2,"total":2,"message":"step 2"}}`,
				`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"done"}]}}`,
				`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"done"}]}}`}},
		{"resources and prompts", `{"resources":[{"uri":"a:1","text":"one"},{"def":{"uri" : "a:2"},"uri":"a:2","blob":true}],"templates":[{"uriTemplate":"a:{n}"}],` +
			`"prompts":[{"name":"p","arguments":[{"name":"x"}]},{"name":"q","error":{"code":1,"message":"no"}}]}`,
			[]string{initLine, `{"id":2,"method":"resources/list"}`, `{"id":3,"method":"resources/templates/list"}`, `{"id":4,"method":"prompts/list"}`,
				`{"id":5,"method":"resources/read","params":{"uri":"a:1"}}`, `{"id":6,"method":"resources/read","params":{"uri":"a:9"}}`,
				`{"id":7,"method":"prompts/get","params":{"name":"p","arguments":{"x":"1"}}}`, `{"id":8,"method":"prompts/get","params":{"name":"q"}}`,
				`{"id":9,"method":"prompts/get","params":{"name":"r"}}`},
			[]string{strings.Replace(initAns, `{"listChanged":true}`, `{"listChanged":true},"resources":{"listChanged":true},"prompts":{"listChanged":true}`, 1),
				`{"jsonrpc":"2.0","id":2,"result":{"resources":[{"uri":"a:1","name":"a:1"},{"uri" : "a:2"}]}}`,
				`{"jsonrpc":"2.0","id":3,"result":{"resourceTemplates":[{"uriTemplate":"a:{n}"}]}}`,
				`{"jsonrpc":"2.0","id":4,"result":{"prompts":[{"name":"p","arguments":[{"name":"x"}]},{"name":"q","arguments":[]}]}}`,
				`{"jsonrpc":"2.0","id":5,"result":{"contents":[{"uri":"a:1","mimeType":"text/plain","text":"one"}]}}`,
				`{"jsonrpc":"2.0","id":6,"result":{"contents":[{"uri":"a:9","mimeType":"text/plain","text":"this is a:9"}]}}`,
				`{"jsonrpc":"2.0","id":7,"result":{"messages":[{"role":"user","content":{"type":"text","text":"{\"x\":\"1\"}"}}]}}`,
				`{"jsonrpc":"2.0","id":8,"error":{"code":1,"message":"no"}}`, `{"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"unknown prompt"}}`}},
		{"no resources", `{}`, []string{initLine, `{"id":2,"method":"resources/list"}`, `{"id":3,"method":"resources/read","params":{"uri":"a:1"}}`},
			[]string{initAns, `{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"method not found: resources/list"}}`,
				`{"jsonrpc":"2.0","id":3,"error":{"code":-32002,"message":"Resource not found"}}`}},
		{"an error that passes", `{"tools":[{"name":"e","text":"t","error":{"code":1,"message":"no"},"errorTimes":1}]}`,
			[]string{initLine, call(2, "e", `{}`), call(3, "e", `{}`)},
			[]string{initAns, `{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"no"}}`, `{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"t"}]}}`}},
		{"rounds", `{"tools":[{"name":"r","replies":true,"rounds":[{"a" : 1}]}]}`,
			[]string{initLine, call(2, "r", `{}`), `{"id":3,"method":"tools/call","params":{"name":"r","requestState":"s","inputResponses":{"a":2}}}`},
			[]string{initAns, `{"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","inputRequests":{"a" : 1},"requestState":"s"}}`,
				`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"{\"a\":2}"}]}}`}},
		{"a task", `{"tools":[{"name":"t","text":"done","task":{"polls":1,"pollMs":5}},{"name":"plain","text":"p"}]}`,
			[]string{initLine, `{"id":2,"method":"tools/call","params":{"name":"t","task":{}}}`, task(3, "get"), task(4, "get"), call(5, "t", `{}`),
				`{"id":6,"method":"tasks/get","params":{"taskId":"x"}}`},
			[]string{strings.Replace(initAns, `{"listChanged":true}`, `{"listChanged":true},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}`, 1),
				`{"jsonrpc":"2.0","id":2,"result":{"task":{` + taskState("working", 0) + `}}}`, `{"jsonrpc":"2.0","id":3,"result":{` + taskState("working", 1) + `}}`,
				`{"jsonrpc":"2.0","id":4,"result":{` + taskState("completed", 2) + `}}`, `{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"done"}]}}`,
				`{"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"unknown task"}}`}},
		{"modern only", `{"modern":"only","ttlMs":5}`,
			[]string{initLine, listLine, meta(3, "server/discover", "2099-01-01"), meta(4, "server/discover", modern), meta(5, "tools/list", modern)},
			[]string{
				`{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"unsupported protocol version 2025-06-18","data":{"supported":["2026-07-28"],"requested":"2025-06-18"}}}`,
				`{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"_meta lacks io.modelcontextprotocol/protocolVersion"}}`,
				`{"jsonrpc":"2.0","id":3,"error":{"code":-32022,"message":"unsupported protocol version 2099-01-01","data":{"supported":["2026-07-28"],"requested":"2099-01-01"}}}`,
				`{"jsonrpc":"2.0","id":4,"result":{` + info2026 + `,"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}}`,
				`{"jsonrpc":"2.0","id":5,"result":{` + info2026 + `,"tools":[],"ttlMs":5,"cacheScope":"private"}}`}},
		{"both eras", `{"modern":"both","version":"2024-11-05","instructions":"hi"}`,
			[]string{meta(1, "tools/list", modern), listLine, strings.Replace(initLine, `:1,`, `:3,`, 1)},
			[]string{`{"jsonrpc":"2.0","id":1,"result":{` + info2026 + `,"tools":[]}}`,
				`{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"tools/list before initialize"}}`,
				`{"jsonrpc":"2.0","id":3,"result":{"protocolVersion":"2024-11-05","serverInfo":{"name":"mcptest","version":"1.0.0"},` +
					`"capabilities":{"tools":{"listChanged":true}},"instructions":"hi"}}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, code := drive(tt.script, tt.in...)
			if want := strings.Join(tt.out, "\n") + "\n"; out != want || code != 0 {
				t.Errorf("code %d\ngot:\n%s\nwant:\n%s", code, out, want)
			}
		})
	}
}

func task(id int, verb string) string {
	return fmt.Sprintf(`{"id":%d,"method":"tasks/%s","params":{"taskId":"task-1"}}`, id, verb)
}

func taskState(status string, poll int) string {
	return fmt.Sprintf(`"taskId":"task-1","status":%q,"statusMessage":"poll %d","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z",`+
		`"ttl":60000,"pollInterval":5`, status, poll)
}

func drive(script string, in ...string) (string, int) {
	var out, stderr bytes.Buffer
	code := Main([]string{script}, strings.NewReader(strings.Join(in, "\n")+"\n"), &out, &stderr)
	return out.String() + stderr.String(), code
}

func TestPages(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, script string
		asks         int
		tools        string
		next         string
	}{
		{"three pages", `{"generate":{"count":5},"pageSize":2}`, 3, "1 2 3 4 5", ""},
		{"endless", `{"generate":{"count":3,"prefix":"t"},"pageSize":2,"cursor":"endless"}`, 5, "1 2 3", "page-6"},
		{"repeat", `{"generate":{"count":1,"depth":3},"cursor":"repeat"}`, 4, "1", "page-2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			params, got := `{}`, []string{}
			next := ""
			for range tt.asks {
				out, _ := drive(tt.script, initLine, `{"id":2,"method":"tools/list","params":`+params+`}`)
				var page struct {
					Result struct {
						Tools []struct {
							Name string `json:"name"`
						} `json:"tools"`
						NextCursor string `json:"nextCursor"`
					} `json:"result"`
				}
				line := strings.Split(out, "\n")[1]
				if err := json.Unmarshal([]byte(line), &page); err != nil {
					t.Fatal(err, line)
				}
				for _, tool := range page.Result.Tools {
					got = append(got, strings.TrimLeft(tool.Name, "tol_0"))
				}
				next = page.Result.NextCursor
				params = fmt.Sprintf(`{"cursor":%q}`, next)
			}
			if strings.Join(got, " ") != tt.tools || next != tt.next {
				t.Errorf("tools %v, next %q", got, next)
			}
		})
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"text", "image", "audio", "resource", "blob", "resource_link"} {
		var v struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal([]byte(block(kind)), &v); err != nil || v.Type == "" {
			t.Errorf("%s: %v in %s", kind, err, block(kind))
		}
	}
}

// TestBadScripts is about knobs that would silently do nothing.
func TestBadScripts(t *testing.T) {
	t.Parallel()
	for _, script := range []string{
		`{"nosuch":1}`, `{"cursor":"x"}`, `{"modern":"x"}`, `{"later":[{"from":2,"script":{}}]}`, `{"start":{"delay":"x"}}`,
		`{"tools":[{"name":"a","kinds":["x"]}]}`, `{"tools":[{"name":"a","exit":{"signal":"SEGV"}}]}`, "/no/such/file",
	} {
		if out, code := drive(script); code != codeScript || !strings.Contains(out, "mcptest: ") {
			t.Errorf("%s: code %d, %s", script, code, out)
		}
	}
}

// TestScriptRoundTrip says that a script means the same after it went through a file.
func TestScriptRoundTrip(t *testing.T) {
	t.Parallel()
	def := Raw(`{"name" : "a",  "inputSchema": {"type":"object"} }`)
	raw, err := json.Marshal(Script{
		Tools:   []Tool{{Def: def, Behaviour: Behaviour{Delay: Duration(3 * time.Second)}}},
		Methods: map[string]Behaviour{"ping": {Never: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "s.json")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := load(path)
	if err != nil {
		t.Fatal(err)
	}
	if s.Tools[0].Def != def || s.Tools[0].Delay != Duration(3*time.Second) || !s.Methods["ping"].Never {
		t.Errorf("got %+v from %s", s, raw)
	}
}

// FuzzInput feeds the server any bytes: it neither fails nor answers with something else than
// JSON lines.
func FuzzInput(f *testing.F) {
	f.Add(initLine + "\n" + listLine + "\n" + call(3, "a", `{}`))
	f.Add(meta(1, "server/discover", modern) + "\n{}\n[]\nnull\n" + `{"id":{},"method":"ping"}`)
	f.Add(`{"method":"notifications/cancelled","params":{"requestId":1}}`)
	f.Fuzz(func(t *testing.T, in string) {
		out, code := drive(`{"modern":"both","tools":[{"name":"a"}],"pageSize":1}`, in)
		if code != 0 {
			t.Fatalf("code %d", code)
		}
		for line := range strings.Lines(out) {
			if !json.Valid([]byte(line)) {
				t.Fatalf("not JSON: %q", line)
			}
		}
	})
}
