package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/conn"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/host"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// callsEach is how many calls all clients of a round make together.
const callsEach = 960

// caller makes one call.
type caller func(ctx context.Context) error

// sample is what the calls of one way took.
type sample struct {
	took []time.Duration // of each call
	wall time.Duration   // of all, clients side by side
}

// add makes callsEach calls, by as many clients at once.
func (s *sample) add(ctx context.Context, clients []caller) error {
	each := make([][]time.Duration, len(clients))
	errs := make([]error, len(clients))
	var wg sync.WaitGroup
	began := time.Now()
	for i, do := range clients {
		wg.Go(func() {
			for range callsEach / len(clients) {
				at := time.Now()
				if errs[i] = do(ctx); errs[i] != nil {
					return
				}
				each[i] = append(each[i], time.Since(at))
			}
		})
	}
	wg.Wait()
	s.wall += time.Since(began)
	s.took = append(s.took, slices.Concat(each...)...)
	return errors.Join(errs...)
}

// percentile returns the time that so many of 100 calls do not exceed.
func (s *sample) percentile(p int) float64 {
	slices.Sort(s.took)
	return float64(s.took[(len(s.took)-1)*p/100]) / float64(time.Millisecond)
}

func (s *sample) rate() float64 { return float64(len(s.took)) / s.wall.Seconds() }

// calls compares calls through the gateway, over HTTP and over stdio, with the host's own, and with that behind as
// little of HTTP as there may be.
func (b *bench) calls(ctx context.Context, of subject) (err error) {
	p, err := b.configured(of.name, fmt.Sprintf(`%q: {"command": %q, "args": [%q]}`, of.name, of.argv[0], of.argv[1]))
	if err != nil {
		return err
	}
	own, closeHost := hosted(p, of)
	defer func() { err = errors.Join(err, closeHost()) }()
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		if err = errors.Join(err, own(r.Context())); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, `{"result":{}}`) // the client notices
	}))
	defer bare.Close()
	served, err := b.serve(ctx, p, "--http", "127.0.0.1:0", "--no-auth", "--expose", "all")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, served.end()) }()
	piped, err := b.serve(ctx, p, "--daemon", "off", "--expose", "all")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, piped.end()) }()
	fmt.Printf("tools/call of %s, %d rounds of %d calls, on %d cores; the yardstick is the host's own call in a process\n"+
		"clients  way                p50 ms  added   p99 ms  added   calls/s  ratio\n", of.name, b.rounds, callsEach,
		runtime.NumCPU())
	for _, n := range []int{1, 8, 64} {
		ways := []way{{name: "host", clients: slices.Repeat([]caller{own}, n)}}
		for _, over := range []way{{name: "host, bare HTTP", url: bare.URL + "/"}, {name: "HTTP, session", url: served.url,
			hasSession: true}, {name: "HTTP, no session", url: served.url}} {
			for range n {
				c, err := connect(ctx, over.url, over.hasSession, of.request())
				if err != nil {
					return err
				}
				defer func() { _ = c.Close() }()
				over.clients = append(over.clients, c.call)
			}
			ways = append(ways, over)
		}
		if n == 1 {
			ways = append(ways, way{name: "stdio", clients: []caller{func(context.Context) error {
				return piped.ask(of.request(), `"result"`)
			}}})
		}
		if err := b.compare(ctx, n, ways); err != nil {
			return err
		}
	}
	return nil
}

// way is a way to make calls, by clients of its own.
type way struct {
	name       string
	url        string // empty unless it is over HTTP
	hasSession bool
	clients    []caller
	sample     sample
}

// compare lets the ways take turns, and prints them beside the first.
func (b *bench) compare(ctx context.Context, n int, ways []way) error {
	for round := range b.rounds + 1 {
		for i := range ways {
			w := &ways[(i+round)%len(ways)] // another one begins each round
			if err := w.sample.add(ctx, w.clients); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			if round == 0 { // to warm up
				w.sample = sample{}
			}
		}
	}
	host := &ways[0].sample
	for i := range ways {
		s := &ways[i].sample
		fmt.Printf("%7d  %-17s %7.3f %6.3f  %7.3f %6.3f  %8.0f   %.2f\n", n, ways[i].name, s.percentile(50),
			s.percentile(50)-host.percentile(50), s.percentile(99), s.percentile(99)-host.percentile(99), s.rate(),
			s.rate()/host.rate())
	}
	return nil
}

// hosted returns the host's own call.
func hosted(p place, of subject) (do caller, end func() error) {
	h := host.New(host.Options{NewCaller: func(cfg *config.Config, o host.CallerOptions) engine.Caller {
		return conn.NewPool(cfg, conn.Options{Limits: o.Limits, Environ: o.Environ, Dir: o.Dir, Root: o.Root,
			EnvFile: o.EnvFile, Log: o.Log, Changed: o.Changed, Listen: o.Listen})
	}})
	c := h.Caller(host.Surroundings{Dir: p.dir, Home: p.dir, Environ: p.environ}, nil)
	params := json.RawMessage(of.params)
	return func(ctx context.Context) error {
		_, err := c.Request(ctx, of.name, "tools/call", params, tool.CallOptions{})
		return err
	}, h.Close
}

// client is a client over one connection of HTTP. It writes and reads by hand, so that its own work is small.
type client struct {
	net.Conn
	read    *bufio.Reader
	request []byte
}

// connect connects a client that makes this request, in a session or without one.
func connect(ctx context.Context, url string, session bool, request string) (*client, error) {
	address, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	opened, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := &client{Conn: opened, read: bufio.NewReader(opened)}
	post := func(body, more string) []byte {
		return fmt.Appendf(nil, "POST /%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
			"Accept: application/json, text/event-stream\r\n%sContent-Length: %d\r\n\r\n%s",
			path, address, more, len(body), body)
	}
	header := ""
	if session {
		c.request = post(hello, "")
		headers, err := c.do()
		if err != nil {
			return nil, err
		}
		header = "Mcp-Session-Id: " + headers.Get("Mcp-Session-Id") + "\r\n"
	}
	c.request = post(request, header)
	return c, nil
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`

// do makes the request of the client.
func (c *client) do() (http.Header, error) {
	if _, err := c.Write(c.request); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(c.read, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || !strings.Contains(string(text), `"result"`)) {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, text)
	}
	return resp.Header, err
}

func (c *client) call(context.Context) error {
	_, err := c.do()
	return err
}
