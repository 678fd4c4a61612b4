package otlp

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/mcp-launchpad/mcpl/pkg/gateway"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// TestMain checks that no exporter is left.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// variables is an environment of name=value.
func variables(list ...string) environment {
	return func(name string) (string, bool) {
		for _, v := range list {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}
}

// heard is what an exporter asks a person to mend.
type heard struct {
	mu    sync.Mutex
	texts []string
}

func (h *heard) notice(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.texts = append(h.texts, text)
}

func aCall(t tool.Trace) gateway.Record {
	return gateway.Record{Method: "tools/call", Principal: "ada", Server: "s", Name: "x", Outcome: gateway.Succeeded,
		Began: time.Unix(1, 0), Took: time.Second, Trace: t}
}

const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318/base/"

// TestEnvironment reads the standard variables, and says which is wrong without its value if that may be a secret.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		vars         string
		url, problem string
	}{
		{"", "", ""}, {"OTEL_SERVICE_NAME=x", "", ""}, {endpoint, "http://c:4318/base/v1/traces", ""},
		{endpoint + " OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://t/x?y", "https://t/x?y", ""},
		{endpoint + " OTEL_SDK_DISABLED=True", "", ""}, {endpoint + " OTEL_TRACES_EXPORTER=none", "", ""},
		{endpoint + " OTEL_TRACES_EXPORTER=otlp OTEL_EXPORTER_OTLP_PROTOCOL=http/json", "http://c:4318/base/v1/traces", ""},
		{endpoint + " OTEL_EXPORTER_OTLP_PROTOCOL=grpc OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json",
			"http://c:4318/base/v1/traces", ""},
		{endpoint + " OTEL_TRACES_EXPORTER=zipkin", "", `OTEL_TRACES_EXPORTER is "zipkin"`},
		{endpoint + " OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", "", "as http/json"},
		{endpoint + " OTEL_EXPORTER_OTLP_HEADERS=secret", "", "OTEL_EXPORTER_OTLP_HEADERS is not a list"},
		{endpoint + " OTEL_EXPORTER_OTLP_TRACES_HEADERS=a=%0d%0asecret", "", "OTEL_EXPORTER_OTLP_TRACES_HEADERS is not a list"},
		{endpoint + " OTEL_EXPORTER_OTLP_TIMEOUT=x", "", "OTEL_EXPORTER_OTLP_TIMEOUT is not a number"},
		{endpoint + " OTEL_RESOURCE_ATTRIBUTES=secret", "", "OTEL_RESOURCE_ATTRIBUTES is not a list"},
		{endpoint + " OTEL_TRACES_SAMPLER=some", "", `OTEL_TRACES_SAMPLER is "some"`},
		{endpoint + " OTEL_TRACES_SAMPLER=parentbased_", "", `OTEL_TRACES_SAMPLER is "parentbased_"`},
		{endpoint + " OTEL_TRACES_SAMPLER=traceidratio OTEL_TRACES_SAMPLER_ARG=NaN", "", "OTEL_TRACES_SAMPLER_ARG"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=secret:4317", "", "OTEL_EXPORTER_OTLP_ENDPOINT is not a URL"},
	} {
		s, err := variables(strings.Fields(c.vars)...).read("1")
		if c.problem == "" && err != nil || c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)) {
			t.Errorf("%s: %v", c.vars, err)
		}
		if err == nil && s.endpoint != c.url || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %+v, %v", c.vars, s, err)
		}
	}
}

// FuzzPairs: what is read of a list can be a header, and a list that cannot be read is not quoted.
func FuzzPairs(f *testing.F) {
	f.Add("a=b,c=%20d")
	f.Fuzz(func(t *testing.T, text string) {
		pairs, err := pairsOf("V", text)
		if err != nil && err.Error() != "V is not a list of name=value,name=value" {
			t.Error(err)
		}
		for _, p := range pairs {
			if p[0] == "" || strings.ContainsAny(p[0]+p[1], "\r\n") {
				t.Errorf("%q: %q", text, p)
			}
		}
	})
}

// TestSamplers records what each sampler says, and the same share of the traces at every place.
func TestSamplers(t *testing.T) {
	t.Parallel()
	parent := tool.Trace{ID: strings.Repeat("0", 31) + "1", Span: strings.Repeat("0", 15) + "1", State: "a=b"}
	sampled := parent
	sampled.Sampled = true
	late := parent // the last of all traces
	late.ID = strings.Repeat("f", 32)
	for _, c := range []struct {
		name, arg                      string
		root, under, underSampled, end bool
	}{
		{"", "", true, false, true, false}, {"always_on", "", true, true, true, true}, {"always_off", "", false, false, false, false},
		{"parentbased_always_off", "", false, false, true, false}, {"parentbased_always_on", "", true, false, true, false},
		{"parentbased_traceidratio", "0", false, false, true, false}, {"traceidratio", "", true, true, true, true},
		{"traceidratio", "0.5", false, true, true, false},
	} {
		s, err := samplerOf(c.name, c.arg)
		if err != nil {
			t.Fatal(err)
		}
		e := &Exporter{settings: settings{sampler: s}}
		root := e.Start(tool.Trace{})
		if raw, err := hex.DecodeString(root.ID + root.Span); err != nil || len(raw) != 24 {
			t.Errorf("%+v, %v", root, err)
		}
		if root.Sampled != c.root && c.arg != "0.5" {
			t.Errorf("%s: a root is recorded: %v", c.name, root.Sampled)
		}
		for parent, want := range map[tool.Trace]bool{parent: c.under, sampled: c.underSampled, late: c.end} {
			got := e.Start(parent)
			if got.Sampled != want || got.ID != parent.ID || got.Span == parent.Span || got.State != "a=b" {
				t.Errorf("%s %s: below %+v is %+v", c.name, c.arg, parent, got)
			}
		}
	}
}

