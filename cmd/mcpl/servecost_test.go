//go:build linux || darwin

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/humanize"
)

// tokens estimates what a text costs a model: a token for every four bytes.
func tokens(text string) int { return (len(text) + 3) / 4 }

// catalogues returns a home with n servers: those of the ranking's data, in the order in which they stand there, and as
// often as it takes, under names of their own; and what their definitions cost a client that loads them directly.
func catalogues(t *testing.T, n int) (h home, direct int) {
	t.Helper()
	h = newHome(t, mcptest.Script{})
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "eval", "tools.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	scripts := make(map[string]*mcptest.Script)
	for line := range strings.Lines(string(text)) {
		var of struct{ Server, Tool string }
		if err := json.Unmarshal([]byte(line), &of); err != nil {
			t.Fatal(err)
		}
		if scripts[of.Server] == nil {
			names, scripts[of.Server] = append(names, of.Server), new(mcptest.Script)
		}
		def := strings.Replace(strings.TrimSpace(line), fmt.Sprintf(`"server":%q,"tool":`, of.Server), `"name":`, 1)
		scripts[of.Server].Tools = append(scripts[of.Server].Tools, mcptest.Tool{Def: mcptest.Raw(def)})
	}
	entries := make([]string, n)
	for i := range entries {
		name := names[i%len(names)]
		raw, err := json.Marshal(scripts[name])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(h.dir, name+".json"), raw, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, one := range scripts[name].Tools {
			direct += len(one.Def)
		}
		own := name
		if i >= len(names) {
			own = fmt.Sprint(name, "-", i/len(names)+1)
		}
		entries[i] = fmt.Sprintf(`%q: {"command": "mcptest", "args": [%q]}`, own, name+".json")
	}
	config := `{"mcpServers": {` + strings.Join(entries, ", ") + `}}`
	if err := os.WriteFile(filepath.Join(h.dir, ".mcp.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return h, (direct + 3) / 4
}

// listed returns the definitions that a client of an exposure sees, and the longest answer to any of the ranking's
// queries where it may search.
func (h home) listed(t *testing.T, expose string) (definitions, answer string) {
	t.Helper()
	f := h.serve(t, "--expose", expose)
	f.initialize(`{}`)
	var list struct {
		Result struct{ Tools json.RawMessage }
	}
	if err := json.Unmarshal([]byte(f.do("tools/list", `{}`)), &list); err != nil {
		t.Fatal(err)
	}
	if expose != "search" {
		return string(list.Result.Tools), ""
	}
	queries, err := os.ReadFile(filepath.Join("..", "..", "testdata", "eval", "queries.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(queries)) {
		var of struct{ Query string }
		if err := json.Unmarshal([]byte(line), &of); err != nil {
			t.Fatal(err)
		}
		if text := f.textOf("search_tools", fmt.Sprintf(`{"query":%q}`, of.Query)); len(text) > len(answer) {
			answer = text
		}
	}
	return string(list.Result.Tools), answer
}

// TestServeCost: what a model reads of the tools of each exposure is within its budget, and is what the README says.
func TestServeCost(t *testing.T) {
	t.Parallel()
	counts := []int{5, 20, 45}
	rows := map[string]string{"directly": "| directly |", "search": "| `search` |", "activate": "| `activate` |", "all": "| `all` |"}
	for _, n := range counts {
		h, direct := catalogues(t, n)
		indexed, _, stderr := h.mcpl(t, "list", "--refresh")
		if err := indexed.Run(); err != nil {
			t.Fatalf("%v: %s", err, stderr)
		}
		rows["directly"] += fmt.Sprintf(" %s |", humanize.Count(direct))
		for _, expose := range []string{"search", "activate", "all"} {
			definitions, answer := h.listed(t, expose)
			cost := tokens(definitions)
			rows[expose] += fmt.Sprintf(" %s |", humanize.Count(cost))
			if most := map[int]int{5: 400, 20: 500, 45: 700}[n]; expose == "search" && (cost > most || tokens(answer) > 300) {
				t.Errorf("%d servers: %d tokens, and a search %d:\n%s", n, cost, tokens(answer), answer)
			}
		}
	}
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if !strings.Contains(string(readme), row) {
			t.Errorf("the README has no row %s", row)
		}
	}
}
