//go:build linux || darwin

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// documented returns the code blocks of a language in a document.
func documented(t *testing.T, document, language string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", document))
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(text), "```"+language+"\n")
	block, _, ended := strings.Cut(block, "```")
	if !found || !ended {
		t.Fatalf("%s has no block of %s", document, language)
	}
	return block
}

// anyReplica runs HAProxy with the configuration that docs/gateway.md shows, and returns its URL. It skips the test if
// there is no HAProxy.
func anyReplica(t *testing.T, replicas ...replica) string {
	t.Helper()
	config := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(config, []byte(documented(t, "gateway.md", "haproxy")), 0o600); err != nil {
		t.Fatal(err)
	}
	sites := make([]site, len(replicas))
	for i, r := range replicas {
		sites[i] = r.site
	}
	address, _ := runHAProxy(t, []string{config}, []string{"MCPL_LISTEN=fd@3"}, sites)
	url := "http://" + address + "/mcp"
	mcptest.Wait(t, "HAProxy", func() bool {
		status, _, _, err := (&visitor{url: url}).post(ping)
		return err == nil && status == http.StatusOK
	})
	return url
}

// visitor is a client that goes on, whatever becomes of its replica.
type visitor struct {
	url      string
	session  string // sealed; empty for a client of MCP 2026-07-28
	isModern bool
	done     atomic.Int64 // requests that were answered
	lost     int          // connections that were lost, or not made
	unknown  int          // answers that its session is unknown
}

// errLost says that a request got no answer of mcpl.
var errLost = errors.New("the connection was lost")

// post makes a request over a connection of its own, so that the balancer chooses anew.
func (v *visitor) post(body string, headers ...string) (status int, header http.Header, text string, err error) {
	req, err := http.NewRequest(http.MethodPost, v.url, strings.NewReader(body))
	if err != nil {
		return 0, nil, "", err
	}
	req.Close = true
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, "", errLost
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode == http.StatusBadGateway || resp.StatusCode == http.StatusServiceUnavailable {
		return 0, nil, "", errLost
	}
	return resp.StatusCode, resp.Header, string(all), nil
}

// request makes a request, again where the connection was lost, and in a new session where the old one is unknown.
func (v *visitor) request(method, name, members, want string) error {
	for {
		body, headers := modern(method, name, members)
		if !v.isModern {
			body, headers = call(5, method, fmt.Sprintf(`{"name":%q,%s"_meta":{}}`, name, members)), nil
			if v.session == "" {
				if err := v.begin(); err != nil {
					return err
				}
			}
			headers = []string{"Mcp-Session-Id: " + v.session}
		}
		switch status, _, text, err := v.post(body, headers...); {
		case errors.Is(err, errLost):
			if v.lost++; v.lost > 20 {
				return err
			}
		case err != nil:
			return err
		case status == http.StatusNotFound && !v.isModern:
			v.unknown++
			v.session = ""
		case status != http.StatusOK || !strings.Contains(text, want):
			return fmt.Errorf("%d, %s", status, text)
		default:
			v.done.Add(1)
			return nil
		}
	}
}

// begin begins a session, and activates its tools.
func (v *visitor) begin() error {
	for {
		status, header, text, err := v.post(hello)
		switch {
		case errors.Is(err, errLost):
			v.lost++
			continue
		case err != nil:
			return err
		case status != http.StatusOK:
			return fmt.Errorf("%d, %s", status, text)
		}
		v.session = header.Get("Mcp-Session-Id")
		return v.request("tools/call", "activate", `"arguments":{"activate":["s_odd"]},`, `\"success\":true`)
	}
}

// visit makes requests until stop is closed, and at least a few.
func (v *visitor) visit(stop <-chan struct{}) error {
	if v.isModern {
		if err := v.request("tools/call", "activate", `"arguments":{"activate":["s_odd"]},`, `\"success\":true`); err != nil {
			return err
		}
	}
	result := strings.TrimSuffix(oddResult, "}")
	for {
		if err := v.request("tools/call", "s_odd", `"arguments":{"a":1},`, result); err != nil {
			return err
		}
		select {
		case <-stop:
			return nil
		default:
		}
	}
}

// TestReplicaKilled: HAProxy balances three replicas at random, one is killed in the middle of the work of clients, and
// then Redis. Clients of older revisions lose their session once at most, with all that they have set there; the others
// see no more than lost connections.
func TestReplicaKilled(t *testing.T) {
	t.Parallel()
	redis, killRedis := redisServer(t)
	replicas := startReplicas(t, 3, servedScript(), redis, "--no-auth", "--expose", "activate")
	url := anyReplica(t, replicas...)
	visitors := make([]*visitor, 8)
	stop := make(chan struct{})
	var running sync.WaitGroup
	for i := range visitors {
		v := &visitor{url: url, isModern: i%2 == 1}
		visitors[i] = v
		running.Go(func() {
			if err := v.visit(stop); err != nil {
				t.Errorf("a client (2026-07-28: %v) fails after %d requests: %v", v.isModern, v.done.Load(), err)
			}
		})
	}
	progress := func(n int64) {
		t.Helper()
		from := make([]int64, len(visitors))
		for i, v := range visitors {
			from[i] = v.done.Load()
		}
		mcptest.Eventually(t, func() (string, bool) {
			state, all := "", true
			for i, v := range visitors {
				state += fmt.Sprintf(" %d", v.done.Load()-from[i])
				all = all && v.done.Load() >= from[i]+n
			}
			return "requests:" + state, all || t.Failed()
		})
	}
	progress(10)
	replicas[1].kill()
	progress(20)
	killRedis()
	progress(20)
	close(stop)
	running.Wait()
	for _, v := range visitors {
		if v.unknown > 1 || v.isModern && v.unknown > 0 {
			t.Errorf("a client (2026-07-28: %v) lost its session %d times", v.isModern, v.unknown)
		}
	}
	for _, i := range []int{0, 2} {
		if said := replicas[i].kill(); !strings.Contains(said, "Redis does not answer") {
			t.Errorf("%q", said)
		}
	}
	sum := map[string]int{}
	for _, v := range visitors {
		sum["requests"] += int(v.done.Load())
		sum["lost connections"] += v.lost
		sum["unknown sessions"] += v.unknown
	}
	text, err := json.Marshal(sum)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", text)
}
