//go:build linux || darwin

package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/authtest"
)

// signer starts an authorization server whose tokens are signed with a key.
func signer(t *testing.T, change ...func(*authtest.Options)) (*authtest.Server, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	opt := authtest.Options{Signs: key}
	for _, change := range change {
		change(&opt)
	}
	s := authtest.New(opt)
	t.Cleanup(s.Close)
	return s, key
}

// TestServeJWT serves clients with tokens of an issuer beside those with the gateway's own, each with what it may do.
func TestServeJWT(t *testing.T) {
	t.Parallel()
	issuer, key := signer(t)
	h := newHome(t, servedScript())
	h.writeText(t, "mcpl/config.toml", fmt.Sprintf("public_url = 'https://mcp.example.com/tools/'\n[gateway.jwt]\n"+
		"issuer = %q\nservers_claim = 'servers'\n", issuer.Issuer()))
	own := h.addToken(t, "own")
	s := h.serveAt(t, "127.0.0.1:0", "--expose", "all")
	token := func(claims map[string]any) string {
		all := map[string]any{"iss": issuer.Issuer(), "aud": "https://mcp.example.com/tools/mcp", "sub": "ada", "servers": "s",
			"scope": "mcpl:destructive", "exp": time.Now().Add(time.Hour).Unix()}
		maps.Copy(all, claims)
		return "Authorization: Bearer " + authtest.SignJWT(key, all)
	}
	const call = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"s_odd","arguments":{"a":1}}}`
	s.is(s.ask("POST", call, "Authorization: Bearer "+own), 200, oddResult)
	s.is(s.ask("POST", call, token(nil)), 200, oddResult)
	s.is(s.ask("POST", call, token(map[string]any{"scope": "mcpl:read"})), 200, "jwt:ada@"+issuer.Issuer())
	if r := s.ask("POST", call, token(map[string]any{"servers": "other"})); r.status != 200 || strings.Contains(r.body, oddResult) {
		t.Errorf("%+v", r)
	}
	id := s.session(token(nil))
	s.is(s.ask("POST", ping, id, token(map[string]any{"jti": "a new one"})), 200)
	s.is(s.ask("POST", ping, id, token(map[string]any{"sub": "eve"})), 404)
	s.is(s.ask("POST", ping, id, "Authorization: Bearer "+own), 404)
	if n := issuer.Count("keys"); n != 1 {
		t.Errorf("the keys were fetched %d times", n)
	}

	const where = `resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/tools/mcp"`
	r := s.ask("POST", ping)
	s.is(r, 401, issuer.Issuer())
	if got := r.header.Get("WWW-Authenticate"); !strings.Contains(got, where) || strings.Contains(got, "error=") {
		t.Error(got)
	}
	for bad, want := range map[string]string{
		token(map[string]any{"aud": issuer.Issuer()}):                         `error="invalid_token", error_description="the token does not count: it is for another audience"`,
		token(map[string]any{"exp": time.Now().Add(-2 * time.Minute).Unix()}): `error_description="the token does not count: it has expired"`,
		"Authorization: Bearer a.b.c":                                         `error="invalid_token"`,
		"Authorization: Bearer abc":                                           `error="invalid_token"`,
	} {
		r := s.ask("POST", ping, bad)
		if got := r.header.Get("WWW-Authenticate"); r.status != 401 || !strings.Contains(got, want) || !strings.Contains(got, where) {
			t.Errorf("%d %s", r.status, got)
		}
	}
	r = s.ask("POST", ping, token(map[string]any{"scope": "email"}))
	if got := r.header.Get("WWW-Authenticate"); r.status != 403 || !strings.Contains(got, `error="insufficient_scope"`) ||
		!strings.Contains(got, `scope="mcpl:destructive mcpl:read mcpl:write"`) {
		t.Errorf("%d %s", r.status, got)
	}
	s.url = strings.TrimSuffix(s.url, "/mcp") + "/.well-known/oauth-protected-resource/tools/mcp"
	s.is(s.ask("GET", ""), 200, `"resource":"https://mcp.example.com/tools/mcp"`, `"authorization_servers":["`+issuer.Issuer()+`"]`)
	if said := s.end(); strings.Contains(said, "eyJ") || strings.Contains(said, "token") {
		t.Errorf("stderr: %s", said)
	}
}

