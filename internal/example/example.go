// Package example is a small MCP server over stdio that is built into mcpl, so that the demo,
// the documentation and a first try need no download and no network: time zones, text, JSON,
// hashes, units, a calculator, notes in a file, a chart, a countdown.
//
// It is an ordinary server, made with an ordinary SDK, and knows nothing of mcpl. A failing tool
// answers with isError and a text that says how to call it right. Servers that misbehave are
// the business of internal/mcptest.
package example

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Options are what the server takes from its surroundings. The zero value is for use.
type Options struct {
	// Version is the version that the server reports; "dev" by default.
	Version string
	// Notes is the file of the notes; by default mcpl/example-notes.json in $XDG_STATE_HOME or
	// else in ~/.local/state.
	Notes string
	// Now is the clock; time.Now by default.
	Now func() time.Time
}

// Serve answers requests until stdin ends, for which it returns nil, or ctx ends, whose error it
// returns; a read of stdin may still be under way then. The SDK keeps its stdio session in a
// package variable: a process can run one Serve at a time.
func Serve(ctx context.Context, stdin io.Reader, stdout io.Writer, opts Options) error {
	if opts.Version == "" {
		opts.Version = "dev"
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	s := server.NewMCPServer("mcpl-example", opts.Version,
		server.WithToolCapabilities(false),
		server.WithInputSchemaValidation(),
		server.WithOutputSchemaValidation(),
		server.WithInstructions("Small tools for trying mcpl out: time zones, text, JSON, hashes, units, "+
			"a calculator, notes kept in a file, a chart and a countdown."),
	)
	s.AddTools(tools(opts)...)
	stdio := server.NewStdioServer(s)
	// The SDK would log broken pipes, which the end of stdin tells as well.
	stdio.SetErrorLogger(log.New(io.Discard, "", 0))
	return stdio.Listen(ctx, stdin, stdout)
}

func tools(opts Options) []server.ServerTool {
	var all []server.ServerTool
	for _, some := range [][]server.ServerTool{
		clockTools(opts.Now),
		textTools(),
		jsonTools(),
		codecTools(),
		numberTools(),
		noteTools(noteFile{path: opts.Notes, now: opts.Now}),
		showTools(),
	} {
		all = append(all, some...)
	}
	return all
}

// spec describes a tool. The schemas are written as JSON, since that is what clients get to see.
type spec struct {
	name, title, description string
	input                    string
	output                   string // empty for a tool without structured content
	hints                    hints
}

// hints are the annotations. All tools work on this machine alone, so openWorldHint is false.
type hints struct{ writes, destroys, repeatable bool }

// answer is what a tool returns; the parts that are set become its content.
type answer struct {
	text string
	data any    // the structured content; as JSON also the text, if that is empty
	png  []byte // an image block
}

// define makes a tool of a description and a function on its decoded arguments. An error of
// run becomes a result with isError and the error's text.
func define[In any](s spec, run func(context.Context, In) (answer, error)) server.ServerTool {
	def := mcp.NewToolWithRawSchema(s.name, s.description, json.RawMessage(s.input))
	def.Title = s.title
	if s.output != "" {
		def.RawOutputSchema = json.RawMessage(s.output)
	}
	readOnly, closed := !s.hints.writes, false
	idempotent := s.hints.repeatable || readOnly
	def.Annotations = mcp.ToolAnnotation{ReadOnlyHint: &readOnly, IdempotentHint: &idempotent,
		DestructiveHint: &s.hints.destroys, OpenWorldHint: &closed}
	handler := func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in In
		if err := req.BindArguments(&in); err != nil {
			return mcp.NewToolResultError("the arguments do not fit " + s.name + ": " + err.Error()), nil
		}
		if p := req.Params.Meta; p != nil {
			ctx = context.WithValue(ctx, tokenKey{}, p.ProgressToken)
		}
		a, err := run(ctx, in)
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		return a.result()
	}
	return server.ServerTool{Tool: def, Handler: handler}
}

// tokenKey is the context key of the request's progress token.
type tokenKey struct{}

func (a answer) result() (*mcp.CallToolResult, error) {
	r := &mcp.CallToolResult{Content: []mcp.Content{}}
	if a.data != nil {
		raw, err := json.Marshal(a.data)
		if err != nil {
			return nil, err
		}
		r.StructuredContent = a.data
		if a.text == "" {
			a.text = string(raw)
		}
	}
	if a.text != "" {
		r.Content = append(r.Content, mcp.NewTextContent(a.text))
	}
	if a.png != nil {
		r.Content = append(r.Content, mcp.NewImageContent(base64.StdEncoding.EncodeToString(a.png), "image/png"))
	}
	return r, nil
}
