package conn

import (
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// TestTrace: the span of a call goes to its server in the _meta of the request, in place of another, and over HTTP in
// its headers; no other request has it.
func TestTrace(t *testing.T) {
	t.Parallel()
	h := new(handmade)
	p := handmadePool(t, h, "")
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	opt := tool.CallOptions{Trace: tool.ParseTrace(parent, "a=b")}
	if _, err := p.Call(t.Context(), tool.Ref{Server: "s", Name: "t", Kind: tool.Tool}, []byte(`{}`), opt); err != nil {
		t.Fatal(err)
	}
	given := []byte(`{"name":"t","_meta":{"traceparent":"other","own":1}}`)
	if _, err := p.Request(t.Context(), "s", "tools/call", given, opt); err != nil {
		t.Fatal(err)
	}
	p.Close()
	calls := 0
	for _, s := range h.all() {
		is := s.what == "tools/call"
		if is {
			calls++
		}
		inMeta := strings.Contains(s.params, `"traceparent":"`+parent+`","tracestate":"a=b"`)
		inHeaders := s.header.Get("Traceparent") == parent && s.header.Get("Tracestate") == "a=b"
		if inMeta != is || inHeaders != is || strings.Contains(s.params, "other") {
			t.Errorf("%s: %v, %s", s.what, s.header, s.params)
		}
	}
	if calls != 2 {
		t.Errorf("%d calls", calls)
	}
}
