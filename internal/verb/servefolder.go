package verb

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// workIn makes another folder, unless it is "", the working directory of the session. The process stays where it is.
func (s *Session) workIn(dir string) error {
	if dir == "" {
		return nil
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(s.App.Env.Dir, dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fault.New(fault.Config, "--cwd: there is no folder "+dir, "Correct the path, or omit --cwd.")
	}
	app := *s.App // that of the caller may serve other sessions
	app.Env.Dir = filepath.Clean(dir)
	s.App = &app
	if err := s.Engine.Close(); err != nil {
		return err
	}
	notices, err := s.open()
	if err != nil {
		return err
	}
	for _, notice := range notices {
		s.Printer.Notice("%s", notice)
	}
	s.Engine = s.newEngine(s.selection())
	return nil
}

// serveHere returns how mcpl serve finds the configuration of this session from any folder: by itself, if it is the
// user's own; a tools.toml by its folder, so that it stays a file that comes with a project; else by the paths of all
// files. Servers that are found with a project and that no one has approved are a fault.ApprovalRequired: a file that
// is named needs no approval.
func (s *Session) serveHere() (*way, error) {
	env, w := s.App.Env, &way{args: []string{"serve"}}
	here, err := env.Locate(s.selection())
	if err != nil {
		return nil, err
	}
	if len(here.Configs) == 0 {
		w.notes = append(w.notes, "There is no configuration yet: mcpl serve has no servers until there is one.")
		return w, nil
	}
	cfg, err := env.Load(here)
	if err != nil {
		return nil, err
	}
	w.noteShell(env, cfg)
	own, err := elsewhere(env).Locate(config.Selection{Trusted: s.Settings.Trusted})
	if err == nil && sameFiles(here, own) {
		return w, nil
	}
	for _, file := range here.Configs {
		if file.Irregular {
			return nil, fault.New(fault.Config, file.Path+" is not a regular file, and will be gone when the client reads it",
				"Put the configuration into a file.")
		}
	}
	env.Dir = env.Root(here)
	w.args = append(w.args, "--cwd", env.Dir)
	sel := config.Selection{Trusted: s.Settings.Trusted, Tools: true}
	if !here.HasTools() || !here.Configs[0].Found {
		if err := w.name(here, cfg, &sel); err != nil {
			return nil, err
		}
	}
	there, err := env.Locate(sel)
	if err != nil {
		return nil, err
	}
	if !sameFiles(here, there) {
		for _, file := range here.EnvFiles {
			w.args = append(w.args, "--env-file", file.Path)
		}
	}
	return w, nil
}

// name adds the configuration files by their paths.
func (w *way) name(here *config.Sources, cfg *config.Config, sel *config.Selection) error {
	for _, file := range here.Configs {
		w.args = append(w.args, "--config", file.Path)
		sel.Configs = append(sel.Configs, file.Path)
		if !file.Found {
			continue
		}
		var waiting []string
		for _, server := range cfg.Servers {
			if server.Unapproved != nil && !server.Disabled {
				waiting = append(waiting, server.Name)
			}
		}
		if len(waiting) > 0 {
			return fault.New(fault.ApprovalRequired, fmt.Sprintf("no one has approved %s of %s, and an entry that names the "+
				"file would do without", strings.Join(waiting, ", "), file.Path), "").
				Then("A person approves first, and types this again after it", fault.Step{Verb: "trust"})
		}
		w.notes = append(w.notes, fmt.Sprintf("The entry names %s, so the client starts all servers in it without an "+
			"approval, also those that are put there later.", file.Path))
	}
	return nil
}

// noteShell notes the variables that have their value from this shell alone.
func (w *way) noteShell(env config.Env, cfg *config.Config) {
	var names []string
	for _, v := range cfg.Variables {
		if v.From == "process environment" && !config.IsPlain(v.Name) {
			names = append(names, v.Name)
		}
	}
	if len(names) > 0 {
		w.notes = append(w.notes, fmt.Sprintf("From this shell alone, which the client may not have: %s. Put values into %s.",
			strings.Join(names, ", "), env.WhereToPut(cfg.Sources)))
	}
}

// elsewhere returns the environment of a client that starts mcpl outside of all projects.
func elsewhere(env config.Env) config.Env {
	lookup := env.Lookup
	env.Dir = filepath.VolumeName(env.Home) + string(filepath.Separator)
	env.Lookup = func(name string) (string, bool) {
		if name == "MCPL_CONFIG" {
			return "", false
		}
		return lookup(name)
	}
	return env
}

// sameFiles reports whether two sources are the same configuration and environment files.
func sameFiles(one, two *config.Sources) bool {
	same := func(a, b config.Source) bool { return a.Path == b.Path }
	return slices.EqualFunc(one.Configs, two.Configs, same) && slices.EqualFunc(one.EnvFiles, two.EnvFiles, same)
}
