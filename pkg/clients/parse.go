package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// maxTOML bounds a TOML file, in bytes: its parser recurses without a limit of its own.
const maxTOML = 1 << 20

// server is one entry of a file, with its fields as the file has them. They are nil if the entry is not an object.
type server struct {
	name   string
	line   int
	fields map[string]any
}

// parseJSON reads servers from JSON, with comments or without, in the order of the file.
func parseJSON(p place, data []byte) ([]server, error) {
	root, line, err := config.ParseForeign(p.path, data)
	if err != nil {
		return nil, err
	}
	var servers []server
	for _, path := range p.keys {
		value := root
		for _, key := range path {
			value = memberOf(value, key)
		}
		object, ok := value.Value.(*hujson.Object)
		if !ok {
			continue
		}
		for _, m := range object.Members {
			name := m.Name.Value.(hujson.Literal).String()
			inner := append(slices.Clip(path), name)
			// opencode's mcp.servers is another object of servers, not a server called servers.
			if !slices.ContainsFunc(p.keys, func(keys []string) bool { return slices.Equal(keys, inner) }) {
				servers = append(servers, server{name, line(m.Name.StartOffset), fieldsOf(m.Value)})
			}
		}
	}
	return servers, nil
}

// memberOf returns the last member of an object with that name. It is the zero value if there is none.
func memberOf(object hujson.Value, name string) hujson.Value {
	if o, ok := object.Value.(*hujson.Object); ok {
		for _, m := range slices.Backward(o.Members) {
			if m.Name.Value.(hujson.Literal).String() == name {
				return m.Value
			}
		}
	}
	return hujson.Value{}
}

// fieldsOf returns an object's members as encoding/json has them, numbers as they are written. It is nil for other
// values.
func fieldsOf(value hujson.Value) (fields map[string]any) {
	plain := value.Clone()
	plain.Standardize()
	dec := json.NewDecoder(bytes.NewReader(plain.Pack()))
	dec.UseNumber()
	if dec.Decode(&fields) != nil {
		return nil
	}
	return fields
}

// parseTOML reads servers from TOML, sorted by name, since tables have no order.
func parseTOML(p place, data []byte) ([]server, error) {
	if len(data) > maxTOML {
		return nil, fault.New(fault.Config, fmt.Sprintf("cannot read %s: it is larger than 1 MB", p.path), "Make it smaller.")
	}
	var root map[string]any
	if err := toml.Unmarshal(data, &root); err != nil {
		where := p.path
		var wrong *toml.DecodeError
		if errors.As(err, &wrong) {
			row, _ := wrong.Position()
			where = fmt.Sprintf("%s:%d", p.path, row)
		}
		// The library's own text may quote a value.
		return nil, fault.New(fault.Config, where+": not TOML", "Correct that line, or the one before it.")
	}
	var servers []server
	for _, path := range p.keys {
		table := root
		for _, key := range path {
			table, _ = table[key].(map[string]any)
		}
		for _, name := range slices.Sorted(maps.Keys(table)) {
			fields, _ := table[name].(map[string]any)
			servers = append(servers, server{name: name, fields: fields})
		}
	}
	return servers, nil
}
