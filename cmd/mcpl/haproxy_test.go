//go:build linux || darwin

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/csv"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// balancer is HAProxy with deploy/haproxy.cfg.
type balancer struct {
	site
	stats string // the socket that it tells its state at
	// end ends it and returns its log. It may be called more than once.
	end func() string
}

// balance runs HAProxy in front of up to three replicas, behind TLS, and returns once all of them are healthy. It skips
// the test if there is no HAProxy.
func balance(t *testing.T, replicas ...site) balancer {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "mcpl-haproxy-") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	b := balancer{stats: filepath.Join(dir, "stats")}
	extra := filepath.Join(dir, "stats.cfg")
	if err := os.WriteFile(extra, fmt.Appendf(nil, "global\n\tstats socket %s\n", b.stats), 0o600); err != nil {
		t.Fatal(err)
	}
	cert, roots := selfSigned(t, dir)
	config := filepath.Join("..", "..", "deploy", "haproxy.cfg")
	address, end := runHAProxy(t, []string{config, extra}, []string{"MCPL_HTTPS=fd@3", "MCPL_CERT=" + cert}, replicas)
	b.end = end
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	// The client trusts the certificate; a site has one that does not.
	client := httptest.NewServer(&httputil.ReverseProxy{Transport: transport, FlushInterval: -1,
		Rewrite:  func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "https", Host: address}) },
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)})
	t.Cleanup(client.Close)
	b.site = site{t: t, url: client.URL + "/mcp"}
	b.healthy(len(replicas))
	return b
}

