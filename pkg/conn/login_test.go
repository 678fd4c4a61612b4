package conn

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// purse has the tokens of a login: the first is the one at hand, each renewal gives the next.
type purse struct {
	tokens []string
	fails  error // what Header fails with
	broken error // what Renew fails with

	mu      sync.Mutex
	at      int
	renewed []string // what was used, and what the server said
}

func (p *purse) token() string {
	if p.at < len(p.tokens) && p.tokens[p.at] != "" {
		return "Bearer " + p.tokens[p.at]
	}
	return ""
}

func (p *purse) Header(context.Context, *config.Server) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.token(), p.fails
}

func (p *purse) Renew(_ context.Context, _ *config.Server, used string, challenges []string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.renewed = append(p.renewed, used+" "+strings.Join(challenges, ";"))
	p.at++
	return p.token(), p.broken
}

func (p *purse) LoginStep(_ context.Context, s *config.Server, _ []string) *fault.Step {
	return &fault.Step{Verb: "auth login", Server: s.Name}
}

// helpOf returns what helps, as a terminal shows it.
func helpOf(f *fault.Fault) string { return output.InWords(f).Help }

// guarded is a server that takes one token.
func guarded(takes string) *handmade {
	h := &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){}}
	for _, method := range []string{"initialize", "tools/list", "tools/call", "notifications/initialized"} {
		h.on[method] = func(w http.ResponseWriter, r *http.Request, m message) {
			if r.Header.Get("Authorization") != "Bearer "+takes {
				w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="x"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			(&handmade{}).answer(w, m)
		}
	}
	return h
}

func withTokens(p Tokens) func(*Options) { return func(o *Options) { o.Tokens = p } }

// A token that is refused is replaced once, and the request made again with all that was in it.
func TestRenewedToken(t *testing.T) {
	t.Parallel()
	h, p := guarded("new-token"), &purse{tokens: []string{"old-token", "new-token"}}
	pool := handmadePool(t, h, "", withTokens(p))
	res, err := pool.Call(t.Context(), tool.Ref{Server: "s", Name: "t"}, []byte(`{"a":1}`), tool.CallOptions{})
	if err != nil || !strings.Contains(string(res.Raw), "ok") {
		t.Fatalf("%v %v", res, err)
	}
	if want := []string{`Bearer old-token Bearer resource_metadata="x"`}; !slices.Equal(p.renewed, want) {
		t.Errorf("renewed %q, want %q", p.renewed, want)
	}
	all := h.all()
	first, again := all[0], all[1]
	if first.what != "initialize" || again.what != "initialize" || first.params != again.params || again.header.Get("Authorization") != "Bearer new-token" {
		t.Errorf("%v then %v", first, again)
	}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
	for _, s := range h.wait(t, "DELETE", 1) {
		if s.what == "DELETE" && s.header.Get("Authorization") != "Bearer new-token" {
			t.Error("the session is not ended with the token")
		}
	}
}

// No request is made more than twice, whatever the server says.
func TestRefusedTokens(t *testing.T) {
	t.Parallel()
	gone := fault.New(fault.AuthRequired, "the login has ended", "").Then("", fault.Step{Verb: "auth login", Server: "s"})
	for _, tt := range []struct {
		name     string
		purse    *purse
		requests int
		message  string
	}{
		{"no token", &purse{}, 1, "s wants a login: HTTP 401 Unauthorized (Bearer)"},
		{"a token, no other", &purse{tokens: []string{"a-token"}}, 1, "s does not accept its login any more: HTTP 401"},
		{"another that is refused too", &purse{tokens: []string{"a-token", "b-token", "c-token"}}, 2, "s does not accept its login any more: HTTP 401"},
		{"no token to begin with, a wrong one then", &purse{tokens: []string{"", "b-token"}}, 2, "s does not accept its login any more"},
		{"it cannot be told", &purse{fails: gone}, 0, "the login has ended"},
		{"it cannot be renewed", &purse{tokens: []string{"a-token"}, broken: gone}, 1, "the login has ended"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := guarded("right-token")
			_, err := handmadePool(t, h, "", withTokens(tt.purse)).List(t.Context(), "s", tool.CallOptions{})
			f := wantFault(t, err, fault.AuthRequired, tt.message)
			if help := helpOf(f); help != "mcpl auth login s" {
				t.Errorf("help %q", help)
			}
			if n := len(h.all()); n != tt.requests {
				t.Errorf("%d requests, want %d: %s", n, tt.requests, h.names())
			}
			if strings.Contains(f.Message+f.Traceback, "-token") {
				t.Errorf("it tells a token: %+v", f)
			}
		})
	}
}

// What an entry brings itself is not touched.
func TestOwnAuthorization(t *testing.T) {
	t.Parallel()
	p := &purse{tokens: []string{"not-this", "nor-this"}}
	h := guarded("of-the-entry")
	if _, err := handmadePool(t, h, `, "headers": {"authorization": "Bearer of-the-entry"}`, withTokens(p)).List(t.Context(), "s", tool.CallOptions{}); err != nil {
		t.Error(err)
	}
	h = guarded("something-else")
	_, err := handmadePool(t, h, `, "headers": {"Authorization": "Bearer of-the-entry"}`, withTokens(p)).List(t.Context(), "s", tool.CallOptions{})
	wantFault(t, err, fault.AuthRequired, "s does not accept the login of its entry: HTTP 401")
	if len(p.renewed) > 0 {
		t.Errorf("renewed %v", p.renewed)
	}
}

