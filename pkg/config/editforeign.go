package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/tailscale/hujson"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// Launch is the command line that another client starts a server by.
type Launch struct {
	// Type is the value of the member "type", if the client's format has it.
	Type    string   `json:"type,omitempty"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

// fields lists the members of the entry, in the order of a file that mcpl writes.
func (l *Launch) fields() []field {
	return slices.DeleteFunc([]field{{"type", &l.Type}, {"command", &l.Command}, {"args", &l.Args}},
		func(f field) bool { return f.key == "type" && l.Type == "" })
}

// Values returns the members of the entry as JSON has them, by their names.
func (l Launch) Values() map[string]any {
	args := make([]any, len(l.Args))
	for i, arg := range l.Args {
		args[i] = arg
	}
	values := map[string]any{"command": l.Command, "args": args}
	if l.Type != "" {
		values["type"] = l.Type
	}
	return values
}

// Lines returns the members of the entry as lines of JSON, without commas.
func (l Launch) Lines() []string { return style{}.members(l.fields(), "") }

// Masked returns the command line as people may see it: what looks like a secret, and the passwords of URLs, are "***".
func (l Launch) Masked() Launch {
	secrets := replacer(Entry{Command: l.Command, Args: l.Args}.masked())
	l.Command, l.Args = maskPasswords(mask(secrets, l.Command)), slices.Clone(l.Args)
	for i, arg := range l.Args {
		l.Args[i] = maskPasswords(mask(secrets, arg))
	}
	return l
}

// SetLaunch returns the bytes of another client's JSON file with a server's command line put in: into the entry of that
// name in the object of servers that is the file's member section. Members of the entry that Launch does not have, all
// else in the file, comments and layout stay. If there is no such entry, or no such object, it is added. The path is
// only named in faults, of which each is a fault.Config.
func SetLaunch(path string, data []byte, section, name string, l Launch) ([]byte, error) {
	first, err := newEditor(path, data)
	if err != nil {
		return nil, err
	}
	after := first.data
	for _, f := range l.fields() { // one after the other, since each edit moves the others
		e, err := newEditor(path, after)
		if err != nil {
			return nil, err
		}
		var all bool
		if after, all, err = e.setLaunch(section, name, &l, f); err != nil {
			return nil, err
		}
		if all {
			break
		}
	}
	if err := first.checkLaunch(after, section, name, l); err != nil {
		return nil, err
	}
	if bytes.Equal(after, first.data) {
		return data, nil
	}
	return slices.Concat(first.mark, after), nil
}

// setLaunch sets one member of an entry. If there is no entry, it adds one with all members, and all is true.
func (e *editor) setLaunch(section, name string, l *Launch, f field) (after []byte, all bool, err error) {
	whole := func(s style, indent string) string {
		return jsonString(name) + ": " + s.object(s.members(l.fields(), indent), indent)
	}
	at := find(e.root, section)
	if at < 0 {
		return e.insert(e.root, func(s style, indent string) string {
			return jsonString(section) + ": " + s.object([]string{whole(s, s.deeper(indent))}, indent)
		}), true, nil
	}
	m := e.root.Value.(*hujson.Object).Members[at]
	if m.Value.Value.Kind() != '{' {
		return nil, false, e.notObject(m, section)
	}
	i := find(m.Value, name)
	if i < 0 {
		return e.insert(m.Value, whole), true, nil
	}
	entry := m.Value.Value.(*hujson.Object).Members[i]
	if entry.Value.Value.Kind() != '{' {
		return nil, false, e.notObject(entry, name)
	}
	render := func(s style, indent string) string { return s.value(f.at, indent) }
	j := find(entry.Value, f.key)
	if j < 0 {
		return e.insert(entry.Value, func(s style, indent string) string {
			return jsonString(f.key) + ": " + render(s, indent)
		}), false, nil
	}
	value := entry.Value.Value.(*hujson.Object).Members[j].Value
	if reflect.DeepEqual(plainValue(value), l.Values()[f.key]) {
		return e.data, false, nil
	}
	return e.replace(entry.Value, j, render), false, nil
}

// notObject is the fault of a member that has to be an object.
func (e *editor) notObject(m hujson.ObjectMember, name string) error {
	return fault.New(fault.Config, fmt.Sprintf("%s:%d: %q is %s, not an object", e.path, e.line(m.Name.StartOffset), name,
		kind(m.Value.Value)), "Correct that line, or remove it.")
}

// plainValue returns a value as encoding/json has it, numbers as they are written. Of members of the same name the last
// one counts, as in [find].
func plainValue(value hujson.Value) (plain any) {
	v := value.Clone()
	v.Standardize()
	dec := json.NewDecoder(bytes.NewReader(v.Pack()))
	dec.UseNumber()
	_ = dec.Decode(&plain) // it was parsed, and is null for what encoding/json does not take
	return plain
}

// checkLaunch compares an edited text with the one before: the entry must be as wanted, and all else unchanged.
func (e *editor) checkLaunch(after []byte, section, name string, l Launch) error {
	edited, err := newEditor(e.path, after)
	if err != nil {
		return err
	}
	want, ok := plainValue(e.root).(map[string]any)
	if !ok {
		return e.cannotPut(name)
	}
	servers, _ := want[section].(map[string]any)
	if servers == nil {
		servers = map[string]any{}
		want[section] = servers
	}
	entry, _ := servers[name].(map[string]any)
	if entry == nil {
		entry = map[string]any{}
		servers[name] = entry
	}
	maps.Copy(entry, l.Values())
	if !reflect.DeepEqual(plainValue(edited.root), any(want)) {
		return e.cannotPut(name)
	}
	return nil
}

func (e *editor) cannotPut(name string) error {
	return fault.New(fault.Config, fmt.Sprintf("the entry of %q cannot be put into %s", name, e.path),
		"Nothing was written. Put it there by hand.")
}
