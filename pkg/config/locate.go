package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// Selection says which files to use.
type Selection struct {
	// Configs and EnvFiles are the files that the command line names: --config and --env-file.
	Configs, EnvFiles []string
	// Trusted are the folders of the setting "trusted". Files in them count whoever owns them.
	Trusted []string
	// Tools says that a tools.toml in the working directory is taken before other files that are found.
	Tools bool
}

// Source is a file in use.
type Source struct {
	Path  string `json:"path"` // absolute
	Why   string `json:"why"`
	MTime int64  `json:"mtime"` // nanoseconds since 1970
	Size  int64  `json:"size"`  // bytes
	// Found says that the file comes with a project: it was found from the working directory, and not named, and is not
	// the user's own.
	Found bool `json:"found,omitempty"`
	// Irregular says that the file is a pipe or a device: it can perhaps be read only once, and reading it may wait.
	Irregular bool `json:"-"`
}

// Looked is a place where Locate looked for a file.
type Looked struct {
	Path string `json:"path"`
	Note string `json:"note"` // what was there
	Used bool   `json:"used"`
	// Refused says that there is a file, which is not used because others could have written it.
	Refused bool `json:"refused,omitempty"`
}

// Sources holds the files in force.
type Sources struct {
	Configs, EnvFiles []Source
	// Looked lists all places tried, in order.
	Looked []Looked

	project string // the folder of the project configuration that was found; may be empty
	tried   int    // how many of Looked are places for a configuration
	trusts  func(folder string) bool
}

// whyEnvFile is the Why of an environment file that --env-file names.
const whyEnvFile = "--env-file"

// Locate finds the configuration and environment files, by stat alone.
//
// Configuration: --config, else MCPL_CONFIG (paths separated as in PATH), else a tools.toml in the working directory if
// the selection takes one, else the first found of .mcp.json and .claude/mcp.json in the working directory and its
// parents up to the repository root, else ~/.claude/mcp.json.
// Environment files: --env-file, else all that exist of .env in the working directory, .env in the folder of the
// project configuration, and ~/.claude/.env.
//
// A named file that does not exist is a fault.Config. Not to find a configuration is not an error: Configs is empty
// then, see [Sources.NoConfig].
func (e Env) Locate(sel Selection) (*Sources, error) {
	s := e.sources(sel)
	named, why := sel.Configs, "--config"
	if value := e.get("MCPL_CONFIG"); len(named) == 0 && value != "" {
		named, why = e.splitList(value), "MCPL_CONFIG"
	}
	if len(named) > 0 {
		if err := e.named(s, &s.Configs, named, why); err != nil {
			return nil, err
		}
	} else {
		finder{e, s}.configs(sel.Tools)
	}
	s.tried = len(s.Looked)
	return s, e.locateEnvFiles(s, sel)
}

// sources returns sources without files.
func (e Env) sources(sel Selection) *Sources { return &Sources{trusts: e.TrustsFolder(sel.Trusted)} }

// locateEnvFiles adds the environment files, once the configuration is known.
func (e Env) locateEnvFiles(s *Sources, sel Selection) error {
	if len(sel.EnvFiles) > 0 {
		return e.named(s, &s.EnvFiles, sel.EnvFiles, whyEnvFile)
	}
	finder{e, s}.envFiles()
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

// try adds path to list if there is a file, and records what was there.
func (s *Sources) try(list *[]Source, path, why string) bool {
	return s.tryFound(list, Source{Path: path, Why: why}, func(fs.FileInfo) string { return "" })
}

// tryFound is try for a file that refuse may refuse, by saying why.
func (s *Sources) tryFound(list *[]Source, file Source, refuse func(fs.FileInfo) string) bool {
	info, err := os.Stat(file.Path)
	file.Irregular = err == nil && !info.Mode().IsRegular()
	look := Looked{Path: file.Path, Note: file.Why}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		look.Note = "not there"
	case err != nil:
		look.Note = atomicfile.Reason(err)
	case info.IsDir():
		look.Note = "a folder, not a file"
	case file.Found && list == &s.Configs && file.Irregular:
		// A pipe would make every verb wait. As an environment file password managers make one.
		look.Note = "not a regular file"
	default:
		if refused := refuse(info); refused != "" {
			look.Note, look.Refused = refused, true
			break
		}
		look.Used = true
		file.MTime, file.Size = info.ModTime().UnixNano(), info.Size()
		*list = append(*list, file)
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
// paste; or, if there is a file that does not count, why it does not and what to do.
func (s *Sources) NoConfig() *fault.Fault {
	f := fault.New(fault.Config, "no configuration of MCP servers was found", "")
	for _, l := range s.Looked[:s.tried] {
		f.Trace(fmt.Sprintf("looked for %s: %s", l.Path, l.Note))
	}
	for _, l := range s.Looked[:s.tried] {
		if l.Refused {
			f.Message = fmt.Sprintf("no configuration of MCP servers was found that counts: %s is %s", l.Path, l.Note)
			f.Help = "Another user could have written it. Read it, and make what the reason names yours alone (chown, " +
				`chmod go-w), or add its folder to "trusted" in config.toml.`
			return f.Then("Or name it, which uses it as your own, as in",
				fault.Step{Verb: "list", Args: []string{"--config", l.Path}})
		}
	}
	f.Help = fmt.Sprintf("Put your servers into %s, for a start:\n%s\n", s.FirstPlace(), minimal)
	return f.Then("Then list their tools with", fault.Step{Verb: "list", Args: []string{"--refresh"}}).
		Then("Or name a file that you have", fault.Step{Verb: "list", Args: []string{"--config", "FILE"}})
}

// FirstPlace returns the path of the configuration file that is looked for first.
func (s *Sources) FirstPlace() string {
	if i := slices.IndexFunc(s.Looked[:s.tried], func(l Looked) bool { return !isToolsFile(l.Path) }); i >= 0 {
		return s.Looked[i].Path
	}
	return ".mcp.json"
}

// WhereToPut returns the environment file that a missing variable belongs in: the first one in use, else the one that
// would be found beside the configuration.
func (e Env) WhereToPut(s *Sources) string {
	switch {
	case len(s.Configs) > 0 && s.Configs[0].Path == e.userConfig() && len(s.EnvFiles) > 0 && s.EnvFiles[0].Found:
		return e.userEnvFile()
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
