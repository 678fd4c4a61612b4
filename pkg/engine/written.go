package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcp-launchpad/mcpl/pkg/catalog"
	"github.com/mcp-launchpad/mcpl/pkg/search"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

const (
	// maxWritten bounds the words of a query that are looked for in whole schemas, and maxRead the definitions that are
	// read for it.
	maxWritten = 2
	maxRead    = 20_000
	// writtenScore is the score of such a hit: little, since the words stand deep in the tool.
	writtenScore = 0.1
)

// written finds tools for a query of one or two words that the ranking finds none for: those whose input schemas have
// all of them as written, in any case. The ranking does not have the words of nested parameters, which are many and say
// little of a tool.
func (e *Engine) written(v *catalog.View, q search.Query) (hits []search.Hit, err error) {
	words := strings.Fields(strings.ToLower(q.Text))
	if len(words) == 0 || len(words) > maxWritten {
		return nil, nil
	}
	read := 0
	for _, server := range e.servers(v) {
		recs, err := v.Records(server.Name, tool.Tool)
		if err != nil {
			return nil, err
		}
		for _, rec := range recs {
			if q.Keep != nil && !q.Keep(rec.Doc) {
				continue
			}
			if read++; read > maxRead || q.Limit > 0 && len(hits) == q.Limit {
				return hits, nil
			}
			def, err := v.Definition(rec)
			if err != nil {
				return nil, err
			}
			var schema any
			if json.Unmarshal(def.InputSchema, &schema) != nil {
				continue // a tool without one
			}
			if text := strings.ToLower(string(appendTexts(nil, schema))); hasWords(text, words) {
				hits = append(hits, search.Hit{Doc: rec.Doc, Score: writtenScore, MatchedIn: []string{"parameters"}})
			}
		}
	}
	return hits, nil
}

// appendTexts appends the texts of a schema for people, and the names in it, a line each.
func appendTexts(b []byte, schema any) []byte {
	object, isObject := schema.(map[string]any)
	if !isObject {
		list, _ := schema.([]any)
		for _, one := range list {
			b = appendTexts(b, one)
		}
		return b
	}
	for key, value := range object {
		switch key {
		case "title", "description", "enum", "const", "default", "examples":
			b = append(fmt.Append(b, value), '\n')
		case "properties", "$defs", "definitions":
			for name := range asObject(value) {
				b = append(append(b, name...), '\n')
			}
			for _, inner := range asObject(value) {
				b = appendTexts(b, inner)
			}
		default:
			b = appendTexts(b, value)
		}
	}
	return b
}

func asObject(value any) map[string]any {
	object, _ := value.(map[string]any)
	return object
}

// hasWords reports whether a text in small letters has all these words.
func hasWords(text string, words []string) bool {
	for _, word := range words {
		if !hasWord(text, word) {
			return false
		}
	}
	return true
}

// hasWord reports whether a word stands in a text between other characters than letters and digits.
func hasWord(text string, word string) bool {
	for {
		i := strings.Index(text, word)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		text = text[i+len(word):]
		if after, _ := utf8.DecodeRuneInString(text); !isWordRune(before) && !isWordRune(after) {
			return true
		}
	}
}

func isWordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
