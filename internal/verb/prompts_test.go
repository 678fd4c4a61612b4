package verb

import (
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func TestPromptsOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "prompts", map[string]options{
		"all":         {want: &ListOffers{listing{verb: "prompts", servers: []string{}}, []tool.Kind{tool.Prompt}}},
		"one":         {args: []string{"demo"}, want: &ListOffers{listing{verb: "prompts", servers: []string{"demo"}}, []tool.Kind{tool.Prompt}}},
		"asked again": {args: []string{"--refresh", "demo"}, want: &ListOffers{listing{verb: "prompts", Refresh: true, servers: []string{"demo"}}, []tool.Kind{tool.Prompt}}},
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
`,
			json: `{"prompts":[{"server":"papers","prompt":"review","description":"Review a paper","signature":"topic: string","required":["topic"]}]}`},
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
