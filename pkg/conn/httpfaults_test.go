package conn

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// answer is an HTTP answer in all brevity.
func answer(status int, contentType, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		for i := 0; i < len(headers); i += 2 {
			w.Header().Add(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// What comes instead of an answer to initialize, over Streamable HTTP alone.
func TestBadAnswers(t *testing.T) {
	t.Parallel()
	const secret = "tok-0123456789"
	for _, tt := range []struct {
		name          string
		handler       http.HandlerFunc
		typ           fault.Type
		message, help string
		trace         string
	}{
		{"401", answer(401, "text/plain", "who are you\x1b[31m", "WWW-Authenticate", `Bearer realm="x"`), fault.AuthRequired,
			"my-s wants a login: HTTP 401 Unauthorized (Bearer)", `Put "headers": {"Authorization": "Bearer ${MY_S_TOKEN}"} into the entry of my-s in FILE, line 1, and MY_S_TOKEN=... into /etc/mcpl.env.`,
			"body: who are you [31m\nurl: URL\nlast answer: 401 Unauthorized over HTTP/1.1"},
		{"401 of another scheme", answer(401, "text/plain", "", "WWW-Authenticate", `Basic realm="x"`), fault.AuthRequired, "(Basic)", `"Basic ${MY_S_TOKEN}"`, ""},
		{"401 of no scheme", answer(401, "text/plain", ""), fault.AuthRequired, "HTTP 401 Unauthorized", `"Bearer ${MY_S_TOKEN}"`, ""},
		{"401 with OAuth", answer(401, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}`, "WWW-Authenticate", `Bearer resource_metadata="http://x"`),
			fault.AuthRequired, "wants a login", `"headers"`, ""},
		{"403", answer(403, "text/plain", "no"), fault.AuthRequired, "HTTP 403 Forbidden", `"headers"`, "body: no"},
		{"404", answer(404, "text/html", "<h1>nothing</h1>"), fault.ServerConnection, "my-s has nothing at this path: HTTP 404 Not Found", `Correct "url" of my-s in FILE, line 1. Most servers answer at`, "body: <h1>nothing</h1>"},
		{"405", answer(405, "text/plain", ""), fault.ServerConnection, "my-s answered initialize with HTTP 405 Method Not Allowed", `Omit "type"`, ""},
		{"429", answer(429, "text/plain", "", "Retry-After", "7"), fault.ServerConnection, "HTTP 429 Too Many Requests", "again in 7 seconds.", ""},
		{"503", answer(503, "text/html", "down"), fault.ServerConnection, "HTTP 503 Service Unavailable", "again later", "body: down"},
		{"500 with an error of the protocol", answer(500, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"database is down"}}`),
			fault.Protocol, "my-s refused initialize: database is down", "does not accept the handshake", "error -32603: database is down"},
		{"418", answer(418, "text/plain", ""), fault.ServerConnection, "HTTP 418 I'm a teapot", `Correct "url"`, ""},
		{"299", answer(299, "text/plain", ""), fault.Protocol, "with text/plain instead of an MCP message", `Correct "url"`, ""},
		{"a web page", answer(200, "text/html; charset=utf-8", "<html>Welcome "+secret+"</html>"), fault.Protocol,
			"my-s answered initialize with a web page instead of an MCP message", "address of a web page", "body: <html>Welcome ***</html>"},
		{"nothing", answer(202, "", ""), fault.Protocol, "with nothing (HTTP 202 Accepted)", `Correct "url"`, ""},
		{"no JSON", answer(200, "application/json", "{oops"), fault.Protocol, "my-s broke the protocol: its answer to initialize is not an MCP message", "Update the server", "invalid character"},
		{"no id", answer(200, "application/json", `{"jsonrpc":"2.0","result":{}}`), fault.Protocol, "is not an MCP message", "", ""},
		{"another id", answer(200, "application/json", `{"jsonrpc":"2.0","id":77,"result":{}}`), fault.Protocol, "its answer to initialize has another id", "", ""},
		{"no result", answer(200, "application/json", `{"jsonrpc":"2.0","id":1,"result":7}`), fault.Protocol, "its answer to initialize is not what the protocol says", "", ""},
		{"a stream without an answer", answer(200, "text/event-stream", ": hello\n\n"), fault.ServerConnection, "the connection to my-s ended before it answered initialize", "", "the connection was lost"},
		{"a redirect elsewhere", answer(307, "", "", "Location", "https://elsewhere.example/mcp?t="+secret), fault.ServerConnection, "my-s has moved: HTTP 307",
			`set "url" of my-s in FILE, line 1, to https://elsewhere.example/mcp?t=***`, ""},
		{"a redirect that changes the method", answer(302, "", "", "Location", "/login"), fault.ServerConnection, "my-s has moved: HTTP 302 Found", "/login", ""},
		{"a redirect for ever", answer(308, "", "", "Location", "/mcp"), fault.ServerConnection, "my-s has moved: HTTP 308", "", ""},
		{"the end", func(w http.ResponseWriter, _ *http.Request) { breakOff(w) }, fault.ServerConnection, "the connection to my-s ended before it answered initialize", "", "EOF"},
		{"half an answer", answer(200, "application/json", `{"jsonrpc":`, "Content-Length", "100"), fault.ServerConnection, "the connection to my-s ended before", "", "unexpected EOF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := serve(t, tt.handler) + "/mcp"
			p := urlPool(t, map[string]string{"my-s": fmt.Sprintf(`"type": "http", "url": %q, "headers": {"X-Api-Key": %q}`, url, secret)})
			_, err := p.List(t.Context(), "my-s", tool.CallOptions{})
			f := wantFault(t, err, tt.typ, tt.message)
			file := p.cfg.Servers[0].File
			if help := strings.ReplaceAll(f.Help, file, "FILE"); !strings.Contains(help, tt.help) {
				t.Errorf("help %s", help)
			}
			trace := strings.ReplaceAll(f.Traceback, url, "URL")
			if !strings.Contains(trace, tt.trace) || !strings.Contains(trace, "url: URL") {
				t.Errorf("traceback %s", trace)
			}
			if strings.Contains(f.Message+f.Help+f.Traceback, secret) || f.Server != "my-s" {
				t.Errorf("fault %+v", f)
			}
		})
	}
}

// A login that is there but wrong, also one in the URL.
func TestWrongLogin(t *testing.T) {
	t.Parallel()
	url := serve(t, answer(401, "text/plain", "", "WWW-Authenticate", "Bearer"))
	for entry, check := range map[string]string{
		fmt.Sprintf(`"url": %q, "headers": {"Authorization": "Bearer hunter2-hunter2"}`, url):      "Authorization header",
		fmt.Sprintf(`"url": %q`, strings.Replace(url, "http://", "http://me:hunter2-hunter2@", 1)): `user and password in the "url"`,
	} {
		_, err := urlPool(t, map[string]string{"s": entry}).List(t.Context(), "s", tool.CallOptions{})
		f := wantFault(t, err, fault.AuthRequired, "s does not accept the login of its entry: HTTP 401")
		if strings.Contains(f.Traceback+f.Help+f.Message, "hunter2") || !strings.HasPrefix(f.Help, "Check the "+check+" of s in ") {
			t.Errorf("%+v", f)
		}
	}
}

// Where both transports fail, the first fault says so; a login that only the older one asks for counts more.
func TestFallbackFails(t *testing.T) {
	t.Parallel()
	byMethod := func(post, get http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				post(w, r)
			} else {
				get(w, r)
			}
		}
	}
	notFound := answer(404, "text/plain", "")
	for _, tt := range []struct {
		name      string
		post, get http.HandlerFunc
		typ       fault.Type
		message   string
		trace     string
	}{
		{"nothing there", notFound, notFound, fault.ServerConnection, "s has nothing at this path", "over sse: s has nothing at this path: HTTP 404 Not Found"},
		{"login", answer(405, "text/plain", ""), answer(401, "text/plain", ""), fault.AuthRequired, "s wants a login", ""},
		{"a web page", notFound, answer(200, "text/html", "hi"), fault.ServerConnection, "s has nothing", "over sse: s answered initialize with a web page"},
		{"no endpoint", answer(400, "text/plain", "?"), answer(200, "text/event-stream", "data: {}\n\n"), fault.ServerConnection, "HTTP 400", "does not begin with the event endpoint"},
		{"ends at once", notFound, answer(200, "text/event-stream", ""), fault.ServerConnection, "s has nothing", "over sse: the connection to s ended"},
		{"endpoint elsewhere", notFound, answer(200, "text/event-stream", "event: endpoint\ndata: http://elsewhere.example/m\n\n"), fault.ServerConnection, "s has nothing",
			"over sse: s sends its clients to another host"},
		{"not tried", answer(500, "text/plain", ""), answer(200, "text/event-stream", ""), fault.ServerConnection, "HTTP 500", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			entry := fmt.Sprintf(`"url": %q`, serve(t, byMethod(tt.post, tt.get)))
			_, err := urlPool(t, map[string]string{"s": entry}).List(t.Context(), "s", tool.CallOptions{})
			f := wantFault(t, err, tt.typ, tt.message)
			if !strings.Contains(f.Traceback, tt.trace) || tt.trace == "" && strings.Contains(f.Traceback, "sse") {
				t.Errorf("traceback %s", f.Traceback)
			}
		})
	}
}

