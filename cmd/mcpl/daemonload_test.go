//go:build linux || darwin

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/daemon"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// clientOf returns a client of the daemon that runs for h, in this process: a person who thinks for
// long, or a hundred clients at once, are had more easily so.
func (h home) clientOf(t *testing.T) *daemon.Client {
	t.Helper()
	cmd, _, _ := h.mcpl(t)
	vars := make(map[string]string)
	for _, assignment := range cmd.Env { // the last one counts
		name, value, _ := strings.Cut(assignment, "=")
		vars[name] = value
	}
	var environ []string
	for name, value := range vars {
		environ = append(environ, name+"="+value)
	}
	slices.Sort(environ)
	lookup := func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	env := config.Env{Dir: h.dir, Home: h.dir, GOOS: runtime.GOOS, Lookup: lookup}
	sources, err := env.Locate(config.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	return daemon.NewClient(sources, daemon.ClientOptions{Env: env, Environ: environ, Identity: h.status(t).Version})
}

// status returns what the daemon says of itself.
func (h home) status(t *testing.T) (st daemon.Status) {
	t.Helper()
	cmd, stdout, stderr := h.mcpl(t, "--json", "daemon", "status")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout, stderr)
	}
	if err := json.Unmarshal(stdout.Bytes(), &st); err != nil {
		t.Fatal(err)
	}
	return st
}

// somebody answers questions as told, and hears the rest.
type somebody func(ctx context.Context) (tool.Reply, error)

func (p somebody) Can() tool.Capabilities { return tool.Capabilities{} }
func (p somebody) Progress(tool.Progress) {}
func (p somebody) Message(tool.Message)   {}
func (p somebody) Sample(ctx context.Context, s tool.Sampling) (json.RawMessage, error) {
	return tool.Unable{}.Sample(ctx, s)
}
func (p somebody) Roots(ctx context.Context) (json.RawMessage, error) {
	return tool.Unable{}.Roots(ctx)
}
func (p somebody) Elicit(ctx context.Context, _ tool.Question) (tool.Reply, error) {
	return p(ctx)
}

// thinking is a person who never comes to an answer, and says so at the start and the end.
func thinking() (p somebody, asked, given chan struct{}) {
	asked, given = make(chan struct{}), make(chan struct{})
	return func(ctx context.Context) (tool.Reply, error) {
		close(asked)
		<-ctx.Done()
		close(given)
		return tool.Reply{}, ctx.Err()
	}, asked, given
}

// asks is a tool that asks something before it answers.
var asks = mcptest.Tool{Name: "ask", Text: "asked", Behaviour: mcptest.Behaviour{Asks: []mcptest.Ask{{Method: "elicitation/create", Wait: true,
	Params: mcptest.Raw(`{"message":"Well?","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`)}}}}

// A daemon that is killed while a person is being asked: the question ends, the call fails, the server
// is gone, and the next call works.
func TestKilledWhileAsking(t *testing.T) {
	t.Parallel()
	h := newWarmHome(t, mcptest.Script{Tools: []mcptest.Tool{asks}})
	if code, answer := h.call(t, "ask", "--elicit", `{"a":"x"}`); code != 0 || !strings.Contains(answer, `"asked"`) {
		t.Fatalf("exit code %d: %s", code, answer)
	}
	p, asked, given := thinking()
	pid := h.daemon(t)
	// The children of a server outlive a daemon that is killed, unless they mind the end of their stdin.
	grandchild := mcptest.WaitPID(t, h.grandkids)
	t.Cleanup(func() { _ = syscall.Kill(grandchild, syscall.SIGKILL) })
	go func() { // ends with the question
		<-asked
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}()
	_, err := h.clientOf(t).Call(t.Context(), tool.Ref{Server: "s", Name: "ask"}, json.RawMessage("{}"), tool.CallOptions{Audience: p})
	if !fault.Is(err, fault.ServerConnection) {
		t.Error(err)
	}
	<-given
	for _, line := range mcptest.Lines(t, h.starts) {
		var server int
		if _, err := fmt.Sscan(line, &server); err != nil {
			t.Fatal(err)
		}
		mcptest.WaitGone(t, server)
	}
	if code, answer := h.call(t, "ask", "--elicit", "decline"); code != 0 || !strings.Contains(answer, `"asked"`) {
		t.Errorf("the next call: exit code %d: %s", code, answer)
	}
}

