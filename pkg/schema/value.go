package schema

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decode returns the value of raw as the library takes it: whole numbers that fit are int64, other numbers float64,
// cut to its range. For text that is not JSON it is nil.
func decode(raw []byte) any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil
	}
	return plain(v)
}

func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		return plainNumber(v.String())
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = plain(v[key])
		}
	}
	return v
}

func plainNumber(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	// The only error of a JSON number is its range, with ±Inf as the value.
	f, _ := strconv.ParseFloat(text, 64)
	return max(-math.MaxFloat64, min(math.MaxFloat64, f))
}

// encode is the inverse of decode, without the HTML escapes of encoding/json.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // decode's results always encode
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// jsonType names the type of a value that decode returned.
func jsonType(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case int64:
		return "integer"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

// cut shortens s to at most n bytes, at the border of a character, with an ellipsis.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n = max(0, n-len("…"))
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// pointer appends a segment to a JSON pointer (RFC 6901, section 3).
func pointer(at, segment string) string {
	return at + "/" + strings.ReplaceAll(strings.ReplaceAll(segment, "~", "~0"), "/", "~1")
}

// nesting returns how many levels of objects and arrays the JSON text raw has.
func nesting(raw []byte) int {
	level, deepest := 0, 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			level++
			deepest = max(deepest, level)
		case '}', ']':
			level--
		case '"':
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		}
	}
	return deepest
}