// TestServeJWTEnds: the streams of a client end when its token expires, and those of another when its token is revoked.
func TestServeJWTEnds(t *testing.T) {
	t.Parallel()
	issuer, key := signer(t)
	h := newHome(t, servedScript())
	h.vars = []string{"MCPL_JWT_ISSUER=" + issuer.Issuer(), "MCPL_JWT_AUDIENCE=urn:mcpl"}
	own := h.addToken(t, "own")
	s := h.serveAt(t, "127.0.0.1:0", "--expose", "all")
	const leeway = time.Minute
	const hang = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"s_hang"}}`
	ends := func(token string, end func() time.Time) {
		t.Helper()
		header := "Authorization: Bearer " + token
		id := s.session(header)
		requests := [][]string{{"GET", "", header, id}, {"POST", hang, header, id}, {"POST", hang, header}}
		statuses := make(chan int, len(requests))
		var open sync.WaitGroup
		for _, r := range requests {
			open.Go(func() {
				resp := s.open(t.Context(), r[0], r[1], r[2:]...)
				defer resp.Body.Close()
				statuses <- resp.StatusCode
				_, _ = io.Copy(io.Discard, resp.Body) // it ends, or the test does
			})
		}
		for range requests {
			if status := <-statuses; status != 200 {
				t.Errorf("a stream begins with %d", status)
			}
		}
		ended := end()
		open.Wait()
		if late := time.Since(ended); late < 0 || late > 6*time.Second {
			t.Errorf("the streams ended after %s", late)
		}
		s.is(s.ask("POST", ping, header, id), 401)
	}
	ends(own, func() time.Time {
		h.serveToken(t, "revoke", "own")
		return time.Now()
	})
	expires := time.Now().Add(5 * time.Second).Truncate(time.Second)
	ends(authtest.SignJWT(key, map[string]any{"iss": issuer.Issuer(), "aud": "urn:mcpl", "sub": "ada",
		"scope": "mcpl:destructive", "exp": expires.Add(-leeway).Unix()}), func() time.Time { return expires })
}

// TestServeJWTIssuerDown: while an issuer is down, its tokens are refused for now, and the gateway's own count.
func TestServeJWTIssuerDown(t *testing.T) {
	t.Parallel()
	issuer, key := signer(t, func(o *authtest.Options) { o.NoMetadata = true })
	h := newHome(t, servedScript())
	h.vars = []string{"MCPL_JWT_ISSUER=" + issuer.Issuer(), "MCPL_JWT_AUDIENCE=urn:mcpl"}
	own := h.addToken(t, "own")
	s := h.serveAt(t, "127.0.0.1:0")
	token := authtest.SignJWT(key, map[string]any{"iss": issuer.Issuer(), "aud": "urn:mcpl", "sub": "ada",
		"scope": "mcpl:read", "exp": time.Now().Add(time.Hour).Unix()})
	r := s.ask("POST", ping, "Authorization: Bearer "+token)
	s.is(r, 503, "keys of the issuer cannot be fetched")
	if r.header.Get("Retry-After") == "" || r.header.Get("WWW-Authenticate") != "" {
		t.Errorf("%v", r.header)
	}
	s.is(s.ask("POST", ping, "Authorization: Bearer "+own), 200)
	if said := s.end(); !strings.Contains(said, "the keys of the issuer "+issuer.Issuer()+" cannot be fetched") {
		t.Error(said)
	}
}

// TestServeJWTLogin has mcpl as a client log in at the issuer that the gateway names, and call a tool behind it.
func TestServeJWTLogin(t *testing.T) {
	t.Parallel()
	issuer, _ := signer(t, func(o *authtest.Options) { o.Audience = "urn:mcpl" })
	h := newHome(t, servedScript())
	h.vars = []string{"MCPL_JWT_ISSUER=" + issuer.Issuer(), "MCPL_JWT_AUDIENCE=urn:mcpl"}
	s := h.serveAt(t, "127.0.0.1:0", "--expose", "all")
	client := newHome(t, servedScript())
	client.vars = []string{"MCPL_CREDENTIALS=file"}
	client.write(t, ".mcp.json", map[string]any{"mcpServers": map[string]any{"front": map[string]string{"url": s.url}}})
	cmd, _, stderr := client.mcpl(t, "--json", "call", "front", "s_odd", "a=1")
	if err := cmd.Run(); err == nil {
		t.Errorf("a call without a login: %s", stderr)
	}
	cmd, _, _ = client.mcpl(t, "auth", "login", "front", "--no-browser")
	login := exec.CommandContext(t.Context(), "play-browser", slices.Concat([]string{"mcpl"}, cmd.Args[1:])...)
	login.Dir, login.Env = cmd.Dir, cmd.Env
	if said, err := login.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	cmd, stdout, stderr := client.mcpl(t, "--json", "call", "front", "s_odd", "a=1")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s%s", err, stdout, stderr)
	}
	if issuer.Count("authorize mcpl:destructive mcpl:read mcpl:write") != 1 {
		t.Errorf("%q", issuer.Events())
	}
	if kept, err := os.ReadFile(h.dir + "/mcpl/gateway-tokens.json"); err == nil {
		t.Errorf("a token was made: %s", kept)
	}
	said := s.end()
	for _, secret := range issuer.Secrets() {
		if strings.Contains(said, secret) || bytes.Contains(stdout.Bytes(), []byte(secret)) {
			t.Error("a secret was printed")
		}
	}
}
