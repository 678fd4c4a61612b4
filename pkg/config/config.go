// Package config finds the servers that people have already configured, and mcpl's own settings.
//
// Make an [Env] with [ProcessEnv]. [Env.Locate] finds the configuration and environment files by stat alone, which is
// all that a search on a fresh cache needs. [Env.Load] parses them and fills in ${VAR}; [Config.Server] gives one
// server, whose [Server.Fingerprint] tells one resolved entry from another and whose [Server.Mask] keeps secrets out
// of what others print. One bad entry is a [Problem] and hides no other. [Env.LoadSettings] reads mcpl's settings.
// [Env.Edit], [SetEntry] and [RemoveEntry] change a configuration file.
//
// Package conn starts servers and connects to them, package index stores what they offer, package output prints, and
// package state knows what a person has switched off by command.
package config

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// Env holds what mcpl reads of its process, as values, so that tests need no globals.
type Env struct {
	// Dir is the working directory and Home the user's folder, both absolute.
	Dir, Home string
	// Lookup returns the value of an environment variable: os.LookupEnv in main.
	Lookup func(string) (string, bool)
	// GOOS is the system whose conventions for folders and path lists apply.
	GOOS string
	// Approver says which servers of a project's configuration may be used. If nil, none may.
	Approver Approver
}

