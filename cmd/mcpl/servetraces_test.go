//go:build linux || darwin

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// exported is what a collector takes: a request of OTLP over HTTP as JSON, with the members that mcpl sends.
type exported struct {
	ResourceSpans []struct {
		Resource   struct{ Attributes attributes }
		ScopeSpans []struct {
			Scope struct{ Name, Version string }
			Spans []exportedSpan
		}
	}
}

type exportedSpan struct {
	TraceID           string `json:"traceId"`
	SpanID            string `json:"spanId"`
	ParentSpanID      string `json:"parentSpanId"`
	TraceState, Name  string
	Kind              int
	StartTimeUnixNano string
	EndTimeUnixNano   string
	Attributes        attributes
	Status            struct{ Code int }
}

// attributes are those of a span, as texts.
type attributes map[string]string

// UnmarshalJSON takes the list that OTLP has.
func (a *attributes) UnmarshalJSON(data []byte) error {
	var list []struct {
		Key   string
		Value struct{ StringValue, IntValue *string }
	}
	if err := strictly(data, &list); err != nil {
		return err
	}
	*a = make(attributes)
	for _, one := range list {
		if one.Value.StringValue != nil {
			(*a)[one.Key] = *one.Value.StringValue
		} else {
			(*a)[one.Key] = *one.Value.IntValue
		}
	}
	return nil
}

func strictly(data []byte, v any) error {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// collector is a collector of traces.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []exportedSpan
	of    attributes
}

// newCollector takes spans at /v1/traces, and is busy at the first request.
func newCollector(t *testing.T) *collector {
	c := new(collector)
	busy := true
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if busy {
			busy = false
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if r.Method != "POST" || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" ||
			r.Header.Get("X-Key") != "a b=" {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		}
		if strings.Contains(string(body), canary) || strings.Contains(string(body), "default") {
			t.Errorf("arguments, results or a principal are in %s", body)
		}
		var got exported
		if err := strictly(body, &got); err != nil {
			t.Errorf("%v: %s", err, body)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		for _, rs := range got.ResourceSpans {
			c.of = rs.Resource.Attributes
			for _, ss := range rs.ScopeSpans {
				c.spans = append(c.spans, ss.Spans...)
			}
		}
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(c.Close)
	return c
}

// TestServeTraces sends a span for each call, below that of the client, and hands it on to the server.
func TestServeTraces(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	h := newHome(t, watchedScript())
	h.vars = append(h.vars, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_EXPORTER_OTLP_HEADERS=x-key=a%20b%3D",
		"OTEL_SERVICE_NAME=gate", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test,service.name=other")
	s := h.serveAt(t, "127.0.0.1:0", "--expose", "all")
	own := "Authorization: Bearer " + s.token
	const trace, span, other = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "00f067aa0ba902b7"
	header := "Traceparent: 00-" + trace + "-" + span + "-01"
	s.is(s.ask("POST", callOf(1, "s_say", `{"a":"`+canary+`"}`), own, header, "Tracestate: a=b"), 200, canary)
	inMeta := strings.Replace(callOf(2, "s_fails", `{}`), `"arguments"`, `"_meta":{"traceparent":"00-`+trace+`-`+other+`-01"},"arguments"`, 1)
	s.is(s.ask("POST", inMeta, own, header), 200, canary) // the _meta wins
	s.is(s.path("/mcp/search").ask("POST", callOf(3, "call_tool", `{"server":"s","tool":"say"}`), own, header), 200, canary)
	s.is(s.ask("POST", `{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"a:one"}}`, own), 200, "first")
	unsampled := strings.TrimSuffix(header, "01") + "00"
	s.is(s.ask("POST", callOf(5, "s_say", `{}`), own, unsampled), 200, canary) // not exported
	s.end()                                                                    // what waits is sent
	if len(c.spans) != 4 {
		t.Fatalf("%d spans: %+v", len(c.spans), c.spans)
	}
	if c.of["service.name"] != "gate" || c.of["deployment.environment.name"] != "test" || c.of["service.version"] == "" {
		t.Errorf("%v", c.of)
	}
	received := strings.Join(mcptest.Lines(t, h.received), "\n")
	for i, want := range []struct {
		parent, name, state, tool, outcome, wrong string
	}{
		{span, "tools/call say", "a=b", "say", "ok", ""}, {other, "tools/call fails", "", "fails", "tool_error", "tool_error"},
		{span, "tools/call say", "", "say", "ok", ""}, {"", "resources/read", "", "", "ok", ""},
	} {
		got := c.spans[i]
		a := got.Attributes
		if got.Name != want.name || got.ParentSpanID != want.parent || got.TraceState != want.state || got.Kind != 2 ||
			a["gen_ai.tool.name"] != want.tool || a["mcpl.outcome"] != want.outcome || a["error.type"] != want.wrong ||
			a["mcpl.server"] != "s" || a["mcp.method.name"] != strings.Fields(want.name)[0] {
			t.Errorf("span %d is %+v, not %+v", i, got, want)
		}
		if (got.TraceID == trace) != (want.parent != "") || (got.Status.Code == 2) != (want.wrong != "") ||
			!regexp.MustCompile(`^\d{19}$`).MatchString(got.StartTimeUnixNano) || got.EndTimeUnixNano < got.StartTimeUnixNano {
			t.Errorf("span %d is %+v", i, got)
		}
		if !strings.Contains(received, "00-"+got.TraceID+"-"+got.SpanID+"-01") {
			t.Errorf("the server has not got span %d: %s", i, received)
		}
	}
}

// TestServeTracesOff: without an endpoint nothing is sent, and the span of the client reaches the server as it came.
func TestServeTracesOff(t *testing.T) {
	t.Parallel()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, c := range []struct{ vars, want string }{
		{"", ""}, {"OTEL_SDK_DISABLED=true OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", ""},
		{"OTEL_TRACES_EXPORTER=none OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", ""},
		{"OTEL_EXPORTER_OTLP_PROTOCOL=grpc OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", `"grpc", and mcpl exports OTLP as http/json`},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=x:key@h", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is not a URL"},
	} {
		h := newHome(t, watchedScript())
		h.vars = append(h.vars, strings.Fields(c.vars)...)
		s := h.serveHTTP(t, "--expose", "all")
		s.is(s.ask("POST", callOf(1, "s_say", `{}`), "Traceparent: "+parent), 200, canary)
		if received := strings.Join(mcptest.Lines(t, h.received), "\n"); !strings.Contains(received, `"traceparent":"`+parent+`"`) {
			t.Errorf("%q: %s", c.vars, received)
		}
		said := s.end()
		silent := c.want == "" && strings.Contains(said, "traces")
		if silent || !strings.Contains(said, c.want) || strings.Contains(said, "key@h") {
			t.Errorf("%q: %s", c.vars, said)
		}
	}
}

// TestServeTracesThroughDaemon hands the span of a client on to a server that the daemon keeps.
func TestServeTracesThroughDaemon(t *testing.T) {
	t.Parallel()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	h := newWarmHome(t, watchedScript())
	f := h.serve(t)
	f.send(hello)
	f.until(`"id":1`)
	call := strings.Replace(callOf(2, "call_tool", `{"server":"s","tool":"say"}`), `"arguments"`,
		`"_meta":{"traceparent":"`+parent+`"},"arguments"`, 1)
	f.send(call)
	f.until(`"id":2`, canary)
	if received := strings.Join(mcptest.Lines(t, h.received), "\n"); !strings.Contains(received, `"traceparent":"`+parent+`"`) {
		t.Error(received)
	}
}
