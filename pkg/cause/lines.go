package cause

import (
	"encoding/json"
	"strings"
	"unicode"
)

// line is a line of a server that may tell something.
type line struct {
	text string
	low  string // text in small letters
}

// lines returns what the server wrote, without frames of stacks, quotations of source code and punctuation: what its
// messages say, then stderr, then stdout. weak are the lines that call themselves warnings or less.
func (e Evidence) lines() (strong, weak []line) {
	var texts []string
	for message := range strings.SplitSeq(e.Messages, "\n") {
		var m struct {
			Params json.RawMessage `json:"params"`
		}
		if json.Unmarshal([]byte(message), &m) == nil {
			texts = append(texts, said(m.Params))
		}
	}
	texts = append(texts, strings.Split(e.Stderr+"\n"+e.Stdout, "\n")...)
	for _, raw := range texts {
		text := plain(raw)
		isWeak := isWarning(text)
		if strings.HasPrefix(text, "{") {
			if s := said(json.RawMessage(text)); s != "" {
				text, isWeak = s, isMild(json.RawMessage(text))
			}
		}
		text = member(text)
		if !tells(text) {
			continue
		}
		l := line{text, strings.ToLower(text)}
		if isWeak && !strings.Contains(l.low, "uncaught") {
			weak = append(weak, l)
		} else {
			strong = append(strong, l)
		}
	}
	return strong, weak
}

// said returns the text of an object that somebody logs, or "".
func said(object json.RawMessage) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return ""
	}
	for _, key := range []string{"message", "msg", "error", "text", "data"} {
		var text string
		if json.Unmarshal(members[key], &text) == nil && text != "" {
			return plain(strings.ReplaceAll(text, "\n", " "))
		}
		if text = said(members[key]); text != "" {
			return text
		}
	}
	return ""
}

// isMild reports whether the level of an object that somebody logs is a warning or less. Numbers are those of pino.
func isMild(object json.RawMessage) bool {
	var m struct {
		Level any `json:"level"`
	}
	if json.Unmarshal(object, &m) != nil {
		return false
	}
	switch level := m.Level.(type) {
	case float64:
		return level <= 40
	case string:
		return containsAny(strings.ToLower(level), "warn", "info", "debug", "trace", "notice")
	}
	return false
}

// plain returns a line without the sequences of terminals, control characters and white space around.
func plain(text string) string {
	if strings.ContainsRune(text, '\x1b') {
		var b strings.Builder
		for part := range strings.SplitSeq(text, "\x1b") {
			if b.Len() > 0 || part != text {
				if rest, ok := strings.CutPrefix(part, "["); ok {
					part = strings.TrimLeft(rest, "0123456789;?")
					part = part[min(1, len(part)):]
				}
			}
			b.WriteString(part)
		}
		text = b.String()
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, text)
	return strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
}

// member returns the value of a line of indented JSON that holds a message or the path of a field. Lines with other
// keys in small letters are empty then: they hold codes.
func member(text string) string {
	key, value, ok := strings.Cut(strings.TrimPrefix(text, `"`), `":`)
	if !strings.HasPrefix(text, `"`) || !ok || key != strings.ToLower(key) {
		return text
	}
	var s string
	value = strings.TrimSuffix(strings.TrimSpace(value), ",")
	if (key == "message" || key == "msg" || key == "error") && json.Unmarshal([]byte(value), &s) == nil {
		return plain(s)
	}
	if key == "path" {
		return plain(value)
	}
	return ""
}

// tells reports whether a line may say something: it is not a frame of a stack, a quotation of source code, or without
// a word.
func tells(text string) bool {
	switch {
	case !strings.ContainsFunc(text, unicode.IsLetter), strings.HasPrefix(text, "at "),
		strings.HasPrefix(text, "throw "), strings.HasPrefix(text, "node:"), strings.HasPrefix(text, "Node.js v"),
		strings.HasPrefix(text, `File "`), strings.HasPrefix(text, "Traceback ("):
		return false
	}
	// "/app/dist/cli.js:34" is where Node has stopped.
	place := strings.TrimRight(text, "0123456789")
	return !strings.HasSuffix(place, ":") || place == text || strings.Contains(text, " ")
}

// isWarning reports whether a line begins with the mark of a warning or of less, or has it between other marks.
func isWarning(text string) bool {
	start := strings.ToLower(strings.TrimLeft(text, "[(<"))
	for _, mark := range []string{"warning", "warn", "info", "debug", "trace", "notice", "npm warn"} {
		rest, ok := strings.CutPrefix(start, mark)
		if ok && (rest == "" || !isWord(rune(rest[0]))) {
			return true
		}
	}
	return containsAny(text, " WARN ", " WARNING ", " INFO ", " DEBUG ", "[WARN]", "[WARNING]", "[INFO]", "[DEBUG]")
}

// isWord reports whether r belongs to a word or a name of a variable.
func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
