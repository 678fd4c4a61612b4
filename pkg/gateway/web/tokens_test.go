package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/gateway"
)

// register is a set of tokens that a test changes.
type register struct {
	mu    sync.Mutex
	known map[string]gateway.Principal
	// expired are those that an issuer gives out anew.
	expired []string
	fails   error
}

func (g *register) set(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
}

func (g *register) principal(_ context.Context, token string) (*gateway.Principal, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fails != nil {
		return nil, g.fails
	}
	if p, ok := g.known[token]; ok {
		return &p, nil
	}
	if slices.Contains(g.expired, token) {
		return nil, &gateway.TokenError{Code: gateway.InvalidToken, HasExpired: true}
	}
	return nil, nil
}

// listen serves a gateway without servers, with tokens, by Listen.
func listen(t *testing.T, tokens *register, resource *Resource) (url string) {
	t.Helper()
	made, _, clock := start(t)
	s := New(Options{Gateway: made.opt.Gateway, Expose: gateway.All, Now: clock.time, Principal: tokens.principal,
		Resource: resource})
	ctx, stop := context.WithCancel(t.Context())
	at, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- s.Listen(ctx, "127.0.0.1:0", func(url string) { at <- url }) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return <-at
}

// sent is the response to a request. Its body is closed when the test ends.
type sent struct {
	status int
	header http.Header
	body   io.ReadCloser
}

// send sends a request with a token, and returns the response as soon as it begins.
func send(t *testing.T, method, url, token string, body io.Reader, headers ...string) sent {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return sent{resp.StatusCode, resp.Header, resp.Body}
}

