package verb

import (
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

func TestConfigRemoveOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "config remove", map[string]options{
		"a server":    {args: []string{"a"}, want: &configRemoveVerb{name: "a"}},
		"from a file": {args: []string{"a", "--to", "f"}, want: &configRemoveVerb{To: "f", name: "a"}},
		"nothing":     {says: "config remove takes the name of one server"},
		"two":         {args: []string{"a", "b"}, says: "config remove takes the name of one server"},
	})
}

func TestConfigRemoveAnswers(t *testing.T) {
	t.Parallel()
	checkAnswers(t, fixture, map[string]answer{
		"a server": {args: strings.Fields("config remove web"), text: "Removed web from DIR/.mcp.json\n",
			json: `{"name":"web","file":"DIR/.mcp.json","removed":true}`},
		"an unknown one": {args: strings.Fields("config remove nosuch"), code: 3, says: []string{`error: there is no server "nosuch"`}},
		"from a file that is not there": {args: strings.Fields("config remove web --to nosuch.json"), code: 2, text: `error: DIR/nosuch.json is not there
hint: Correct the path, or omit --to.
`,
			json: `{"success":false,"error":{"type":"ConfigError","message":"DIR/nosuch.json is not there","traceback":"","help":"Correct the path, or omit --to."}}`},
	})
}

// TestConfigRemoveOthers: an entry that cannot be used is found, and another definition is named.
func TestConfigRemoveOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `{"mcpServers": {"odd": {"args": ["x"]}, "demo": {"command": "a"}}}`, nil)
	w.write("other.json", `{"mcpServers": {"demo": {"command": "b"}}}`)
	files := []string{"--config", ".mcp.json", "--config", "other.json"}
	got := w.run(t.Context(), append(files, "config", "remove", "odd")...)
	if got.code != 0 || strings.Contains(w.read(".mcp.json"), "odd") {
		t.Errorf("%+v", got)
	}
	got = w.run(t.Context(), append(files, "config", "remove", "demo")...)
	if got.code != 0 || !strings.Contains(got.stdout, "defines it too, and that definition is used now") {
		t.Errorf("%+v", got)
	}
	if got = newWorld(t, "", nil).run(t.Context(), "config", "remove", "demo"); got.code != fault.Config.ExitCode() {
		t.Errorf("without a configuration: %+v", got)
	}
}
