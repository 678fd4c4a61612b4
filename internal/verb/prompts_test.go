package verb

import (
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func TestPromptsOptions(t *testing.T) {
	t.Parallel()
	want := func(refresh bool, servers ...string) Verb {
		return &listOffersVerb{listing{Refresh: refresh, verb: "prompts", servers: servers}, []tool.Kind{tool.Prompt}}
	}
	checkOptions(t, "prompts", map[string]options{
		"all":         {want: want(false)},
		"one":         {args: []string{"demo"}, want: want(false, "demo")},
		"asked again": {args: []string{"--refresh", "demo"}, want: want(true, "demo")},
		"two":         {args: []string{"demo", "papers"}, says: `prompts takes one server, "papers" is too much`},
	})
}

func TestPromptsAnswers(t *testing.T) {
	t.Parallel()
	checkAnswers(t, fixture, map[string]answer{
		"of all servers": {args: []string{"prompts"}, text: `papers review
  Review a paper
  (topic: string)

Get it, with key=value for each argument: mcpl prompt papers review
note: not searched: down exited with code 3. See all servers with: mcpl list
`,
			json: `{"prompts":[{"server":"papers","prompt":"review","description":"Review a paper","signature":"topic: string","required":["topic"]}],"unsearched":[{"server":"down","why":"down exited with code 3","help":"See what happened with: mcpl doctor down"}]}`},
		"of one": {args: strings.Fields("prompts papers --refresh"), asked: []string{"papers"}, text: `papers review
  Review a paper
  (topic: string)

Get it, with key=value for each argument: mcpl prompt papers review
`},
		"of one without": {args: strings.Fields("prompts web"), text: "web has no prompts. See what the servers have with: mcpl list\n",
			json: `{"prompts":[],"help":"web has no prompts. See what the servers have with: mcpl list"}`},
		"of an unknown server": {args: strings.Fields("prompts nosuch"), code: 3, says: []string{`error: there is no server "nosuch"`}},
	})
}
