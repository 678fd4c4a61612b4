package conn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/proc"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func TestManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	servers, files := scripts{}, map[string]string{}
	for _, name := range []string{"a", "b", "c"} {
		files[name] = filepath.Join(t.TempDir(), "starts")
		servers[name] = mcptest.Script{Starts: files[name], Tools: []mcptest.Tool{
			{Name: "echo"}, {Name: "slow", Behaviour: mcptest.Behaviour{Delay: mcptest.Duration(20 * time.Millisecond)}},
		}}
	}
	p := newPool(t, servers)
	var wg sync.WaitGroup
	for i := range 20 {
		for name := range servers {
			wg.Go(func() {
				args := fmt.Sprintf(`{"n":%d}`, i)
				if got := mustCall(t, p, name, []string{"echo", "slow"}[i%2], args); got != args {
					t.Errorf("%s answered %s to %s", name, got, args)
				}
			})
			wg.Go(func() {
				if l, err := p.List(t.Context(), name, tool.CallOptions{}); err != nil || len(l.Tools) != 2 {
					t.Errorf("%s: %d tools, %v", name, len(l.Tools), err)
				}
			})
		}
	}
	wg.Wait()
	for name, file := range files {
		if n := len(mcptest.Lines(t, file)); n != 1 {
			t.Errorf("%s was started %d times", name, n)
		}
	}
}

func TestListing(t *testing.T) {
	t.Parallel()
	ttl := int64(90_000)
	p := newPool(t, scripts{"s": {TTLMs: &ttl, Instructions: "Be kind.", ServerInfo: `{"name":"n","version":"v"}`, Version: "2025-06-18",
		Tools: []mcptest.Tool{{Def: `{"name":"t", "inputSchema": {"type":"object" , "x-odd":1e2}, "icons":[1]}`}}}})
	l, err := p.List(t.Context(), "s", tool.CallOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if l.TTL != 90*time.Second || l.Instructions != "Be kind." || l.ServerName != "n" || l.ServerVersion != "v" || l.Known.Protocol != "2025-06-18" {
		t.Errorf("got %+v", l)
	}
	if got := string(l.Tools[0].Raw()); got != `{"name":"t","inputSchema":{"type":"object" , "x-odd":1e2}}` {
		t.Errorf("definition %s", got)
	}
}

func TestTTLs(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]time.Duration{
		"": 0, "null": 0, `"5"`: 0, "-1": 0, "0": 0, "1.5": 1500 * time.Microsecond, "60000": time.Minute, "1e300": 365 * 24 * time.Hour,
	} {
		if got := ttlOf([]byte(raw)); got != want {
			t.Errorf("ttlMs %s gives %v", raw, got)
		}
	}
}

// A server that ends between two calls is started again by the second.
func TestRestart(t *testing.T) {
	t.Parallel()
	starts := filepath.Join(t.TempDir(), "starts")
	p := newPool(t, scripts{"s": {Starts: starts, Tools: []mcptest.Tool{
		{Name: "echo"}, {Name: "last", Behaviour: mcptest.Behaviour{
			Noise: []string{`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"last words"}]}}`}, Exit: &mcptest.Exit{}}}}}})
	for n := range 5 {
		if got := mustCall(t, p, "s", "last"); got != "last words" {
			t.Errorf("got %q", got)
		}
		mcptest.WaitGone(t, mcptest.WaitPID(t, starts))
		p.slots["s"].session.peer.(*process).child.ExitsWithin(time.Minute)
		if got := len(mcptest.Lines(t, starts)); got != n+1 {
			t.Errorf("%d starts", got)
		}
	}
	if got := mustCall(t, p, "s", "echo", `{"a":1}`); got != `{"a":1}` {
		t.Errorf("got %q", got)
	}
}