// runHAProxy runs HAProxy with configurations and variables, and the replicas as MCPL_A, MCPL_B and so on. It listens
// at the address, which is its descriptor 3. end ends it and returns its log, and may be called more than once. The
// test is skipped if there is no HAProxy.
func runHAProxy(t *testing.T, configs, env []string, replicas []site) (address string, end func() string) {
	t.Helper()
	program, err := exec.LookPath("haproxy")
	if err != nil {
		program = "/usr/sbin/haproxy" // Debian's, which the PATH of a user does not have
	}
	if _, err := os.Stat(program); err != nil {
		t.Skip("HAProxy is not here: apt-get install haproxy")
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	socket, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	cmd := exec.Command(program, "-db")
	for _, config := range configs {
		cmd.Args = append(cmd.Args, "-f", config)
	}
	cmd.ExtraFiles = []*os.File{socket}
	cmd.Env = append(os.Environ(), env...)
	for i, replica := range replicas {
		at, err := url.Parse(replica.url)
		if err != nil {
			t.Fatal(err)
		}
		cmd.Env = append(cmd.Env, fmt.Sprintf("MCPL_%c=%s", 'A'+i, at.Host))
	}
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceValue(func() string {
		_ = cmd.Process.Signal(syscall.SIGTERM) // where it has gone, its log says why
		_ = cmd.Wait()                          // killed by that signal
		return log.String()
	})
	t.Cleanup(func() {
		if text := end(); t.Failed() {
			t.Log(text)
		}
	})
	return listener.Addr().String(), end
}

// selfSigned makes a certificate for 127.0.0.1: the file that HAProxy reads, and what a client trusts.
func selfSigned(t *testing.T, dir string) (path string, roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM(chain)
	path = filepath.Join(dir, "mcpl.pem")
	both := append(chain, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	if err := os.WriteFile(path, both, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, roots
}

// healthy waits until HAProxy has seen n replicas answer their health check, and no other.
func (b balancer) healthy(n int) {
	b.t.Helper()
	mcptest.Eventually(b.t, func() (string, bool) {
		rows := b.show()
		healthy := 0
		for _, row := range rows {
			if row["check_status"] == "L7OK" && strings.HasPrefix(row["status"], "UP") {
				healthy++
			}
		}
		return fmt.Sprintf("%d of %d replicas are healthy: %v", healthy, n, rows), healthy == n
	})
}

// show returns what HAProxy says of its replicas; nothing before it listens.
func (b balancer) show() (rows []map[string]string) {
	conn, err := new(net.Dialer).DialContext(b.t.Context(), "unix", b.stats)
	if err != nil {
		return nil
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "show stat replicas 4 -1\n") // an error is one of reading, too
	table, err := csv.NewReader(conn).ReadAll()
	if err != nil || len(table) == 0 {
		return nil
	}
	for _, line := range table[1:] {
		row := make(map[string]string)
		for i, name := range table[0] {
			if slices.Contains([]string{"svname", "status", "check_status", "last_chk"}, name) {
				row[name] = line[i]
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// TestHAProxySticks: sessions begin at both replicas, and each stays where it began, without anything that is shared.
func TestHAProxySticks(t *testing.T) {
	t.Parallel()
	h := newHome(t, servedScript())
	token := h.addToken(t, "a")
	replicas := []site{h.serveAt(t, "127.0.0.1:0", "--expose", "all"), h.serveAt(t, "127.0.0.1:0", "--expose", "all")}
	b := balance(t, replicas...)
	b.is(b.ask("POST", ping), 401)
	b.is(b.ask("GET", ""), 401)
	at := make([]int, len(replicas)) // sessions that each has begun
	for i := range 16 {
		// Another spelling of the scheme is another header with the same owner, like a token that was renewed.
		id := b.session(spelled(i, token))
		for i, replica := range replicas {
			if replica.ask("POST", ping, id, spelled(0, token)).status == 200 {
				at[i]++
			}
		}
		for j := range 4 {
			b.is(b.ask("POST", ping, id, spelled(i+j, token)), 200, `"id":7,"result":{}`)
		}
	}
	if at[0] == 0 || at[1] == 0 || at[0]+at[1] != 16 {
		t.Errorf("16 sessions are spread as %v", at)
	}
	own := spelled(0, token)
	for range 4 { // A question comes back to the replica that asked it.
		body, headers := modern("tools/call", "s_ask", "")
		asked := b.ask("POST", body, append(headers, own)...)
		var state struct{ Result struct{ RequestState string } }
		if err := json.Unmarshal([]byte(asked.answer()), &state); err != nil {
			t.Fatal(err)
		}
		body, headers = modern("tools/call", "s_ask", fmt.Sprintf(`"requestState":%q,"inputResponses":{"question":%s},`,
			state.Result.RequestState, `{"action":"accept","content":{"name":"Ada"}}`))
		b.is(b.ask("POST", body, append(headers, own)...), 200, `Ada`, `"resultType":"complete"`)
	}
	byPath := b.site
	byPath.url = strings.TrimSuffix(b.url, "/mcp") + "/api/mcp/" + token
	byPath.is(byPath.ask("POST", ping), 200)
	for _, path := range []string{"/livez", "/readyz", "/healthz", "/metrics"} {
		inner := b.site
		inner.url = strings.TrimSuffix(b.url, "/mcp") + path
		inner.is(inner.ask("GET", "", own), 404)
	}
	log := b.end()
	if strings.Count(log, "replicas/") < 50 {
		t.Errorf("the log has too few requests: %s", log)
	}
	if strings.Contains(log, token) {
		t.Errorf("the token is in the log: %s", log)
	}
}

// answer returns the last message of a reply, which is a stream if it took long.
func (r reply) answer() string {
	if at := strings.LastIndex(r.body, "\ndata: "); at >= 0 {
		return r.body[at+len("\ndata: "):]
	}
	return r.body
}

// spelled returns a header with a token, in the spelling of its scheme that the bits of n choose.
func spelled(n int, token string) string {
	scheme := []byte("Bearer")
	for i := range scheme {
		if n>>i&1 == 1 {
			scheme[i] ^= 'a' - 'A'
		}
	}
	return fmt.Sprintf("Authorization: %s %s", scheme, token)
}

// TestHAProxyStreams: what a replica streams comes while it is sent, and the end of a replica ends its sessions and
// no more.
func TestHAProxyStreams(t *testing.T) {
	t.Parallel()
	script := servedScript()
	script.Tools = append(script.Tools, mcptest.Tool{Name: "slow", Behaviour: mcptest.Behaviour{Progress: 1, Never: true}})
	h := newHome(t, script)
	own := "Authorization: Bearer " + h.addToken(t, "a")
	replicas := []site{h.serveAt(t, "127.0.0.1:0", "--expose", "all"), h.serveAt(t, "127.0.0.1:0", "--expose", "all")}
	b := balance(t, replicas...)
	id := b.session(own)
	b.is(b.ask("POST", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, id, own), 200, `"s_odd"`)

	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	call := `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"s_slow","_meta":{"progressToken":1}}}`
	running := b.open(ctx, "POST", call, id, own)
	defer running.Body.Close()
	b.streams(running, "notifications/progress")
	news := b.open(ctx, "GET", "", id, own)
	defer news.Body.Close()
	if err := os.WriteFile(filepath.Join(h.dir, ".mcp.json"), []byte(`{"mcpServers":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	b.streams(news, "notifications/tools/list_changed")
	leave()

	first := slices.IndexFunc(replicas, func(s site) bool { return s.ask("POST", ping, id, own).status == 200 })
	replicas[first].end()
	b.is(b.ask("POST", ping, id, own), 404) // the other one, which does not know it: the client begins anew
	b.is(b.ask("POST", ping, b.session(own), own), 200)
	b.healthy(1)
}

// streams reads a stream until it has a text.
func (b balancer) streams(resp *http.Response, text string) {
	b.t.Helper()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if strings.Contains(lines.Text(), text) {
			return
		}
	}
	b.t.Fatalf("the stream (status %d) ends without %s", resp.StatusCode, text)
}
