package example

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/server"
)

func textTools() []server.ServerTool {
	return []server.ServerTool{textStatsTool(), changeCaseTool(), replaceTextTool(), diffTextTool()}
}

func textStatsTool() server.ServerTool {
	return define(spec{
		name:  "text_stats",
		title: "Text statistics",
		description: "Count the characters, words, lines and sentences of a text, list its most frequent words and " +
			"estimate the reading time.",
		input: `{
				"type": "object",
				"properties": {
					"text": {"type": "string", "description": "The text to count"},
					"top": {"type": "integer", "minimum": 0, "maximum": 50, "default": 5,
						"description": "How many of the most frequent words to list"}
				},
				"required": ["text"],
				"additionalProperties": false
			}`,
		output: `{
				"type": "object",
				"properties": {
					"characters": {"type": "integer"}, "words": {"type": "integer"}, "lines": {"type": "integer"},
						"sentences": {"type": "integer"},
					"reading_seconds": {"type": "integer", "description": "At 230 words per minute"},
					"top_words": {"type": "array", "items": {"type": "object", "properties": {"word": {"type": "string"},
						"count": {"type": "integer"}}, "required": ["word", "count"]}}
				},
				"required": ["characters", "words", "lines", "sentences", "reading_seconds", "top_words"]
			}`,
	}, func(_ context.Context, in struct {
		Text string
		Top  *int
	}) (answer, error) {
		return answer{data: statsOf(in.Text, or(in.Top, 5))}, nil
	})
}

func changeCaseTool() server.ServerTool {
	return define(spec{
		name:  "change_case",
		title: "Change case",
		description: "Convert text between naming styles and letter cases: camelCase, PascalCase, snake_case, kebab-case, " +
			"CONSTANT_CASE, Title Case, upper and lower.",
		input: `{
				"type": "object",
				"properties": {
					"text": {"type": "string", "description": "The text or identifier to convert"},
					"style": {"type": "string", "enum": ["camel", "pascal", "snake", "kebab", "constant", "title", "upper", "lower"],
						"description": "The style to convert it to"}
				},
				"required": ["text", "style"],
				"additionalProperties": false
			}`,
	}, func(_ context.Context, in struct{ Text, Style string }) (answer, error) {
		return answer{text: changeCase(in.Text, in.Style)}, nil
	})
}

func replaceTextTool() server.ServerTool {
	return define(spec{
		name:  "replace_text",
		title: "Search and replace",
		description: "Search a text for a regular expression (RE2 syntax) or a literal string and replace every match. " +
			"The replacement may use groups as $1 or ${name}.",
		input: `{
				"type": "object",
				"properties": {
					"text": {"type": "string", "description": "The text to search"},
					"pattern": {"type": "string", "minLength": 1, "description": "What to search for"},
					"replacement": {"type": "string", "description": "What to put in its place", "default": ""},
					"options": {
						"type": "object",
						"description": "How to match",
						"properties": {
							"literal": {"type": "boolean", "default": false,
								"description": "Take the pattern and the replacement as they are, not as a regular expression"},
							"ignore_case": {"type": "boolean", "default": false, "description": "Ignore upper and lower case"}
						},
						"additionalProperties": false
					}
				},
				"required": ["text", "pattern"],
				"additionalProperties": false
			}`,
		output: `{
				"type": "object",
				"properties": {"text": {"type": "string"}, "replacements": {"type": "integer"}},
				"required": ["text", "replacements"]
			}`,
	}, func(_ context.Context, in replaceInput) (answer, error) { return in.run() })
}

func diffTextTool() server.ServerTool {
	return define(spec{
		name:        "diff_text",
		title:       "Compare two texts",
		description: "Compare two texts line by line and show what was added and removed as a unified diff.",
		input: `{
				"type": "object",
				"properties": {
					"before": {"type": "string", "description": "The old text"},
					"after": {"type": "string", "description": "The new text"},
					"context": {"type": "integer", "minimum": 0, "maximum": 100, "default": 3,
						"description": "Unchanged lines shown around each change"}
				},
				"required": ["before", "after"],
				"additionalProperties": false
			}`,
	}, func(_ context.Context, in struct {
		Before, After string
		Context       *int
	}) (answer, error) {
		text, err := unifiedDiff(in.Before, in.After, or(in.Context, 3))
		if text == "" {
			text = "The texts are equal."
		}
		return answer{text: text}, err
	})
}

