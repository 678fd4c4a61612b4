package host

import (
	"context"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
)

const (
	// watchEvery is how often the host looks at the configuration files while servers run.
	watchEvery = 2 * time.Second
	// envMemory is how long the host remembers a client environment without a running server.
	envMemory = time.Minute
)

// watch follows the configuration files of running servers and forgets unused client environments, until ctx ends.
func (h *Host) watch(ctx context.Context) {
	forget, look := time.NewTicker(envMemory), time.NewTicker(h.opt.watchEvery)
	defer forget.Stop()
	defer look.Stop()
	look.Stop()
	started := h.supervisor.started // nil while servers run and look ticks
	for {
		select {
		case <-ctx.Done():
			return
		case <-forget.C:
			h.forget()
			continue
		case <-started:
			started = nil
			look.Reset(h.opt.watchEvery)
		case <-look.C:
		}
		if h.look() {
			h.opt.Looked()
		} else {
			started = h.supervisor.started
			look.Stop()
		}
	}
}

// look looks once at the files of the client environments that servers run for. It reports whether there are any.
func (h *Host) look() bool {
	running, _ := h.supervisor.envs()
	for e := range running {
		cfg, complaint := e.look()
		if complaint != "" {
			h.opt.Log("", "the configuration is left as it was: "+complaint)
		}
		if cfg != nil {
			h.follow(e, cfg)
		}
	}
	return len(running) > 0
}

// follow stops the servers that the configuration of a client environment wants no more.
func (h *Host) follow(e *clientEnv, cfg *config.Config) {
	h.supervisor.mu.Lock()
	defer h.supervisor.mu.Unlock()
	h.supervisor.follow(e, cfg, func(name string, of owner) string { return e.keyIn(cfg, name, of) })
}

// forget forgets the client environments that no server runs for and no request has used for a while, and crashes of
// long ago.
func (h *Host) forget() {
	h.supervisor.forget()
	h.mu.Lock()
	defer h.mu.Unlock()
	running, watched := h.supervisor.envs()
	for key, e := range h.envs {
		if !running[e] && !watched[e] && time.Since(e.used) > envMemory {
			delete(h.envs, key)
		}
	}
}