// ProcessEnv returns the real process environment. It fails with a fault.Config if the process has no working
// directory or no home.
func ProcessEnv() (Env, error) {
	dir, err := os.Getwd()
	if err != nil {
		return Env{}, fault.New(fault.Config, "the working directory is gone or not readable",
			"Change to a folder that exists, and try again: cd ~").Because(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return Env{}, fault.New(fault.Config, "your home folder is not known",
			"Say where it is: export HOME=/path/to/your/home").Because(err)
	}
	return Env{Dir: dir, Home: home, Lookup: os.LookupEnv, GOOS: runtime.GOOS}, nil
}

// get returns the value of an environment variable. It is empty if the variable is not set.
func (e Env) get(name string) string {
	value, _ := e.Lookup(name)
	return value
}

// Config is everything that the configuration files say.
type Config struct {
	Sources *Sources
	// Servers holds all sound entries in file order, also those with missing variables and those switched off. The first
	// definition of a name wins.
	Servers []*Server
	// Toolsets are those of the first tools.toml among the files. It is nil if there is none.
	Toolsets *Toolsets
	// Problems lists what is wrong or worth knowing, in the order of reading.
	Problems []Problem
	// Variables lists all ${VAR}s that entries refer to, sorted by name.
	Variables []Variable
	// EnvNames lists all variables whose value in the process environment can make a difference to the servers, sorted.
	// See [Env.EnvDigest].
	EnvNames []string
}

// Severity says how much a [Problem] matters.
type Severity string

// The severities of problems.
const (
	Error   Severity = "error"   // the entry or file cannot be used
	Warning Severity = "warning" // it is used, but not as it was probably meant
	Notice  Severity = "notice"  // nothing is wrong; good to know
)

// Problem is something wrong in a file. It never quotes values.
type Problem struct {
	Severity Severity `json:"severity"`
	File     string   `json:"file"`
	Line     int      `json:"line,omitempty"` // from 1; zero: the whole file
	Server   string   `json:"server,omitempty"`
	Message  string   `json:"message"`
	Fix      string   `json:"fix"`
}

// Variable is a ${VAR} that entries refer to. Its value is not here.
type Variable struct {
	Name string `json:"name"`
	// From is "process environment" or the path of an environment file. It is empty if the variable is not set.
	From    string   `json:"from,omitempty"`
	Set     bool     `json:"set"`
	Servers []string `json:"servers"`
}

// Load reads the files that Locate found. It fails only if a configuration file cannot be read or is not JSON, with a
// fault.Config that names path and line; everything smaller is among the Problems.
func (e Env) Load(src *Sources) (*Config, error) {
	l := loader{env: e, config: &Config{Sources: src}, variables: variables{lookup: e.Lookup}}
	for _, file := range src.EnvFiles {
		l.config.Problems = append(l.config.Problems, l.variables.read(file.Path)...)
	}
	for _, file := range src.Configs {
		data, err := readNamed(file.Path)
		if err != nil {
			return nil, unreadable(file.Path, err, "Make it a readable text file, or name another one with --config FILE.").
				Because(err)
		}
		if err := l.add(file, data); err != nil {
			return nil, err
		}
	}
	l.finish()
	return l.config, nil
}

// loader gathers a Config from its files.
type loader struct {
	env       Env
	config    *Config
	variables variables
}

func (l *loader) add(file Source, data []byte) error {
	servers, sets, problems, err := parseAny(file.Path, data)
	if err != nil {
		return err
	}
	l.config.Toolsets = cmp.Or(l.config.Toolsets, sets)
	l.config.Problems = append(l.config.Problems, problems...)
	l.variables.skips = l.foreign(file)
	for _, s := range servers {
		if first := l.config.find(s.Name); first != nil {
			l.problem(Notice, s, fmt.Sprintf("%s is defined before, in %s line %d, and that definition is used",
				s.Name, first.File, first.Line), "Remove one of the two, or give one another name.")
			continue
		}
		s.Why = file.Why
		if !l.resolve(s) {
			continue
		}
		if l.runsServe(s) {
			l.problem(Notice, s, s.Name+" is mcpl itself, which is not a server behind mcpl",
				"It is for the other clients that read this file.")
			continue
		}
		if file.Found {
			s.Project, s.given = l.config.Sources.project, l.given(s)
			l.env.judge(s)
		}
		l.apiKey(s)
		l.config.Servers = append(l.config.Servers, s)
	}
	return nil
}

// foreign returns the environment files that do not count for the entries of a file of the user's own: those that a
// project brings along. They could turn ${VARIABLES} of these entries to other programs and addresses. A file beside
// the configuration does count, and files in trusted folders. For an entry of the project, or one to be, all count.
func (l *loader) foreign(file Source) (paths []string) {
	src, home := l.config.Sources, projectDir(file.Path)
	if home == src.project {
		return nil
	}
	for _, f := range src.EnvFiles {
		if dir := filepath.Dir(f.Path); f.Found && dir != home && !src.trusts(dir) {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

func (l *loader) isFound(path string) bool {
	return slices.ContainsFunc(l.config.Sources.EnvFiles, func(f Source) bool { return f.Path == path && f.Found })
}

// given returns the values that environment files of the project give to the variables of an entry: they are the
// project's words as the entry is.
func (l *loader) given(s *Server) (list []given) {
	for _, name := range s.References() {
		if val, ok := l.variables.find(name); ok && l.isFound(val.from) {
			list = append(list, given{name, val})
		}
	}
	return list
}

func (l *loader) problem(severity Severity, s *Server, message, fix string) {
	l.config.Problems = append(l.config.Problems, Problem{severity, s.File, s.Line, s.Name, message, fix})
}

// find returns the server of that name. It is nil if there is none.
func (c *Config) find(name string) *Server {
	i := slices.IndexFunc(c.Servers, func(s *Server) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return c.Servers[i]
}

// use records that a server refers to a variable.
func (l *loader) use(name, server string) {
	c := l.config
	i := slices.IndexFunc(c.Variables, func(v Variable) bool { return v.Name == name })
	if i < 0 {
		value, set := l.variables.find(name)
		i = len(c.Variables)
		c.Variables = append(c.Variables, Variable{Name: name, From: value.from, Set: set})
		c.EnvNames = append(append(c.EnvNames, name), value.refers...)
	}
	if used := &c.Variables[i]; !slices.Contains(used.Servers, server) {
		used.Servers = append(used.Servers, server)
	}
}

func (l *loader) finish() {
	slices.SortFunc(l.config.Variables, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(l.config.EnvNames)
	l.config.EnvNames = slices.Compact(l.config.EnvNames)
}

// Server returns the server of that name. If the entry exists but cannot be used, the error is the fault.Config that
// says why. If the name is unknown, it is a fault.ServerNotFound with the nearest names.
func (c *Config) Server(name string) (*Server, error) {
	if s := c.find(name); s != nil {
		return s, nil
	}
	if p := c.broken(name); p != nil {
		message := fmt.Sprintf("the entry of %s cannot be used: %s:%d: %s", name, p.File, p.Line, p.Message)
		return nil, fault.New(fault.Config, message, p.Fix).On(name, "")
	}
	names := c.Names()[:len(c.Servers)]
	f := fault.New(fault.ServerNotFound, fmt.Sprintf("there is no server %q", fault.Name(name)), "").On(name, "")
	if len(names) == 0 {
		f.Help = "No server is configured."
		return nil, f.Then("See which files were read with", fault.Step{Verb: "config"})
	}
	return nil, f.Suggest(nearest(name, names)).Then("See all servers with", fault.Step{Verb: "list"})
}

// Names returns the names of all entries: first the servers, then the entries that cannot be used.
func (c *Config) Names() []string {
	var names []string
	for _, s := range c.Servers {
		names = append(names, s.Name)
	}
	for _, p := range c.Problems {
		if p.Severity == Error && p.Server != "" && !slices.Contains(names, p.Server) {
			names = append(names, p.Server)
		}
	}
	return names
}

// broken returns the first problem of an entry that cannot be used. It is nil if there is no such entry.
func (c *Config) broken(name string) *Problem {
	i := slices.IndexFunc(c.Problems, func(p Problem) bool { return p.Server == name && p.Severity == Error })
	if i < 0 {
		return nil
	}
	return &c.Problems[i]
}

// Faults returns one fault for each entry and each file that cannot be used.
func (c *Config) Faults() []*fault.Fault {
	var list []*fault.Fault
	for _, name := range c.Names()[len(c.Servers):] {
		_, err := c.Server(name)
		list = append(list, fault.From(err))
	}
	for _, p := range c.Problems {
		if p.Severity == Error && p.Server == "" {
			list = append(list, fault.New(fault.Config, fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message), p.Fix))
		}
	}
	return list
}

// Unusable returns the name and the place of an entry that cannot be used.
func (c *Config) Unusable(name string) *Server {
	s := &Server{Name: name}
	if p := c.broken(name); p != nil {
		s.File, s.Line = p.File, p.Line
	}
	return s
}

// absolute returns path made absolute against dir, with a leading ~ replaced by home.
func absolute(path, dir, home string) string {
	path = tilde(path, home)
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path)
}

// tilde replaces a leading ~ by home. The form ~user stays as it is.
func tilde(path, home string) string {
	if path == "~" {
		return home
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rest)
	}
	return path
}

// nearest returns the names that an unknown one may have meant, best first: those within a third of its length in
// edits, and those that are a part of it or that it is a part of.
func nearest(name string, names []string) []string {
	low := strings.ToLower(name)
	limit := max(2, len(name)/3)
	return fault.Nearest(name, names, func(n string) int {
		other := strings.ToLower(n)
		distance := fault.Edits(low, other)
		if len(low) >= 2 && strings.Contains(other, low) || len(other) >= 2 && strings.Contains(low, other) {
			distance = min(distance, limit)
		}
		if distance > limit || distance >= max(len(low), len(other)) {
			return -1
		}
		return distance
	})
}