// or returns what p points to, or a default where the argument was not given.
func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

type wordCount struct {
	Word  string `json:"word"`
	Count int    `json:"count"`
}

type stats struct {
	Characters     int         `json:"characters"`
	Words          int         `json:"words"`
	Lines          int         `json:"lines"`
	Sentences      int         `json:"sentences"`
	ReadingSeconds int         `json:"reading_seconds"`
	TopWords       []wordCount `json:"top_words"`
}

func statsOf(text string, top int) stats {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '’'
	})
	counts := map[string]int{}
	for _, w := range words {
		counts[strings.ToLower(w)]++
	}
	list := make([]wordCount, 0, len(counts))
	for w, n := range counts {
		list = append(list, wordCount{w, n})
	}
	slices.SortFunc(list, func(a, b wordCount) int {
		return cmp.Or(b.Count-a.Count, strings.Compare(a.Word, b.Word))
	})
	s := stats{
		Characters:     utf8.RuneCountInString(text),
		Words:          len(words),
		Lines:          len(lines(text)),
		ReadingSeconds: (len(words)*60 + 229) / 230,
		TopWords:       list[:min(top, len(list))],
	}
	inSentence := false
	for _, r := range text {
		if strings.ContainsRune(".!?。！？", r) && inSentence {
			s.Sentences++
			inSentence = false
		} else if unicode.IsLetter(r) || unicode.IsDigit(r) {
			inSentence = true
		}
	}
	if inSentence {
		s.Sentences++
	}
	return s
}

// lines splits text into its lines, without their breaks.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func changeCase(text, style string) string {
	switch style {
	case "upper":
		return strings.ToUpper(text)
	case "lower":
		return strings.ToLower(text)
	}
	words := wordsOf(text)
	for i, w := range words {
		switch {
		case style == "constant":
			words[i] = strings.ToUpper(w)
		case style == "title", style == "pascal", style == "camel" && i > 0:
			first, size := utf8.DecodeRuneInString(w)
			words[i] = string(unicode.ToUpper(first)) + w[size:]
		}
	}
	separator := map[string]string{"snake": "_", "constant": "_", "kebab": "-", "title": " "}[style]
	return strings.Join(words, separator)
}

// wordsOf splits an identifier or a phrase into lower-case words: HTTPServer_v2 is http, server,
// v2.
func wordsOf(text string) []string {
	var words []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
		}
		word = nil
	}
	runes := []rune(text)
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush()
			continue
		}
		if unicode.IsUpper(r) && len(word) > 0 {
			nextLower := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if !unicode.IsUpper(word[len(word)-1]) || nextLower {
				flush()
			}
		}
		word = append(word, r)
	}
	flush()
	return words
}

type replaceInput struct {
	Text, Pattern, Replacement string
	Options                    struct {
		Literal    bool `json:"literal"`
		IgnoreCase bool `json:"ignore_case"`
	}
}

// maxReplaced bounds the text that a replacement may grow to.
const maxReplaced = 16 << 20

func (in replaceInput) run() (answer, error) {
	pattern := in.Pattern
	if in.Options.Literal {
		pattern = regexp.QuoteMeta(pattern)
	}
	if in.Options.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return answer{}, fmt.Errorf("the pattern is not a regular expression in RE2 syntax (%w); "+
			`to search for it as it is, set options to {"literal": true}`, err)
	}
	var out []byte
	last := 0
	matches := re.FindAllStringSubmatchIndex(in.Text, -1)
	for _, m := range matches {
		out = append(out, in.Text[last:m[0]]...)
		if in.Options.Literal {
			out = append(out, in.Replacement...)
		} else {
			out = re.ExpandString(out, in.Replacement, in.Text, m)
		}
		if last = m[1]; len(out) > maxReplaced {
			return answer{}, fmt.Errorf("the result would be larger than %d MB: take a shorter replacement or text",
				maxReplaced>>20)
		}
	}
	out = append(out, in.Text[last:]...)
	return answer{data: map[string]any{"text": string(out), "replacements": len(matches)}}, nil
}
