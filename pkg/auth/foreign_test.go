package auth

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// foreign is a server that answers paths with what a test says; others with 404. "URL" in an answer is its own.
func foreign(t *testing.T, answers map[string]string) string {
	t.Helper()
	var own string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, body, _ := strings.Cut(strings.ReplaceAll(answers[r.URL.Path], "URL", own), " ")
		switch status {
		case "":
			http.NotFound(w, r)
		case "302", "307":
			http.Redirect(w, r, body, http.StatusTemporaryRedirect)
		case "503":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "400":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, body)
		case "cut":
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, body)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, body)
		}
	}))
	t.Cleanup(srv.Close)
	own = srv.URL
	return srv.URL
}

const (
	resourcePlace = "/.well-known/oauth-protected-resource/mcp"
	serverPlace   = "/.well-known/oauth-authorization-server"
	goodResource  = `200 {"resource": "URL/mcp", "authorization_servers": ["URL"]}`
	goodServer    = `200 {"issuer": "URL", "authorization_endpoint": "URL/authorize", "token_endpoint": "URL/token", "registration_endpoint": "URL/register",
		"code_challenge_methods_supported": ["S256"]}`
)

// Documents as the world has them.
func TestDocuments(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answers map[string]string
		typ     fault.Type // "" for none
		message string
	}{
		"good":                     {map[string]string{resourcePlace: goodResource, serverPlace: goodServer}, "", ""},
		"a redirect":               {map[string]string{resourcePlace: "307 /here", "/here": goodResource, serverPlace: goodServer}, "", ""},
		"redirects without end":    {map[string]string{resourcePlace: "307 " + resourcePlace}, "", ""}, // as if there were none
		"a redirect to plain http": {map[string]string{resourcePlace: "307 http://as.example.com/x"}, fault.Protocol, "the metadata of s is at an address that cannot be used"},
		"a web page for all":       {map[string]string{resourcePlace: "200 <html>", serverPlace: "200 <html>"}, "", ""},
		"a server in trouble":      {map[string]string{resourcePlace: "503"}, fault.ServerConnection, "the metadata of s cannot be read"},
		"another in trouble":       {map[string]string{resourcePlace: goodResource, serverPlace: "503"}, fault.ServerConnection, "the metadata of the authorization server of s cannot be read"},
		"half a document":          {map[string]string{resourcePlace: "cut {"}, fault.ServerConnection, "cannot be read"},
		"a list":                   {map[string]string{resourcePlace: "200 []", serverPlace: goodServer}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := entryFor(t, foreign(t, tt.answers)+"/mcp", "")
			st, err := newManager(t.TempDir(), 0).discover(t.Context(), s, challenge{})
			if tt.typ == "" {
				if err != nil || st.TokenEndpoint != strings.TrimSuffix(s.URL, "/mcp")+"/token" {
					t.Errorf("%+v %v", st, err)
				}
				return
			}
			wantFault(t, err, tt.typ, tt.message)
		})
	}
	// A server elsewhere cannot send us to this machine, and gives up when its caller does.
	s := entryFor(t, "https://mcp.example.com/mcp", "")
	_, err := newManager(t.TempDir(), 0).discover(t.Context(), s, challenge{metadata: "http://127.0.0.1:1/x"})
	wantFault(t, err, fault.Protocol, "the metadata of s is at an address that cannot be used")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newManager(t.TempDir(), 0).discover(ctx, s, challenge{}); err == nil ||
		err.Error() != context.Canceled.Error() {
		t.Error(err)
	}
}