// A warm server that says that it offers something else now is listed again by the daemon, and the
// index follows.
func TestListChangedInDaemon(t *testing.T) {
	t.Parallel()
	grow := mcptest.Tool{Name: "grow", Behaviour: mcptest.Behaviour{Asks: []mcptest.Ask{{Method: "notifications/tools/list_changed", ID: mcptest.Raw("none")}}}}
	script := mcptest.Script{Tools: []mcptest.Tool{grow}}
	script.Later = []mcptest.Later{{From: 2, Script: mcptest.Script{Tools: []mcptest.Tool{grow, {Name: "anew"}}}}}
	h := newWarmHome(t, script)
	cmd, stdout, stderr := h.mcpl(t, "list")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s%s", err, stdout, stderr)
	}
	if code, answer := h.call(t, "grow"); code != 0 { // by the second process of the server
		t.Fatalf("exit code %d: %s", code, answer)
	}
	mcptest.Eventually(t, func() (string, bool) {
		cmd, stdout, stderr := h.mcpl(t, "--json", "search", "anew")
		err := cmd.Run()
		return fmt.Sprintf("%v: %s%s%s", err, stdout, stderr, h.log(t)), err == nil && strings.Contains(stdout.String(), `"tool":"anew"`)
	})
	if n := len(mcptest.Lines(t, h.starts)); n != 2 {
		t.Errorf("%d starts\n%s", n, h.log(t))
	}
}

// A socket that is taken away while somebody is being asked: the call comes to its end, and others
// find another daemon.
func TestSocketTakenAway(t *testing.T) {
	t.Parallel()
	h := newWarmHome(t, mcptest.Script{Tools: []mcptest.Tool{asks, {Name: "greet", Text: "hello"}}})
	if code, answer := h.call(t, "greet"); code != 0 {
		t.Fatalf("exit code %d: %s", code, answer)
	}
	pid := h.daemon(t)
	c := h.clientOf(t)
	p := somebody(func(context.Context) (tool.Reply, error) {
		sockets, err := filepath.Glob(filepath.Join(h.dir, "mcpl", "run", "*.sock"))
		if err != nil || len(sockets) != 1 || os.Remove(sockets[0]) != nil {
			t.Errorf("sockets %v, %v", sockets, err)
		}
		// Another one cannot start beside it: this call is made without.
		if code, answer := h.call(t, "greet"); code != 0 {
			t.Errorf("exit code %d: %s", code, answer)
		}
		return tool.Reply{Action: tool.Accept, Content: json.RawMessage(`{"a":"x"}`)}, nil
	})
	res, err := c.Call(t.Context(), tool.Ref{Server: "s", Name: "ask"}, json.RawMessage("{}"), tool.CallOptions{Audience: p})
	if err != nil || !strings.Contains(string(res.Raw), "asked") {
		t.Errorf("%+v, %v", res, err)
	}
	mcptest.WaitGone(t, pid) // it finds out by itself
	if code, answer := h.call(t, "greet"); code != 0 || h.daemon(t) == 0 {
		t.Errorf("exit code %d: %s", code, answer)
	}
}

