package conn

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func TestKinds(t *testing.T) {
	t.Parallel()
	p := newPool(t, scripts{"s": {
		Resources: []mcptest.Resource{{URI: "note://a b", Text: "hello"}},
		Templates: []mcptest.Raw{`{"uriTemplate":"note://{x}","name":"n"}`},
		Prompts: []mcptest.Prompt{{Name: "greet"},
			{Name: "bad", Behaviour: mcptest.Behaviour{Error: &mcptest.Error{Code: -32602, Message: "no"}}}},
	}, "few": {Resources: []mcptest.Resource{{URI: "x:y", Blob: true}}}})
	for _, tt := range []struct {
		ref             tool.Ref
		args            string
		result, problem string
		help            string
	}{
		{tool.Ref{Server: "s", Name: "note://a b", Kind: tool.Resource}, "",
			`{"contents":[{"uri":"note://a b","mimeType":"text/plain","text":"hello"}]}`, "", ""},
		{tool.Ref{Server: "s", Name: "note://z", Kind: tool.Resource}, "",
			`{"contents":[{"uri":"note://z","mimeType":"text/plain","text":"this is note://z"}]}`, "", ""},
		{tool.Ref{Server: "few", Name: "note://z", Kind: tool.Resource}, "", "", "few refused resources/read: Resource not found", "mcpl resources few"},
		{tool.Ref{Server: "s", Name: "greet", Kind: tool.Prompt}, `{"name": "Ann"}`,
			`{"messages":[{"role":"user","content":{"type":"text","text":"{\"name\":\"Ann\"}"}}]}`, "", ""},
		{tool.Ref{Server: "s", Name: "bad", Kind: tool.Prompt}, `{}`, "", "s refused prompts/get: no", "mcpl prompts s"},
	} {
		var args json.RawMessage
		if tt.args != "" {
			args = json.RawMessage(tt.args)
		}
		res, err := p.Call(t.Context(), tt.ref, args, tool.CallOptions{})
		if tt.problem != "" {
			f := wantFault(t, err, fault.Protocol, tt.problem)
			if !strings.Contains(helpOf(f), tt.help) || f.Tool != tt.ref.Name {
				t.Errorf("%s: help %s", tt.ref, helpOf(f))
			}
			continue
		}
		if err != nil || string(res.Raw) != tt.result || res.IsError {
			t.Errorf("%s: got %+v, %v", tt.ref, res, err)
		}
	}
}

func names(defs []tool.Def) string {
	var list []string
	for _, d := range defs {
		list = append(list, d.Kind.String()+" "+d.Name)
	}
	return strings.Join(list, ", ")
}

func TestLists(t *testing.T) {
	t.Parallel()
	resources := []mcptest.Resource{{URI: "a:1"}, {URI: "a:2", Def: `{"uri":"a:2" , "size":1e2}`}, {URI: "a:1"}, {Def: `{"name":"x"}`}}
	p := newPool(t, scripts{
		"all": {PageSize: 2, Start: mcptest.Behaviour{Stderr: []string{"ready"}}, Tools: []mcptest.Tool{{Name: "t"}}, Resources: resources,
			Templates: []mcptest.Raw{`{"uriTemplate":"a:{n}","name":"n"}`}, Prompts: []mcptest.Prompt{{Name: "p"}, {Name: "q"}, {Name: "r"}}},
		"toolless": {Capabilities: `{"prompts":{}}`, Prompts: []mcptest.Prompt{{Name: "p"}},
			Methods: map[string]mcptest.Behaviour{"tools/list": {Error: &mcptest.Error{Code: -32603, Message: "what?"}}}},
		"half": {Tools: []mcptest.Tool{{Name: "t"}}, Resources: []mcptest.Resource{{URI: "a:1"}}, Prompts: []mcptest.Prompt{{Name: "p"}},
			Methods: map[string]mcptest.Behaviour{"resources/list": {Error: &mcptest.Error{Code: -32603, Message: "down"}}, "prompts/list": {Result: `{"prompts":7}`}}},
		"mute": {Tools: []mcptest.Tool{{Name: "t"}}, Capabilities: `{"tools":{},"resources":{},"prompts":{}}`},
		"down": {Resources: resources,
			Methods: map[string]mcptest.Behaviour{"tools/list": {Error: &mcptest.Error{Code: -32603, Message: "down"}}}},
		"endless": {Tools: []mcptest.Tool{{Name: "t"}}, Prompts: []mcptest.Prompt{{Name: "p"}}, Cursor: "repeat"},
	})
	for _, tt := range []struct{ server, tools, resources, prompts, notes string }{
		{"all", "tool t", "resource a:1, resource a:2, template a:{n}", "prompt p, prompt q, prompt r",
			`the resource "a:1" is defined more than once; the first definition counts; number 4 of its resources was left out: the definition has no uri`},
		{"toolless", "", "", "prompt p", ""},
		{"half", "tool t", "", "", `its resources could not be listed: resources/list was answered with error -32603: down; ` +
			`its prompts could not be listed: its answer to prompts/list is not what the protocol says`},
		{"mute", "tool t", "", "", ""},
		{"endless", "tool t", "", "prompt p", "page 2 of its tools points back to an earlier one; what came until then is kept; " +
			"page 2 of its prompts points back to an earlier one; what came until then is kept"},
	} {
		l, err := p.List(t.Context(), tt.server, tool.CallOptions{})
		if err != nil {
			t.Error(err)
			continue
		}
		notes := strings.Join(slices.DeleteFunc(l.Notes, func(n string) bool { return strings.Contains(n, `the tool "t"`) }), "; ")
		if names(l.Tools) != tt.tools || names(l.Resources) != tt.resources || names(l.Prompts) != tt.prompts ||
			notes != tt.notes {
			t.Errorf("%s: got %s; %s; %s\nnotes %s", tt.server, names(l.Tools), names(l.Resources), names(l.Prompts), notes)
		}
		if l.Known != (tool.Known{Protocol: "2025-11-25", Transport: "stdio"}) || tt.server == "all" &&
			(l.Stderr != "ready" || string(l.Resources[1].Raw()) != `{"uri":"a:2","size":1e2}`) {
			t.Errorf("%s: known %+v, stderr %q", tt.server, l.Known, l.Stderr)
		}
	}
	_, err := p.List(t.Context(), "down", tool.CallOptions{})
	wantFault(t, err, fault.Protocol, "down refused tools/list: down")
}

