package config

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// Selection holds the files that the command line names: --config and --env-file.
type Selection struct{ Configs, EnvFiles []string }

// Source is a file in use.
type Source struct {
	Path  string `json:"path"` // absolute
	Why   string `json:"why"`
	MTime int64  `json:"mtime"` // nanoseconds since 1970
	Size  int64  `json:"size"`  // bytes
}

// Looked is a place where Locate looked for a file.
type Looked struct {
	Path string `json:"path"`
	Note string `json:"note"` // what was there
	Used bool   `json:"used"`
}

// Sources holds the files in force.
type Sources struct {
	Configs, EnvFiles []Source
	// Looked lists all places tried, in order.
	Looked []Looked
	// Explicit says that the user named the configuration, by a flag or a variable.
	Explicit bool

	project string // the folder of the project configuration that was found; may be empty
	tried   int    // how many of Looked are places for a configuration
}

// whyEnvFile is the Why of an environment file that --env-file names.
const whyEnvFile = "--env-file"

// Locate finds the configuration and environment files, by stat alone.
//
// Configuration: --config, else MCPL_CONFIG (paths separated as in PATH), else the first found of .mcp.json and
// .claude/mcp.json in the working directory and its parents up to the repository root, else ~/.claude/mcp.json.
// Environment files: --env-file, else all that exist of .env in the working directory, .env in the folder of the
// project configuration, and ~/.claude/.env.
//
// A named file that does not exist is a fault.Config. Not to find a configuration is not an error: Configs is empty
// then, see [Sources.NoConfig].
func (e Env) Locate(sel Selection) (*Sources, error) {
	s := &Sources{}
	named, why := sel.Configs, "--config"
	if value := e.get("MCPL_CONFIG"); len(named) == 0 && value != "" {
		named, why = e.splitList(value), "MCPL_CONFIG"
	}
	if len(named) > 0 {
		s.Explicit = true
		if err := e.named(s, &s.Configs, named, why); err != nil {
			return nil, err
		}
	} else {
		e.discover(s)
	}
	s.tried = len(s.Looked)
	return s, e.locateEnvFiles(s, sel)
}

// locateEnvFiles adds the environment files, once the configuration is known.
func (e Env) locateEnvFiles(s *Sources, sel Selection) error {
	if len(sel.EnvFiles) > 0 {
		return e.named(s, &s.EnvFiles, sel.EnvFiles, whyEnvFile)
	}
	s.try(&s.EnvFiles, filepath.Join(e.Dir, ".env"), "in the working directory")
	if s.project != "" && s.project != e.Dir {
		s.try(&s.EnvFiles, filepath.Join(s.project, ".env"), "beside the project's configuration")
	}
	if user := e.userEnvFile(); user != filepath.Join(e.Dir, ".env") {
		s.try(&s.EnvFiles, user, "in your home folder")
	}
	return nil
}

func (e Env) userConfig() string  { return filepath.Join(e.Home, ".claude", "mcp.json") }
func (e Env) userEnvFile() string { return filepath.Join(e.Home, ".claude", ".env") }

// splitList splits a list of paths as the system separates them; empty parts are dropped.
func (e Env) splitList(list string) []string {
	separator := ":"
	if e.GOOS == "windows" {
		separator = ";"
	}
	return slices.DeleteFunc(strings.Split(list, separator), func(path string) bool { return path == "" })
}

// named adds files that the user named. A file may also be a pipe, but must exist.
func (e Env) named(s *Sources, list *[]Source, paths []string, why string) error {
	for _, path := range paths {
		path = absolute(path, e.Dir, e.Home)
		if slices.ContainsFunc(*list, func(f Source) bool { return f.Path == path }) {
			continue
		}
		if !s.try(list, path, why) {
			return fault.New(fault.Config, fmt.Sprintf("%s: cannot use %s: %s", why, path, s.Looked[len(s.Looked)-1].Note),
				fmt.Sprintf("Correct the path, or omit %s to use the files that mcpl finds.", why)).
				Then("See which those are with", fault.Step{Verb: "config"})
		}
	}
	return nil
}

