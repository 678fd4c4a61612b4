package config

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

// MaskArguments returns the arguments of a call as people may see them: each text has the secrets of the server as
// "***", and so has what looks like a secret by its form or by the name of its member, or of one around it, be it a
// text, a number or a truth value. Everything else stays as it is, byte for byte, so that a person sees what would be
// sent; only white space between values goes, which could look like the end of the arguments. raw is JSON; other text
// becomes "***" as a whole.
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
	name   string // of the member that comes next
	around []level
}

// level is a list or an object around a scalar: the name of its member, and what it hides with those around it.
type level struct {
	name string
	secrecy
}

// token copies the token of valid JSON that begins at a byte, and returns where the next one begins.
func (m *argumentMask) token(raw []byte, at int) (next int) {
	switch c := raw[at]; c {
	case '{', '[':
		m.around = append(m.around, level{m.name, m.secrecy()})
	case '}', ']':
		m.name, m.around = m.around[len(m.around)-1].name, m.around[:len(m.around)-1]
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
	masked := m.server.Mask(text)
	if raw[0] == '"' {
		for _, word := range strings.FieldsFunc(masked, notInToken) {
			if hasTokenPrefix(word) {
				masked = strings.ReplaceAll(masked, word, "***")
			}
		}
	}
	if text != "" && m.secrecy().hides(raw[0]) {
		masked = "***"
	}
	if masked == text {
		m.out.Write(raw)
		return
	}
	quoted, _ := json.Marshal(masked) // a text always encodes
	m.out.Write(quoted)
}

// secrecy returns what the name of the member that comes next hides, with those around it.
func (m *argumentMask) secrecy() secrecy {
	hidden := secrecyOf(m.name)
	if n := len(m.around); n > 0 {
		outer := m.around[n-1].secrecy
		hidden.texts, hidden.numbers = hidden.texts || outer.texts, hidden.numbers || outer.numbers
		hidden.truths = hidden.truths || outer.truths
	}
	return hidden
}

// secrecy says which scalars under a name are secret.
type secrecy struct{ texts, numbers, truths bool }

// hides reports whether a scalar is secret, by its first byte. null says nothing.
func (s secrecy) hides(first byte) bool {
	switch first {
	case '"':
		return s.texts
	case 't', 'f':
		return s.truths
	case 'n':
		return false
	}
	return s.numbers
}

// secrecyOf says what is secret under an argument's name. It is stricter than [looksSecret]: a person has to judge a
// call by its arguments, and "key", "session" and "author" mostly name what the call is about.
func secrecyOf(name string) secrecy {
	words := nameWords(name)
	name = strings.Join(words, "")
	has := func(part string) bool { return strings.Contains(name, part) }
	is := func(word string) bool { return slices.Contains(words, word) }
	switch {
	case slices.ContainsFunc([]string{"PASSWORD", "PASSWD", "PASSPHRASE", "PASSCODE", "PINCODE", "SECURITYCODE",
		"2FACODE", "MFACODE"}, has):
		return secrecy{true, true, true}
	case len(words) > 0 && slices.Contains([]string{"PIN", "OTP", "TOTP", "CVV", "CVC", "2FA", "MFA"},
		words[len(words)-1]):
		return secrecy{texts: true, numbers: true} // "pin": true pins something
	case slices.ContainsFunc([]string{"PAGETOKEN", "NEXTTOKEN", "SYNCTOKEN", "CONTINUATION", "TOKENIZE"}, has),
		!slices.ContainsFunc([]string{"TOKEN", "SECRET", "CREDENTIAL", "APIKEY", "PRIVATEKEY", "ACCESSKEY",
			"AUTHORIZATION", "COOKIE", "BEARER", "JWT"}, has):
		return secrecy{}
	case slices.ContainsFunc([]string{"TOKENS", "COUNT", "MAX", "MIN", "LIMIT", "USAGE", "BUDGET"}, is):
		return secrecy{texts: true} // tokens are counted too
	}
	return secrecy{true, true, true}
}

// nameWords returns the words of a name in capitals: accessToken has two, as access_token has.
func nameWords(name string) []string {
	var b strings.Builder
	small := false
	for _, r := range name {
		if unicode.IsUpper(r) && small {
			b.WriteByte(' ')
		}
		small = unicode.IsLower(r)
		b.WriteRune(unicode.ToUpper(r))
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return strings.ContainsRune(" _-.", r) })
}