// Five hundred mixed calls from a hundred clients at once, with questions, crashes, cancellations and
// clients that vanish, leave the daemon with the processes, descriptors, goroutines and about the
// memory that it had.
func TestDaemonUnderLoad(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("descriptors and memory of another process are seen in /proc, which only Linux has")
	}
	progress := mcptest.Behaviour{Progress: 20}
	h := newWarmHome(t, mcptest.Script{Tools: []mcptest.Tool{asks, {Name: "greet", Text: "hello"}, {Name: "large", Bytes: 1 << 20},
		{Name: "fail", IsError: true, Text: "no"}, {Name: "hang", Behaviour: mcptest.Behaviour{Never: true}},
		{Name: "work", Text: "done", Behaviour: progress}}})
	crash := `{"starts": "crashes", "tools": [{"name": "die", "exit": {"code": 3}}]}`
	servers := `{"mcpServers": {"s": {"command": "mcptest", "args": ["script.json"]}, "c": {"command": "mcptest", "args": ["crash.json"]}}}`
	if err := errors.Join(os.WriteFile(filepath.Join(h.dir, "crash.json"), []byte(crash), 0o600),
		os.WriteFile(filepath.Join(h.dir, ".mcp.json"), []byte(servers), 0o600)); err != nil {
		t.Fatal(err)
	}
	round := func(calls int) {
		work := make(chan int)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				c := h.clientOf(t)
				for i := range work {
					loadCall(t, c, i)
				}
			})
		}
		for i := range calls {
			work <- i
		}
		close(work)
		wg.Wait()
	}
	if code, answer := h.call(t, "greet"); code != 0 {
		t.Fatalf("exit code %d: %s", code, answer)
	}
	idle := h.status(t)
	files := descriptors(t, idle.PID)
	round(100) // threads, buffers and stacks are there after this
	memory := resident(t, idle.PID)
	round(500)
	if code, answer := h.call(t, "greet"); code != 0 {
		t.Fatalf("exit code %d: %s", code, answer)
	}
	mcptest.Eventually(t, func() (string, bool) {
		st, n := h.status(t), descriptors(t, idle.PID)
		servers, crashed := alive(t, h.starts), alive(t, filepath.Join(h.dir, "crashes"))
		calm := st.PID == idle.PID && st.Requests == 0 && st.Goroutines <= idle.Goroutines && n <= files
		return fmt.Sprintf("%+v, %d descriptors, %d servers and %d that crash; %+v and %d before",
			st, n, servers, crashed, idle, files), calm && servers == 1 && crashed == 0
	})
	now := resident(t, idle.PID)
	t.Logf("%d kB, %d before", now, memory)
	if now > 3*memory && !raced { // the race detector remembers every address that was used
		t.Errorf("%d kB, %d before", now, memory)
	}
}

// loadCall makes one of the mixed calls and checks what can be said of its outcome.
func loadCall(t *testing.T, c *daemon.Client, i int) {
	ctx := t.Context()
	ref := tool.Ref{Server: "s", Name: []string{"greet", "large", "ask", "hang", "work", "fail", "ask", "hang", "die", "greet"}[i%10]}
	opt := tool.CallOptions{Timeout: 2 * time.Minute, Audience: somebody(func(context.Context) (tool.Reply, error) {
		return tool.Reply{Action: tool.Accept, Content: json.RawMessage(`{"a":"x"}`)}, nil
	})}
	want := fault.Type("")
	switch i % 10 {
	case 3: // cancelled
		short, cancel := context.WithTimeout(ctx, time.Duration(i%50)*time.Millisecond)
		defer cancel()
		ctx, want = short, fault.Interrupted
	case 6: // the question is given up; the call may end before it is cancelled
		own, cancel := context.WithCancel(ctx)
		defer cancel()
		ctx, opt.Audience = own, somebody(func(ctx context.Context) (tool.Reply, error) {
			cancel()
			<-ctx.Done()
			return tool.Reply{}, ctx.Err()
		})
		_, _ = c.Call(ctx, ref, json.RawMessage("{}"), opt)
		return
	case 7:
		opt.Timeout, want = 5*time.Millisecond, fault.Timeout
	case 8:
		ref.Server, want = "c", fault.ServerConnection
	}
	_, err := c.Call(ctx, ref, json.RawMessage("{}"), opt)
	if got := fault.From(err); (got == nil) != (want == "") || got != nil && got.Type != want {
		t.Errorf("call %d, %s: %v", i, ref, err)
	}
}

// resident returns the memory of a process in kB.
func resident(t *testing.T, pid int) (kB int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(status), "VmRSS:")
	if _, err := fmt.Sscan(text, &kB); err != nil {
		t.Fatal(err)
	}
	return kB
}

// alive counts the servers that still run of those that a file names.
func alive(t *testing.T, starts string) (n int) {
	t.Helper()
	for _, line := range mcptest.Lines(t, starts) {
		var pid int
		if _, err := fmt.Sscan(line, &pid); err != nil {
			t.Fatal(err)
		}
		if mcptest.Alive(pid) {
			n++
		}
	}
	return n
}