// Tools that want headers which cannot be are left out, over HTTP from 2026-07-28 on.
func TestHeaderTools(t *testing.T) {
	t.Parallel()
	const list = `{"resultType":"complete","tools":[{"name":"good","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"Region"}}}},` +
		`{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"object","x-mcp-header":"R"}}}},{"name":"plain","inputSchema":{"type":"object"}}]}`
	h := &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){
		"server/discover": func(w http.ResponseWriter, _ *http.Request, m message) {
			result(w, m, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"logging":{}}}`)
		},
		"tools/list": func(w http.ResponseWriter, _ *http.Request, m message) { result(w, m, list) },
	}}
	p := handmadePool(t, h, `, "protocol": "2026-07-28", "roots": []`)
	l, err := p.List(t.Context(), "s", tool.CallOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if names(l.Tools) != "tool good, tool plain" || len(l.Notes) != 1 || !strings.Contains(l.Notes[0], `the tool "bad" is left out`) {
		t.Errorf("got %s, %q", names(l.Tools), l.Notes)
	}
	opt := tool.CallOptions{Audience: &audience{}}
	if _, err := p.Call(t.Context(), tool.Ref{Server: "s", Name: "good"}, json.RawMessage(`{"a":"north"}`), opt); err != nil {
		t.Fatal(err)
	}
	got := h.wait(t, "tools/call", 1)[0]
	if got.header.Get("Mcp-Param-Region") != "north" || got.header.Get("Mcp-Method") != "tools/call" || got.header.Get("Mcp-Name") != "good" ||
		got.header.Get("Mcp-Protocol-Version") != "2026-07-28" {
		t.Errorf("headers %v", got.header)
	}
	for _, part := range []string{`"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, `"name":"mcpl"`, `"elicitation":{"form":{},"url":{}}`,
		`"io.modelcontextprotocol/tasks"`, `"progressToken":3`, `"io.modelcontextprotocol/logLevel":"debug"`} {
		if !strings.Contains(got.params, part) {
			t.Errorf("%s is not in %s", part, got.params)
		}
	}
	if strings.Contains(got.params, `"roots"`) || strings.Contains(h.names(), "initialize") {
		t.Errorf("%s\n%s", h.names(), got.params)
	}
}

func TestRoots(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := filepath.Join(dir, "a b#c%é")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	ask := mcptest.Script{Tools: []mcptest.Tool{{Name: "ask", Replies: true,
		Behaviour: mcptest.Behaviour{Asks: []mcptest.Ask{{Method: "roots/list", Wait: true}}}}}, Received: filepath.Join(dir, "received")}
	path := mcptest.Config(t, scripts{"s": ask})
	for _, tt := range []struct{ more, project, reply, declared string }{
		{"", root, `{"roots":[{"uri":"file://` + dir + `/a%20b%23c%25%C3%A9","name":"a b#c%é"}]}`, `"roots":{}`},
		{"", "", `{"code":-32601,"message":"mcpl offers no roots to this server"}`, ""},
		{`"roots": [],`, root, `{"code":-32601,"message":"mcpl offers no roots to this server"}`, ""},
		{`"roots": ["sub", "/x/y", "file:///c%20d/"],`, root,
			`{"roots":[{"uri":"file://` + filepath.Dir(path) + `/sub","name":"sub"},{"uri":"file:///x/y","name":"y"},{"uri":"file:///c%20d/","name":"c d"}]}`, `"roots":{}`},
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		changed := filepath.Join(filepath.Dir(path), fmt.Sprintf("c%d.json", len(tt.more)))
		write(t, changed, strings.Replace(string(text), `"command":`, tt.more+`"command":`, 1))
		p := poolOver(t, changed, func(o *Options) { o.Root = tt.project })
		if got, err := callFor(t, p, "ask", tool.CallOptions{}); err != nil || got != tt.reply {
			t.Errorf("got %s, %v\nwant %s", got, err, tt.reply)
		}
		p.Close()
		lines := mcptest.Lines(t, ask.Received)
		slices.Reverse(lines)
		got := lines[slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, `"method":"initialize"`) })]
		if strings.Contains(got, `"roots"`) != (tt.declared != "") || !strings.Contains(got, tt.declared) ||
			!strings.Contains(got, `"method":"initialize"`) {
			t.Errorf("handshake %s", got)
		}
	}
}

func TestFileURI(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		path    string
		windows bool
		uri     string
	}{
		{"/home/me/my project", false, "file:///home/me/my%20project"},
		{"/ü/?#%", false, "file:///%C3%BC/%3F%23%25"},
		{"/", false, "file:///"},
		{`C:\Users\me & you`, true, "file:///C:/Users/me%20&%20you"},
		{`\\host\share\x y`, true, "file://host/share/x%20y"},
	} {
		if got := fileURI(tt.path, tt.windows); got != tt.uri {
			t.Errorf("%s: got %s, want %s", tt.path, got, tt.uri)
		}
	}
	if got := rootName("file://%zz"); got != "file://%zz" {
		t.Error(got)
	}
}
