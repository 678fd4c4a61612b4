package otlp

import (
	"encoding/json"
	"strconv"

	"github.com/mcp-launchpad/mcpl/pkg/gateway"
)

// The types below are ExportTraceServiceRequest in JSON (OTLP 1.x, JSON Protobuf Encoding): names in lower camel case,
// ids in hexadecimal, 64-bit numbers as texts, enumerations as numbers.
type exportRequest struct {
	ResourceSpans []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource   resource     `json:"resource"`
	ScopeSpans []scopeSpans `json:"scopeSpans"`
}

type resource struct {
	Attributes []attribute `json:"attributes"`
}

type scopeSpans struct {
	Scope scope  `json:"scope"`
	Spans []span `json:"spans"`
}

type scope struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type span struct {
	TraceID    string      `json:"traceId"`
	SpanID     string      `json:"spanId"`
	TraceState string      `json:"traceState,omitempty"`
	ParentID   string      `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"`
	Start      string      `json:"startTimeUnixNano"`
	End        string      `json:"endTimeUnixNano"`
	Attributes []attribute `json:"attributes"`
	Status     status      `json:"status"`
}

type status struct {
	Code int `json:"code,omitempty"`
}

type attribute struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

type value struct {
	Text   *string `json:"stringValue,omitempty"`
	Number *string `json:"intValue,omitempty"`
}

const (
	kindServer  = 2 // SPAN_KIND_SERVER
	statusError = 2 // STATUS_CODE_ERROR
)

func textAttribute(key, text string) attribute { return attribute{key, value{Text: &text}} }

func numberAttribute(key string, number int) attribute {
	text := strconv.Itoa(number)
	return attribute{key, value{Number: &text}}
}

// encode returns the request that exports the spans of calls.
func encode(of []attribute, version string, calls []gateway.Record) ([]byte, error) {
	spans := make([]span, len(calls))
	for i, r := range calls {
		spans[i] = spanOf(r)
	}
	return json.Marshal(exportRequest{[]resourceSpans{{resource{of}, []scopeSpans{{scope{"mcpl", version}, spans}}}}})
}

// spanOf returns the span of a call, as the semantic conventions for MCP have it. The principal is not in it.
func spanOf(r gateway.Record) span {
	s := span{TraceID: r.Trace.ID, SpanID: r.Trace.Span, TraceState: r.Trace.State, ParentID: r.Parent.Span,
		Name: r.Method, Kind: kindServer, Start: strconv.FormatInt(r.Began.UnixNano(), 10),
		End: strconv.FormatInt(r.Began.Add(r.Took).UnixNano(), 10)}
	s.Attributes = append(s.Attributes, textAttribute("mcp.method.name", r.Method))
	switch r.Method {
	case "tools/call":
		s.Name += " " + r.Name
		s.Attributes = append(s.Attributes, textAttribute("gen_ai.operation.name", "execute_tool"),
			textAttribute("gen_ai.tool.name", r.Name))
	case "prompts/get":
		s.Name += " " + r.Name
		s.Attributes = append(s.Attributes, textAttribute("gen_ai.prompt.name", r.Name))
	default:
		s.Attributes = append(s.Attributes, textAttribute("mcp.resource.uri", r.Name))
	}
	s.Attributes = append(s.Attributes, textAttribute("mcpl.server", r.Server),
		textAttribute("mcpl.outcome", string(r.Outcome)), numberAttribute("mcpl.result.bytes", r.Bytes))
	if r.Outcome == gateway.Succeeded {
		return s
	}
	kind := string(r.Outcome)
	if r.Code != 0 {
		kind = strconv.Itoa(r.Code)
		s.Attributes = append(s.Attributes, textAttribute("rpc.response.status_code", kind))
	}
	s.Attributes = append(s.Attributes, textAttribute("error.type", kind))
	s.Status.Code = statusError
	return s
}
