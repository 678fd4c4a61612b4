package schema

import (
	"encoding/json"
	"slices"

	js "github.com/google/jsonschema-go/jsonschema"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Corrected returns arguments that fit the schema and are as near to args as possible: it keeps what is right, converts
// a value of the wrong type if it can, renames a misspelt key, and makes up what is missing, as [Example] does.
func Corrected(inputSchema, args []byte) json.RawMessage { return open(inputSchema).corrected(args) }

func (d *document) corrected(args []byte) json.RawMessage {
	least := d.objectExample()
	given, err := tool.SplitObject(args)
	if err != nil {
		return least
	}
	r := exampler{document: d, left: maxExampleNodes}
	mended := r.object(d.root, given, 0, true)
	if !d.fits(mended) || len(mended) > maxExample {
		return least
	}
	return mended
}

// value returns raw if it fits s, else something like it that does. An example replaces long text, which has no place
// in a suggested step.
func (r *exampler) value(s *js.Schema, name string, raw json.RawMessage, depth int) json.RawMessage {
	v := decode(raw)
	if _, long := v.(string); long && len(raw) > maxString {
		return r.example(s, name, depth)
	}
	if r.accepts(s, v) {
		return raw
	}
	if depth < maxExampleDepth {
		for _, candidate := range r.converted(s, raw, v, depth) {
			if r.left--; r.left > 0 && r.accepts(s, decode(candidate)) {
				return candidate
			}
		}
	}
	return r.example(s, name, depth)
}

// converted returns the values under s that raw may stand for.
func (r *exampler) converted(s *js.Schema, raw json.RawMessage, v any, depth int) []json.RawMessage {
	var list []json.RawMessage
	switch v := v.(type) {
	case string:
		list = append(list, json.RawMessage(v)) // "5" for 5, "[1]" for [1]
		if !json.Valid([]byte(v)) {
			list = nil
		}
		for _, part := range r.parts(s) {
			if near := nearest(v, stringsOf(valuesOf(part))); near != "" {
				list = append(list, tool.Quote(near))
			}
		}
	case map[string]any:
		if fields, err := tool.SplitObject(raw); err == nil {
			list = append(list, r.object(s, fields, depth, false))
		}
	case []any:
		if elems, err := tool.SplitArray(raw); err == nil {
			list = append(list, r.array(s, elems, depth))
			if len(elems) == 1 { // ["a"] for "a"
				list = append(list, elems[0])
			}
		}
	case nil:
		return nil
	default: // 5 for "5"
		list = append(list, tool.Quote(string(raw)))
	}
	return append(list, tool.JoinArray([]json.RawMessage{raw})) // "a" for ["a"]
}

func (r *exampler) array(s *js.Schema, elems []json.RawMessage, depth int) json.RawMessage {
	mended := slices.Clone(elems)
	for i := range mended {
		for _, part := range r.parts(s) {
			for _, sub := range elementSchemas(part, i) {
				mended[i] = r.value(sub, "", mended[i], depth+1)
			}
		}
	}
	return tool.JoinArray(mended)
}

// object mends the members of an object. With strict, it drops keys that the schema does not name even if the schema
// does not forbid them.
func (r *exampler) object(s *js.Schema, given []tool.Field, depth int, strict bool) json.RawMessage {
	parts := r.parts(s)
	var known []string
	closed := false
	for _, part := range parts {
		known = append(known, part.PropertyOrder...)
		closed = closed || isClosed(part, strict)
	}
	var object []tool.Field
	for _, f := range given {
		if closed && !slices.Contains(known, f.Key) {
			near := nearest(f.Key, known)
			if near == "" || get(given, near) != nil {
				continue
			}
			f.Key = near
		}
		if sub := r.property(s, f.Key); sub != nil {
			f.Value = r.value(sub, f.Key, f.Value, depth+1)
		}
		object = put(object, f.Key, f.Value)
	}
	return r.completed(s, object, parts, depth)
}

// isClosed reports whether a schema object allows no other keys than those it names. With strict, this includes one
// that names keys and says nothing of others.
func isClosed(part *js.Schema, strict bool) bool {
	switch {
	case part.PatternProperties != nil:
		return false
	case part.AdditionalProperties != nil:
		return isFalse(part.AdditionalProperties)
	}
	return strict && part.Properties != nil
}

// completed returns an object with the members that s requires and that it lacks: those of parts, or, if the result
// does not fit, those of an alternative too.
func (r *exampler) completed(s *js.Schema, object []tool.Field, parts []*js.Schema, depth int) json.RawMessage {
	first := r.complete(object, parts, depth)
	if r.accepts(s, decode(first)) {
		return first
	}
	for _, part := range parts {
		branches := slices.Concat(part.AnyOf, part.OneOf)
		for _, branch := range branches[:min(len(branches), maxBranches)] {
			candidate := r.complete(object, slices.Concat(parts, r.parts(branch)), depth)
			if r.accepts(s, decode(candidate)) {
				return candidate
			}
		}
	}
	return first
}

// complete returns an object with the members that parts require and that it lacks.
func (r *exampler) complete(object []tool.Field, parts []*js.Schema, depth int) json.RawMessage {
	made := r.members(nil, parts, depth)
	all := slices.Clone(object)
	for _, f := range made {
		if get(all, f.Key) == nil {
			all = append(all, f)
		}
	}
	return tool.JoinObject(all)
}
