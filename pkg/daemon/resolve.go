package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
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
	Limits  tool.Limits
	// Log is told what happens, secrets masked; nil: nobody listens.
	Log func(server, event string)
	// Changed is told that a server says that what it offers has changed; nil: nobody listens.
	Changed func(server string)
	// Listen has connections kept open for servers that say so on no other.
	Listen bool
}

// surroundings are what a client's configuration is resolved with.
type surroundings struct {
	dir     string
	environ []string
	env     config.Env
	sel     config.Selection
}

// surroundingsOf reads them from a request; environ is as kindEnviron has it.
func surroundingsOf(q *query, environ string) surroundings {
	s := surroundings{dir: q.Dir, sel: config.Selection{Configs: q.Configs, EnvFiles: q.EnvFiles}}
	if environ != "" {
		s.environ = strings.Split(environ, separator)
	}
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

// momentary reports whether a variable speaks of a terminal, a window, a shell or a single command.
func momentary(name string) bool {
	switch name {
	case "_", "PWD", "OLDPWD", "SHLVL", "TERM", "COLORTERM", "COLUMNS", "LINES", "WINDOWID", "WINDOW", "NO_COLOR",
		"STY", "TMUX", "TMUX_PANE", "ZELLIJ", "ZELLIJ_PANE_ID", "ZELLIJ_SESSION_NAME", "NVIM", "INSIDE_EMACS",
		"GPG_TTY", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "SUDO_COMMAND", "XDG_SESSION_ID",
		"STARSHIP_SESSION_KEY", "ATUIN_SESSION", "ATUIN_HISTORY_ID", "P9K_TTY", "_P9K_TTY",
		"TERM_SESSION_ID", "ITERM_SESSION_ID", "WEZTERM_PANE", "KITTY_WINDOW_ID", "KITTY_PID", "ALACRITTY_WINDOW_ID",
		"WT_SESSION", "VTE_VERSION", "GNOME_TERMINAL_SCREEN", "KONSOLE_DBUS_SESSION", "KONSOLE_DBUS_WINDOW", "TILIX_ID",
		"TRACEPARENT", "TRACESTATE", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID",
		"MAKELEVEL", "MAKEFLAGS", "MFLAGS", "HYPERFINE_RANDOMIZED_ENVIRONMENT_OFFSET":
		return true
	}
	return strings.HasPrefix(name, "MCPL_") || strings.HasPrefix(name, "TERM_PROGRAM") || strings.HasPrefix(name, "DIRENV_")
}

func digest(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		h.Write([]byte(text))
		h.Write([]byte{0, 0}) // an assignment of the environment holds no NUL
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
