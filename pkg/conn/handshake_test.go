package conn

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// unsupported is the answer to a request in a revision that is not among those listed.
func unsupported(w http.ResponseWriter, m message, supported string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"Unsupported protocol version","data":{"supported":[%s],"requested":"?"}}}`,
		m.ID, mcp.UNSUPPORTED_PROTOCOL_VERSION, supported)
}

const discovered = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"hand","version":"1"}}}`

// A server that is to speak 2026-07-28, by its entry or by what is known of it, and says something else.
// Where it says that it wants a login, or its entry asks for that revision alone, initialize is not tried.
func TestModernHandshake(t *testing.T) {
	t.Parallel()
	const pin = `, "protocol": "2026-07-28"`
	denied := func(w http.ResponseWriter, _ *http.Request, _ message) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	}
	// times answers the first requests with what it says, those after them as the protocol does.
	times := func(n int, supported string) func(http.ResponseWriter, *http.Request, message) {
		return func(w http.ResponseWriter, _ *http.Request, m message) {
			if n--; n >= 0 {
				unsupported(w, m, supported)
				return
			}
			result(w, m, discovered)
		}
	}
	for _, tt := range []struct {
		name, more string
		known      string
		discover   func(http.ResponseWriter, *http.Request, message)
		requests   string
		fault      fault.Type // "": it works
		message    string
		help       string
	}{
		{name: "refused once", more: pin, discover: times(1, `"2026-07-28"`), requests: "server/discover server/discover tools/list"},
		{name: "refused once, known", known: "2026-07-28", discover: times(1, `"2027-01-01","2026-07-28"`), requests: "server/discover server/discover tools/list"},
		{name: "refused twice", more: pin, discover: times(2, `"2026-07-28"`), requests: "server/discover server/discover",
			fault: fault.Protocol, message: "s refused server/discover: Unsupported protocol version", help: `Correct "protocol" of s in `},
		{name: "other revisions", more: pin, discover: times(1, `"2025-11-25","2025-06-18"`), requests: "server/discover",
			fault: fault.Protocol, message: "s speaks revision 2025-11-25 and 2025-06-18 of the protocol, not 2026-07-28", help: `Correct "protocol" of s in `},
		{name: "unknown revisions", more: pin, discover: times(1, `"2099-01-01","\u001b[2J"`), requests: "server/discover",
			fault: fault.Protocol, message: "s refused server/discover: Unsupported protocol version", help: `Correct "protocol" of s in `},
		{name: "older", more: pin, discover: func(w http.ResponseWriter, _ *http.Request, m message) {
			refuse(w, http.StatusOK, m.ID, mcp.METHOD_NOT_FOUND, "Method not found")
		}, requests: "server/discover", fault: fault.Protocol, message: "s refused server/discover: Method not found", help: `Correct "protocol" of s in `},
		{name: "older, known otherwise", known: "2026-07-28", discover: func(w http.ResponseWriter, _ *http.Request, m message) {
			refuse(w, http.StatusBadRequest, m.ID, serverError, "no session")
		}, requests: "server/discover initialize notifications/initialized tools/list"},
		{name: "odd answer", more: pin, discover: func(w http.ResponseWriter, _ *http.Request, m message) { result(w, m, `{"capabilities":[]}`) },
			requests: "server/discover", fault: fault.Protocol, message: "s broke the protocol: its answer to server/discover is not what the protocol says"},
		{name: "no answer of its kind", more: pin,
			discover: func(w http.ResponseWriter, _ *http.Request, _ message) { w.WriteHeader(http.StatusNotFound) },
			requests: "server/discover", fault: fault.ServerConnection, message: "s has nothing at this path"},
		{name: "login", more: pin, discover: denied, requests: "server/discover", fault: fault.AuthRequired, message: "s wants a login"},
		{name: "login, known", known: "2026-07-28", discover: denied, requests: "server/discover", fault: fault.AuthRequired, message: "s wants a login"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){"server/discover": tt.discover}}
			p := handmadePool(t, h, tt.more)
			l, err := p.List(t.Context(), "s", tool.CallOptions{Known: tool.Known{Protocol: tt.known}})
			if tt.fault == "" {
				if err != nil || len(l.Tools) != 1 {
					t.Errorf("listed %v, %v", l.Tools, err)
				}
			} else if f := wantFault(t, err, tt.fault, tt.message); !strings.Contains(f.Help, tt.help) {
				t.Errorf("help %s", f.Help)
			}
			p.Close()
			var names []string
			revisions := make(map[string]bool)
			for _, s := range h.all() {
				if s.what != "GET" && s.what != "DELETE" {
					names = append(names, s.what)
				}
				revisions[s.header.Get("Mcp-Protocol-Version")] = true
			}
			if got := strings.Join(names, " "); got != tt.requests {
				t.Errorf("requests %s, want %s", got, tt.requests)
			}
			if tt.more == pin && (len(revisions) != 1 || !revisions["2026-07-28"]) {
				t.Errorf("requests in the revisions %v", revisions)
			}
		})
	}
}
