package example

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/server"
)

func jsonTools() []server.ServerTool {
	return []server.ServerTool{
		define(spec{
			name:  "format_json",
			title: "Format JSON",
			description: "Validate a JSON document and pretty-print it with an indentation, or minify it with indent 0. " +
				"Errors name the line and column.",
			input: `{
				"type": "object",
				"properties": {
					"json": {"type": "string", "description": "The JSON document as text"},
					"indent": {"type": "integer", "minimum": 0, "maximum": 8, "default": 2,
						"description": "Spaces per level; 0 puts everything on one line"},
					"sort_keys": {"type": "boolean", "default": false, "description": "Sort the keys of objects"}
				},
				"required": ["json"],
				"additionalProperties": false
			}`,
		}, func(_ context.Context, in struct {
			JSON     string
			Indent   *int
			SortKeys bool `json:"sort_keys"`
		}) (answer, error) {
			text, err := formatJSON(in.JSON, or(in.Indent, 2), in.SortKeys)
			return answer{text: text}, err
		}),
		define(spec{
			name:  "query_json",
			title: "Query JSON",
			description: "Read one value out of a JSON document by its JSON pointer, like /items/0/name. A wrong pointer is " +
				"answered with the keys that are there.",
			input: `{
				"type": "object",
				"properties": {
					"json": {"type": "string", "description": "The JSON document as text"},
					"pointer": {"type": "string", "default": "",
						"description": "JSON pointer (RFC 6901); the empty one is the whole document"}
				},
				"required": ["json"],
				"additionalProperties": false
			}`,
		}, func(_ context.Context, in struct{ JSON, Pointer string }) (answer, error) {
			text, err := queryJSON(in.JSON, in.Pointer)
			return answer{text: text}, err
		}),
	}
}

// checkJSON returns an error that says where text stops being JSON.
func checkJSON(text string) error {
	var v json.RawMessage
	err := json.Unmarshal([]byte(text), &v)
	if err == nil {
		return nil
	}
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return fmt.Errorf("not JSON: %w", err)
	}
	before := text[:min(max(int(syntax.Offset)-1, 0), len(text))]
	line := strings.Count(before, "\n") + 1
	column := len(before) - strings.LastIndexByte(before, '\n')
	return fmt.Errorf("not JSON: %w at line %d, column %d", err, line, column)
}

func formatJSON(text string, indent int, sortKeys bool) (string, error) {
	if err := checkJSON(text); err != nil {
		return "", err
	}
	raw := []byte(text)
	if sortKeys {
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber() // numbers keep their digits
		var v any
		if err := dec.Decode(&v); err != nil && err != io.EOF {
			return "", fmt.Errorf("not JSON: %w", err)
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			return "", err
		}
		raw = b.Bytes()
	}
	var out bytes.Buffer
	var err error
	if indent == 0 {
		err = json.Compact(&out, raw)
	} else {
		err = json.Indent(&out, bytes.TrimSpace(raw), "", strings.Repeat(" ", indent))
	}
	return out.String(), err
}

// queryJSON returns the value at a JSON pointer, as it is written in the document.
func queryJSON(text, pointer string) (string, error) {
	if err := checkJSON(text); err != nil {
		return "", err
	}
	if pointer != "" && pointer[0] != '/' {
		return "", fmt.Errorf("a JSON pointer begins with /: did you mean %q?", "/"+strings.ReplaceAll(pointer, ".", "/"))
	}
	value := json.RawMessage(text)
	path := ""
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		next, err := member(value, strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
		if err != nil {
			return "", fmt.Errorf("nothing at %s/%s: %w", path, token, err)
		}
		value, path = next, path+"/"+token
	}
	return string(bytes.TrimSpace(value)), nil
}

// member returns a member of an object or an element of an array.
func member(value json.RawMessage, token string) (json.RawMessage, error) {
	var object map[string]json.RawMessage
	var array []json.RawMessage
	switch bytes.TrimSpace(value)[0] {
	case '{':
		if err := json.Unmarshal(value, &object); err != nil {
			return nil, err
		}
		if v, ok := object[token]; ok {
			return v, nil
		}
		keys := slices.Sorted(maps.Keys(object))
		if len(keys) > 20 {
			keys = append(keys[:20], "...")
		}
		return nil, fmt.Errorf("the object there has the keys: %s", strings.Join(keys, ", "))
	case '[':
		if err := json.Unmarshal(value, &array); err != nil {
			return nil, err
		}
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(array) || strconv.Itoa(i) != token {
			return nil, fmt.Errorf("the array there has %d elements, counted from 0", len(array))
		}
		return array[i], nil
	}
	return nil, errors.New("the value there is neither an object nor an array")
}
