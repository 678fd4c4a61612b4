package config

import (
	"encoding/json"
	"strings"
	"unicode"
)

// This file finds secrets within a text that holds more than the secret.

// maxNested is how deep JSON in strings of JSON is read.
const maxNested = 3

// inText adds what has a secret's name in a text: members of JSON, and parts of a connection string or a command line.
func (l *secretList) inText(text string) {
	if !l.inJSON(text, maxNested) {
		l.inParts(text)
	}
}

// inJSON adds the strings that members with a secret's name hold in the JSON object or list that a text ends with. It
// reports whether there is one.
func (l *secretList) inJSON(text string, depth int) bool {
	start := strings.IndexAny(text, "{[")
	var value any
	if depth == 0 || start < 0 || json.Unmarshal([]byte(text[start:]), &value) != nil {
		return false
	}
	l.inValue("", value, depth)
	return true
}

// inValue adds the strings with a secret's name in a JSON value of that name.
func (l *secretList) inValue(name string, value any, depth int) {
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			if looksSecret(name) { // {"tokens": {"github": "..."}}
				key = name
			}
			l.inValue(key, member, depth)
		}
	case []any:
		for _, item := range v {
			l.inValue(name, item, depth)
		}
	case string:
		switch {
		case looksSecret(name):
			l.add(v)
			l.add(inQuotes(v)) // as the text has it
		case !l.inJSON(v, depth-1):
			l.inParts(v)
		}
	}
}

// inParts adds the values of the parts NAME=VALUE with a secret's name in a text of several parts.
func (l *secretList) inParts(text string) {
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == ';' || unicode.IsSpace(r) })
	for _, part := range parts {
		name, value, _ := strings.Cut(part, "=")
		value = strings.Trim(value, `"'`)
		if len(parts) > 1 && looksSecret(name) && strings.IndexFunc(name, notInToken) < 0 && !isTrivial(value) &&
			!strings.HasPrefix(value, "$") {
			l.add(value)
		}
	}
}

// inPath adds the segments of a URL's path that are random, and the last one of a webhook of Slack. Segments with an
// "@" or a dot name versions and files.
func (l *secretList) inPath(host, path string) {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		isLast := i == len(segments)-1
		if len(segment) > minRandom && !strings.ContainsAny(segment, "@.") && looksRandom(segment) ||
			isLast && host == "hooks.slack.com" {
			l.add(segment)
		}
	}
}
