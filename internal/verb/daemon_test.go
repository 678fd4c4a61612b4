//go:build linux || darwin

package verb

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/daemon"
	"github.com/mcp-launchpad/mcpl/pkg/host"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// TestMain is the program that [TestDaemonRestart] starts as a daemon, or the tests.
func TestMain(m *testing.M) {
	if len(os.Args) == 1 || os.Args[1] != "daemon" {
		// A daemon judges by the environment of its client, which here is that of the tests.
		if err := os.Setenv("MCPL_TRUST", "all"); err != nil {
			panic(err)
		}
		os.Exit(m.Run())
	}
	app, err := Process()
	if err != nil {
		panic(err)
	}
	line, err := parse(os.Args[1:]...)
	if err != nil {
		panic(err)
	}
	code, _ := app.Run(context.Background(), line.spec, line.verb, line.globals, line.words)
	os.Exit(code)
}

func TestDaemonOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "daemon", map[string]options{
		"status":                {want: &Daemon{action: "status"}},
		"stop":                  {args: []string{"stop"}, want: &Daemon{action: "stop"}},
		"the log":               {args: []string{"logs"}, want: &Daemon{action: "logs"}},
		"the log of a server":   {args: []string{"logs", "demo", "-f"}, want: &Daemon{Follow: true, action: "logs", server: "demo"}},
		"in the foreground":     {args: []string{"run"}, want: &Daemon{action: "run"}},
		"in the background":     {args: []string{"run", "--detached"}, want: &Daemon{Detached: true, action: "run"}},
		"the logs of two":       {args: []string{"logs", "a", "b"}, says: `daemon logs does not take "b"`},
		"a server":              {args: []string{"status", "demo"}, says: `daemon status does not take "demo"`},
		"an unknown command":    {args: []string{"begin"}, says: `unknown daemon command "begin"`},
		"a server as a command": {args: []string{"begin", "demo"}, says: `daemon begin does not take "demo"`},
	})
}

// TestDaemonAnswers holds what is said without a daemon.
func TestDaemonAnswers(t *testing.T) {
	t.Parallel()
	const none = "No daemon runs for this configuration."
	checkAnswers(t, fixture, map[string]answer{
		"status": {args: []string{"daemon"}, text: none + " The next call starts one, unless it is switched off.\n",
			json: `{"running":false,"socket":"HOME/.cache/mcpl/run/KEY.sock","log":"HOME/.local/state/mcpl/daemon/KEY.log"}`},
		"stop":    {args: strings.Fields("daemon stop"), text: none + "\n", json: `{"stopped":false}`},
		"the log": {args: strings.Fields("daemon logs"), text: "note: nothing about any server is in HOME/.local/state/mcpl/daemon/KEY.log\n", json: `{"lines":[]}`},
		"the log of a server": {args: strings.Fields("daemon logs demo"),
			text: "note: nothing about demo is in HOME/.local/state/mcpl/daemon/KEY.log\n"},
	})
	got := fixture(t).run(t.Context(), "--json", "daemon", "logs", "-f")
	if got.code != 2 || !strings.Contains(got.stdout, `"--follow cannot be combined with --json"`) {
		t.Errorf("%+v", got)
	}
}

// awaited is a stream that says when a text has come.
type awaited struct {
	mu      sync.Mutex
	all     bytes.Buffer
	waiting map[string]chan struct{} // by the text that they wait for
}

func (a *awaited) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all.Write(p)
	for text, came := range a.waiting {
		if strings.Contains(a.all.String(), text) {
			close(came)
			delete(a.waiting, text)
		}
	}
	return len(p), nil
}

// came returns a channel that is closed when text has come. One caller waits for a text.
func (a *awaited) came(text string) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	came := make(chan struct{})
	if strings.Contains(a.all.String(), text) {
		close(came)
	} else {
		a.waiting[text] = came
	}
	return came
}

// String returns what has come.
func (a *awaited) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all.String()
}