// TestLost: spans that no collector takes are counted, and a person hears of it once, without the key in the address.
// Neither headers nor spans follow a redirect.
func TestLost(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	c := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer c.Close()
	h := new(heard)
	e := New(Options{Version: "1", Notice: h.notice, Lookup: variables(
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + c.URL + "/v1/traces?key=secret")})
	for range 3 {
		e.Observe(aCall(e.Start(tool.Trace{})))
	}
	e.Observe(aCall(tool.Trace{ID: "not recorded"}))
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	e.Observe(aCall(tool.Trace{Sampled: true})) // nothing happens
	if e.Lost() != 3 || len(h.texts) != 1 || !strings.Contains(h.texts[0], "307") || strings.Contains(h.texts[0], "secret") {
		t.Errorf("%d, %q", e.Lost(), h.texts)
	}
	if elsewhere.Load() != 0 {
		t.Error("the redirect was followed")
	}
}

// TestSilentCollector: a collector that does not answer stops neither calls nor, for long, the end.
func TestSilentCollector(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	c := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // it may break off
		arrived <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-ctx.Done():
		}
	}))
	defer c.Close()
	defer cancel()
	h := new(heard)
	e := New(Options{Version: "1", Notice: h.notice, Lookup: variables("OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL)})
	span := aCall(e.Start(tool.Trace{}))
	e.Observe(span)
	<-arrived // it waits for the answer
	for range maxWaiting + 7 {
		e.Observe(span)
	}
	if e.Lost() != 7 {
		t.Errorf("%d are lost before the end", e.Lost())
	}
	began := time.Now()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 2*lastFlush || e.Lost() != maxWaiting+8 || len(h.texts) != 1 {
		t.Errorf("it took %s, %d are lost, %q", took, e.Lost(), h.texts)
	}
}

// TestOfficialForm has the request read by the official message, which knows each member that may be there. It takes
// ids for base64, as protobuf has bytes in JSON; OTLP has them in hexadecimal.
func TestOfficialForm(t *testing.T) {
	t.Parallel()
	failed := aCall(tool.Trace{ID: strings.Repeat("ab", 16), Span: strings.Repeat("cd", 8), Sampled: true, State: "a=b"})
	failed.Parent = tool.Trace{ID: failed.Trace.ID, Span: strings.Repeat("ef", 8)}
	failed.Outcome, failed.Name = gateway.Reported, "x\xff"
	body, err := encode(resourceOf([][2]string{{"a", "b"}}, "", "1"), "1", []gateway.Record{aCall(failed.Trace), failed})
	if err != nil {
		t.Fatal(err)
	}
	var got tracepb.TracesData
	if err := protojson.Unmarshal(body, &got); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	of := got.GetResourceSpans()[0]
	spans := of.GetScopeSpans()[0].GetSpans()
	s := spans[1]
	if len(spans) != 2 || s.GetKind() != tracepb.Span_SPAN_KIND_SERVER || s.GetEndTimeUnixNano() != 2e9 ||
		s.GetStatus().GetCode() != tracepb.Status_STATUS_CODE_ERROR || s.GetName() != "tools/call x\uFFFD" ||
		len(of.GetResource().GetAttributes()) != 3 || len(s.GetTraceId()) != 24 || len(s.GetParentSpanId()) != 12 {
		t.Errorf("%v", &got)
	}
}

// TestSpan has a failed call name the error of the server, and no one who called.
func TestSpan(t *testing.T) {
	t.Parallel()
	r := aCall(tool.Trace{ID: "i", Span: "s", Sampled: true})
	r.Outcome, r.Code, r.Method, r.Name = gateway.Failed, -32002, "resources/read", "a:{id}"
	got, err := json.Marshal(spanOf(r))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"traceId":"i","spanId":"s","name":"resources/read","kind":2,"startTimeUnixNano":"1000000000",` +
		`"endTimeUnixNano":"2000000000","attributes":[{"key":"mcp.method.name","value":{"stringValue":"resources/read"}},` +
		`{"key":"mcp.resource.uri","value":{"stringValue":"a:{id}"}},{"key":"mcpl.server","value":{"stringValue":"s"}},` +
		`{"key":"mcpl.outcome","value":{"stringValue":"error"}},{"key":"mcpl.result.bytes","value":{"intValue":"0"}},` +
		`{"key":"rpc.response.status_code","value":{"stringValue":"-32002"}},` +
		`{"key":"error.type","value":{"stringValue":"-32002"}}],"status":{"code":2}}`
	if string(got) != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
}
