package web

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/conn"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/host"
)

// TestAbandonedServers: a thousand sessions that their clients leave share one process of each server, and the
// processes that some of them have for themselves end with them. It counts the goroutines of the whole process, as
// another test does, and so runs alone.
func TestAbandonedServers(t *testing.T) {
	dir := t.TempDir()
	script := mcptest.Script{Tools: []mcptest.Tool{{Name: "t", Text: "done"}}}
	servers := map[string]any{}
	for _, name := range []string{"all", "own"} {
		script.Starts = filepath.Join(dir, name)
		command, args, env := mcptest.Command(t, script)
		entry := map[string]any{"command": command, "args": args, "env": env}
		if name == "own" {
			entry["scope"] = "session"
		}
		servers[name] = entry
	}
	raw, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	warm := host.New(host.Options{NewCaller: func(cfg *config.Config, o host.CallerOptions) engine.Caller {
		return conn.NewPool(cfg, conn.Options{Environ: o.Environ, Dir: o.Dir, Changed: o.Changed, Listen: o.Listen})
	}})
	t.Cleanup(func() { warm.Close() })
	surroundings := host.Surroundings{Dir: dir, Home: dir, Environ: os.Environ(),
		Configs: []string{filepath.Join(dir, ".mcp.json")}}
	s, url, clock := serve(t, dir, func(*config.Config, func(string)) engine.Caller {
		return warm.Caller(surroundings, nil)
	})

	const call = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"%s_t"}}`
	use := func(sessions, withOwn int) {
		work := make(chan int)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for i := range work {
					_, id := post(t, url, "", initialize)
					if status, _ := post(t, url, id, fmt.Sprintf(call, "all")); status != 200 {
						t.Error(status)
					}
					if i < withOwn {
						post(t, url, id, fmt.Sprintf(call, "own"))
					}
				}
			})
		}
		for i := range sessions {
			work <- i
		}
		close(work)
		wg.Wait()
	}
	use(10, 1)
	before := runtime.NumGoroutine()
	use(990, 19)
	if all, own := running(t, filepath.Join(dir, "all")), running(t, filepath.Join(dir, "own")); all != 1 || own != 20 {
		t.Errorf("%d processes of the shared server run, and %d of sessions", all, own)
	}
	clock.pass(idle + time.Second)
	s.sweep(t.Context())
	mcptest.Wait(t, "the end of the sessions' processes", func() bool { return running(t, filepath.Join(dir, "own")) == 0 })
	if all := running(t, filepath.Join(dir, "all")); all != 1 {
		t.Errorf("%d processes of the shared server run", all)
	}
	mcptest.Eventually(t, func() (string, bool) {
		now := runtime.NumGoroutine()
		return fmt.Sprintf("%d goroutines, %d before", now, before), now <= before+10
	})
}

// running counts the processes that still run of those that a file of starts names.
func running(t *testing.T, starts string) (n int) {
	t.Helper()
	for _, line := range mcptest.Lines(t, starts) {
		word, _, _ := strings.Cut(line, " ")
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		if mcptest.Alive(pid) {
			n++
		}
	}
	return n
}
