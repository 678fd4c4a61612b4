package verb

import (
	"strings"
	"testing"
)

func TestConfigRemoveOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "config remove", map[string]options{
		"a server":    {args: []string{"a"}, want: &ConfigRemove{name: "a"}},
		"from a file": {args: []string{"a", "--to", "f"}, want: &ConfigRemove{To: "f", name: "a"}},
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
