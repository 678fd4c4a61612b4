package host

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
	"github.com/mcp-launchpad/mcpl/pkg/trust"
)

// settleTime is the age from which a file's time tells a later change: file systems keep times no finer than some
// milliseconds.
const settleTime = time.Second

// clientEnv is one client environment and the configuration resolved in it.
type clientEnv struct {
	env config.Env
	sel config.Selection
	// inherited is the part of the client's environment that servers inherit; inheritedKey is its digest.
	inherited    []string
	inheritedKey string
	roots        bool // see Surroundings.Roots

	mu sync.Mutex // held while files are read
	// cfg is the configuration as last read. It is nil before that, and is not changed afterwards.
	cfg *config.Config
	// approvals identifies what was approved when cfg was read.
	approvals string
	// settled says that a changed version of cfg's files will differ from it in time or size.
	settled bool
	// complaint is the last error that was logged about the files.
	complaint string

	refreshing atomic.Bool

	keyMu  sync.Mutex
	shared map[*config.Server]string // of the entries of keysOf, the parts of their keys that no owner changes
	keysOf *config.Config

	// followed is the configuration that its servers were last compared with. supervisor.mu guards it.
	followed *config.Config

	// Host.mu guards these.
	limits tool.Limits // of the last request
	used   time.Time
}

func newClientEnv(s Surroundings) *clientEnv {
	inherited := inheritable(s.Environ)
	env := config.Env{Dir: s.Dir, Home: s.Home, GOOS: runtime.GOOS,
		Lookup: func(name string) (string, bool) { return lookup(s.Environ, name) }}
	env.Approver = trust.NewJudge(env, s.Trusted)
	sel := config.Selection{Configs: s.Configs, EnvFiles: s.EnvFiles, Trusted: s.Trusted, Tools: s.Tools}
	return &clientEnv{env: env, sel: sel,
		inherited: inherited, inheritedKey: digest(inherited...), roots: s.Roots}
}

// config returns the configuration as the client would read it. Files that have not changed since the last time are
// not read again. While files are damaged, what was read before stays in force, unless approvals have changed since.
func (e *clientEnv) config() (*config.Config, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	src, err := e.env.Locate(e.sel)
	if err != nil {
		return nil, err
	}
	if len(src.Configs) == 0 {
		return nil, src.NoConfig()
	}
	cfg, err := e.load(src)
	if err != nil && e.cfg != nil && !errors.Is(err, ErrDeclined) && src.Key() == e.cfg.Sources.Key() &&
		e.env.ApprovalStamp(src) == e.approvals {
		return e.cfg, nil
	}
	return cfg, err
}

// load reads these files, unless they are the ones that cfg was read from.
func (e *clientEnv) load(src *config.Sources) (*config.Config, error) {
	approvals := e.env.ApprovalStamp(src)
	if e.cfg != nil && e.settled && sameFiles(src, e.cfg.Sources) && approvals == e.approvals && !e.cfg.Reprieves() {
		return e.cfg, nil
	}
	settled := true
	for _, file := range slices.Concat(src.Configs, src.EnvFiles) {
		// Reading a pipe waits for somebody to write into it, and takes what its client was meant to read.
		if file.Irregular {
			return nil, irregularFile(file.Path)
		}
		settled = settled && time.Since(time.Unix(0, file.MTime)) > settleTime
	}
	cfg, err := e.env.Load(src)
	if err != nil {
		return nil, err
	}
	e.cfg, e.approvals, e.settled, e.complaint = cfg, approvals, settled, ""
	return cfg, nil
}

func sameFiles(a, b *config.Sources) bool {
	return slices.Equal(a.Configs, b.Configs) && slices.Equal(a.EnvFiles, b.EnvFiles)
}

// irregularFile is the error of a configuration file, by its path, that can perhaps be read only once.
type irregularFile string

func (f irregularFile) Error() string { return string(f) + " is not a regular file" }

// Is makes it an [ErrDeclined].
func (f irregularFile) Is(target error) bool { return target == ErrDeclined }

