package verb

import (
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func TestResourcesOptions(t *testing.T) {
	t.Parallel()
	want := func(refresh bool, servers ...string) Verb {
		return &listOffersVerb{listing{Refresh: refresh, verb: "resources", servers: servers}, []tool.Kind{tool.Resource, tool.Template}}
	}
	checkOptions(t, "resources", map[string]options{
		"all":         {want: want(false)},
		"one":         {args: []string{"demo"}, want: want(false, "demo")},
		"asked again": {args: []string{"--refresh", "demo"}, want: want(true, "demo")},
		"two":         {args: []string{"demo", "papers"}, says: `resources takes one server, "papers" is too much`},
	})
}

func TestResourcesAnswers(t *testing.T) {
	t.Parallel()
	checkAnswers(t, fixture, map[string]answer{
		"of all servers": {args: []string{"resources"}, text: `papers paper://report  The report  text/plain
  What was found.

papers paper://{year}  by year

Read it: mcpl read papers paper://report
Read one, with the braces filled in: mcpl read papers 'paper://{year}'
note: not searched: down exited with code 3. See all servers with: mcpl list
`,
			json: `{"resources":[{"server":"papers","uri":"paper://report","title":"The report","description":"What was found.","mimeType":"text/plain"}],"templates":[{"server":"papers","uriTemplate":"paper://{year}","title":"by year","description":""}],"unsearched":[{"server":"down","why":"down exited with code 3","help":"See what happened with: mcpl doctor down"}]}`},
		"of one": {args: strings.Fields("resources papers"), text: `papers paper://report  The report  text/plain
  What was found.

papers paper://{year}  by year

Read it: mcpl read papers paper://report
Read one, with the braces filled in: mcpl read papers 'paper://{year}'
`,
			json: `{"resources":[{"server":"papers","uri":"paper://report","title":"The report","description":"What was found.","mimeType":"text/plain"}],"templates":[{"server":"papers","uriTemplate":"paper://{year}","title":"by year","description":""}]}`},
		"of one without": {args: strings.Fields("resources demo"), text: "demo has no resources. See what the servers have with: mcpl list\n",
			json: `{"resources":[],"templates":[],"help":"demo has no resources. See what the servers have with: mcpl list"}`},
		"of a server that failed": {args: strings.Fields("resources down"), code: 4, says: []string{"error: down exited with code 3"}},
		"asked again": {args: strings.Fields("resources papers --refresh"), asked: []string{"papers"}, text: `papers paper://report  The report  text/plain
  What was found.

papers paper://{year}  by year

Read it: mcpl read papers paper://report
Read one, with the braces filled in: mcpl read papers 'paper://{year}'
`},
	})
}