// background runs a command line until the test ends, and returns when it has written text to stdout or
// stderr. stop ends it and returns its exit code.
func (w *world) background(text string, args ...string) (out *awaited, stop func() int) {
	w.t.Helper()
	line, err := parse(args...)
	if err != nil {
		w.t.Fatal(err)
	}
	out = &awaited{waiting: map[string]chan struct{}{}}
	app := *w.app
	app.Stdout, app.Stderr = out, out
	ctx, cancel := context.WithCancel(w.t.Context())
	code, done := 0, make(chan struct{}) // closed when the run has ended
	go func() {
		defer close(done)
		if code, err = app.Run(ctx, line.spec, line.verb, line.globals, line.words); err != nil {
			w.t.Error(err)
		}
	}()
	stop = func() int {
		cancel()
		<-done
		return code
	}
	w.t.Cleanup(func() { stop() })
	select {
	case <-out.came(text):
	case <-done:
		w.t.Fatalf("mcpl %q ended:\n%s", args, out)
	}
	return out, stop
}

// withDaemon returns the fixture with a daemon for it in this process.
func withDaemon(t *testing.T) (*world, *awaited) {
	t.Helper()
	w := fixture(t)
	w.daemon = true
	out, _ := w.background("listening on ", "daemon", "run", "-v")
	return w, out
}

// TestDaemonRuns takes a daemon through its life: a call, the status, the log, the end.
func TestDaemonRuns(t *testing.T) {
	t.Parallel()
	w, _ := withDaemon(t)
	if got := w.run(t.Context(), "call", "demo", "add", "a=1"); got.code != 0 || !strings.Contains(got.stdout, "3.0") {
		t.Fatalf("%+v", got)
	}
	var status struct {
		Running bool
		PID     int
		Version string
		Servers []host.ServerStatus
	}
	got := w.run(t.Context(), "--json", "daemon", "status")
	if err := json.Unmarshal([]byte(got.stdout), &status); err != nil || !status.Running || len(status.Servers) != 1 ||
		status.Servers[0].Name != "demo" || status.Servers[0].Calls == 0 || status.Version != "v1.2.3" {
		t.Errorf("%v, %+v", err, got)
	}
	got = w.run(t.Context(), "daemon")
	if !strings.Contains(got.stdout, "mcpl v1.2.3\nlog: HOME") || !strings.Contains(got.stdout, "\ndemo    idle       ") {
		t.Errorf("%+v", got)
	}
	got = w.run(t.Context(), "daemon", "logs")
	if got.code != 0 || !strings.Contains(got.stdout, " daemon started, mcpl v1.2.3, process ") {
		t.Errorf("%+v", got)
	}
	if got = w.run(t.Context(), "call", "demo", "add", "a=1", "--no-daemon"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	hurried, hurry := context.WithCancel(t.Context())
	hurry() // else it waits for the first one to end
	if got = w.run(hurried, "daemon", "run"); got.code != 2 || !strings.Contains(got.stderr, "error: the daemon cannot run: ") ||
		!strings.Contains(got.stderr, "hint: See whether one runs with: mcpl daemon status") {
		t.Errorf("a second one: %+v", got)
	}
	if got = w.run(t.Context(), "daemon", "stop"); got.stdout != "The daemon has ended, and its servers with it.\n" {
		t.Errorf("%+v", got)
	}
}

// TestDaemonEnds: a daemon that is stopped lets a running call finish.
func TestDaemonEnds(t *testing.T) {
	t.Parallel()
	w, out := withDaemon(t)
	called, finish := make(chan struct{}), make(chan struct{})
	w.servers["demo"].call = func(context.Context, tool.Ref, json.RawMessage, tool.CallOptions) (*tool.Result, error) {
		close(called)
		<-finish
		return &tool.Result{Raw: json.RawMessage(`{"content":[]}`)}, nil
	}
	var both sync.WaitGroup
	both.Go(func() {
		if got := w.run(t.Context(), "call", "demo", "add", "a=1"); got.code != 0 {
			t.Errorf("the call: %+v", got)
		}
	})
	<-called
	both.Go(func() {
		if got := w.run(t.Context(), "--json", "daemon", "stop"); got.stdout != `{"stopped":true}`+"\n" {
			t.Errorf("the end: %+v", got)
		}
	})
	<-out.came("note: ending; running calls have 10 s to finish\n")
	close(finish)
	both.Wait()
}

// TestDaemonRestart: a daemon is started in the background, is replaced, and ends. It is a process of its
// own, whose environment is ours.
func TestDaemonRestart(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("skipped: the world has the folders of Linux, the process those of its system")
	}
	w := newWorld(t, fixtureConfig, nil)
	for name, value := range map[string]string{"HOME": w.app.Env.Home, "XDG_RUNTIME_DIR": "", "XDG_CACHE_HOME": "",
		"XDG_STATE_HOME": "", "XDG_CONFIG_HOME": "", "GORACE": "atexit_sleep_ms=0"} {
		t.Setenv(name, value)
	}
	w.app.Version = version() // as the process has it
	t.Cleanup(func() { w.run(context.Background(), "daemon", "stop") })
	pid := 0
	for range 2 {
		got := w.run(t.Context(), "--json", "daemon", "restart")
		var status struct{ PID int }
		err := json.Unmarshal([]byte(got.stdout), &status)
		if err != nil || got.code != 0 || status.PID == 0 || status.PID == pid {
			t.Fatalf("%v, %+v, before it was %d", err, got, pid)
		}
		pid = status.PID
	}
	if got := w.run(t.Context(), "--json", "daemon", "stop"); got.stdout != `{"stopped":true}`+"\n" {
		t.Errorf("%+v", got)
	}
}