// look reads the files again if they have changed. It returns the configuration, or nil if nothing has to be done. A
// file that is gone, broken or cannot be read, as while it is being written, changes nothing; complaint then says so,
// once.
func (e *clientEnv) look() (cfg *config.Config, complaint string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.cfg
	if before == nil {
		return nil, ""
	}
	src, err := e.env.Locate(e.sel)
	if err == nil && src.Key() != before.Sources.Key() {
		err = errors.New("another configuration is in force in " + e.env.Dir +
			" now; servers of this one stay until they are idle")
	}
	if err == nil {
		cfg, err = e.load(src)
	}
	switch {
	case err == nil && cfg == before:
		return nil, ""
	case err == nil:
		return cfg, ""
	case err.Error() == e.complaint:
		return nil, ""
	}
	e.complaint = err.Error()
	return nil, e.complaint
}

// key identifies the server of an entry for clients here: its entry, its folder, its environment, its roots, whose
// logins it uses and its owner. Requests with the same key share a server.
func (e *clientEnv) key(cfg *config.Config, entry *config.Server, of owner) string {
	return digest(e.sharedKey(cfg, entry), string(of.principal), of.session, of.forwarded)
}

// sharedKey returns the part of the key of an entry's servers that all their owners share. It is computed once for each
// configuration, which does not change: most of an environment is judged for it.
func (e *clientEnv) sharedKey(cfg *config.Config, entry *config.Server) string {
	e.keyMu.Lock()
	defer e.keyMu.Unlock()
	if e.keysOf != cfg {
		e.keysOf, e.shared = cfg, make(map[*config.Server]string)
	}
	key, ok := e.shared[entry]
	if !ok {
		key = e.newSharedKey(cfg, entry)
		e.shared[entry] = key
	}
	return key
}

func (e *clientEnv) newSharedKey(cfg *config.Config, entry *config.Server) string {
	root := e.root(cfg)
	if entry.Roots != nil {
		root = "" // the fingerprint contains the entry's own
	}
	inherited := e.inheritedKey
	if entry.Project != "" { // it gets less, so that fewer changes matter to it
		inherited = digest(entry.Inherited(e.inherited)...)
	}
	return digest("server", entry.Name, entry.Fingerprint(), e.folder(entry), root, inherited, entry.LoginOwner())
}

// keyIn returns the key of an owner's server of a configuration by its name, or "" if the configuration does not want
// it, or not for an owner of its own.
func (e *clientEnv) keyIn(cfg *config.Config, name string, of owner) string {
	entry, err := cfg.Server(name)
	if err != nil || entry.Disabled || entry.Usable() != nil {
		return ""
	}
	now := ownerOf(entry, tool.CallOptions{Principal: of.principal, Session: of.session})
	if entry.Credentials == config.Forwarded {
		now.forwarded = of.forwarded
	}
	return e.key(cfg, entry, now)
}

// root returns the folder that servers whose entry has no roots get as theirs, or "".
func (e *clientEnv) root(cfg *config.Config) string {
	if !e.roots {
		return ""
	}
	return e.env.Root(cfg.Sources)
}

// folder returns the folder that a server runs in.
func (e *clientEnv) folder(entry *config.Server) string { return cmp.Or(entry.Cwd, e.env.Dir) }

// open opens a caller for one server of a configuration. o has what the configuration does not say.
func (h *Host) open(e *clientEnv, cfg *config.Config, entry *config.Server, o CallerOptions) engine.Caller {
	o.Dir, o.Root, o.EnvFile = e.env.Dir, e.root(cfg), e.env.WhereToPut(cfg.Sources)
	o.Environ = append(slices.Clip(e.inherited), "PWD="+e.folder(entry))
	own, only := *entry, *cfg
	path, _ := e.env.Lookup("PATH")
	own.Command = program(entry.Command, path)
	only.Servers = []*config.Server{&own}
	return h.opt.NewCaller(&only, o)
}

func digest(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		h.Write([]byte(text))
		h.Write([]byte{0, 0}) // an assignment of the environment contains no NUL
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
