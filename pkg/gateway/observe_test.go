package gateway

import (
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/mcp"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

const aParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestTraced puts the span of the headers into the _meta of a request, unless that has one; nothing else changes.
func TestTraced(t *testing.T) {
	t.Parallel()
	const in = `"traceparent":"` + aParent + `","tracestate":"a=b"`
	for _, c := range []struct{ method, id, params, parent, want string }{
		{"tools/call", "1", `{"name":"x","_meta":{"own":1.0}}`, aParent, `{"name":"x","_meta":{"own":1.0,` + in + `}}`},
		{"tools/call", "1", `{"name":"x"}`, aParent, `{"name":"x","_meta":{` + in + `}}`},
		{"tools/list", "1", ``, aParent, `{"_meta":{` + in + `}}`},
		{"tools/call", "1", `{"_meta":{"traceparent":7}}`, aParent, `{"_meta":{"traceparent":7}}`},
		{"tools/call", "1", `{"_meta":7}`, aParent, `{"_meta":7}`}, {"tools/call", "1", `[]`, aParent, `[]`},
		{"tools/call", "1", `{"a": 1}`, "00-1-2-3", `{"a": 1}`}, {"notifications/x", "", `{"a": 1}`, aParent, `{"a": 1}`},
	} {
		m := mcp.Message{Method: c.method}
		if c.id != "" {
			m.ID = []byte(c.id)
		}
		if c.params != "" {
			m.Params = []byte(c.params)
		}
		if got := string(Traced(m, c.parent, "a=b").Params); got != c.want {
			t.Errorf("%s %s: %s, not %s", c.method, c.params, got, c.want)
		}
	}
}

// TestIsError: a result has failed if its own isError says so, and not if another member holds that word.
func TestIsError(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]bool{`{"isError":true}`: true, `{"isError":false}`: false, `{}`: false, `[`: false,
		`{"content":[{"text":"\"isError\":true"}],"structuredContent":{"isError":true}}`: false} {
		if got := isError([]byte(result)); got != want {
			t.Errorf("%s: %v", result, got)
		}
	}
}

// TestListedAs: the variables of a template, and what no list has, are not in a record.
func TestListedAs(t *testing.T) {
	t.Parallel()
	at := func(server, name string) offer { return offer{ref: tool.Ref{Server: server, Name: name}} }
	l := &lists{resources: []offer{at("s", "a:one")}, templates: []offer{at("o", "a:{all}"), at("s", "a:item/{id}")}}
	for uri, want := range map[string]string{"a:one": "a:one", "a:item/secret": "a:item/{id}", "b:secret": ""} {
		if got := l.listedAs(tool.Ref{Server: "s", Name: uri, Kind: tool.Resource}); got != want {
			t.Errorf("%s: %q", uri, got)
		}
	}
}