// A server that closes its output, or its input, and runs on is of no more use either.
func TestHalfDeadServerIsReplaced(t *testing.T) {
	t.Parallel()
	starts := filepath.Join(t.TempDir(), "starts")
	p := newPool(t, scripts{"s": {Starts: starts, Tools: []mcptest.Tool{{Name: "echo"}}}})
	mustCall(t, p, "s", "echo")
	p.slots["s"].session.peer.(*process).out.Close()
	mustCall(t, p, "s", "echo")
	p.slots["s"].session.peer.(*process).child.Stdout.Close()
	<-p.slots["s"].session.peer.(*process).messages.ended
	mustCall(t, p, "s", "echo")
	if got := len(mcptest.Lines(t, starts)); got != 3 {
		t.Errorf("%d starts", got)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	never := mcptest.Behaviour{Never: true}
	dir := t.TempDir()
	starting, calling := filepath.Join(dir, "starting"), filepath.Join(dir, "calling")
	received := filepath.Join(dir, "received")
	p := newPool(t, scripts{
		"starting": {Starts: starting, Start: never},
		"calling":  {Starts: calling, Received: received, Tools: []mcptest.Tool{{Name: "hang", Behaviour: never}}},
		"unused":   {},
	})
	var wg sync.WaitGroup
	for range 3 { // one starts it, the others wait for that
		wg.Go(func() {
			_, err := p.List(t.Context(), "starting", tool.CallOptions{})
			var f *fault.Fault
			if !errors.As(err, &f) || (f.Type != fault.Interrupted && !errors.Is(f, errClosed)) {
				t.Errorf("a start during Close: %v", err)
			}
		})
	}
	wg.Go(func() {
		_, err := callTool(t.Context(), p, "calling", "hang")
		wantFault(t, err, fault.Interrupted, "interrupted during tools/call of calling")
	})
	mcptest.WaitLines(t, received, 3) // initialize, initialized, tools/call
	mcptest.WaitLines(t, starting, 1)
	quick(t, "Close", 15*time.Second, func() { p.Close() })
	wg.Wait()
	mcptest.WaitGone(t, mcptest.WaitPID(t, starting))
	mcptest.WaitGone(t, mcptest.WaitPID(t, calling))

	_, err := callTool(t.Context(), p, "unused", "x")
	wantFault(t, err, fault.Internal, "after the end of its pool")
	if err := p.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

// Close has the turn and never gives it back; who waits for it then does not wait for ever.
func TestCloseFreesWhoWaits(t *testing.T) {
	t.Parallel()
	path := mcptest.Config(t, scripts{"s": {}})
	synctest.Test(t, func(t *testing.T) {
		p := poolOver(t, path)
		s, err := p.slot("s")
		if err != nil {
			t.Fatal(err)
		}
		<-s.turn
		freed := false
		go func() {
			_, err := p.List(t.Context(), "s", tool.CallOptions{})
			wantFault(t, err, fault.Internal, "after the end of its pool")
			freed = true
		}()
		synctest.Wait()
		go p.Close()
		synctest.Wait()
		if !freed {
			t.Error("a request waits although the pool is closed")
		}
		s.turn <- struct{}{}
	})
}

// Whoever gives up a call and closes the pool at once has told the server all the same.
func TestCancellationIsSentBeforeClose(t *testing.T) {
	t.Parallel()
	for range 10 {
		dir := t.TempDir()
		received, cancelled := filepath.Join(dir, "received"), filepath.Join(dir, "cancelled")
		p := newPool(t, scripts{"s": {Received: received, Cancelled: cancelled,
			Tools: []mcptest.Tool{{Name: "hang", Behaviour: mcptest.Behaviour{Never: true}}}}})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := callTool(ctx, p, "s", "hang")
			wantFault(t, err, fault.Interrupted, "interrupted during tools/call of s")
			p.Close()
		})
		mcptest.WaitLines(t, received, 3)
		cancel()
		wg.Wait()
		if n := len(mcptest.Lines(t, cancelled)); n != 1 {
			t.Errorf("%d calls cancelled", n)
		}
	}
}

