package engine

import (
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/fixture"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// TestRepeatable: a call may be made again, or says that it changes nothing, if the tool's annotations promise that.
func TestRepeatable(t *testing.T) {
	t.Parallel()
	type promise struct{ repeatable, readOnly bool }
	for annotations, want := range map[string]promise{
		`{"readOnlyHint":true}`: {true, true}, `{"readOnlyHint":false,"idempotentHint":true}`: {true, false}, `{}`: {}, `null`: {},
		`{"readOnlyHint":false}`: {}, `{"destructiveHint":false}`: {}, `{"readOnlyHint":"true"}`: {},
	} {
		w := newWorld(t, "s")
		w.servers["s"] = fixture.Tools(t, `{"name":"s_tool","inputSchema":{"type":"object"},"annotations":`+annotations+`}`)
		w.with(func(e *Engine) error {
			plan, err := e.Plan(t.Context(), tool.Ref{Server: "s", Name: "s_tool"}, noArguments, true)
			if err != nil {
				return err
			}
			_, err = e.Call(t.Context(), plan, tool.CallOptions{Timeout: time.Minute})
			return err
		})
		if w.called.Repeatable != want.repeatable || w.called.ReadOnly != want.readOnly {
			t.Errorf("%s: %+v", annotations, w.called)
		}
	}
}

// TestHeaderSchema: a call brings the schema along where arguments are to be repeated in headers.
func TestHeaderSchema(t *testing.T) {
	t.Parallel()
	for inputSchema, brought := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string"}}}`:                         false,
		`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"Region"}}}`: true,
	} {
		w := newWorld(t, "s")
		w.servers["s"] = fixture.Tools(t, `{"name":"s_tool","inputSchema":`+inputSchema+`}`)
		w.with(func(e *Engine) error {
			plan, err := e.Plan(t.Context(), tool.Ref{Server: "s", Name: "s_tool"}, noArguments, false)
			if err != nil {
				return err
			}
			_, err = e.Call(t.Context(), plan, tool.CallOptions{})
			return err
		})
		if want := map[bool]string{true: inputSchema}[brought]; w.called.HeaderSchema != want {
			t.Errorf("%s: %+v", inputSchema, w.called)
		}
	}
}
