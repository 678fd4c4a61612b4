package config

import (
	"encoding/json"
	"strings"
	"unicode"
)

// This file finds secrets within a text that holds more than the secret.

// maxNested is how deep JSON in strings of JSON is read.
const maxNested = 3

// inText adds what looks secret in a text: within JSON in the members' strings, so that a secret ends where its string
// does, else in the text as a whole.
func (l *secretList) inText(text string) {
	if !l.inJSON(text, maxNested) {
		l.inPlain(text)
	}
}

// inPlain adds what looks secret by its form in a text that is not JSON: a private key, parts of URLs, parts with a
// secret's name, and tokens of well-known services.
func (l *secretList) inPlain(text string) {
	if isPrivateKey(text) {
		l.add(text)
		return
	}
	l.inURLs(text)
	l.inParts(text)
	for _, word := range strings.FieldsFunc(text, notInToken) {
		if hasTokenPrefix(word) {
			l.add(word)
		}
	}
}

// inJSON adds the secrets in the JSON object or list that a text ends with, and in the text before it. It reports
// whether there is one.
func (l *secretList) inJSON(text string, depth int) bool {
	start := strings.IndexAny(text, "{[")
	if depth == 0 || start < 0 || !json.Valid([]byte(text[start:])) {
		return false
	}
	l.inPlain(text[:start])
	r := jsonReader{text: text[start:], dec: json.NewDecoder(strings.NewReader(text[start:])), depth: depth}
	r.dec.UseNumber() // a number may be too large for a float
	l.inValue("", &r)
	return true
}

// jsonReader reads valid JSON. depth is how deep JSON in its strings is read.
type jsonReader struct {
	text  string
	dec   *json.Decoder
	depth int
}

// next returns the next token, and its text.
func (r *jsonReader) next() (token json.Token, raw string) {
	start := r.dec.InputOffset()
	token, _ = r.dec.Token() // it is valid
	return token, strings.TrimLeft(r.text[start:r.dec.InputOffset()], " \t\r\n,:")
}

// inValue reads a value, and adds the strings in it that have a secret's name, or hold a secret.
func (l *secretList) inValue(name string, r *jsonReader) {
	token, raw := r.next()
	switch v := token.(type) {
	case json.Delim:
		for r.dec.More() {
			member := name
			if v == '{' {
				key, _ := r.next()
				if text, isText := key.(string); isText && !looksSecret(name) { // {"tokens": {"github": "..."}}
					member = text
				}
			}
			l.inValue(member, r)
		}
		r.next()
	case string:
		switch {
		case looksSecret(name):
			l.add(v)
			written := raw[1 : len(raw)-1]
			for range maxNested - r.depth {
				written = inQuotes(written)
			}
			l.add(written)
		case !l.inJSON(v, r.depth-1):
			l.inPlain(v)
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