// The last words on stderr are in the fault, however slowly they are heard.
func TestFaultWaitsForLastWords(t *testing.T) {
	t.Parallel()
	path := mcptest.Config(t, scripts{"s": {Start: mcptest.Behaviour{
		StderrBytes: 800 * 64, Stderr: []string{"the reason"}, Exit: &mcptest.Exit{Code: 1}}}})
	cfg := load(t, path)
	server, err := cfg.Server("s")
	if err != nil {
		t.Fatal(err)
	}
	var p *process
	started := make(chan struct{})
	s := newSession(server, Options{}, config.Stdio)
	cmd := exec.Command(server.Command, server.Args...)
	cmd.Env = server.Environ(os.Environ())
	var slow sync.Once
	line := func(string) { // hears nothing until the process is gone, and a request waits for its last words
		<-started
		p.child.ExitsWithin(time.Minute)
		slow.Do(func() {
			mcptest.Poll(func() (string, bool) {
				stacks := make([]byte, 1<<20)
				return "", bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("(*process).gone("))
			})
		})
	}
	if p, err = newProcess(cmd, newSpawner(t), proc.Options{StderrLine: line}, s.log, func([]byte) {}); err != nil {
		t.Fatal(err)
	}
	p.server = server
	s.peer, s.wire = p, newPipeWire(p.messages, p.out, stuckGrace)
	close(started)
	f := s.explain(t.Context(), s.handshake(t.Context(), tool.Known{}), phase{name: methodInitialize})
	wantFault(t, f, fault.ServerConnection, "s exited with code 1 after ")
	if !strings.HasSuffix(f.Traceback, "\n  the reason") {
		t.Errorf("traceback:\n%s", f.Traceback)
	}
	s.close()
}

// Requests that wait for a start that fails do not try it again one by one, and do not share
// what they get.
func TestFailedStartIsShared(t *testing.T) {
	t.Parallel()
	starts := filepath.Join(t.TempDir(), "starts")
	p := newPool(t, scripts{"s": {Starts: starts, Start: mcptest.Behaviour{Never: true}}},
		func(o *Options) { o.Limits.Connect = 500 * time.Millisecond })
	s, err := p.slot("s")
	if err != nil {
		t.Fatal(err)
	}
	<-s.turn // so that all of them wait
	faults := make(chan *fault.Fault, 10)
	var wg sync.WaitGroup
	for range cap(faults) {
		wg.Go(func() {
			_, err := p.List(t.Context(), "s", tool.CallOptions{})
			faults <- fault.From(err)
		})
	}
	mcptest.WaitLines(t, starts, 0)
	s.turn <- struct{}{}
	wg.Wait()
	close(faults)
	seen := map[*fault.Fault]bool{}
	for f := range faults {
		wantFault(t, f, fault.Timeout, "s did not answer initialize within 500ms")
		if seen[f] {
			t.Error("two requests got the same fault")
		}
		seen[f] = true
	}
	if n := len(mcptest.Lines(t, starts)); n > 2 { // a late comer may start it once more
		t.Errorf("%d starts", n)
	}
	if _, err := p.List(t.Context(), "s", tool.CallOptions{}); !fault.Is(err, fault.Timeout) {
		t.Error(err)
	}
}

func TestGivingUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	starts, received, cancelled := filepath.Join(dir, "starts"), filepath.Join(dir, "received"), filepath.Join(dir, "cancelled")
	p := newPool(t, scripts{
		"deaf": {Starts: starts, Start: mcptest.Behaviour{Never: true}},
		"calls": {Received: received, Cancelled: cancelled,
			Tools: []mcptest.Tool{{Name: "hang", Behaviour: mcptest.Behaviour{Never: true}}, {Name: "echo"}}},
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := p.List(ctx, "deaf", tool.CallOptions{})
		wantFault(t, err, fault.Interrupted, "interrupted during initialize of deaf")
	})
	mcptest.WaitLines(t, starts, 1)
	wg.Go(func() { // waits behind the first
		_, err := p.List(ctx, "deaf", tool.CallOptions{})
		wantFault(t, err, fault.Interrupted, "of deaf")
	})
	wg.Go(func() {
		_, err := callTool(ctx, p, "calls", "hang")
		f := wantFault(t, err, fault.Interrupted, "interrupted during tools/call of calls")
		if f.Tool != "hang" || f.Traceback != "somebody pressed a key" {
			t.Errorf("tool %q, traceback %q", f.Tool, f.Traceback)
		}
	})
	mcptest.WaitLines(t, received, 3)
	cancel(errors.New("somebody pressed a key"))
	wg.Wait()
	if got := mcptest.WaitLines(t, cancelled, 1); len(got) != 1 || !strings.Contains(got[0], `"reason":"somebody pressed a key","requestId":2`) {
		t.Errorf("cancelled: %s", got)
	}
	mcptest.WaitGone(t, mcptest.WaitPID(t, starts))
	mustCall(t, p, "calls", "echo") // the connection is as good as before
	if got := mcptest.Lines(t, cancelled); len(got) != 1 {
		t.Errorf("cancelled: %s", got)
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	never := mcptest.Behaviour{Never: true}
	p := newPool(t, scripts{"deaf": {Start: never}}, func(o *Options) { o.Limits.Connect = 200 * time.Millisecond })
	_, err := p.List(t.Context(), "deaf", tool.CallOptions{})
	f := wantFault(t, err, fault.Timeout, "deaf did not answer initialize within 200ms")
	if !strings.HasPrefix(f.Help, `Give it more time with --connect-timeout 400ms, or for good with "connectTimeout": "400ms" in its entry in `) {
		t.Errorf("help %s", f.Help)
	}
	_, err = urlPool(t, map[string]string{"s": `"command": "sleep", "args": ["60"], "connectTimeout": 30`}).List(t.Context(), "s", tool.CallOptions{})
	f = wantFault(t, err, fault.Timeout, "within 30ms")
	if !strings.HasPrefix(f.Help, `A number as "connectTimeout" counts milliseconds: 30 is 30ms. Write "connectTimeout": "30s" in its entry in `) {
		t.Errorf("help %s", f.Help)
	}
	p = newPool(t, scripts{"calls": {Tools: []mcptest.Tool{{Name: "hang", Behaviour: never}}},
		"lists": {Methods: map[string]mcptest.Behaviour{"tools/list": never}}},
		func(o *Options) { o.Limits.Call = 100 * time.Millisecond })
	_, err = callTool(t.Context(), p, "calls", "hang")
	f = wantFault(t, err, fault.Timeout, "calls did not answer tools/call within 100ms")
	if !strings.HasPrefix(f.Help, `Give it more time with --timeout 200ms, or for good with "callTimeout": "200ms" in its entry in `) {
		t.Errorf("help %s", f.Help)
	}
	_, err = p.List(t.Context(), "lists", tool.CallOptions{})
	f = wantFault(t, err, fault.Timeout, "lists did not answer tools/list within 100ms")
	if !strings.HasPrefix(f.Help, `Give it more time with "callTimeout": "200ms" in its entry in `) {
		t.Errorf("help %s", f.Help)
	}
	_, err = p.Call(t.Context(), tool.Ref{Server: "calls", Name: "hang"}, nil, tool.CallOptions{Timeout: 50 * time.Millisecond})
	wantFault(t, err, fault.Timeout, "within 50ms")
}

func TestEndlessMessage(t *testing.T) {
	t.Parallel()
	p := newPool(t, scripts{"s": {Tools: []mcptest.Tool{{Name: "large", Bytes: maxMessage}, {Name: "echo"}}}})
	_, err := callTool(t.Context(), p, "s", "large")
	f := wantFault(t, err, fault.Protocol, "s sent a message of more than 64 MB")
	if f.Tool != "large" || !strings.HasPrefix(f.Help, "Ask the tool for less") {
		t.Errorf("tool %q, help %q", f.Tool, f.Help)
	}
	mustCall(t, p, "s", "echo")
}

