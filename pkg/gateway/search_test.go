package gateway

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// TestHitsAreShort: five hits cost a model at most 300 tokens, however long their parts are, and whatever is missing.
func TestHitsAreShort(t *testing.T) {
	t.Parallel()
	for _, length := range []int{1, 20, 64, 100} {
		long := strings.Repeat("é", length/2) + "x"
		found := new(engine.SearchResult)
		for range 5 {
			var h engine.Found
			h.Server, h.Name = long, long
			h.Signature, h.Description = strings.Repeat("a: string, ", 50), strings.Repeat("does this and that ", 50)
			found.Found = append(found.Found, h)
		}
		for range 45 {
			found.Waiting = append(found.Waiting, fault.New(fault.ServerConnection, strings.Repeat("why ", 50), ""))
		}
		text := hitsInWords(found)
		if len(text) > maxAnswer || !strings.Contains(text, "more servers; list_servers says why") {
			t.Errorf("%d bytes: %s", len(text), text)
		}
	}
}

// TestServersAreShort: the servers in a description have as much room as there is, and their names in any case.
func TestServersAreShort(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 5, 20, 45} {
		for _, length := range []int{3, 12, 24, 60} {
			names := make([]string, n)
			var tools []offer
			for i := range names {
				names[i] = fmt.Sprintf("%0*d", length, i)
				for _, name := range []string{"list_issue_comments", "close_pull_requests", "merge_branches"} {
					tools = append(tools, offer{ref: tool.Ref{Server: names[i], Name: name}})
				}
			}
			all := strings.Join(withTopics(names, &lists{tools: tools}), ", ")
			if most := max(fewServers, eachServer*n); len(all) > most && all != strings.Join(names, ", ") {
				t.Errorf("%d names of %d bytes: %d bytes, and not %d: %s", n, length, len(all), most, all)
			}
			if length == 3 && strings.Count(all, "(issue comments") != n {
				t.Errorf("the topics are missing: %s", all)
			}
		}
	}
}
