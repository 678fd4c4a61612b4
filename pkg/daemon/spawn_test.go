//go:build linux || darwin

package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/host"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// asDaemon as the first argument makes the test binary a daemon, for the folder that is the second.
const asDaemon = "as-daemon"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == asDaemon {
		beDaemon(os.Args[2])
		return
	}
	os.Exit(m.Run())
}

// pidCaller answers with the process that it runs in.
type pidCaller struct{ localCaller }

func (pidCaller) Call(context.Context, tool.Ref, json.RawMessage, tool.CallOptions) (*tool.Result, error) {
	return &tool.Result{Raw: json.RawMessage(strconv.Itoa(os.Getpid()))}, nil
}

// beDaemon is the daemon of a home, or a program that fails to be one.
func beDaemon(dir string) {
	switch dir {
	case "silent":
		return
	case "failing":
		Announce(errors.New("no luck today"))
		return
	}
	env := envOf(dir)
	src, err := env.Locate(config.Selection{})
	if err != nil {
		Announce(err)
		return
	}
	place, err := PlaceOf(env, src.Key())
	if err != nil {
		Announce(err)
		return
	}
	_ = Serve(context.Background(), Options{Place: place, Identity: "v1", Listening: Announce,
		NewCaller: func(*config.Config, host.CallerOptions) engine.Caller { return pidCaller{} }})
}

// Many first calls at once start one daemon, which stays until it is stopped, and can be started again.
func TestStart(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	defer func() { _, _ = Stop(context.Background(), h.place) }()
	command := []string{asDaemon, h.env.Dir}
	var mu sync.Mutex
	pids := make(map[string]int)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			pid := h.ask(h.client(func(o *ClientOptions) { o.Start = command }), "{}")
			mu.Lock()
			defer mu.Unlock()
			pids[pid]++
		})
	}
	wg.Wait()
	st, running, err := Ask(h.place)
	if err != nil || !running || len(pids) != 1 || pids[strconv.Itoa(st.PID)] != 10 || st.PID == os.Getpid() {
		t.Errorf("answered by %v, running %+v, %v, %v", pids, st, running, err)
	}
	if stopped, err := Stop(t.Context(), h.place); err != nil || !stopped {
		t.Errorf("stopped %v, %v", stopped, err)
	}
	if err := Start(t.Context(), h.place, command, h.env.Dir); err != nil {
		t.Error(err)
	}
	if again, running, err := Ask(h.place); err != nil || !running || again.PID == st.PID {
		t.Errorf("%+v, %v, %v", again, running, err)
	}
}

// If the daemon does not start, the client makes the request itself, and its log says why.
func TestDoesNotStart(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]string{"silent": "the daemon ended at once, see ", "failing": "no luck today"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			var said []string
			got := h.ask(h.client(func(o *ClientOptions) {
				o.Start = []string{asDaemon, how}
				o.Log = func(_, event string) { said = append(said, event) }
			}), "{}")
			if got != "local" || len(said) != 1 || !strings.Contains(said[0], want) {
				t.Errorf("got %q, said %q", got, said)
			}
		})
	}
}
