package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// HoldsValues reports whether the entry itself holds a value of a variable or a header, so that only its owner may
// read a file made for it.
func (d Entry) HoldsValues() bool {
	return slices.ContainsFunc(slices.Concat(d.Env, d.Headers), func(p KeyValue) bool { return !onlyReferences(p.Value) })
}

// style is the layout of JSON. An empty newline puts everything on one line.
type style struct{ newline, unit string }

func (s style) deeper(indent string) string {
	if s.newline == "" {
		return ""
	}
	return indent + s.unit
}

// object lays out members, each rendered for the depth below indent.
func (s style) object(members []string, indent string) string {
	switch {
	case len(members) == 0:
		return "{}"
	case s.newline == "":
		return "{" + strings.Join(members, ", ") + "}"
	}
	start := s.newline + s.deeper(indent)
	return "{" + start + strings.Join(members, ","+start) + s.newline + indent + "}"
}

// members renders the fields that have a value, for the depth below indent.
func (s style) members(fields []field, indent string) (list []string) {
	for _, one := range fields {
		if value := s.value(one.at, s.deeper(indent)); value != "" {
			list = append(list, jsonString(one.key)+": "+value)
		}
	}
	return list
}

// value renders the value of a field. It is empty if the field has none.
func (s style) value(at any, indent string) string {
	if reflect.ValueOf(at).Elem().IsZero() {
		return ""
	}
	var parts []string
	switch at := at.(type) {
	case *[]string:
		for _, text := range *at {
			parts = append(parts, jsonString(text))
		}
		if parts != nil {
			return "[" + strings.Join(parts, ", ") + "]"
		}
	case *[]KeyValue:
		for _, p := range *at {
			parts = append(parts, jsonString(p.Name)+": "+jsonString(p.Value))
		}
	case **OAuth:
		parts = s.members((*at).fields(), indent)
	default:
		return scalarValue(at)
	}
	if parts == nil {
		return ""
	}
	return s.object(parts, indent)
}

// scalarValue renders the value of a field that is neither a list nor an object.
func scalarValue(at any) string {
	switch at := at.(type) {
	case *string:
		return jsonString(*at)
	case **string:
		return jsonString(**at)
	case *Lifecycle:
		return jsonString(string(*at))
	case *Scope:
		return jsonString(string(*at))
	case *Whose:
		return jsonString(string(*at))
	case *Pins:
		return jsonString(string(*at))
	case *time.Duration:
		return jsonString(shortDuration(*at))
	case *int:
		return strconv.Itoa(*at)
	case *bool:
		return "true"
	}
	return ""
}

// json renders the entry. A type is written only if somebody said it: without one mcpl finds out which kind of HTTP the
// server speaks, and a guess would keep it from that.
func (d Entry) json(s style, indent string) string {
	members := s.members(d.fields(), indent)
	if d.URL != "" && d.Transport != "" && !d.FallBack {
		members = slices.Insert(members, 0, `"type": `+jsonString(string(d.Transport)))
	}
	return s.object(members, indent)
}

// jsonString renders a string without the HTML escapes that encoding/json likes.
func jsonString(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string into a buffer cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}

// Target is the file that add, remove and import change.
type Target struct {
	Path string
	// Why says how it was chosen.
	Why    string
	Exists bool
	// Sources are the files that the target's entries are read with.
	Sources *Sources
}

// Target chooses the file to change: the one named by to; else the first configuration in force; else .mcp.json at
// the root of the repository; else, outside of a repository, ~/.claude/mcp.json. The file need not exist.
func (e Env) Target(sel Selection, to string) (*Target, error) {
	if to != "" {
		return e.namedTarget(sel, absolute(to, e.Dir, e.Home))
	}
	src, err := e.Locate(sel)
	if err != nil {
		return nil, err
	}
	t := &Target{Sources: src}
	root, why := repository(e.Dir, e.TrustsFolder(sel.Trusted))
	switch {
	case len(src.Configs) > 0:
		t.Path, t.Why, t.Exists = src.Configs[0].Path, src.Configs[0].Why, true
	case why == "":
		t.Path, t.Why, src.project = filepath.Join(root, ".mcp.json"), "at the root of the repository", root
	default:
		t.Path, t.Why = e.userConfig(), "in your home folder"
	}
	return t, nil
}

func (e Env) namedTarget(sel Selection, path string) (*Target, error) {
	t := &Target{Path: path, Why: "--to", Sources: e.sources(sel)}
	info, err := os.Stat(path)
	t.Exists = err == nil
	if t.Exists && info.IsDir() {
		return nil, fault.New(fault.Usage, fmt.Sprintf("--to: %s is a folder", path),
			"Name a file: --to "+fault.Quote(filepath.Join(path, ".mcp.json")))
	}
	if t.Exists {
		t.Sources.try(&t.Sources.Configs, path, t.Why)
	}
	return t, e.locateEnvFiles(t.Sources, sel)
}

// Trial reads entries before they are written to a file, as they would be read from there.
type Trial struct {
	env       Env
	target    *Target
	variables variables
	kept      []Literal // the literals whose variables are taken
}

// Trial returns a trial for entries of the target's file.
func (e Env) Trial(t *Target) *Trial {
	trial := &Trial{env: e, target: t, variables: variables{lookup: e.Lookup}}
	for _, file := range t.Sources.EnvFiles {
		trial.variables.read(file.Path) // the verb config shows its problems
	}
	return trial
}

// Server returns the server that an entry makes, its variables filled in. If the entry cannot be used, the error is a
// fault.Config.
func (t *Trial) Server(name string, d Entry) (*Server, error) {
	l := loader{env: t.env, config: &Config{Sources: t.target.Sources}, variables: t.variables}
	text := `{"mcpServers": {` + jsonString(name) + ": " + d.json(style{}, "") + "}}"
	if err := l.add(Source{Path: t.target.Path, Why: t.target.Why}, []byte(text)); err != nil {
		return nil, err
	}
	if len(l.config.Servers) == 1 {
		return l.config.Servers[0], nil
	}
	f := fault.New(fault.Config, fmt.Sprintf("the entry of %q cannot be used", name), "Give it a command or a url.")
	blame(f, l.config.Problems, name)
	return nil, f.On(name, "")
}

// blame adds what is wrong with an entry to a fault.
func blame(f *fault.Fault, problems []Problem, name string) {
	for _, p := range problems {
		if p.Server == name && p.Severity == Error {
			f.Message, f.Help = f.Message+": "+p.Message, p.Fix
		}
	}
}
