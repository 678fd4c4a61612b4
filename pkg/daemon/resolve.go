package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
)

// CallerOptions are what a caller for one server is opened with.
type CallerOptions struct {
	// Dir is where a server without a cwd runs, Environ what it inherits.
	Dir     string
	Environ []string
	// Root is the project's folder, which servers are told of.
	Root string
	// EnvFile is the environment file that help texts name.
	EnvFile string
	// The limits of phases for servers whose entry sets none; Force beats the entries.
	ConnectTimeout, CallTimeout, ForceConnectTimeout time.Duration
	// Log is told what happens, secrets masked; nil: nobody listens.
	Log func(server, event string)
}

// surroundings are what a client's configuration is resolved with.
type surroundings struct {
	dir     string
	environ []string
	env     config.Env
	sel     config.Selection
}

func surroundingsOf(q *query) surroundings {
	s := surroundings{dir: q.Dir, environ: q.environ(), sel: config.Selection{Configs: q.Configs, EnvFiles: q.EnvFiles}}
	s.env = config.Env{Dir: q.Dir, Home: q.Home, GOOS: runtime.GOOS, Lookup: s.lookup}
	return s
}

// lookup is os.LookupEnv for the client's environment: of a name that occurs twice the first counts.
func (s surroundings) lookup(name string) (string, bool) {
	for _, assignment := range s.environ {
		if key, value, ok := strings.Cut(assignment, "="); ok && key == name {
			return value, true
		}
	}
	return "", false
}

// program returns the program that a bare name stands for in the client's PATH: the daemon's own
// may be another. A name that is not found there stays as it is, and fails to start as it should.
func (s surroundings) program(name string) string {
	if strings.ContainsRune(name, '/') {
		return name
	}
	path, _ := s.lookup("PATH")
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return name
}

// origin identifies the surroundings.
func (s surroundings) origin() string {
	return digest("origin", s.dir, strings.Join(s.sel.Configs, "\x00"), strings.Join(s.sel.EnvFiles, "\x00"), strings.Join(s.environ, "\x00"))
}

// load reads the configuration as the client would.
func (s surroundings) load() (*config.Config, error) {
	src, err := s.env.Locate(s.sel)
	if err != nil {
		return nil, err
	}
	if len(src.Configs) == 0 {
		return nil, src.NoConfig()
	}
	return s.env.Load(src)
}

// key identifies the process that serves an entry for this client: what it is started with, where,
// and what it inherits. Clients of the same key share a server.
func (s surroundings) key(server *config.Server, root string, inherited []string) string {
	dir := server.Cwd
	if dir == "" {
		dir = s.dir
	}
	if server.Roots != nil {
		root = "" // in the fingerprint there are others
	}
	return digest("server", server.Name, server.Fingerprint(), dir, root, strings.Join(inherited, "\x00"))
}

// spec describes the wanted server to the hub.
func (d *server) spec(q *query) (spec, *config.Server, error) {
	s := surroundingsOf(q)
	cfg, err := s.load()
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
	inherited := inheritable(s.environ)
	root := s.env.Root(cfg.Sources)
	key := s.key(server, root, inherited)
	dir := server.Cwd
	if dir == "" {
		dir = s.dir
	}
	server.Command = s.program(server.Command)
	o := CallerOptions{Dir: s.dir, Root: root, Environ: append(slices.Clip(inherited), "PWD="+dir), EnvFile: s.env.WhereToPut(cfg.Sources),
		ConnectTimeout: q.ConnectTimeout, CallTimeout: q.CallTimeout, ForceConnectTimeout: q.ForceConnectTimeout}
	return spec{key: key, name: server.Name, origin: s.origin(),
		idle: firstSet(server.Idle, q.Idle, defaultIdle), keep: server.Lifecycle == config.KeepAlive, process: server.Transport == config.Stdio,
		current: func(name string) string {
			if name == server.Name {
				return key
			}
			other, err := cfg.Server(name)
			if err != nil || other.Disabled || other.Usable() != nil {
				return ""
			}
			return s.key(other, root, inherited)
		},
		open: func(log func(server, text string)) engine.Caller {
			o.Log = log
			return d.opt.NewCaller(cfg, o)
		}}, server, nil
}

// defaultIdle is after how long without a request a server is stopped.
const defaultIdle = 15 * time.Minute

func firstSet(ds ...time.Duration) time.Duration {
	for _, d := range ds {
		if d > 0 {
			return d
		}
	}
	return 0
}

// inheritable returns what of a client's environment its servers inherit here, sorted. What
// belongs to the one terminal or the one command it was typed in is left out: it would either
// leak into what others share, or make every terminal start servers of its own.
func inheritable(environ []string) []string {
	var kept []string
	for _, assignment := range environ {
		name, _, _ := strings.Cut(assignment, "=")
		if !momentary(name) {
			kept = append(kept, assignment)
		}
	}
	slices.Sort(kept)
	return kept
}

// momentary reports whether a variable speaks of a terminal, a shell or a single command.
func momentary(name string) bool {
	switch name {
	case "_", "PWD", "OLDPWD", "SHLVL", "TERM", "COLORTERM", "COLUMNS", "LINES", "WINDOWID", "WINDOW", "STY", "TMUX", "TMUX_PANE",
		"GPG_TTY", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "XDG_SESSION_ID", "STARSHIP_SESSION_KEY", "ATUIN_SESSION",
		"TERM_SESSION_ID", "ITERM_SESSION_ID", "WEZTERM_PANE", "KITTY_WINDOW_ID", "ALACRITTY_WINDOW_ID", "WT_SESSION", "NO_COLOR":
		return true
	}
	return strings.HasPrefix(name, "MCPL_") || strings.HasPrefix(name, "TERM_PROGRAM")
}

func digest(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		h.Write([]byte(text))
		h.Write([]byte{0, 0}) // an assignment of the environment holds no NUL
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