// TestTokensEndStreams: what is open ends soon after its token has been revoked, has expired or means something else,
// and stays while tokens cannot be judged.
func TestTokensEndStreams(t *testing.T) {
	t.Parallel()
	tokens := &register{known: map[string]gateway.Principal{}}
	for _, name := range []string{"revoked", "expired", "narrowed", "kept"} {
		tokens.known[name] = gateway.Principal{Name: name}
	}
	url := listen(t, tokens, nil)
	streams := map[string]sent{}
	for name := range tokens.known {
		begun := send(t, http.MethodPost, url, name, strings.NewReader(initialize))
		streams[name] = send(t, http.MethodGet, url, name, nil, sessionHeader, begun.header.Get(sessionHeader))
	}
	const subscribe = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	streams["subscription"] = send(t, http.MethodPost, url, "revoked", strings.NewReader(subscribe), revisionHeader, "2026-07-28",
		"Mcp-Method", "subscriptions/listen")
	for name, stream := range streams {
		if stream.status != http.StatusOK {
			t.Fatalf("%s: %d", name, stream.status)
		}
	}
	ended := make(chan string, len(streams))
	var reading sync.WaitGroup
	for name, stream := range streams {
		reading.Go(func() {
			_, _ = io.Copy(io.Discard, stream.body)
			ended <- name
		})
	}
	tokens.set(func() { tokens.fails = errors.New("the file is damaged") })
	select {
	case name := <-ended:
		t.Errorf("%s has ended while tokens could not be judged", name)
	case <-time.After(2 * checkEvery):
	}
	tokens.set(func() {
		tokens.fails = nil
		delete(tokens.known, "revoked")
		delete(tokens.known, "expired")
		tokens.known["narrowed"] = gateway.Principal{Name: "narrowed", Tier: gateway.TierRead}
	})
	began := time.Now()
	for range len(streams) - 1 {
		if name := <-ended; name == "kept" {
			t.Error("a stream has ended whose token counts")
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	streams["kept"].body.Close()
	reading.Wait()
}

// TestTokenEndsInBody: a request whose token ends while its body comes is refused.
func TestTokenEndsInBody(t *testing.T) {
	t.Parallel()
	tokens := &register{known: map[string]gateway.Principal{"a": {Name: "a"}}}
	url := listen(t, tokens, nil)
	body, write := io.Pipe()
	got := make(chan sent, 1)
	go func() { got <- send(t, http.MethodPost, url, "a", body) }()
	begun := send(t, http.MethodPost, url, "a", strings.NewReader(initialize))
	stream := send(t, http.MethodGet, url, "a", nil, sessionHeader, begun.header.Get(sessionHeader))
	if _, err := io.WriteString(write, initialize[:20]); err != nil {
		t.Fatal(err)
	}
	tokens.set(func() { clear(tokens.known) })
	_, _ = io.Copy(io.Discard, stream.body) // it ends when the tokens have been judged
	if _, err := io.WriteString(write, initialize[20:]); err != nil {
		t.Fatal(err)
	}
	write.Close()
	r := <-got
	if r.status != http.StatusUnauthorized || !strings.Contains(r.header.Get("WWW-Authenticate"), "invalid_token") {
		t.Errorf("%d %v", r.status, r.header)
	}
}

// TestChallenge tells clients without a good token where they get one.
func TestChallenge(t *testing.T) {
	t.Parallel()
	tokens := &register{known: map[string]gateway.Principal{}}
	url := listen(t, tokens, &Resource{Issuer: "https://login.example.com", Scopes: []string{"mcpl:read", "mcpl:write"}})
	host := strings.TrimSuffix(url, "/mcp")
	where := `scope="mcpl:read mcpl:write", resource_metadata="` + host + `/.well-known/oauth-protected-resource/mcp"`
	check := func(token string, status int, challenge string) {
		t.Helper()
		r := send(t, http.MethodPost, url, token, strings.NewReader(ping))
		if got := r.header.Get("WWW-Authenticate"); r.status != status || got != challenge {
			t.Errorf("%d %s, not %d %s", r.status, got, status, challenge)
		}
	}
	check("", 401, `Bearer realm="mcpl", `+where)
	check("x", 401, `Bearer realm="mcpl", error="invalid_token", `+where)
	tokens.fails = &gateway.TokenError{Code: gateway.InvalidToken, Reason: "the token has expired"}
	check("x", 401, `Bearer realm="mcpl", error="invalid_token", error_description="the token has expired", `+where)
	tokens.fails = &gateway.TokenError{Code: gateway.InsufficientScope, Reason: "no scope"}
	check("x", 403, `Bearer realm="mcpl", error="insufficient_scope", error_description="no scope", `+where)
	tokens.fails = &gateway.TokenError{Code: gateway.CannotJudge, Reason: "the issuer is down"}
	check("x", 503, "")

	for path, status := range map[string]int{"/.well-known/oauth-protected-resource": 200,
		"/.well-known/oauth-protected-resource/mcp": 200, "/.well-known/oauth-protected-resource/mcp/p/x/all": 200,
		"/.well-known/oauth-authorization-server": 404} {
		r := send(t, http.MethodGet, host+path, "", nil)
		text, err := io.ReadAll(r.body)
		want := `{"authorization_servers":["https://login.example.com"],"bearer_methods_supported":["header"],"resource":"` +
			url + `","scopes_supported":["mcpl:read","mcpl:write"]}`
		if err != nil || r.status != status || status == 200 && (string(text) != want || !json.Valid(text)) {
			t.Errorf("%s: %v, %d %s", path, err, r.status, text)
		}
	}
	if r := send(t, http.MethodPost, host+"/.well-known/oauth-protected-resource", "", nil); r.status != 405 {
		t.Error(r.status)
	}
}

// TestMetadataURL puts the well-known place between the host and the path of the public address, whatever headers say.
func TestMetadataURL(t *testing.T) {
	t.Parallel()
	for public, want := range map[string]string{
		"":                            "http://gateway.example:80/.well-known/oauth-protected-resource/mcp",
		"https://mcp.example.com":     "https://mcp.example.com/.well-known/oauth-protected-resource/mcp",
		"https://mcp.example.com:8/x": "https://mcp.example.com:8/.well-known/oauth-protected-resource/x/mcp",
	} {
		r := &http.Request{Host: "gateway.example:80", Header: http.Header{"X-Forwarded-Host": {"evil.example"},
			"X-Forwarded-Proto": {"https"}}}
		if got := (&Resource{PublicURL: public}).metadataURL(r); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}
