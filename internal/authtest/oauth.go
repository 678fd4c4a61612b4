package authtest

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// register registers a client (RFC 7591).
func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Redirects []string `json:"redirect_uris"`
		Method    string   `json:"token_endpoint_auth_method"`
		Type      string   `json:"application_type"`
	}
	if json.NewDecoder(r.Body).Decode(&ask) != nil || len(ask.Redirects) != 1 || ask.Type != "native" {
		s.refuse(w, "invalid_client_metadata")
		return
	}
	c := registered{method: ask.Method, redirect: ask.Redirects[0]}
	if s.opt.Method != "" {
		c.method = s.opt.Method
	}
	id := fmt.Sprintf("client-%d", len(s.clients)+1)
	doc := map[string]any{"client_id": id, "redirect_uris": ask.Redirects, "token_endpoint_auth_method": c.method}
	if c.method != "none" {
		c.secret = s.secret("client+secret/of=") // characters that have to be escaped
		doc["client_secret"] = c.secret
	}
	s.clients[id] = c
	s.note("register")
	answer(w, http.StatusCreated, doc)
}

// authorize approves a login at once (OAuth 2.1, 4.1.1).
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	id, redirect := q.Get("client_id"), q.Get("redirect_uri")
	c, known := s.clients[id]
	to, err := url.Parse(redirect)
	switch {
	case !known && strings.HasPrefix(id, "https://"):
		s.clients[id] = registered{method: "none"} // a careful server would fetch the document
	case !known:
		http.Error(w, "no such client", http.StatusBadRequest)
		return
	}
	if err != nil || c.redirect != "" && c.redirect != redirect || to.Hostname() != "127.0.0.1" {
		http.Error(w, "no such redirect address", http.StatusBadRequest)
		return
	}
	s.note("authorize %s", q.Get("scope"))
	back := url.Values{"state": {q.Get("state")}}
	switch s.opt.Iss {
	case "":
		back.Set("iss", s.http.URL+s.opt.Prefix)
	case "none":
	default:
		back.Set("iss", s.opt.Iss)
	}
	switch {
	case s.opt.Deny != "":
		back.Set("error", s.opt.Deny)
		back.Set("error_description", "not <b>today</b>")
	case q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" ||
		q.Get("resource") == "":
		back.Set("error", "invalid_request")
	default:
		code := s.secret("code")
		s.codes[code] = grant{client: id, redirect: redirect, challenge: q.Get("code_challenge"),
			resource: q.Get("resource"), scope: q.Get("scope")}
		back.Set("code", code)
	}
	to.RawQuery = back.Encode()
	http.Redirect(w, r, to.String(), http.StatusFound)
}

// refuse answers as RFC 6749, 5.2.
func (s *Server) refuse(w http.ResponseWriter, code string) {
	s.note("refused %s", code)
	answer(w, http.StatusBadRequest, map[string]string{"error": code, "error_description": "because"})
}

// token gives tokens (OAuth 2.1, 3.2).
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil || r.Method != http.MethodPost {
		s.refuse(w, "invalid_request")
		return
	}
	f := r.PostForm
	if s.opt.TokenError != "" {
		s.fail(w, f)
		return
	}
	id, ok := s.authenticate(r)
	if !ok {
		s.refuse(w, "invalid_client")
		return
	}
	g, ok := s.redeem(id, f)
	if !ok || g.client != id || g.resource != f.Get("resource") {
		s.refuse(w, "invalid_grant")
		return
	}
	s.note("token %s", f.Get("grant_type"))
	s.give(w, g, f.Get("grant_type") != "client_credentials")
}

// fail answers a request for a token as Options.TokenError says.
func (s *Server) fail(w http.ResponseWriter, f url.Values) {
	switch s.opt.TokenError {
	case "down":
		w.WriteHeader(http.StatusServiceUnavailable)
	case "echo":
		sent := f.Encode() + f.Get("code") + f.Get("refresh_token")
		answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_request",
			"error_description": "this was sent: " + sent})
	default:
		s.refuse(w, s.opt.TokenError)
	}
}

// redeem returns what the client id may have for its grant, and uses the grant up.
func (s *Server) redeem(id string, f url.Values) (g grant, ok bool) {
	switch f.Get("grant_type") {
	case "authorization_code":
		sum := sha256.Sum256([]byte(f.Get("code_verifier")))
		g, ok = s.codes[f.Get("code")]
		ok = ok && g.redirect == f.Get("redirect_uri") && g.challenge == base64.RawURLEncoding.EncodeToString(sum[:])
		delete(s.codes, f.Get("code"))
	case "refresh_token":
		old := f.Get("refresh_token")
		if s.used[old] { // it was stolen, or the new one was not kept
			s.note("reuse")
			clear(s.refresh)
			clear(s.access)
		}
		g, ok = s.refresh[old]
		delete(s.refresh, old)
		s.used[old] = true
	case "client_credentials":
		g = grant{client: id, resource: f.Get("resource"), scope: f.Get("scope")}
		ok = s.clients[id].secret != "" || s.clients[id].key != nil
	}
	return g, ok
}

