package verb

import (
	"strings"
	"testing"
)

func TestEnableOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "enable", map[string]options{
		"in a project":   {args: []string{"--project", "a"}, want: &switchVerb{Project: true, names: []string{"a"}}},
		"names":          {args: []string{"a", "b/c"}, want: &switchVerb{names: []string{"a", "b/c"}}},
		"only those":     {args: []string{"--only", "a"}, want: &switchVerb{Only: true, names: []string{"a"}}},
		"all":            {args: []string{"--all"}, want: &switchVerb{All: true, names: []string{}}},
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

// TestSwitches: what is off is not found and cannot be called, and can be switched on.
func TestSwitches(t *testing.T) {
	t.Parallel()
	w := fixture(t)
	for _, step := range []struct {
		args string
		code int
		says string
	}{
		{"disable demo/drop papers", 0, "Off: demo/drop, papers. Everything else is on."},
		{"call demo drop", 3, "demo/drop is disabled"},
		{"read papers paper://report", 3, "papers is disabled"},
		{"search cite", 0, "No tool fits."},
		{"enable --only demo web/look", 0, "On: demo, web/look, except what is off: demo/drop, papers. Everything else is off."},
		{"disable demo/add", 0, "except what is off: demo/drop, papers, demo/add."},
		{"enable demo/add papers", 0, "On: demo, web/look, demo/add, papers, except what is off: demo/drop."},
		{"enable --all", 0, "Everything is on."},
		{"call demo drop", 1, "no such table"},
	} {
		got := w.run(t.Context(), strings.Fields(step.args)...)
		if got.code != step.code || !strings.Contains(got.stdout+got.stderr, step.says) {
			t.Errorf("mcpl %s: %+v", step.args, got)
		}
	}
}

// TestSwitchesOfTheGone: the name of a server that is no longer configured can be switched.
func TestSwitchesOfTheGone(t *testing.T) {
	t.Parallel()
	w := fixture(t)
	w.run(t.Context(), "disable", "web")
	w.write(".mcp.json", `{"mcpServers": {"demo": {"command": "demo"}}}`)
	if got := w.run(t.Context(), "enable", "web"); got.code != 0 || !strings.Contains(got.stdout, "Everything is on.") {
		t.Errorf("%+v", got)
	}
}