// Redirects within the server are followed with all headers; none goes elsewhere.
func TestRedirects(t *testing.T) {
	t.Parallel()
	elsewhere := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s came here with %v", r.Method, r.Header)
	}))
	h := &handmade{}
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/mcp":
			http.Redirect(w, r, "/mcp/", http.StatusTemporaryRedirect)
		case "/away":
			http.Redirect(w, r, elsewhere+"/mcp", http.StatusPermanentRedirect)
		default:
			h.ServeHTTP(w, r)
		}
	}))
	p := urlPool(t, map[string]string{
		"s":    fmt.Sprintf(`"url": %q, "headers": {"Authorization": "Bearer x"}`, url+"/mcp"),
		"away": fmt.Sprintf(`"url": %q, "headers": {"Authorization": "Bearer x"}`, url+"/away")})
	mustCall(t, p, "s", "t")
	if got := h.all(); len(got) != 4 || got[3].header.Get("Authorization") != "Bearer x" {
		t.Errorf("requests %v", got)
	}
	_, err := p.List(t.Context(), "away", tool.CallOptions{})
	wantFault(t, err, fault.ServerConnection, "away has moved: HTTP 308 Permanent Redirect")
	// Whatever leads there.
	if err := get(remoteTo(t, url).tripper.client(new(httpExchange)), elsewhere); !errors.Is(err, errElsewhere) {
		t.Errorf("error %v", err)
	}
}

