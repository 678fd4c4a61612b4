package clients

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// Rule of this file: an edit cuts bytes out of the text and puts bytes in, so that comments, order and layout stay.
// Before a caller gets the new text, it is parsed and compared with the old one.

// tomlHeader begins mcpl's entry in Codex's file.
const tomlHeader = "[mcp_servers." + EntryName + "]"

// tomlPair is a key and its value, as text of TOML.
type tomlPair struct{ key, value string }

func tomlPairs(l config.Launch) []tomlPair {
	var args []string
	for _, arg := range l.Args {
		args = append(args, tomlString(arg))
	}
	return []tomlPair{{"command", tomlString(l.Command)}, {"args", "[" + strings.Join(args, ", ") + "]"}}
}

// tomlLines returns the keys of an entry as lines of TOML.
func tomlLines(l config.Launch) (lines []string) {
	for _, p := range tomlPairs(l) {
		lines = append(lines, p.key+" = "+p.value)
	}
	return lines
}

// tomlString returns a text as a basic string (TOML 1.0, string).
func tomlString(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

// setTOML returns the bytes of Codex's file with mcpl's command line in them. Other keys of an entry that is there
// stay.
func setTOML(path string, text []byte, l config.Launch) ([]byte, error) {
	data := bytes.TrimPrefix(text, []byte(byteOrderMark))
	mark := text[:len(text)-len(data)]
	want := map[string]any{}
	if err := toml.Unmarshal(data, &want); err != nil {
		return nil, err // Outlet.entry has parsed it, and said what is wrong
	}
	after := data
	if table, ok := findTable(data); ok {
		after = table.set(data, tomlPairs(l))
	} else if !hasEntry(want) {
		after = appendTable(data, tomlLines(l))
	}
	servers, _ := want["mcp_servers"].(map[string]any)
	if servers == nil {
		servers = map[string]any{}
	}
	entry, _ := servers[EntryName].(map[string]any)
	if entry == nil {
		entry = map[string]any{}
	}
	maps.Copy(entry, l.Values())
	servers[EntryName], want["mcp_servers"] = entry, servers
	got := map[string]any{}
	if err := toml.Unmarshal(after, &got); err != nil || !reflect.DeepEqual(got, want) {
		return nil, fault.New(fault.Config, fmt.Sprintf("the entry of %q cannot be put into %s: its servers are written in "+
			"another form than tables", EntryName, path), "Nothing was written. Put it there by hand:\n"+
			strings.Join(append([]string{tomlHeader}, tomlLines(l)...), "\n"))
	}
	if bytes.Equal(after, data) {
		return text, nil
	}
	return slices.Concat(mark, after), nil
}

func hasEntry(root map[string]any) bool {
	servers, _ := root["mcp_servers"].(map[string]any)
	return servers[EntryName] != nil
}

// appendTable puts mcpl's entry at the end of a file.
func appendTable(data []byte, lines []string) []byte {
	newline := newlineOf(data)
	block := strings.Join(append([]string{tomlHeader}, lines...), newline) + newline
	switch trimmed := bytes.TrimRight(data, " \t\r\n"); {
	case len(trimmed) == 0:
	case data[len(data)-1] != '\n':
		block = newline + newline + block
	default:
		block = newline + block
	}
	return slices.Concat(data, []byte(block))
}

// newlineOf returns how the lines of a file end.
func newlineOf(data []byte) string {
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// tomlTable is where mcpl's entry stands in a file that has it as a table.
type tomlTable struct {
	end   int                       // the offset behind its header, or behind its last key and value
	pairs map[string]unstable.Range // its keys with their values
}

// findTable finds the table of mcpl's entry in valid TOML.
func findTable(data []byte) (table tomlTable, ok bool) {
	p := unstable.Parser{}
	p.Reset(data)
	within := false
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table:
			keys, end := tomlKey(e)
			if within = slices.Equal(keys, []string{"mcp_servers", EntryName}); within {
				table, ok = tomlTable{end + bytes.IndexByte(data[end:], ']') + 1, map[string]unstable.Range{}}, true
			}
		case unstable.ArrayTable:
			within = false
		case unstable.KeyValue:
			if keys, _ := tomlKey(e); within {
				table.end = int(e.Raw.Offset + e.Raw.Length)
				if len(keys) == 1 {
					table.pairs[keys[0]] = e.Raw
				}
			}
		}
	}
	return table, ok
}

// tomlKey returns the parts of a key, and the offset behind it.
func tomlKey(e *unstable.Node) (keys []string, end int) {
	for it := e.Key(); it.Next(); {
		keys = append(keys, string(it.Node().Data))
		end = int(it.Node().Raw.Offset + it.Node().Raw.Length)
	}
	return keys, end
}

// set returns the file with these keys of the table set. Keys that have the value already stay as they are written.
func (t tomlTable) set(data []byte, pairs []tomlPair) []byte {
	type cut struct {
		from, to int
		text     string
	}
	var cuts []cut
	added := ""
	for _, p := range pairs {
		line := p.key + " = " + p.value
		at, there := t.pairs[p.key]
		switch from, to := int(at.Offset), int(at.Offset+at.Length); {
		case !there:
			added += newlineOf(data) + line
		case !sameTOML(string(data[from:to]), line):
			cuts = append(cuts, cut{from, from + len(bytes.TrimRight(data[from:to], " \t")), line})
		}
	}
	if added != "" { // behind the line, with its comment
		end := t.end + bytes.IndexByte(append(slices.Clip(data[t.end:]), '\n'), '\n')
		end -= len(data[t.end:end]) - len(bytes.TrimRight(data[t.end:end], "\r"))
		cuts = append(cuts, cut{end, end, added})
	}
	slices.SortFunc(cuts, func(a, b cut) int { return a.from - b.from })
	var out []byte
	at := 0
	for _, c := range cuts {
		out = append(append(out, data[at:c.from]...), c.text...)
		at = c.to
	}
	return append(out, data[at:]...)
}

// sameTOML reports whether two lines of TOML say the same.
func sameTOML(a, b string) bool {
	var one, two map[string]any
	return toml.Unmarshal([]byte(a), &one) == nil && toml.Unmarshal([]byte(b), &two) == nil && reflect.DeepEqual(one, two)
}