// give gives tokens for a grant.
func (s *Server) give(w http.ResponseWriter, g grant, refresh bool) {
	doc := map[string]any{"token_type": "Bearer", "scope": g.scope}
	if s.opt.Expires > 0 {
		doc["expires_in"] = s.opt.Expires
		g.until = time.Now().Add(time.Duration(s.opt.Expires) * time.Second)
	}
	access := s.secret("access")
	if s.opt.Signs != nil {
		access = s.signed(g)
	}
	doc["access_token"] = access
	s.access[access] = g
	if refresh && !s.opt.NoRefresh {
		token := s.secret("refresh")
		s.refresh[token] = g
		doc["refresh_token"] = token
	}
	answer(w, http.StatusOK, doc)
}

// authenticate returns the client of a request to the token endpoint, in the way that it has to use.
func (s *Server) authenticate(r *http.Request) (id string, ok bool) {
	f := r.PostForm
	id, secret, method := f.Get("client_id"), f.Get("client_secret"), "none"
	if secret != "" {
		method = "client_secret_post"
	}
	if user, password, basic := r.BasicAuth(); basic {
		if id != "" || secret != "" {
			return "", false // "MUST NOT use more than one authentication method" (RFC 6749, 2.3)
		}
		method = "client_secret_basic"
		id, _ = url.QueryUnescape(user)
		secret, _ = url.QueryUnescape(password)
	}
	if assertion := f.Get("client_assertion"); assertion != "" && method == "none" {
		return s.proven(assertion, f.Get("client_assertion_type"))
	}
	c, known := s.clients[id]
	return id, known && c.method == method && (method == "none" || c.secret == secret)
}

// proven returns the client that has signed an assertion for this server, once (RFC 7523, 3). The
// clocks of tests run ahead of its own by up to two hours.
func (s *Server) proven(assertion, kind string) (id string, ok bool) {
	claims := jwt.MapClaims{}
	_, err := jwt.ParseWithClaims(assertion, claims, func(t *jwt.Token) (any, error) {
		id, _ = claims.GetSubject()
		return s.clients[id].key, nil
	}, jwt.WithAudience(s.http.URL+s.opt.Prefix), jwt.WithExpirationRequired(), jwt.WithIssuedAt(),
		jwt.WithLeeway(2*time.Hour))
	issuer, _ := claims.GetIssuer()
	jti, _ := claims["jti"].(string)
	ok = err == nil && kind == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" && issuer == id &&
		jti != "" && !s.used[jti]
	s.used[jti] = true
	return id, ok
}

// revoke ends a token (RFC 7009).
func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		s.refuse(w, "invalid_request")
		return
	}
	if _, ok := s.authenticate(r); !ok {
		s.refuse(w, "invalid_client")
		return
	}
	token := r.PostForm.Get("token")
	for kind, list := range map[string]map[string]grant{"access": s.access, "refresh": s.refresh} {
		if _, ok := list[token]; ok {
			delete(list, token)
			s.note("revoke %s", kind)
		}
	}
	w.WriteHeader(http.StatusOK)
}

// Browse does what the browser of a person does who logs in at address and approves: it follows the way to
// the end, and returns the last page and its address.
func Browse(ctx context.Context, address string) (page, last string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", "", err
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return "", "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return string(data), resp.Request.URL.String(), err
}

// Redirect follows the way of a login to the address on this machine that the browser would end at, without
// going there.
func Redirect(ctx context.Context, address string) (last string, err error) {
	stop := errors.New("far enough")
	check := func(req *http.Request, _ []*http.Request) error {
		if last = req.URL.String(); strings.Contains(req.URL.Path, "/callback") {
			return stop
		}
		return nil
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: check}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err == nil {
		resp.Body.Close()
	}
	if err != nil && !errors.Is(err, stop) {
		return "", err
	}
	return last, nil
}

// AddressIn returns the address of a login in what mcpl writes to stderr. It is empty as long as none is there.
func AddressIn(text string) string {
	lines := strings.Split(text, "\n")
	i := slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "http") && strings.Contains(line, "code_challenge=")
	})
	if i < 0 || i == len(lines)-1 { // the line may go on
		return ""
	}
	return strings.TrimSpace(lines[i])
}
