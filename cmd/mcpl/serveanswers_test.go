//go:build linux || darwin

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// crowd is how many clients ask and answer at once.
const crowd = 50

// converse sends a request and calls f with each message of the response, until f is satisfied or no more come.
func (s site) converse(body string, headers []string, f func(message string) bool) {
	s.t.Helper()
	resp := s.open(s.t.Context(), "POST", body, headers...)
	defer resp.Body.Close()
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		text, err := io.ReadAll(resp.Body)
		if err != nil || !f(string(text)) {
			s.t.Errorf("%s, %v", text, err)
		}
		return
	}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if message, ok := strings.CutPrefix(lines.Text(), "data: "); ok && f(message) {
			return
		}
	}
	s.t.Error("the stream has ended")
}

// TestServeCrowd: of many clients that one process of a server asks at once, each answers its own question, and gets
// its own answer back.
func TestServeCrowd(t *testing.T) {
	t.Parallel()
	script := servedScript()
	script.Tools = append(script.Tools, mcptest.Tool{Name: "slow",
		Behaviour: mcptest.Behaviour{Delay: mcptest.Duration(2 * time.Second)}})
	for _, isModern := range []bool{false, true} {
		t.Run(fmt.Sprint("modern ", isModern), func(t *testing.T) {
			t.Parallel()
			h := newHome(t, script)
			s := h.serveHTTP(t, "--expose", "all")
			s.is(s.ask("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), 200, `"s_ask"`)
			before := len(mcptest.Lines(t, h.starts)) // to be listed
			asks := s.askedInCall
			if isModern {
				asks = s.askedByResult
			}
			var all sync.WaitGroup
			// A server is known to ask several clients once it has: from then on their calls take turns
			// (docs/connections.md).
			all.Go(func() {
				s.is(s.ask("POST", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"s_slow"}}`), 200)
			})
			mcptest.Wait(t, "the slow call", func() bool {
				return strings.Contains(strings.Join(mcptest.Lines(t, h.received), "\n"), `"slow"`)
			})
			asks("first-")
			all.Wait()
			for i := range crowd {
				all.Go(func() { asks(fmt.Sprintf("client-%d-", i)) })
			}
			all.Wait()
			if n := len(mcptest.Lines(t, h.starts)) - before; n != 1 {
				t.Errorf("%d processes served the clients", n)
			}
		})
	}
}

// accepts is the answer to a question with a name.
func accepts(name string) string {
	return fmt.Sprintf(`{"action":"accept","content":{"name":%q}}`, name)
}

// askedInCall is a client with a session that is asked in the middle of its calls, several times.
func (s site) askedInCall(name string) {
	s.t.Helper()
	began := s.ask("POST", strings.Replace(hello, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1))
	id := "Mcp-Session-Id: " + began.header.Get("Mcp-Session-Id")
	for n := range 3 {
		own := name + fmt.Sprint(n)
		call := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"s_ask"}}`, n+2)
		s.converse(call, []string{id}, func(message string) bool {
			var m struct {
				ID     json.RawMessage
				Method string
			}
			if err := json.Unmarshal([]byte(message), &m); err != nil {
				s.t.Errorf("%s: %v", message, err)
			}
			if m.Method == "elicitation/create" {
				s.is(s.ask("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, accepts(own)), id), 202)
				return false
			}
			if !strings.Contains(message, own+`\"`) {
				s.t.Errorf("%s got %s", own, message)
			}
			return true
		})
	}
}

// askedByResult is a client that is asked by the results of its calls.
func (s site) askedByResult(name string) {
	s.t.Helper()
	for n := range 3 {
		own := name + fmt.Sprint(n)
		body, headers := modern("tools/call", "s_ask", "")
		var asked struct {
			Result struct{ ResultType, RequestState string }
		}
		s.converse(body, headers, func(message string) bool {
			return json.Unmarshal([]byte(message), &asked) == nil
		})
		if asked.Result.ResultType != "input_required" {
			s.t.Errorf("%+v", asked)
		}
		body, headers = modern("tools/call", "s_ask", fmt.Sprintf(`"requestState":%q,"inputResponses":{"question":%s},`,
			asked.Result.RequestState, accepts(own)))
		s.converse(body, headers, func(message string) bool {
			if !strings.Contains(message, own+`\"`) {
				s.t.Errorf("%s got %s", own, message)
			}
			return true
		})
	}
}
