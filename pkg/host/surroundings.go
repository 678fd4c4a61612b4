package host

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Surroundings describe the environment of a client: everything that its configuration is resolved with and its
// servers are started with.
type Surroundings struct {
	// Dir is the client's working directory, Home its user's home folder.
	Dir, Home string
	// Configs and EnvFiles are the files that the client names, as in [config.Selection].
	Configs, EnvFiles []string
	// Trusted are the folders that the client's settings trust, as in [config.Selection].
	Trusted []string
	// Tools is that of [config.Selection].
	Tools bool
	// Environ is the client's environment, as os.Environ gives it. The first assignment of a name counts.
	Environ []string
	// Limits and Idle are the client's settings, for servers whose entry has none. A zero Idle means 15 min. Clients
	// that differ only in these share their servers.
	Limits tool.Limits
	Idle   time.Duration
	// Roots says that servers whose entry has no "roots" get the project's folder as their root.
	Roots bool
}

// key tells client environments apart. No text that it is made of contains NUL.
func (s *Surroundings) key() string {
	join := func(texts []string) string { return strings.Join(texts, "\x00") }
	return strings.Join([]string{s.Dir, s.Home, join(s.Configs), join(s.EnvFiles), join(s.Trusted), join(s.Environ),
		strconv.FormatBool(s.Tools), strconv.FormatBool(s.Roots)}, "\x00\x00")
}

// lookup is os.LookupEnv for another environment.
func lookup(environ []string, name string) (string, bool) {
	for _, assignment := range environ {
		if key, value, ok := strings.Cut(assignment, "="); ok && key == name {
			return value, true
		}
	}
	return "", false
}

// program returns the file that a bare name means in the client's PATH, which may differ from the PATH of this process.
// A name that is not found stays as it is, and fails to start as it should.
func program(name, path string) string {
	if strings.ContainsRune(name, '/') {
		return name
	}
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

// inheritable returns the part of a client's environment that its servers inherit, sorted. Variables of one terminal or
// one command are left out: they would leak into servers that others share, or give every terminal its own servers.
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

// momentary reports whether a variable describes a terminal, a window, a shell or a single command.
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
	return strings.HasPrefix(name, "MCPL_") || strings.HasPrefix(name, "TERM_PROGRAM") ||
		strings.HasPrefix(name, "DIRENV_")
}