func (e Env) discover(s *Sources) {
	for dir := range e.Upwards() {
		why := "in the working directory"
		if dir != e.Dir {
			why = "in a parent of the working directory, within the repository"
		}
		if s.try(&s.Configs, filepath.Join(dir, ".mcp.json"), why) ||
			s.try(&s.Configs, filepath.Join(dir, ".claude", "mcp.json"), why) {
			s.project = dir
			return
		}
	}
	user := e.userConfig()
	if !slices.ContainsFunc(s.Looked, func(l Looked) bool { return l.Path == user }) {
		s.try(&s.Configs, user, "in your home folder")
	}
}

// Upwards yields the working directory and its parents up to the root of the repository: the folders that may hold a
// project's files. It looks for the root once the first folder is not enough.
func (e Env) Upwards() iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(e.Dir) {
			return
		}
		root, _ := repository(e.Dir)
		for dir := e.Dir; dir != root; {
			if dir = filepath.Dir(dir); !yield(dir) {
				return
			}
		}
	}
}

// repository returns the root of the repository that dir is in: the nearest folder with a .git (a folder, or a file
// in worktrees and submodules). Outside of a repository, root is dir itself.
func repository(dir string) (root string, inside bool) {
	for at := dir; ; {
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			return at, true
		}
		parent := filepath.Dir(at)
		if parent == at {
			return dir, false
		}
		at = parent
	}
}

// try adds path to list if there is a file, and records what was there.
func (s *Sources) try(list *[]Source, path, why string) bool {
	info, err := os.Stat(path)
	look := Looked{Path: path, Note: why}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		look.Note = "not there"
	case err != nil:
		look.Note = reason(err)
	case info.IsDir():
		look.Note = "a folder, not a file"
	default:
		look.Used = true
		*list = append(*list, Source{Path: path, Why: why, MTime: info.ModTime().UnixNano(), Size: info.Size()})
	}
	s.Looked = append(s.Looked, look)
	return look.Used
}

// Key names the cache folder of this set of files: 16 hex digits of a SHA-256 over the absolute paths of the
// configuration files and of the environment files that --env-file names, in order. An environment file that was
// merely found does not enter: creating one must not start every server again, and its changes show in the
// fingerprints of the servers that use it.
func (s *Sources) Key() string {
	texts := []string{"mcpl sources 1"}
	for _, f := range s.Configs {
		texts = append(texts, "config", f.Path)
	}
	for _, f := range s.EnvFiles {
		if f.Why == whyEnvFile {
			texts = append(texts, "env", f.Path)
		}
	}
	return digest(texts)[:16]
}

// minimal is a configuration to paste. Its server needs Node.js and no account.
const minimal = `{
  "mcpServers": {
    "everything": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-everything"]
    }
  }
}`

// NoConfig returns the fault of having no configuration: all places that were tried, in order, and a minimal file to
// paste.
func (s *Sources) NoConfig() *fault.Fault {
	f := fault.New(fault.Config, "no configuration of MCP servers was found", "")
	for _, l := range s.Looked[:s.tried] {
		f.Trace(fmt.Sprintf("looked for %s: %s", l.Path, l.Note))
	}
	where := ".mcp.json"
	if s.tried > 0 {
		where = s.Looked[0].Path
	}
	f.Help = fmt.Sprintf("Put your servers into %s, for a start:\n%s\n", where, minimal)
	return f.Then("Then list their tools with", fault.Step{Verb: "list", Args: []string{"--refresh"}}).
		Then("Or name a file that you have", fault.Step{Verb: "list", Args: []string{"--config", "FILE"}})
}

// WhereToPut returns the environment file that a missing variable belongs in: the first one in use, else the one that
// would be found beside the configuration.
func (e Env) WhereToPut(s *Sources) string {
	switch {
	case len(s.EnvFiles) > 0:
		return s.EnvFiles[0].Path
	case s.project != "":
		return filepath.Join(s.project, ".env")
	case len(s.Configs) > 0 && s.Configs[0].Path == e.userConfig():
		return e.userEnvFile()
	default:
		return filepath.Join(e.Dir, ".env")
	}
}

// Root returns the folder of the project: the one whose configuration was found, else the working directory.
func (e Env) Root(s *Sources) string {
	if s.project != "" {
		return s.project
	}
	return e.Dir
}

// projectDir returns the folder that relative paths in a configuration file start from: the file's own folder, or the
// parent of a client's dot folder.
func projectDir(path string) string {
	dir := filepath.Dir(path)
	switch filepath.Base(dir) {
	case ".claude", ".vscode", ".cursor":
		return filepath.Dir(dir)
	}
	return dir
}
