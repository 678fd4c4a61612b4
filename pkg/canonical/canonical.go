// Package canonical writes JSON in one form for each value, so that equal values have equal bytes and hashes: the JSON
// Canonicalization Scheme (RFC 8785). Call [JSON] for the bytes, or [Hash] for their SHA-256.
//
// It differs from the RFC in three points, each so that different texts stay different. Integers beyond 2^53 keep their
// digits, and so do numbers beyond the range of a double. Members of the same name all stay, in their order.
package canonical

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON returns the canonical form of one JSON value. It fails if raw is not JSON. The work is linear in the size, apart
// from the sorting of members.
func JSON(raw []byte) ([]byte, error) {
	if !json.Valid(raw) { // which also bounds the depth
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, err
		}
		return nil, errors.New("not JSON")
	}
	s := scanner{raw: raw}
	v := s.value()
	return v.append(make([]byte, 0, len(raw))), nil
}

// Hash returns the hex SHA-256 of the canonical form.
func Hash(raw []byte) (string, error) {
	form, err := JSON(raw)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(form)
	return hex.EncodeToString(sum[:]), nil
}

// value is a JSON value. A scalar has its canonical text; a list and an object have parts.
type value struct {
	text  string
	open  byte // '[', '{', or 0 for a scalar
	parts []part
}

// part is an element of a list, or a member of an object.
type part struct {
	key   string // decoded
	order []uint16
	value value
}

// scanner reads JSON that json.Valid has accepted, so it need not check again.
type scanner struct {
	raw []byte
	at  int
}

// next skips white space and returns the byte there.
func (s *scanner) next() byte {
	for {
		switch c := s.raw[s.at]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
			s.at++
		default:
			return c
		}
	}
}

func (s *scanner) value() value {
	switch c := s.next(); c {
	case '{', '[':
		s.at++
		v := value{open: c}
		for s.next() != c+2 { // in ASCII the closing bracket comes two after the opening one
			var p part
			if c == '{' {
				p.key = s.string()
				p.order = utf16.Encode([]rune(p.key))
			}
			p.value = s.value()
			v.parts = append(v.parts, p)
		}
		s.at++
		if c == '{' {
			slices.SortStableFunc(v.parts, func(a, b part) int { return slices.Compare(a.order, b.order) })
		}
		return v
	case '"':
		return value{text: string(appendString(nil, s.string()))}
	}
	begin := s.at
	for s.at < len(s.raw) && !delimiter(s.raw[s.at]) {
		s.at++
	}
	return value{text: number(string(s.raw[begin:s.at]))}
}

func delimiter(c byte) bool {
	return c == ',' || c == ']' || c == '}' || c == ' ' || c == '\t' || c == '\r' || c == '\n'
}

// string reads and decodes a string.
func (s *scanner) string() string {
	s.next()
	begin := s.at
	for s.at++; s.raw[s.at] != '"'; s.at++ {
		if s.raw[s.at] == '\\' {
			s.at++
		}
	}
	s.at++
	if inner := s.raw[begin+1 : s.at-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	var text string
	_ = json.Unmarshal(s.raw[begin:s.at], &text) // it is a string
	return text
}

func (v value) append(b []byte) []byte {
	if v.open == 0 {
		return append(b, v.text...)
	}
	b = append(b, v.open)
	for i, p := range v.parts {
		if i > 0 {
			b = append(b, ',')
		}
		if v.open == '{' {
			b = append(appendString(b, p.key), ':')
		}
		b = p.value.append(b)
	}
	return append(b, v.open+2)
}

// number returns the canonical text of a number, and other literals as they are: "Serialization of Numbers" is that of
// ECMAScript (RFC 8785, section 3.2.2.3), which encoding/json follows.
func number(text string) string {
	switch text {
	case "true", "false", "null":
		return text
	case "-0":
		return "0"
	}
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return text // up to 2^53 the same as that of a double
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || isDigits(text) {
		return text
	}
	if f == 0 {
		return "0"
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return strconv.FormatInt(int64(f), 10)
	}
	form, err := json.Marshal(f)
	if err != nil { // infinite, which ParseFloat has refused
		return text
	}
	return string(form)
}

// isDigits reports whether text is an integer without fraction and exponent.
func isDigits(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (i > 0 || c != '-') {
			return false
		}
	}
	return true
}

// appendString appends s as RFC 8785, section 3.2.2.2, says: nothing is escaped that need not be.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\b':
			b = append(b, `\b`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\f':
			b = append(b, `\f`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r < 0x20:
			b = append(b, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}
