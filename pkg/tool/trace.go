package tool

import (
	"fmt"
	"strconv"
	"strings"
)

// Trace is a place in a distributed trace (W3C Trace Context, level 1): the span that a request belongs to. The zero
// Trace is none.
type Trace struct {
	// ID is that of the trace, 32 lower-case hexadecimal digits, and Span that of the span, 16 of them.
	ID   string `json:"id,omitempty"`
	Span string `json:"span,omitempty"`
	// Sampled says that the span is recorded.
	Sampled bool `json:"sampled,omitempty"`
	// State is what tracing systems hand on beside it, the value of tracestate.
	State string `json:"state,omitempty"`
}

// maxTraceState bounds the tracestate that is handed on, in bytes: "Vendors SHOULD propagate at least 512 characters"
// (W3C Trace Context, section 3.3.1.5).
const maxTraceState = 512

// ParseTrace returns the place that the values of traceparent and tracestate name; the zero Trace if the first is not
// valid. A tracestate that is too long, or has other characters than its section allows, is dropped.
func ParseTrace(parent, state string) Trace {
	version, rest, _ := strings.Cut(parent, "-")
	id, rest, _ := strings.Cut(rest, "-")
	span, rest, _ := strings.Cut(rest, "-")
	flags, _, more := strings.Cut(rest, "-") // later versions may have more (section 3.2.4)
	set, err := strconv.ParseUint(flags, 16, 8)
	if !isHex(version, 2) || version == "ff" || version == "00" && more || !isHex(flags, 2) || err != nil ||
		!isHex(id, 32) || isZero(id) || !isHex(span, 16) || isZero(span) {
		return Trace{}
	}
	if len(state) > maxTraceState || strings.ContainsFunc(state, func(r rune) bool { return r < ' ' || r > '~' }) {
		state = ""
	}
	return Trace{ID: id, Span: span, Sampled: set&1 != 0, State: state}
}

// Parent returns the value of traceparent; "" for the zero Trace.
func (t Trace) Parent() string {
	if t.ID == "" {
		return ""
	}
	flags := 0
	if t.Sampled {
		flags = 1
	}
	return fmt.Sprintf("00-%s-%s-%02x", t.ID, t.Span, flags)
}

// isHex reports whether s consists of n lower-case hexadecimal digits.
func isHex(s string, n int) bool { return len(s) == n && strings.Trim(s, "0123456789abcdef") == "" }

func isZero(s string) bool { return strings.Trim(s, "0") == "" }
