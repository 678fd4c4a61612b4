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
	"os/exec"
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
	used time.Duration   // of the processor, by the gateway
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
	gateways, end, err := b.gateways(ctx, p)
	defer func() { err = errors.Join(err, end()) }()
	if err != nil {
		return err
	}
	piped, err := b.serve(ctx, p, "--daemon", "off", "--expose", "all")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, piped.end()) }()
	fmt.Printf("tools/call of %s, %d rounds of %d calls, on %d cores; the yardstick is the host's own call in a process\n"+
		"clients  way                p50 ms  added   p99 ms  added   calls/s  ratio  CPU us\n", of.name, b.rounds, callsEach,
		runtime.NumCPU())
	for _, n := range []int{1, 8, 64} {
		ways := []way{{name: "host", clients: slices.Repeat([]caller{own}, n)}}
		for _, over := range append([]way{{name: "host, bare HTTP", url: bare.URL + "/"}}, gateways...) {
			for range n {
				c, err := connect(ctx, over, of.request())
				if err != nil {
					return err
				}
				defer func() { _ = c.Close() }()
				over.clients = append(over.clients, c.call)
			}
			ways = append(ways, over)
		}
		if n == 1 {
			ways = append(ways, way{name: "stdio", pid: piped.cmd.Process.Pid, clients: []caller{func(context.Context) error {
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
	token      string // if clients need one
	pid        int    // of the gateway; zero if it is this process
	clients    []caller
	sample     sample
}

// gateways starts the gateways over HTTP, and returns the ways through them.
func (b *bench) gateways(ctx context.Context, p place) (ways []way, end func() error, err error) {
	var started []*served
	end = func() (err error) {
		for _, s := range started {
			err = errors.Join(err, s.end())
		}
		return err
	}
	token, err := b.token(ctx, p)
	if err != nil {
		return nil, end, err
	}
	for _, of := range []struct{ name, mcpl string }{{"HTTP", b.mcpl}, {"base", b.base}} {
		if of.mcpl == "" {
			continue
		}
		bench := *b
		bench.mcpl = of.mcpl
		open, err := bench.serve(ctx, p, "--http", "127.0.0.1:0", "--no-auth", "--expose", "all")
		if err != nil {
			return nil, end, err
		}
		started = append(started, open)
		guarded, err := bench.serve(ctx, p, "--http", "127.0.0.1:0", "--expose", "all")
		if err != nil {
			return nil, end, err
		}
		started = append(started, guarded)
		ways = append(ways,
			way{name: of.name + ", session", url: open.url, hasSession: true, pid: open.cmd.Process.Pid},
			way{name: of.name + ", no session", url: open.url, pid: open.cmd.Process.Pid},
			way{name: of.name + ", token", url: guarded.url, hasSession: true, token: token, pid: guarded.cmd.Process.Pid})
	}
	return ways, end, nil
}

// token makes a token for the clients of a place.
func (b *bench) token(ctx context.Context, p place) (string, error) {
	add := exec.CommandContext(ctx, b.mcpl, "--json", "serve", "token", "add", "bench")
	add.Dir, add.Env = p.dir, p.environ
	out, err := add.Output()
	if err != nil {
		return "", fmt.Errorf("mcpl serve token add: %w", err)
	}
	var made struct {
		Token string `json:"token"`
	}
	return made.Token, json.Unmarshal(out, &made)
}

// add has calls made, and adds them to the sample.
func (w *way) add(ctx context.Context) error {
	if w.pid == 0 {
		return w.sample.add(ctx, w.clients)
	}
	_, before, err := state(w.pid)
	if err != nil {
		return err
	}
	if err := w.sample.add(ctx, w.clients); err != nil {
		return err
	}
	_, after, err := state(w.pid)
	w.sample.used += after - before
	return err
}

// compare lets the ways take turns, and prints them beside the first.
func (b *bench) compare(ctx context.Context, n int, ways []way) error {
	for round := range b.rounds + 1 {
		for i := range ways {
			w := &ways[(i+round)%len(ways)] // another one begins each round
			if err := w.add(ctx); err != nil {
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
		fmt.Printf("%7d  %-17s %7.3f %6.3f  %7.3f %6.3f  %8.0f   %.2f", n, ways[i].name, s.percentile(50),
			s.percentile(50)-host.percentile(50), s.percentile(99), s.percentile(99)-host.percentile(99), s.rate(),
			s.rate()/host.rate())
		if ways[i].pid != 0 {
			fmt.Printf("  %6d", s.used.Microseconds()/int64(len(s.took)))
		}
		fmt.Println()
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

// connect connects a client over HTTP that makes this request, in a session or without one.
func connect(ctx context.Context, over way, request string) (*client, error) {
	address, path, _ := strings.Cut(strings.TrimPrefix(over.url, "http://"), "/")
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
	if over.token != "" {
		header = "Authorization: Bearer " + over.token + "\r\n"
	}
	if over.hasSession {
		c.request = post(hello, header)
		headers, err := c.do()
		if err != nil {
			return nil, err
		}
		header += "Mcp-Session-Id: " + headers.Get("Mcp-Session-Id") + "\r\n"
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