// conn does not renew a token after 403. A server that lacks scopes says so; else the account lacks a permission.
func TestForbidden(t *testing.T) {
	t.Parallel()
	for challenge, want := range map[string][2]string{
		`Bearer error="insufficient_scope", scope="write"`: {"s wants more scopes than its login has: HTTP 403 Forbidden", "mcpl auth login s"},
		`Bearer`: {"s does not allow this with its login: HTTP 403 Forbidden", "The account may lack a permission. See the login with: mcpl auth status s"},
	} {
		h, p := guarded("a-token"), &purse{tokens: []string{"a-token", "b-token"}}
		h.on["tools/call"] = func(w http.ResponseWriter, _ *http.Request, _ message) {
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusForbidden)
		}
		_, err := handmadePool(t, h, "", withTokens(p)).Call(t.Context(), tool.Ref{Server: "s", Name: "t"}, nil, tool.CallOptions{})
		if f := wantFault(t, err, fault.AuthRequired, want[0]); helpOf(f) != want[1] {
			t.Errorf("help %q, want %q", helpOf(f), want[1])
		}
		if len(p.renewed) > 0 {
			t.Errorf("%s: renewed", challenge)
		}
	}
}

// silent are tokens of servers that do not say that one can log in to them.
type silent struct{ purse }

func (*silent) LoginStep(context.Context, *config.Server, []string) *fault.Step { return nil }

// A server of 2025-03-26 may have a login of which it says nothing. It is named where that can be: not for
// another scheme, not where the entry brings its own login, and not for a machine.
func TestSilentLogin(t *testing.T) {
	t.Parallel()
	const way = " If people can log in to it, though it does not say so: mcpl auth login s"
	for _, tt := range []struct {
		scheme, more string
		named        bool
	}{
		{"Bearer", "", true},
		{"", "", true},
		{"Basic", "", false},
		{"Bearer", `, "headers": {"Authorization": "Bearer x"}`, false},
		{"Bearer", `, "oauth": {"grant": "client_credentials", "clientId": "a", "clientSecret": "b"}`, false},
	} {
		h := &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){
			"initialize": func(w http.ResponseWriter, _ *http.Request, _ message) {
				if tt.scheme != "" {
					w.Header().Set("WWW-Authenticate", tt.scheme)
				}
				w.WriteHeader(http.StatusUnauthorized)
			},
		}}
		_, err := handmadePool(t, h, tt.more, withTokens(&silent{})).List(t.Context(), "s", tool.CallOptions{})
		if f := wantFault(t, err, fault.AuthRequired, ""); strings.HasSuffix(helpOf(f), way) != tt.named {
			t.Errorf("%+v: help %s", tt, helpOf(f))
		}
	}
}

// The older transport uses the same round tripper.
func TestRenewedTokenOverSSE(t *testing.T) {
	t.Parallel()
	p := &purse{tokens: []string{"old-token", "new-token"}}
	inner := &sseServer{}
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer new-token" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	pool := urlPool(t, map[string]string{"s": fmt.Sprintf(`"type": "sse", "url": %q`, url)}, withTokens(p))
	if l, err := pool.List(t.Context(), "s", tool.CallOptions{}); err != nil || len(l.Tools) == 0 || len(p.renewed) != 1 {
		t.Errorf("%d tools, %v, %d renewals", len(l.Tools), err, len(p.renewed))
	}
}

// A server that lets everybody shake hands the old way, or says that it does not know how, and wants a login
// for the new one, wants a login.
func TestLoginForDiscoverOnly(t *testing.T) {
	t.Parallel()
	h := &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){
		"initialize": func(w http.ResponseWriter, _ *http.Request, m message) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32020,"message":"no such revision"}}`, m.ID)
		},
		"server/discover": func(w http.ResponseWriter, _ *http.Request, _ message) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
		},
	}}
	_, err := handmadePool(t, h, "").List(t.Context(), "s", tool.CallOptions{})
	wantFault(t, err, fault.AuthRequired, "s wants a login: HTTP 401 Unauthorized (Bearer)")
}

// No error holds what a server quotes of a login's token, even if the quotation is cut in its middle.
func TestQuotedToken(t *testing.T) {
	t.Parallel()
	const token = "a-token-of-a-login-that-is-long-enough-to-be-cut"
	for _, before := range []int{0, maxTraced - 20} {
		var log strings.Builder
		type handler = func(http.ResponseWriter, *http.Request, message)
		h := &handmade{on: map[string]handler{"initialize": func(w http.ResponseWriter, r *http.Request, _ message) {
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, strings.Repeat("x", before), r.Header.Get("Authorization"))
		}}}
		p := &hiding{purse{tokens: []string{token}}}
		var mu sync.Mutex
		_, err := handmadePool(t, h, "", withTokens(p), func(o *Options) {
			o.Log = func(_, event string) {
				mu.Lock()
				defer mu.Unlock()
				log.WriteString(event)
			}
		}).List(t.Context(), "s", tool.CallOptions{})
		f := wantFault(t, err, fault.ServerConnection, "HTTP 500")
		mu.Lock()
		all := f.Message + f.Traceback + f.Help + log.String()
		if strings.Contains(all, token[:6]) || !strings.Contains(f.Traceback, "body: ") {
			t.Errorf("%s", all)
		}
		mu.Unlock()
	}
}

// hiding is a purse that has its tokens masked, as pkg/auth does.
type hiding struct{ purse }

func (h *hiding) Header(ctx context.Context, s *config.Server) (string, error) {
	s.Hide(h.tokens...)
	return h.purse.Header(ctx, s)
}