func TestUnknownAndUnreachable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".mcp.json")
	write(t, path, `{"mcpServers": {
		"lacks": {"command": "x", "env": {"A": "${NO_SUCH_VARIABLE_HERE}"}},
		"absent": {"command": "no-such-program-here"}, "npx": {"command": "/nowhere/npx"},
		"plain": {"command": "`+path+`"}, "token": {"command": "/nowhere/ghp_0123456789abcdefghij"}}}`)
	p := poolOver(t, path)
	for _, tt := range []struct {
		server        string
		typ           fault.Type
		message, help string
	}{
		{"plian", fault.ServerNotFound, "plian", "plain"},
		{"lacks", fault.MissingVariable, "NO_SUCH_VARIABLE_HERE", "NO_SUCH_VARIABLE_HERE=..."},
		{"absent", fault.ServerConnection, "there is no program no-such-program-here", "correct \"command\" of absent in " + path},
		{"npx", fault.ServerConnection, "there is no program /nowhere/npx", "Install Node.js"},
		{"token", fault.ServerConnection, "there is no program /nowhere/***", ""},
		{"plain", fault.ServerConnection, "cannot start plain", ""},
	} {
		t.Run(tt.server, func(t *testing.T) {
			_, err := p.List(t.Context(), tt.server, tool.CallOptions{})
			f := wantFault(t, err, tt.typ, tt.message)
			if !strings.Contains(helpOf(f), tt.help) {
				t.Errorf("help %q", helpOf(f))
			}
			if strings.Contains(f.Traceback+f.Help, "ghp_") {
				t.Errorf("a secret is told: %s\n%s", f.Traceback, f.Help)
			}
		})
	}
}

// twoMinds approves a server for as many questions as it holds, and then no more.
type twoMinds struct{ left atomic.Int32 }

func (a *twoMinds) Approve(s *config.Server) (config.Allowed, error) {
	if a.left.Add(-1) < 0 {
		return config.Allowed{}, fault.New(fault.ApprovalRequired, "changed since it was approved", "").On(s.Name, "")
	}
	return config.Allowed{WholeEnv: true}, nil
}

func (*twoMinds) Adopt(*config.Server) error { return nil }

func (*twoMinds) Stamp() string { return "" }

// TestF1AdmittedRightBeforeTheStart: a server whose program was swapped after the configuration was read is not
// started, also where an earlier one of the same entry was.
func TestF1AdmittedRightBeforeTheStart(t *testing.T) {
	t.Parallel()
	starts := filepath.Join(t.TempDir(), "starts")
	path := mcptest.Config(t, scripts{"s": {Starts: starts, Tools: []mcptest.Tool{{Name: "echo"},
		{Name: "ends", Behaviour: mcptest.Behaviour{Exit: &mcptest.Exit{}}}}}})
	dir := filepath.Dir(path)
	approver := new(twoMinds)
	approver.left.Store(2) // when it is read, and before the first start
	env := config.Env{Dir: dir, Home: t.TempDir(), Lookup: os.LookupEnv, GOOS: runtime.GOOS, Approver: approver}
	cfg, err := env.Load(&config.Sources{Configs: []config.Source{{Path: path, Found: true}}})
	if err != nil {
		t.Fatal(err)
	}
	p := NewPool(cfg, Options{Version: "test", Environ: append(os.Environ(), "GORACE=atexit_sleep_ms=0"), Dir: dir})
	t.Cleanup(func() { p.Close() })
	mustCall(t, p, "s", "echo")
	if _, err := callTool(t.Context(), p, "s", "ends"); err == nil {
		t.Error("a server that ended has answered")
	}
	_, err = callTool(t.Context(), p, "s", "echo")
	wantFault(t, err, fault.ApprovalRequired, "changed since")
	if _, err = p.List(t.Context(), "s", tool.CallOptions{}); err == nil {
		t.Error("it is listed")
	}
	if n := len(mcptest.Lines(t, starts)); n != 1 {
		t.Errorf("%d starts", n)
	}
}
