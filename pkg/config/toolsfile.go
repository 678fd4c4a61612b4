package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/pelletier/go-toml/v2"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// toolsFile is the name of Toolman's configuration, which a gateway takes if it stands in the working directory.
const toolsFile = "tools.toml"

// maxToolsFile bounds such a file, in bytes: the time that keys with many dots take grows with their square.
const maxToolsFile = 1 << 20

// isToolsFile reports whether a configuration file is one of Toolman's, by its name.
func isToolsFile(path string) bool { return strings.EqualFold(filepath.Ext(path), ".toml") }

// HasTools reports whether the configuration, or a part of it, is a tools.toml.
func (s *Sources) HasTools() bool {
	return slices.ContainsFunc(s.Configs, func(f Source) bool { return isToolsFile(f.Path) })
}

// Toolsets are what a tools.toml says beside its servers.
type Toolsets struct {
	// Active are globs. Tools and resources start active if their name, with the namespace, matches one.
	Active []string
	// Catalog is the place of the catalogue. It is empty if the file does not say.
	Catalog CatalogPlace
}

// CatalogPlace is where a gateway shows what can be activated.
type CatalogPlace string

// The places of the catalogue.
const (
	InDescription CatalogPlace = "description" // of the tool that activates
	InAnswer      CatalogPlace = "answer"      // of that tool, so that no description changes
)

// toolsValues holds the keys of a tools.toml.
type toolsValues struct {
	Active  []string     `toml:"active_toolsets"`
	Catalog CatalogPlace `toml:"catalog"`
	Servers []toolsEntry `toml:"servers"`
}

// toolsEntry is one [[servers]].
type toolsEntry struct {
	Namespace string `toml:"namespace"`
	Command   string `toml:"command"`
}

// minimalTools is a tools.toml to paste.
const minimalTools = `active_toolsets = ["everything_*"]

[[servers]]
namespace = "everything"
command = "npx -y @modelcontextprotocol/server-everything"`

// parseAny reads the bytes of a configuration file of either kind.
func parseAny(path string, data []byte) ([]*Server, *Toolsets, []Problem, error) {
	if isToolsFile(path) {
		return parseTools(path, data)
	}
	servers, problems, err := parseFile(path, data)
	return servers, nil, problems, err
}

// parseTools reads the bytes of a tools.toml: servers in the order of the file, each named after its namespace. It
// fails with a fault.Config that names the line if the bytes are not TOML, or if a value is of the wrong kind.
func parseTools(path string, data []byte) ([]*Server, *Toolsets, []Problem, error) {
	values, unknown, err := decodeTools(path, data)
	if err != nil {
		return nil, nil, nil, err
	}
	var problems []Problem
	problem := func(severity Severity, line int, server, message, fix string) {
		problems = append(problems, Problem{severity, path, line, server, message, fix})
	}
	for _, key := range unknown {
		line, _ := key.Position()
		problem(Warning, line, "", fmt.Sprintf("%q is not known here and is ignored", strings.Join(key.Key(), ".")),
			"The file has active_toolsets and catalog, and each of its [[servers]] namespace and command.")
	}
	if c := values.Catalog; c != "" && c != InDescription && c != InAnswer {
		problem(Warning, lineOf(data, "catalog"), "", `"catalog" is unknown and is ignored`, `Use "description" or "answer".`)
		values.Catalog = ""
	}
	lines := headings(data, "servers")
	if len(lines) != len(values.Servers) { // they stand in one list
		lines = slices.Repeat([]int{max(1, lineOf(data, "servers"))}, len(values.Servers))
	}
	var list []*Server
	taken := make(map[string]bool)
	for i, entry := range values.Servers {
		name := serverName(entry.Namespace, taken)
		if strings.TrimSpace(entry.Command) == "" {
			problem(Error, lines[i], name, "the server has no command", `Write it as in: command = "npx -y PACKAGE"`)
			continue
		}
		list = append(list, &Server{Name: name, File: path, Line: lines[i], Entry: Entry{
			Transport: Stdio, Command: "sh", Args: []string{"-c", literal(entry.Command)}, Namespace: &entry.Namespace}})
	}
	if len(values.Servers) == 0 {
		problem(Error, 1, "", "the file has no [[servers]]", "Put your servers there, as in:\n"+minimalTools)
	}
	return list, &Toolsets{values.Active, values.Catalog}, problems, nil
}

// decodeTools decodes a tools.toml, and returns the keys that are not known.
func decodeTools(path string, data []byte) (values toolsValues, unknown []toml.DecodeError, err error) {
	if len(data) > maxToolsFile {
		return values, nil, fault.New(fault.Config, path+" is larger than 1 MB", "Split it, or name another file.")
	}
	err = toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&values)
	if strict := new(toml.StrictMissingError); errors.As(err, &strict) {
		return values, strict.Errors, nil
	}
	if err == nil {
		return values, nil, nil
	}
	where, why := path, "not a tools.toml: "+strings.TrimPrefix(err.Error(), "toml: ")
	if wrong := new(toml.DecodeError); errors.As(err, &wrong) {
		line, _ := wrong.Position()
		where = fmt.Sprintf("%s:%d", path, line)
		key := strings.Join(wrong.Key(), ".")
		if kind, known := toolsKinds[strings.ToLower(key)]; known && !isSyntax(data) {
			why = key + " wants " + kind
		}
	}
	return values, nil, fault.New(fault.Config, where+": "+why, "Write it as in:\n"+minimalTools).Because(err)
}

// toolsKinds says which values the keys of a tools.toml take.
var toolsKinds = map[string]string{
	"active_toolsets":   `a list of texts, as in: active_toolsets = ["everything_*"]`,
	"catalog":           `a text: "description" or "answer"`,
	"servers":           "tables that each begin with [[servers]]",
	"servers.namespace": `a text, as in: namespace = "everything"`,
	"servers.command":   `a text, as in: command = "npx -y @modelcontextprotocol/server-everything"`,
}

// isSyntax reports whether bytes are not TOML at all.
func isSyntax(data []byte) bool {
	var values map[string]any
	return toml.Unmarshal(data, &values) != nil
}

// serverName returns a name for the server of a namespace that no other has, and takes it.
func serverName(namespace string, taken map[string]bool) string {
	base := cmp.Or(strings.Map(func(r rune) rune {
		if r == '/' || unicode.IsControl(r) {
			return '_'
		}
		return r
	}, namespace), "server")
	name := base
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	taken[name] = true
	return name
}

// literal returns a text whose "${" are not references: in a command they are the shell's.
func literal(text string) string { return strings.ReplaceAll(text, "${", "$${") }

// headings returns the lines of a TOML file that begin a table of that name.
func headings(data []byte, name string) (lines []int) {
	for i, line := range bytes.Split(data, []byte("\n")) {
		text, _, _ := strings.Cut(string(line), "#")
		text = strings.NewReplacer(" ", "", "\t", "", "\r", "", `"`, "", "'", "", "\ufeff", "").Replace(text)
		if text == "[["+name+"]]" || text == "["+name+"]" {
			lines = append(lines, i+1)
		}
	}
	return lines
}

// lineOf returns the line of a TOML file that sets a key, or 0. The key stands at the beginning of a line, in capitals
// or not, maybe in quotes.
func lineOf(data []byte, key string) int {
	lines := bytes.Split(data, []byte("\n"))
	return 1 + slices.IndexFunc(lines, func(line []byte) bool {
		name, _, ok := strings.Cut(string(line), "=")
		return ok && strings.EqualFold(strings.Trim(strings.TrimSpace(name), `"'`), key)
	})
}