// The answers that a registration may get.
func TestRegistrations(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer string
		takes  []string
		method string // "" for an error, whose text is more
		more   string
	}{
		"no word of the method":           {`200 {"client_id": "x"}`, nil, methodNone, ""},
		"no word, a secret":               {`200 {"client_id": "x", "client_secret": "y"}`, nil, methodBasic, ""},
		"no word, a secret, post":         {`200 {"client_id": "x", "client_secret": "y"}`, []string{methodPost}, methodPost, ""},
		"no word, a secret nobody wants":  {`200 {"client_id": "x", "client_secret": "y"}`, []string{methodNone}, methodNone, ""},
		"a secret that ends":              {`200 {"client_id": "x", "client_secret": "y", "client_secret_expires_at": 4102444800, "token_endpoint_auth_method": "client_secret_post"}`, nil, methodPost, ""},
		"methods that mcpl does not know": {`200 {"client_id": "x"}`, []string{"private_key_jwt"}, methodNone, ""},
		"no client":                       {`200 {}`, nil, "", "its answer has no client_id"},
		"no JSON":                         {`200 <html>`, nil, "", "its answer has no client_id"},
		"refused":                         {`400 {"error": "invalid_redirect_uri", "error_description": "not\u001b[31m here"}`, nil, "", "it answered invalid_redirect_uri: not [31m here"},
		"in trouble":                      {`503`, nil, "", "it answered with HTTP 503"},
		"a redirect":                      {`307 /elsewhere`, nil, "", "it answered with HTTP 307"},
		"half an answer":                  {`cut {`, nil, "", "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := foreign(t, map[string]string{"/register": tt.answer})
			s := entryFor(t, base+"/mcp", "")
			c, err := newManager(t.TempDir(), 0).register(t.Context(), s,
				&site{serverMetadata: serverMetadata{Issuer: base, RegistrationEndpoint: base + "/register",
					AuthMethods: tt.takes, GrantTypesSupported: []string{"authorization_code"}}}, "http://127.0.0.1:1/callback", nil)
			if tt.method != "" {
				if err != nil || c.ID != "x" || c.Method != tt.method || strings.Contains(tt.answer, "4102444800") == c.Until.IsZero() {
					t.Errorf("%+v %v", c, err)
				}
				return
			}
			if f := wantFault(t, err, fault.ServerConnection, "does not register mcpl"); !strings.Contains(f.Traceback, tt.more) {
				t.Errorf("%q, want %q", f.Traceback, tt.more)
			}
		})
	}
}

// The answers that a token endpoint may give. No error quotes the answer, since a token may be in it.
func TestTokenAnswers(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`200 {"access_token": "tok-secret", "token_type": "bearer"}`: "",
		`200 {"access_token": "tok-secret"}`:                         "",
		`200 {"access_token": "tok-secret", "token_type": "DPoP"}`:   "its token is of the type DPoP, and mcpl knows Bearer",
		`200 {"access_token": "tok-secret\r\nX: y"}`:                 "its token has characters that no header may have",
		`200 {"token_type": "bearer", "x": "tok-secret"}`:            "its answer is not that of a token endpoint",
		`200 tok-secret`: "its answer is not that of a token endpoint",
		`400 tok-secret`: "it answered with HTTP 400 Bad Request",
		`400 {"error": "invalid_grant", "error_description": "a-code is used up"}`: "it answered invalid_grant: *** is used up",
		`307 /elsewhere`:                    "it answered with HTTP 307 Temporary Redirect",
		`cut {"access_token": "tok-secret"`: "its answer is not that of a token endpoint",
	} {
		base := foreign(t, map[string]string{"/token": answer, "/elsewhere": `200 {"access_token": "x"}`})
		form := url.Values{"grant_type": {"authorization_code"}, "code": {"a-code"}}
		token, err := newManager(t.TempDir(), 0).redeem(t.Context(), entryFor(t, base, ""), base+"/token", client{ID: "me"}, form)
		switch {
		case want == "":
			if err != nil || token.AccessToken != "tok-secret" {
				t.Errorf("%s: %v", answer, err)
			}
		case err == nil || err.Error() != want:
			t.Errorf("%s: %v, want %s", answer, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := entryFor(t, "http://127.0.0.1:1/mcp", "")
	if _, err := newManager(t.TempDir(), 0).redeem(ctx, s, "http://127.0.0.1:1/token", client{},
		url.Values{}); err == nil || err.Error() != context.Canceled.Error() {
		t.Error(err)
	}
	for _, tt := range []struct {
		takes  []string
		secret bool
		want   string
	}{{nil, true, methodBasic}, {nil, false, methodNone}, {[]string{methodPost}, true, methodPost},
		{[]string{methodNone}, true, methodNone}, {[]string{"x"}, true, ""}} {
		if got := methodFor(tt.takes, tt.secret); got != tt.want {
			t.Errorf("%v: %q, want %q", tt, got, tt.want)
		}
	}
}
