package verb

import (
	"strings"
	"testing"
)

func TestEnableOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "enable", map[string]options{
		"names":          {args: []string{"a", "b/c"}, want: &Enable{names: []string{"a", "b/c"}}},
		"only those":     {args: []string{"--only", "a"}, want: &Enable{Only: true, names: []string{"a"}}},
		"all":            {args: []string{"--all"}, want: &Enable{All: true, names: []string{}}},
		"all and only":   {args: []string{"--all", "--only"}, says: "--all takes neither names nor --only"},
		"all and a name": {args: []string{"--all", "a"}, says: "--all takes neither names nor --only"},
		"nothing":        {says: "which server or tool?"},
	})
}

func TestEnableAnswers(t *testing.T) {
	t.Parallel()
	checkAnswers(t, fixture, map[string]answer{
		"a server": {args: strings.Fields("enable demo"), text: `Everything is on.
Kept in HOME/.local/state/mcpl/tool-state.json
`,
			json: `{"enabled":[],"disabled":[]}`},
		"a tool": {args: strings.Fields("enable demo.add"), text: `Everything is on.
Kept in HOME/.local/state/mcpl/tool-state.json
`,
			json: `{"enabled":[],"disabled":[]}`},
		"only some": {args: strings.Fields("enable --only demo papers/cite"), text: `On: demo, papers/cite. Everything else is off.
Kept in HOME/.local/state/mcpl/tool-state.json
`,
			json: `{"enabled":["demo","papers/cite"],"disabled":[]}`},
		"everything": {args: strings.Fields("enable --all"), text: `Everything is on.
Kept in HOME/.local/state/mcpl/tool-state.json
`,
			json: `{"enabled":[],"disabled":[]}`},
		"some unknown": {args: strings.Fields("enable demo nosuch"), text: `Everything is on.
Kept in HOME/.local/state/mcpl/tool-state.json
note: nosuch is not a known server or tool; it is skipped
`,
			json: `{"enabled":[],"disabled":[],"skipped":["nosuch"]}`},
		"all unknown": {args: strings.Fields("enable nosuch other"), code: 3, text: `error: no server or tool has one of these names: nosuch, other
hint: Name servers, or tools as SERVER/TOOL. See them with: mcpl list, mcpl list SERVER
`,
			json: `{"success":false,"error":{"type":"ServerNotFoundError","message":"no server or tool has one of these names: nosuch, other","traceback":"","help":"Name servers, or tools as SERVER/TOOL. See them with: mcpl list, mcpl list SERVER"}}`},
	})
}
