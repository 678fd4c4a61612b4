package conn

import (
	"encoding/json"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
)

// From MCP 2026-07-28 on, over Streamable HTTP, arguments whose schema says so (x-mcp-header) are
// repeated in headers, so that what is between may route by them (streamable-http, "Custom Headers
// from Tool Parameters"). The SDK makes them of the definitions that it has listed itself; a session
// that lives for one call has listed none, so that they are made here of the definition in the index.

// repeatsInHeaders reports whether the session is one of those.
func (s *session) repeatsInHeaders() bool {
	w, ok := s.wire.(*streamableWire)
	return ok && w.http.modern.Load()
}

// headersOf returns the headers for arguments by their schema, nil where there are none. A schema
// whose marks no headers can be made of has none.
func headersOf(schema string, args json.RawMessage) http.Header {
	if schema == "" || len(args) == 0 || wrongMarks([]byte(schema)) != nil {
		return nil
	}
	params, err := json.Marshal(map[string]json.RawMessage{"arguments": args})
	if err != nil {
		return nil
	}
	header := make(http.Header)
	for name, value := range mcp.GenerateParamHeaders(&mcp.Tool{RawInputSchema: []byte(schema)}, params) {
		header.Set(name, value)
	}
	return header
}

// wrongMarks returns what is wrong with the x-mcp-header marks of a schema.
func wrongMarks(schema json.RawMessage) error {
	return mcp.ValidateParamHeaderAnnotations(&mcp.Tool{RawInputSchema: schema})
}
