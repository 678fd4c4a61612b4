package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

const (
	// defaultIdle is after how long without a request a server is stopped.
	defaultIdle = 15 * time.Minute
	// settleTime is how old a file's time has to be for a later change to be told by it: file systems
	// keep times no finer than some milliseconds.
	settleTime = time.Second
	// originMemory is how long surroundings are remembered that no running server is for.
	originMemory = time.Minute
)

// origin is where requests come from: surroundings that some client has, and what the
// configuration says there.
type origin struct {
	id string
	surroundings
	inherited []string
	// environment identifies what is inherited.
	environment string

	mu sync.Mutex // held while files are read
	// cfg is the configuration as last read, nil before that. Nobody changes it.
	cfg *config.Config
	// settled says that other versions of cfg's files differ from it in time or size.
	settled bool
	// complaint is what was last logged of files that cannot be used.
	complaint string

	// These are guarded by the daemon's mutex.
	limits     tool.Limits // of the last request
	used       time.Time
	refreshing bool
}

// originOf returns the origin of a request.
func (d *server) originOf(q *query, environ string) *origin {
	key := strings.Join([]string{q.Dir, q.Home, strings.Join(q.Configs, separator), strings.Join(q.EnvFiles, separator), environ}, separator+separator)
	d.mu.Lock()
	defer d.mu.Unlock()
	o := d.origins[key]
	if o == nil {
		d.lastOrigin++
		o = &origin{id: fmt.Sprint(d.lastOrigin), surroundings: surroundingsOf(q, environ)}
		o.inherited = inheritable(o.environ)
		o.environment = digest(o.inherited...)
		d.origins[key] = o
	}
	o.used, o.limits = time.Now(), q.Limits
	return o
}

// config returns the configuration as the client would read it. Files that have not changed since
// the last time are not read again.
func (o *origin) config() (*config.Config, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	src, err := o.env.Locate(o.sel)
	if err != nil {
		return nil, err
	}
	if len(src.Configs) == 0 {
		return nil, src.NoConfig()
	}
	return o.load(src)
}

// load reads these files, unless they are those that were read.
func (o *origin) load(src *config.Sources) (*config.Config, error) {
	if o.cfg != nil && o.settled && sameFiles(src, o.cfg.Sources) {
		return o.cfg, nil
	}
	settled := true
	for _, file := range slices.Concat(src.Configs, src.EnvFiles) {
		// To open a pipe waits until somebody writes into it, and nothing ends that.
		if info, err := os.Stat(file.Path); err == nil && !info.Mode().IsRegular() {
			return nil, fault.New(fault.Config, file.Path+" is no regular file, and the daemon reads no other", "Do without it: mcpl --no-daemon ...")
		}
		settled = settled && time.Since(time.Unix(0, file.MTime)) > settleTime
	}
	cfg, err := o.env.Load(src)
	if err != nil {
		return nil, err
	}
	o.cfg, o.settled, o.complaint = cfg, settled, ""
	return cfg, nil
}

func sameFiles(a, b *config.Sources) bool {
	return slices.Equal(a.Configs, b.Configs) && slices.Equal(a.EnvFiles, b.EnvFiles)
}

// key identifies the process that serves an entry for this client: what it is started with, where,
// what it inherits and which project it is told of. Clients of the same key share a server.
func (o *origin) key(server *config.Server, root string) string {
	if server.Roots != nil {
		root = "" // in the fingerprint there are others
	}
	return digest("server", server.Name, server.Fingerprint(), o.folder(server), root, o.environment)
}

// folder returns where a server runs.
func (o *origin) folder(server *config.Server) string {
	if server.Cwd != "" {
		return server.Cwd
	}
	return o.dir
}

// keyIn returns the key of a server that a configuration wants to be there, "" for others.
func (o *origin) keyIn(cfg *config.Config, name string) string {
	server, err := cfg.Server(name)
	if err != nil || server.Disabled || server.Usable() != nil {
		return ""
	}
	return o.key(server, o.env.Root(cfg.Sources))
}

// open opens a caller for one server of the configuration.
func (d *server) open(o *origin, cfg *config.Config, server *config.Server, l tool.Limits, log func(who, text string), changed func()) engine.Caller {
	opt := CallerOptions{Dir: o.dir, Root: o.env.Root(cfg.Sources), Environ: append(slices.Clip(o.inherited), "PWD="+o.folder(server)), EnvFile: o.env.WhereToPut(cfg.Sources),
		Limits: l, Log: log}
	if changed != nil {
		opt.Changed, opt.Listen = func(string) { changed() }, true
	}
	own, only := *server, *cfg
	own.Command = o.program(server.Command)
	only.Servers = []*config.Server{&own}
	return d.opt.NewCaller(&only, opt)
}

// spec describes the wanted server to the hub.
func (d *server) spec(q *query, o *origin) (spec, *config.Server, error) {
	cfg, err := o.config()
	if err != nil {
		return spec{}, nil, err
	}
	server, err := cfg.Server(q.Server)
	if err != nil {
		return spec{}, nil, err
	}
	if err := server.Usable(); err != nil {
		return spec{}, nil, err
	}
	key := o.key(server, o.env.Root(cfg.Sources))
	return spec{key: key, name: server.Name, origin: o.id,
		idle: cmp.Or(server.Idle, q.Idle, defaultIdle), keep: server.Lifecycle == config.KeepAlive, process: server.Transport == config.Stdio,
		current: func(name string) string {
			if name == server.Name {
				return key
			}
			return o.keyIn(cfg, name)
		},
		open: func(log func(who, text string), changed func()) engine.Caller {
			return d.open(o, cfg, server, q.Limits, log, changed)
		}}, server, nil
}

// look reads the files again where they have changed, and returns the configuration, nil where
// nothing is to be done. A file that is gone, broken or cannot be read, as in the middle of being
// written, changes nothing; complaint says so, once.
func (o *origin) look() (cfg *config.Config, complaint string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.cfg
	if before == nil {
		return nil, ""
	}
	src, err := o.env.Locate(o.sel)
	if err == nil && src.Key() != before.Sources.Key() {
		err = errors.New("another configuration is in force in " + o.dir + " now; servers of this one stay until they are idle")
	}
	if err == nil {
		cfg, err = o.load(src)
	}
	switch {
	case err == nil && cfg == before:
		return nil, ""
	case err == nil:
		return cfg, ""
	case err.Error() == o.complaint:
		return nil, ""
	}
	o.complaint = err.Error()
	return nil, o.complaint
}
