package conn

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// A secret that stands just where a text is cut is masked as a whole, wherever a server repeats it.
func TestSecretsWhereTextsAreCut(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-t0ken-that-is-quite-long-0123456789"
	var log strings.Builder
	around := func(n int) string { return strings.Repeat("x", n-len(secret)/2) + secret }
	h := &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){
		"tools/call": func(w http.ResponseWriter, _ *http.Request, m message) {
			var p struct{ Name string }
			if err := json.Unmarshal(m.Params, &p); err != nil {
				t.Error(err)
			}
			switch p.Name {
			case "page":
				http.Error(w, around(maxTraced), http.StatusBadGateway)
			case "error":
				refuse(w, http.StatusOK, m.ID, -32000, around(maxRefusal-len("s refused tools/call: ")))
			default:
				send := stream(w)
				send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` + around(maxLogged-len("info: ")) + `"}}`)
				send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + okResult + `}`)
			}
		}}}
	p := handmadePool(t, h, `, "headers": {"Authorization": "Bearer `+secret+`"}`, func(o *Options) { o.Log = logTo(&log) })
	var texts []string
	for _, name := range []string{"page", "error", "message"} {
		_, err := p.Call(t.Context(), tool.Ref{Server: "s", Name: name}, nil, tool.CallOptions{})
		texts = append(texts, name+": "+fmt.Sprintf("%+v", fault.From(err)))
		if f := fault.From(err); f != nil {
			texts = append(texts, f.Message, f.Traceback, f.Help)
		}
	}
	p.Close()
	for _, text := range append(texts, log.String()) {
		if i := strings.Index(text, secret[:5]); i >= 0 {
			t.Errorf("%q", text[max(0, i-50):min(len(text), i+50)])
		}
	}
	if !strings.Contains(log.String(), "xxx") {
		t.Error("the message was not logged")
	}
}

// The words beside a page that a call waits for are cut too.
func TestSecretsBesidePages(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-t0ken-that-is-quite-long-0123456789"
	server := load(t, mcptest.Config(t, scripts{"s": {}})).Servers[0]
	server.Hide(secret)
	q := tool.Question{URL: "https://example.com/", Message: strings.Repeat("x", maxTraced-20) + secret}
	f := (&session{server: server}).pagesFirst(&unopened{pages: []tool.Question{q}, cause: new(refusal)})
	if strings.Contains(f.Help, secret[:5]) || !strings.Contains(f.Help, "https://example.com/ xxx") {
		t.Error(f.Help)
	}
}

func TestPresentable(t *testing.T) {
	t.Parallel()
	server := load(t, mcptest.Config(t, scripts{"s": {}})).Servers[0]
	for _, tt := range []struct{ in, want string }{{"abc", "abc"}, {"abcdefgh", "abcd…"}, {"abcé", "abc…"}, {strings.Repeat("é", 9), "éé…"}, {"", ""}} {
		if got := presentable(server, tt.in, 4); got != tt.want || !utf8.ValidString(got) {
			t.Errorf("%q became %q", tt.in, got)
		}
	}
}

// Notifications and questions of a server are bounded: they may have to wait for a slow audience.
func TestLargeTalk(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	long := strings.Repeat("x", maxQuestion)
	note := func(data string) mcptest.Ask {
		return mcptest.Ask{Method: "notifications/message", Params: mcptest.Raw(`{"level":"info","data":"` + data + `"}`), ID: "none"}
	}
	ask := mcptest.Ask{Method: "elicitation/create", Params: mcptest.Raw(`{"message":"` + long + `","requestedSchema":{"type":"object"}}`)}
	p := newPool(t, scripts{"s": {Tools: []mcptest.Tool{
		{Name: "notes", Behaviour: mcptest.Behaviour{Asks: []mcptest.Ask{note(long), note("short")}}},
		{Name: "question", Behaviour: mcptest.Behaviour{Asks: []mcptest.Ask{ask}}}}}}, func(o *Options) { o.Log = logTo(&log) })
	a := &audience{}
	if _, err := callFor(t, p, "notes", tool.CallOptions{Audience: a}); err != nil {
		t.Error(err)
	}
	if _, err := callFor(t, p, "question", tool.CallOptions{Audience: a}); err != nil {
		t.Error(err)
	}
	p.Close()
	if got := log.String(); !strings.Contains(got, "elicitation/create was refused: the question is too long") || strings.Contains(got, long) {
		t.Errorf("logged %.1000s", got)
	}
	if got := a.said(); got != `message info  "short"` {
		t.Errorf("heard %.100s", got)
	}
}

// A list of giant definitions, and of odd ones, comes to an end.
func TestListBounds(t *testing.T) {
	t.Parallel()
	var c collector
	for range 2 * maxNotes {
		c.add(toolList(), json.RawMessage(`{}`))
	}
	if c.stop(toolList(), "1", 1) || len(c.notes) != maxNotes {
		t.Errorf("%d notes", len(c.notes))
	}
	c.size += maxList
	if !c.stop(toolList(), "2", 2) || !strings.Contains(c.notes[maxNotes], "its tools have no end; the first 0 are kept") {
		t.Errorf("noted %q", c.notes[maxNotes:])
	}
}
