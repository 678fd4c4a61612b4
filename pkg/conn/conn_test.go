package conn

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/proc"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func TestMain(m *testing.M) {
	mcptest.Maybe()
	goleak.VerifyTestMain(m)
}

// scripts are scripted servers by name.
type scripts map[string]mcptest.Script

// newPool returns a pool over scripted servers, closed at the end of the test. Its help texts
// name the environment file /etc/mcpl.env.
func newPool(t *testing.T, servers scripts, change ...func(*Options)) *Pool {
	t.Helper()
	return poolOver(t, mcptest.Config(t, servers), change...)
}

func poolOver(t *testing.T, path string, change ...func(*Options)) *Pool {
	t.Helper()
	// A process built with -race would otherwise take a second to exit.
	environ := append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	opt := Options{Version: "test", Environ: environ, Dir: t.TempDir(), EnvFile: "/etc/mcpl.env"}
	for _, c := range change {
		c(&opt)
	}
	p := NewPool(load(t, path), opt)
	t.Cleanup(func() { p.Close() })
	return p
}

func load(t *testing.T, path string) *config.Config {
	t.Helper()
	dir := t.TempDir()
	env := config.Env{Dir: dir, Home: dir, Lookup: os.LookupEnv, GOOS: runtime.GOOS}
	src, err := env.Locate(config.Selection{Configs: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := env.Load(src)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// newSpawner returns a spawner, closed at the end of the test.
func newSpawner(t *testing.T) *proc.Spawner {
	t.Helper()
	s := new(proc.Spawner)
	t.Cleanup(s.Close)
	return s
}

// callTool calls a tool of a server with {} or the arguments given.
func callTool(ctx context.Context, p *Pool, server, name string, args ...string) (*tool.Result, error) {
	raw := json.RawMessage("{}")
	if len(args) > 0 {
		raw = json.RawMessage(args[0])
	}
	return p.Call(ctx, tool.Ref{Server: server, Name: name}, raw, tool.CallOptions{})
}

// mustCall calls a tool and returns the text of its result. Any goroutine may use it.
func mustCall(t *testing.T, p *Pool, server, name string, args ...string) string {
	t.Helper()
	res, err := callTool(t.Context(), p, server, name, args...)
	if err != nil {
		t.Errorf("%s/%s: %v\n%s", server, name, err, fault.From(err).Traceback)
		return ""
	}
	var result struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(res.Raw, &result); err != nil || len(result.Content) == 0 {
		t.Errorf("result %s: %v", res.Raw, err)
		return ""
	}
	return result.Content[0].Text
}

// wantFault checks the type of a fault and that its message contains some text. Any goroutine
// may use it.
func wantFault(t *testing.T, err error, typ fault.Type, message string) *fault.Fault {
	t.Helper()
	var f *fault.Fault
	if !errors.As(err, &f) {
		t.Errorf("error %v is no fault", err)
		return &fault.Fault{}
	}
	if f.Type != typ || !strings.Contains(f.Message, message) {
		t.Errorf("got %s: %s\n%s\nwant %s with %q", f.Type, f.Message, f.Traceback, typ, message)
	}
	return f
}

// quick fails the test if do takes longer than limit.
func quick(t *testing.T, what string, limit time.Duration, do func()) {
	t.Helper()
	started := time.Now()
	do()
	if took := time.Since(started); took > limit {
		t.Errorf("%s took %v, want at most %v", what, took, limit)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// quote returns s as a JSON string.
func quote(s string) string { return string(tool.Quote(s)) }

// logTo returns an Options.Log that writes to b.
func logTo(b *strings.Builder) func(server, event string) {
	var mu sync.Mutex
	return func(server, event string) {
		mu.Lock()
		defer mu.Unlock()
		b.WriteString(server + ": " + event + "\n")
	}
}