// get asks for url and returns what becomes of the request.
func get(client *http.Client, url string) error {
	resp, err := client.Get(url)
	if err == nil {
		err = resp.Body.Close()
	}
	return err
}

func TestSameOrigin(t *testing.T) {
	t.Parallel()
	for other, want := range map[string]bool{
		"https://Mcp.example.com:443/x?y": true, "https://mcp.example.com": true, "https://u:p@mcp.example.com/": true,
		"http://mcp.example.com/mcp": false, "https://mcp.example.com:8443/mcp": false, "https://example.com/mcp": false, "/mcp": false,
	} {
		a, err := url.Parse("https://mcp.example.com/mcp")
		if err != nil {
			t.Fatal(err)
		}
		b, err := url.Parse(other)
		if err != nil {
			t.Fatal(err)
		}
		if sameOrigin(a, b) != want {
			t.Errorf("%s: %v", other, !want)
		}
	}
}

// certify returns a certificate for 127.0.0.1 and example.com, signed by itself.
func certify(t *testing.T, until time.Time, host string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: until.Add(-2 * time.Hour), NotAfter: until,
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	if ip := net.ParseIP(host); ip != nil {
		c.IPAddresses = []net.IP{ip}
	} else {
		c.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// serveTLS runs a server with a certificate and returns its URL.
func serveTLS(t *testing.T, c *tls.Config) string {
	t.Helper()
	srv := httptest.NewUnstartedServer(&handmade{})
	srv.TLS = c
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv.URL
}

// The system knows no authority of these certificates; the pool's own client trusts them unless that is the point.
func TestTLSFaults(t *testing.T) {
	t.Parallel()
	valid := certify(t, time.Now().Add(time.Hour), "127.0.0.1")
	expired := certify(t, time.Now().Add(-time.Hour), "127.0.0.1")
	other := certify(t, time.Now().Add(time.Hour), "example.com")
	for _, tt := range []struct {
		name          string
		url           string
		trust         *x509.Certificate
		message, help string
	}{
		{"unknown authority", serveTLS(t, &tls.Config{Certificates: []tls.Certificate{valid}}), nil,
			"cannot reach s: its certificate is signed by an authority that this machine does not trust", "SSL_CERT_FILE=/path/to/ca.pem"},
		{"expired", serveTLS(t, &tls.Config{Certificates: []tls.Certificate{expired}}), expired.Leaf, "has expired, or is not valid yet", "Check the clock"},
		{"another host", serveTLS(t, &tls.Config{Certificates: []tls.Certificate{other}}), other.Leaf, "its certificate is not for 127.0.0.1", "It is for example.com. Correct"},
		{"no TLS", strings.Replace(serve(t, &handmade{}), "http:", "https:", 1), nil, "127.0.0.1 does not speak TLS at this port", `Correct "url"`},
		{"certificate of the client", serveTLS(t, &tls.Config{Certificates: []tls.Certificate{valid}, ClientAuth: tls.RequireAnyClientCert}), valid.Leaf,
			"it refuses a secure connection", "a certificate of the client"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := remoteTo(t, tt.url)
			if tt.trust != nil {
				r.base.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
				r.base.TLSClientConfig.RootCAs.AddCert(tt.trust)
			}
			err := get(r.tripper.client(new(httpExchange)), tt.url)
			f := wantFault(t, r.failure(err, phase{name: methodInitialize}), fault.ServerConnection, tt.message)
			if !strings.Contains(f.Help, tt.help) || strings.Contains(f.Traceback, "Get ") {
				t.Errorf("help %s\n%s", f.Help, f.Traceback)
			}
		})
	}
}

// remoteTo returns the way to a server "s".
func remoteTo(t *testing.T, url string) *remote {
	t.Helper()
	server := urlPool(t, map[string]string{"s": fmt.Sprintf(`"url": %q`, url)}).cfg.Servers[0]
	r, err := newRemote(server, Options{EnvFile: "/etc/mcpl.env"}, newLogger(server, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.close(0) })
	return r
}

// Troubles that a test cannot make over a socket.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	r := remoteTo(t, "https://mcp.example.com/mcp")
	for _, tt := range []struct {
		err           error
		typ           fault.Type
		message, help string
	}{
		{&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "mcp.example.com", IsNotFound: true}}, fault.ServerConnection,
			"cannot reach s: mcp.example.com has no address", "Check that you are online"},
		{&net.OpError{Op: "dial", Net: "tcp", Err: errors.New("network is unreachable")}, fault.ServerConnection, "cannot connect to mcp.example.com", "online"},
		{&net.OpError{Op: "proxyconnect", Net: "tcp", Err: errors.New("refused")}, fault.ServerConnection, "the proxy cannot be reached", "NO_PROXY=mcp.example.com"},
		{x509.CertificateInvalidError{Reason: x509.TooManyIntermediates}, fault.ServerConnection, "its certificate is not valid", "renew"},
		{io.EOF, fault.ServerConnection, "the connection to s ended before it answered initialize", ""},
	} {
		f := wantFault(t, r.failure(&url.Error{Op: "Post", URL: "https://x", Err: tt.err}, phase{name: methodInitialize}), tt.typ, tt.message)
		if !strings.Contains(f.Help, tt.help) || f.Traceback == "" || strings.Contains(f.Traceback, "https://x") {
			t.Errorf("%+v", f)
		}
	}
	wantFault(t, r.failure(errors.New("odd"), phase{name: "tools/call"}), fault.Protocol, "s failed at tools/call")
	wantFault(t, r.failure(fmt.Errorf("x: %w", errTooLong), phase{}), fault.Protocol, "more than 64 MB")
}

