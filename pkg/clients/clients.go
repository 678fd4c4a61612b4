// Package clients knows the files that other clients have their MCP servers in: the place of each client's files on
// each system, and the meaning of its format in mcpl's terms.
//
// Call [Find] for the servers that are there, and [OutletOf] and [Outlet.Plan] to put mcpl itself into a client's file.
// The package reads and never writes: internal/verb decides what to import or change, and pkg/config writes. Literal
// secrets pass through it unchanged and unprinted.
package clients

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// Found is one server in a client's file.
type Found struct {
	Client string
	File   string
	Line   int // from 1; zero if the format has no lines
	Name   string
	Entry  config.Entry
	// Skip says why the entry cannot be imported. It is empty if it can.
	Skip string
	// Notes say what will differ in mcpl, or what a person must do by hand.
	Notes []string
}

// Looked is a place where a client keeps its servers.
type Looked struct {
	Client string `json:"client"`
	Path   string `json:"path"`
	// Note says what was there: "not there", "no servers", or why it cannot be read. It is empty for a file with
	// servers.
	Note    string `json:"note,omitempty"`
	Servers int    `json:"servers"`
}

// client is one client and its format.
type client struct {
	name   string
	places func(finder) []place
	// server reads one entry.
	server func(*reader) config.Entry
	// text replaces the references in a text of an entry by mcpl's.
	text func(*reader, string) string
}

// place is a file of a client, and the objects of servers in it.
type place struct {
	path string
	// keys lead to objects of servers: {"mcpServers"}, {"projects", DIR, "mcpServers"} ... If several hold a server of
	// the same name, the first counts.
	keys [][]string
	// project is the folder that relative paths start from. It is empty for a file of the user's.
	project string
}

// all returns the clients, in the order in which their servers count.
func all() []client {
	return []client{
		{"claude-code", claudeCode, plainServer, asItIs},
		{"claude-desktop", claudeDesktop, plainServer, escaped},
		{"cursor", cursor, plainServer, editorVariables},
		{"vscode", vscode, plainServer, editorVariables},
		{"windsurf", windsurf, plainServer, editorVariables},
		{"codex", codex, codexServer, escaped},
		{"gemini", gemini, geminiServer, shellVariables},
		{"opencode", opencode, opencodeServer, braceVariables},
		{"zed", zed, zedServer, escaped},
	}
}

// Names returns the names of the clients.
func Names() []string {
	var names []string
	for _, c := range all() {
		names = append(names, c.name)
	}
	return names
}

// Find reads the files of the named clients, and returns their servers and the places it looked at. Without names it
// reads those of all clients. A file that cannot be read hides no other: its Looked says why. An unknown name is a
// fault.Usage.
func Find(env config.Env, names []string) ([]Found, []Looked, error) {
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return nil, nil, fault.New(fault.Usage, "unknown client "+`"`+name+`"`,
				"--from takes one of: "+strings.Join(Names(), ", "))
		}
	}
	var found []Found
	var looked []Looked
	for _, c := range all() {
		if len(names) > 0 && !slices.Contains(names, c.name) {
			continue
		}
		for _, p := range c.places(finder{env}) {
			var servers []Found
			data, err := config.ReadForeign(p.path)
			if err == nil {
				servers, err = c.parse(env, p, data)
			}
			l := Looked{Client: c.name, Path: p.path, Servers: len(servers)}
			switch {
			case errors.Is(err, fs.ErrNotExist):
				l.Note = "not there"
			case err != nil:
				l.Note = fault.From(err).Message
			case len(servers) == 0:
				l.Note = "no servers"
			}
			looked = append(looked, l)
			found = append(found, servers...)
		}
	}
	return found, looked, nil
}

// parse reads the bytes of a client's file.
func (c client) parse(env config.Env, p place, data []byte) ([]Found, error) {
	if len(strings.TrimSpace(string(data))) == 0 {
		return nil, nil
	}
	parse := parseJSON
	if strings.HasSuffix(p.path, ".toml") {
		parse = parseTOML
	}
	servers, err := parse(p, data)
	if err != nil {
		return nil, err
	}
	found := make([]Found, 0, len(servers))
	for _, s := range servers {
		if slices.ContainsFunc(found, func(f Found) bool { return f.Name == s.name }) {
			continue
		}
		r := &reader{env: env, client: c, place: p, fields: s.fields}
		if s.fields == nil {
			r.skip("its entry is not an object")
		}
		entry := c.server(r)
		if entry.Command == "" && entry.URL == "" {
			r.skip("it has no command and no url")
		}
		found = append(found, Found{Client: c.name, File: p.path, Line: s.line, Name: s.name, Entry: entry, Skip: r.reason,
			Notes: r.notes})
	}
	return found, nil
}

// finder knows the folders of a system.
type finder struct{ env config.Env }

// home returns a path in the user's home folder.
func (f finder) home(elem ...string) string {
	return filepath.Join(append([]string{f.env.Home}, elem...)...)
}

// variable returns the folder that a variable names if it is an absolute path, else otherwise.
func (f finder) variable(name, otherwise string) string {
	if dir, _ := f.env.Lookup(name); filepath.IsAbs(dir) {
		return dir
	}
	return otherwise
}

// appData returns the folder in which desktop programs keep their settings: %APPDATA% on Windows,
// ~/Library/Application Support on macOS, $XDG_CONFIG_HOME or ~/.config elsewhere.
func (f finder) appData() string {
	switch f.env.GOOS {
	case "windows":
		return f.variable("APPDATA", f.home("AppData", "Roaming"))
	case "darwin":
		return f.home("Library", "Application Support")
	}
	return f.configHome()
}

// configHome returns $XDG_CONFIG_HOME or ~/.config.
func (f finder) configHome() string { return f.variable("XDG_CONFIG_HOME", f.home(".config")) }

// project returns the place of a project's file in each folder from the working directory up to
// the root of the repository.
func (f finder) project(keys [][]string, elem ...string) []place {
	var places []place
	for dir := range f.env.Upwards() {
		path := filepath.Join(append([]string{dir}, elem...)...)
		if path != f.home(elem...) { // the user's file, if the home folder is a repository
			places = append(places, place{path: path, keys: keys, project: dir})
		}
	}
	return places
}
