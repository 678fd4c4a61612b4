package config

import (
	"reflect"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// TestJWT reads whose tokens a gateway takes, from the settings file and from variables.
func TestJWT(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(w.SettingsFile(), `public_url = "https://mcp.example.com/"
[gateway.jwt]
issuer = "https://login.example.com/tenant/"
algorithms = ["ES256"]
name_claim = "email"
servers_claim = "servers"
tier = "read"
[gateway.jwt.scopes]
"api/admin" = "destructive"
`)
	want := JWT{Issuer: "https://login.example.com/tenant/", Audience: "https://mcp.example.com/mcp",
		Algorithms: []string{"ES256"}, NameClaim: "email", ServersClaim: "servers",
		Scopes: map[string]string{"api/admin": "destructive"}, Tier: "read"}
	s, shown, err := w.LoadSettings()
	if err != nil || !reflect.DeepEqual(*s.JWT, want) || s.PublicURL != "https://mcp.example.com" {
		t.Fatalf("%+v, %v", s, err)
	}
	last := shown[len(shown)-2:]
	if last[0].From != w.SettingsFile()+":3" || last[1] != (Setting{"gateway.jwt.audience", want.Audience, "public_url"}) {
		t.Errorf("shown %+v", last)
	}

	w = newWorld(t)
	if s, _, err := w.LoadSettings(); err != nil || s.JWT != nil {
		t.Errorf("without settings: %+v, %v", s.JWT, err)
	}
	w.vars["MCPL_JWT_ISSUER"], w.vars["MCPL_JWT_AUDIENCE"] = "http://127.0.0.1:8080", "urn:mcpl"
	s, _, err = w.LoadSettings()
	want = JWT{Issuer: "http://127.0.0.1:8080", Audience: "urn:mcpl", Algorithms: signatures(), NameClaim: "sub",
		Scopes: defaultScopes()}
	if err != nil || !reflect.DeepEqual(*s.JWT, want) {
		t.Errorf("by variables: %+v, %v", s.JWT, err)
	}
}

// TestJWTWrong: settings that cannot be obeyed are errors that name the line or variable.
func TestJWTWrong(t *testing.T) {
	t.Parallel()
	const good = "[gateway.jwt]\nissuer = 'https://i.example'\naudience = 'a'\n"
	for content, texts := range map[string][]string{
		"[gateway.jwt]\naudience = 'a'":                            {"config.toml:1", "issuer: it is missing"},
		"[gateway.jwt]\nissuer = 'https://i.example'":              {"config.toml:1", "audience: it is missing"},
		"[gateway.jwt]\nissuer = 'http://i.example'":               {"config.toml:2", "plain http://"},
		"[gateway.jwt]\nissuer = 'i.example'":                      {"config.toml:2", "not an https:// URL"},
		"[gateway.jwt]\nissuer = 'https://i.example?x'":            {"config.toml:2", "more than a host and a path"},
		"[gateway.jwt]\nissuer = 'https://i.example#'":             {"config.toml:2", "more than a host and a path"},
		"[gateway.jwt]\nissuer = 'https://u:p@i.example'":          {"config.toml:2", "more than a host and a path"},
		"[gateway.jwt]\nissuer = 'https://i.example/a@b'":          {"config.toml:2", "an @"},
		good + "jwks_url = 'http://i.example/keys'":                {"config.toml:4", "jwks_url: it is plain http://"},
		good + "algorithms = ['RS256', 'HS256']":                   {"config.toml:4", `algorithms: "HS256"`},
		good + "algorithms = ['none']":                             {"config.toml:4", `algorithms: "none"`},
		good + "tier = 'all'":                                      {"config.toml:4", `not "read", "write" or "destructive"`},
		good + "[gateway.jwt.scopes]\nx = 'all'":                   {"scopes: x: it is not"},
		good + "[gateway.jwt.scopes]\n'a b' = 'read'":              {"characters that no scope has"},
		good + "isuer = 'x'":                                       {"config.toml:4", `no setting "jwt.isuer"`, "Did you mean issuer?"},
		"[gateway]\njwks = 1":                                      {"config.toml:2", `no setting "jwks"`},
		"public_url = 'http://mcp.example.com'":                    {"config.toml:1", "public_url: it is plain http://"},
		"public_url = ''":                                          {"config.toml:1", "public_url: it is not an https:// URL"},
		"[gateway.jwt]\nissuer = ['https://i.example']\n":          {"config.toml:2", "not a setting in TOML"},
		"limit = 1\ngateway.jwt.issuer = 'x'\nmax_bytes = 1\n\n\n": {"config.toml:1", "issuer: it is not an https:// URL"},
	} {
		w := newWorld(t)
		w.write(w.SettingsFile(), content)
		_, _, err := w.LoadSettings()
		if err == nil {
			t.Errorf("%q is taken", content)
			continue
		}
		wantFault(t, err, fault.Config, texts...)
	}
	for variable, value := range map[string]string{"MCPL_JWT_ISSUER": "http://i.example", "MCPL_JWT_AUDIENCE": "a",
		"MCPL_PUBLIC_URL": "x"} {
		w := newWorld(t)
		w.vars[variable] = value
		if _, _, err := w.LoadSettings(); err == nil || !strings.Contains(err.Error(), variable) {
			t.Errorf("%s=%s: %v", variable, value, err)
		}
	}
}

// TestResource: a gateway is known by its audience if that is one of its addresses, else by the address of /mcp.
func TestResource(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ public, audience, want string }{
		{"", "urn:x", ""},
		{"", "https://mcp.example.com", "https://mcp.example.com"},
		{"https://mcp.example.com", "https://mcp.example.com", "https://mcp.example.com"},
		{"https://mcp.example.com", "https://api.example.com", "https://mcp.example.com/mcp"},
		{"https://mcp.example.com/x", "urn:x", "https://mcp.example.com/x/mcp"},
	} {
		s := Settings{PublicURL: PublicURL(c.public), JWT: &JWT{Audience: c.audience}}
		if got := s.Resource(); got != c.want {
			t.Errorf("%q, %q: %q, not %q", c.public, c.audience, got, c.want)
		}
	}
}