func TestTimeoutsOverHTTP(t *testing.T) {
	t.Parallel()
	hang := func(_ http.ResponseWriter, r *http.Request, _ message) { <-r.Context().Done() }
	on := func(method string) *handmade {
		return &handmade{on: map[string]func(http.ResponseWriter, *http.Request, message){method: hang}}
	}
	short := func(o *Options) { o.Limits.Connect = 200 * time.Millisecond }
	t.Run("initialize", func(t *testing.T) {
		t.Parallel()
		_, err := handmadePool(t, on("initialize"), "", short).List(t.Context(), "s", tool.CallOptions{})
		f := wantFault(t, err, fault.Timeout, "s did not answer initialize within 200ms")
		if !strings.Contains(f.Traceback, "it was waiting for its answer\n") || !strings.Contains(f.Help, "--connect-timeout 400ms") {
			t.Errorf("%+v", f)
		}
	})
	t.Run("tools/call", func(t *testing.T) {
		t.Parallel()
		h := on("tools/call")
		opt := tool.CallOptions{Timeout: 100 * time.Millisecond, Repeatable: true}
		_, err := handmadePool(t, h, "").Call(t.Context(), tool.Ref{Server: "s", Name: "t"}, nil, opt)
		wantFault(t, err, fault.Timeout, "s did not answer tools/call within 100ms")
		h.wait(t, "notifications/cancelled", 1)
	})
	t.Run("nothing but a port", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, err = urlPool(t, map[string]string{"s": fmt.Sprintf(`"url": "https://%s"`, l.Addr())}, short).List(t.Context(), "s", tool.CallOptions{})
		f := wantFault(t, err, fault.Timeout, "s did not answer initialize")
		if !strings.Contains(f.Traceback, "it was agreeing on TLS\n") || !strings.HasSuffix(f.Traceback, "last answer: none") {
			t.Errorf("%+v", f)
		}
	})
	t.Run("sse without an endpoint", func(t *testing.T) {
		t.Parallel()
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			stream(w)
			<-r.Context().Done()
		}))
		_, err := urlPool(t, map[string]string{"s": fmt.Sprintf(`"type": "sse", "url": %q`, url)}, short).List(t.Context(), "s", tool.CallOptions{})
		wantFault(t, err, fault.Timeout, "s did not answer initialize within 200ms")
	})
}

func TestVariableOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"github": "GITHUB_TOKEN", "my server.2": "MY_SERVER_2_TOKEN", "1st": "_1ST_TOKEN", "é": "__TOKEN"} {
		if got := variableOf(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestLater(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{"": "in a minute", "120": "in 120 seconds", "Wed, 21 Oct 2026 07:28:00 GMT": "after Wed, 21 Oct 2026 07:28:00 GMT"} {
		if got := later(value); got != want {
			t.Errorf("%q: %s", value, got)
		}
	}
}
