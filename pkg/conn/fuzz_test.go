package conn

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// FuzzEventFilter: an event filter takes requests and notifications out of a stream and passes all else,
// however the bytes arrive.
func FuzzEventFilter(f *testing.F) {
	for _, seed := range []string{"data: {\"method\":\"a\"}\n\n", "id: 1\ndata: x\r\n\r\n", "data:\ndata: {}", ": c\n\n\n", "event: a\nretry: 1\ndata: {\"method\":7}\n\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		var takenWhole, takenBytes []string
		whole, err := readAll(newEventFilter(body{strings.NewReader(in)}, "",
			func(m []byte) { takenWhole = append(takenWhole, string(m)) }))
		if err != nil {
			t.Fatal(err)
		}
		single, err := readAll(newEventFilter(body{iotest.OneByteReader(strings.NewReader(in))}, "",
			func(m []byte) { takenBytes = append(takenBytes, string(m)) }))
		if err != nil || single != whole || strings.Join(takenBytes, "|") != strings.Join(takenWhole, "|") {
			t.Fatalf("%q by the byte is %q and %q, %v", whole, single, takenBytes, err)
		}
		if len(takenWhole) == 0 && whole != in {
			t.Fatalf("%q became %q", in, whole)
		}
		for _, m := range takenWhole {
			if _, hasMethod := classify(bytes.TrimSpace([]byte(m))); !hasMethod && !mayRefuse([]byte(m)) {
				t.Fatalf("%q was taken", m)
			}
		}
	})
}

// FuzzServerSays: whatever a server says or asks, mcpl answers each request with JSON-RPC and stays up.
func FuzzServerSays(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":` + askName + `}`, `{"id":"a","method":"roots/list"}`, `{"id":[],"method":"ping"}`,
		`{"method":"notifications/progress","params":{"progressToken":1,"progress":"x"}}`, `{"method":"notifications/message","params":{"data":"\ud800"}}`,
		`{"id":1,"method":"elicitation/create","params":{"mode":"url","url":"http://[::1"}}`, `{"method":"notifications/cancelled","params":{"requestId":{}}}`,
		`{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"},"a":7}}`, `{"task":{"taskId":"x","pollInterval":-1}}`, `null`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		s := newSession(&config.Server{Name: "s"}, Options{Root: "/w", Log: func(string, string) {}}, config.Stdio)
		ctx, c, err := s.begin(t.Context(), time.Minute, tool.CallOptions{Audience: &audience{}}, true)
		if err != nil {
			t.Fatal(err)
		}
		defer s.end(c)
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if json.Unmarshal(message, &m) != nil {
			return
		}
		s.notified("", m.Method, m.Params)
		body, refused := s.answer(ctx, "", m.Method, m.Params)
		if refused != nil {
			body = errorJSON(refused)
		}
		if _, err := tool.SplitObject(body); err != nil {
			t.Fatalf("%s is answered with %s", message, body)
		}
		if q, wrong := questionIn("s", m.Params); wrong == "" && (q.Schema == nil) == (q.URL == "") {
			t.Fatalf("question %+v", q)
		}
		if tk, err := taskIn(message); err == nil && (tk.ID == "" || tk.interval() < minPoll || tk.interval() > maxPoll) {
			t.Fatalf("task %+v", tk)
		}
		if requests, err := tool.SplitObject(orEmpty(m.Params)); err == nil {
			if responses, err := s.fulfil(ctx, c, requests); err == nil && !json.Valid(responses) {
				t.Fatalf("responses %s", responses)
			}
		}
	})
}