// TestDaemonRefreshes: behind an answer from an expired list the daemon asks the servers, not a process of
// its own.
func TestDaemonRefreshes(t *testing.T) {
	t.Parallel()
	w, _ := withDaemon(t)
	w.app.Detach = func(args []string) error {
		t.Errorf("%q is started", args)
		return nil
	}
	w.app.Now = func() time.Time { return noon.Add(25 * time.Hour) }
	if got := w.run(t.Context(), "list", "demo"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
}

// TestDaemonLogFollowed: --follow shows the log until it is interrupted, which is not a failure.
func TestDaemonLogFollowed(t *testing.T) {
	t.Parallel()
	w, _ := withDaemon(t)
	out, stop := w.background(" daemon started", "daemon", "logs", "-f")
	if code := stop(); code != 0 || strings.Contains(out.String(), "error") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// TestDaemonText holds what is written of a daemon's states.
func TestDaemonText(t *testing.T) {
	t.Parallel()
	status := &daemon.Status{PID: 7, Version: "v1", Started: noon.Add(-time.Hour), Ending: true}
	status.Servers = []host.ServerStatus{
		{Name: "a", State: "busy", Calls: 12, Started: noon.Add(-30 * time.Minute)},
		{Name: "b", State: "idle", Stops: noon.Add(90 * time.Second)},
		{Name: "c", State: "crashed", Crash: "c exited with code 3"},
	}
	for title, tc := range map[string]struct {
		answer *daemonAnswer
		want   string
	}{
		"busy and ending": {&daemonAnswer{Running: true, Status: status, Log: "L", now: noon}, `process 7, started 1 h ago, mcpl v1
log: L
It is ending and takes no more calls.

SERVER  STATE    CALLS  STARTED     STOPS
a       busy        12  30 min ago
b       idle         0              in 1m30s
c       crashed      0  

crashed c: c exited with code 3
`},
		"without servers": {&daemonAnswer{Running: true, Status: &daemon.Status{Started: noon}, Log: "L", now: noon},
			"process 0, started just now, mcpl \nlog: L\nNo server is warm.\n"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := output.New(output.Options{Out: &out}).Answer(tc.answer); err != nil || out.String() != tc.want {
				t.Errorf("%v\n%s", err, &out)
			}
		})
	}
}
