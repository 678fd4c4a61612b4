package form

import (
	"encoding/json"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/schema"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// typedValue returns the value that a person typed for a member, or the problem with it.
func typedValue(m schema.Member, line string) (value json.RawMessage, problem string) {
	text := strings.TrimSpace(line)
	switch {
	case !utf8.ValidString(line):
		return nil, "it is not UTF-8 text"
	case strings.ContainsFunc(line, unicode.IsControl):
		return nil, "it holds control characters; were arrow keys pressed?"
	case m.Type == "array":
		return chosenValues(m, text)
	case m.Choices != nil:
		return chosenValue(m.Choices, text)
	}
	switch m.Type {
	case "string":
		value = tool.Quote(line)
		if text == `""` { // Enter alone takes the default
			value = json.RawMessage(text)
		} else if expected := wrongFormat(m.Format, line); expected != "" {
			return nil, "that is not " + expected
		}
	case "boolean":
		switch strings.ToLower(text) {
		case "y", "yes", "true":
			value = json.RawMessage("true")
		case "n", "no", "false":
			value = json.RawMessage("false")
		default:
			return nil, "say yes or no"
		}
	case "integer", "number":
		if !json.Valid([]byte(text)) || !strings.ContainsRune("-0123456789", rune(text[0])) { // RFC 8259, section 6
			return nil, "that is not a number"
		}
		value = json.RawMessage(text)
	default:
		if !json.Valid([]byte(text)) {
			return nil, `that is not JSON; write a text as "text"`
		}
		value = json.RawMessage(text)
	}
	return value, checked(m, value)
}

// checked returns the faults of a value as text, "" if it fits the schema.
func checked(m schema.Member, value json.RawMessage) string {
	var problems []string
	for _, f := range m.Check(value) {
		problems = append(problems, "it "+f.Problem+output.Prefixed("; expected ", f.Expected))
	}
	return strings.Join(problems, ", ")
}

// chosenValue returns the choice that text names by its number, its value or its title.
func chosenValue(choices []schema.Choice, text string) (json.RawMessage, string) {
	for _, c := range choices { // before numbers: a value may look like one
		if c.Text == text {
			return c.Value, ""
		}
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(choices) {
		return choices[n-1].Value, ""
	}
	for _, c := range choices {
		if strings.EqualFold(c.Text, text) || c.Title != "" && strings.EqualFold(c.Title, text) {
			return c.Value, ""
		}
	}
	return nil, "that is none of them; type a number from 1 to " + strconv.Itoa(len(choices))
}

// chosenValues returns the choices that a list with commas names.
func chosenValues(m schema.Member, text string) (json.RawMessage, string) {
	var list []string
	if text != "-" { // none
		for word := range strings.SplitSeq(text, ",") {
			value, problem := chosenValue(m.Choices, strings.TrimSpace(word))
			if problem != "" {
				return nil, problem + ", or several with commas, or - for none"
			}
			list = append(list, string(value))
		}
	}
	value := json.RawMessage("[" + strings.Join(list, ",") + "]")
	return value, checked(m, value)
}

// wrongFormat returns what is expected if text is not of the format, else "". The formats are those
// of forms (MCP 2025-11-25, client/elicitation); others are not checked.
func wrongFormat(format, text string) (expected string) {
	switch format {
	case "email":
		if a, err := mail.ParseAddress(text); err != nil || a.Address != text {
			return "an e-mail address like name@example.com"
		}
	case "uri":
		if u, err := url.Parse(text); err != nil || u.Scheme == "" || u.Host == "" && u.Opaque == "" && u.Path == "" {
			return "a URI like https://example.com/path"
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return "a date like 2026-01-31"
		}
	case "date-time":
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			return "a date and time like 2026-01-31T12:00:00Z"
		}
	}
	return ""
}

// secretWords are words in the names of members that ask for a secret.
const secretWords = "password passwd passphrase secret token apikey credential privatekey pincode"

// looksSecret reports whether a member seems to ask for a secret, by its name or title.
func looksSecret(m schema.Member) bool {
	squeezed := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, m.Name+m.Title)
	for word := range strings.FieldsSeq(secretWords) {
		if strings.Contains(squeezed, word) {
			return true
		}
	}
	return false
}
