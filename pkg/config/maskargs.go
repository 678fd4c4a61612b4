package config

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// MaskArguments returns the arguments of a call as people may see them: each text has the secrets of the server as
// "***", and so has what looks like a secret by its member's name or by its form. Everything else stays as it is, byte
// for byte, so that a person sees what would be sent; only white space between values goes, which could look like the
// end of the arguments. raw is JSON; other text becomes "***" as a whole.
func (s *Server) MaskArguments(raw json.RawMessage) json.RawMessage {
	if !json.Valid(raw) {
		return json.RawMessage(`"***"`)
	}
	m := argumentMask{server: s}
	for at := 0; at < len(raw); {
		at = m.token(raw, at)
	}
	return m.out.Bytes()
}

// argumentMask copies JSON and masks its scalars.
type argumentMask struct {
	server *Server
	out    bytes.Buffer
	name   string   // of the member that comes next
	around []string // the names of the lists and objects around
}

// token copies the token of valid JSON that begins at a byte, and returns where the next one begins.
func (m *argumentMask) token(raw []byte, at int) (next int) {
	switch c := raw[at]; c {
	case '{', '[':
		m.around = append(m.around, m.name)
	case '}', ']':
		m.name, m.around = m.around[len(m.around)-1], m.around[:len(m.around)-1]
	case '"':
		next = at + 1
		for ; raw[next] != '"'; next++ {
			if raw[next] == '\\' {
				next++
			}
		}
		next++
		var text string
		_ = json.Unmarshal(raw[at:next], &text) // it is valid
		if rest := bytes.TrimLeft(raw[next:], " \t\r\n"); len(rest) > 0 && rest[0] == ':' {
			m.name = text
			m.out.Write(raw[at:next])
		} else {
			m.scalar(raw[at:next], text)
		}
		return next
	case ',', ':':
	case ' ', '\t', '\r', '\n':
		return at + 1
	default:
		for next = at; next < len(raw) && !strings.ContainsRune(" \t\r\n,]}", rune(raw[next])); {
			next++
		}
		m.scalar(raw[at:next], string(raw[at:next]))
		return next
	}
	m.out.WriteByte(raw[at])
	return at + 1
}

// scalar writes a scalar that stands for a text, masked.
func (m *argumentMask) scalar(raw []byte, text string) {
	isText := raw[0] == '"'
	masked := m.server.Mask(text)
	if isText {
		for _, word := range strings.FieldsFunc(masked, notInToken) {
			if hasTokenPrefix(word) {
				masked = strings.ReplaceAll(masked, word, "***")
			}
		}
	}
	if text != "" && (secretArgument(m.name, isText) || secretArgument(m.outer(), isText)) {
		masked = "***"
	}
	if masked == text {
		m.out.Write(raw)
		return
	}
	quoted, _ := json.Marshal(masked) // a text always encodes
	m.out.Write(quoted)
}

// outer returns the name of the list or object around the scalar.
func (m *argumentMask) outer() string {
	if len(m.around) == 0 {
		return ""
	}
	return m.around[len(m.around)-1]
}

// secretArgument reports whether an argument of that name holds a secret. It is stricter than [looksSecret]: a person
// has to judge a call by its arguments, and "key", "session" and "author" mostly name what the call is about. A number
// is a secret only if it is a password: tokens that are numbers are counted.
func secretArgument(name string, isText bool) bool {
	name = strings.NewReplacer("_", "", "-", "", ".", "").Replace(strings.ToUpper(name))
	has := func(part string) bool { return strings.Contains(name, part) }
	if slices.ContainsFunc([]string{"PASSWORD", "PASSWD", "PASSPHRASE", "PASSCODE"}, has) {
		return true
	}
	harmless := []string{"PAGETOKEN", "NEXTTOKEN", "SYNCTOKEN", "CONTINUATION", "TOKENIZE"}
	if !isText || slices.ContainsFunc(harmless, has) {
		return false
	}
	return slices.ContainsFunc([]string{"TOKEN", "SECRET", "CREDENTIAL", "APIKEY", "PRIVATEKEY", "ACCESSKEY",
		"AUTHORIZATION", "COOKIE", "BEARER", "JWT"}, has)
}
