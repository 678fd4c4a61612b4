package results

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/humanize"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Outline is what a reader sees of a result that is kept, in place of the whole.
type Outline struct {
	// ID names the result. It is empty outside of a store.
	ID    string `json:"id,omitempty"`
	File  string `json:"file"`
	Bytes int    `json:"bytes"`
	// Structure has the keys of objects, the length and first element of lists, and the size of strings, three levels
	// deep.
	Structure json.RawMessage `json:"structure"`
	// Lines counts those of the result's text, and First has the first of them.
	Lines int    `json:"lines"`
	First string `json:"first"`
}

// The first lines that an outline shows.
const (
	firstLines = 20
	firstBytes = 1000
)

// moreLines is how many lines a reader is advised to read next.
const moreLines = 40

// Describe returns the outline of a JSON value that was written to a file.
func Describe(value json.RawMessage, e Entry) Outline {
	text := Text(value)
	return Outline{ID: e.ID, File: e.Path, Bytes: e.Size, Structure: structure(value, 3), Lines: len(Lines(text)),
		First: First(text, firstLines, firstBytes)}
}

// Next returns the range of lines to read next, as [ParseSelection] takes it; "" if the outline has all of them.
func (o Outline) Next() string {
	shown := len(Lines(o.First))
	if shown >= o.Lines {
		return ""
	}
	return fmt.Sprintf("%d:%d", shown+1, shown+moreLines)
}

// Content returns the content of the file for a JSON value, and the file's extension: a string is a text.
func Content(value json.RawMessage) (content []byte, ext string) {
	if isString(value) {
		return []byte(tool.Text(value)), ".txt"
	}
	return value, ".json"
}

// structure describes a valid JSON value down to depth levels.
func structure(raw json.RawMessage, depth int) json.RawMessage {
	if fields, err := tool.SplitValid(raw); err == nil {
		if depth == 0 {
			return about("object, %s, %s", humanize.Plural(len(fields), "key"), humanize.Size(len(raw)))
		}
		const most = 30
		var shown []tool.Field
		for i, f := range fields {
			if i == most {
				shown = append(shown, tool.Field{Key: "…", Value: about("%d more keys", len(fields)-most)})
				break
			}
			shown = append(shown, tool.Field{Key: f.Key, Value: structure(f.Value, depth-1)})
		}
		return tool.JoinObject(shown)
	}
	if list := tool.SplitValidArray(raw); list != nil {
		length := about("list, %s, %s", humanize.Plural(len(list), "item"), humanize.Size(len(raw)))
		if len(list) == 0 || depth == 0 {
			return length
		}
		return tool.JoinArray([]json.RawMessage{length, structure(list[0], depth-1)})
	}
	if isString(raw) {
		s := tool.Text(raw)
		return about("string, %s, %s", humanize.Size(len(s)), humanize.Plural(strings.Count(s, "\n")+1, "line"))
	}
	return raw // a number, true, false or null
}

func about(format string, args ...any) json.RawMessage {
	return tool.Quote(fmt.Sprintf(format, args...))
}
