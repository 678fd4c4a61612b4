package verb

import (
	"strings"
	"testing"
)

func TestDisableOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "disable", map[string]options{
		"in a project": {args: []string{"--project", "a"}, want: &switchVerb{off: true, Project: true, names: []string{"a"}}},
		"names":        {args: []string{"a", "b/c"}, want: &switchVerb{off: true, names: []string{"a", "b/c"}}},
		"nothing":      {says: "which server or tool?"},
	})
}

func TestDisableAnswers(t *testing.T) {
	t.Parallel()
	checkAnswers(t, fixture, map[string]answer{
		"a server": {args: strings.Fields("disable demo"), text: `Off: demo. Everything else is on.
Kept in HOME/.local/state/mcpl/tool-state.json
`,
			json: `{"enabled":[],"disabled":["demo"]}`},
		"in a project": {args: strings.Fields("disable --project demo"), text: `In DIR:
Off: demo. Everything else is on.
Kept in HOME/.local/state/mcpl/projects/KEY.json
`,
			json: `{"enabled":[],"disabled":["demo"],"project":"DIR"}`},
		"a tool": {args: strings.Fields("disable demo/add"), text: `Off: demo/add. Everything else is on.
Kept in HOME/.local/state/mcpl/tool-state.json
`,
			json: `{"enabled":[],"disabled":["demo/add"]}`},
		"a tool of a server that failed": {args: strings.Fields("disable down/any"), text: `Off: down/any. Everything else is on.
Kept in HOME/.local/state/mcpl/tool-state.json
`},
		"some unknown": {args: strings.Fields("disable nosuch demo/add"), text: `Off: demo/add. Everything else is on.
Kept in HOME/.local/state/mcpl/tool-state.json
note: nosuch is not a known server or tool; it is skipped
`,
			json: `{"enabled":[],"disabled":["demo/add"],"skipped":["nosuch"]}`},
		"all unknown": {args: strings.Fields("disable demo/nosuch"), code: 3, text: `error: no server or tool has one of these names: demo/nosuch
hint: Name servers, or tools as SERVER/TOOL. See them with: mcpl list, mcpl list SERVER
`,
			json: `{"success":false,"error":{"type":"ServerNotFoundError","message":"no server or tool has one of these names: demo/nosuch","traceback":"","help":"Name servers, or tools as SERVER/TOOL. See them with: mcpl list, mcpl list SERVER"}}`},
	})
}
