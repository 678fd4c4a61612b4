package verb

import (
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/search"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func TestSearchOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "search", map[string]options{
		"words": {args: []string{"add", "numbers"}, want: &searchVerb{
			Method: "bm25", Kind: "tool", query: "add numbers", method: search.BM25, kinds: []tool.Kind{tool.Tool}}},
		"all flags": {args: []string{"-m", "REGEX", "-k", "Prompts", "-n", "3", "-s", "a", "--server", "b", "--schema", "--refresh", "--explain", "x"}, want: &searchVerb{
			Method: "REGEX", Kind: "Prompts", Limit: 3, Servers: []string{"a", "b"}, Schema: true, Refresh: true, Explain: true,
			query: "x", method: search.Regex, kinds: []tool.Kind{tool.Prompt}}},
		"all kinds": {args: []string{"--kind", "all", "x"}, want: &searchVerb{
			Method: "bm25", Kind: "all", query: "x", method: search.BM25, kinds: []tool.Kind{tool.Tool, tool.Resource, tool.Prompt}}},
		"nothing":           {says: "search for what?"},
		"blanks":            {args: []string{" ", ""}, says: "search for what?"},
		"an unknown method": {args: []string{"-m", "vector", "x"}, says: `unknown search method "vector"`},
		"an unknown kind":   {args: []string{"-k", "verb", "x"}, says: `unknown kind "verb"`},
		"a negative limit":  {args: []string{"-n", "-1", "x"}, says: "--limit -1 is not a number of hits"},
		"a limit in words":  {args: []string{"-n", "many", "x"}, says: `invalid argument "many" for "-n, --limit" flag: strconv.ParseInt: parsing "many": invalid syntax`},
		"an unknown flag":   {args: []string{"--nope", "x"}, says: "unknown flag: --nope"},
	})
}

func TestSearchAnswers(t *testing.T) {
	t.Parallel()
	checkAnswers(t, fixture, map[string]answer{
		"one hit": {args: strings.Fields("search add"), text: `demo/add  0.76
  Add two numbers. And more.
  (a: number, b?: number)

Read one: mcpl inspect demo add
note: not searched: down exited with code 3. See all servers with: mcpl list
`,
			json: `{"query":"add","method":"bm25","results":[{"server":"demo","tool":"add","score":0.757,"description":"Add two numbers. And more.","signature":"a: number, b?: number","required":["a"],"matched_in":["name","title","description"]}],"unsearched":[{"server":"down","why":"down exited with code 3","help":"See what happened with: mcpl doctor down"}]}`},
		"in one server": {args: strings.Fields("search paper --server papers"), text: `papers/cite  0.56
  Cite a paper

Read one: mcpl inspect papers cite
`,
			json: `{"query":"paper","method":"bm25","results":[{"server":"papers","tool":"cite","score":0.565,"description":"Cite a paper","signature":"","required":[],"matched_in":["server","description"]}]}`},
		"of all kinds": {args: strings.Fields("search --kind all report"), text: `papers paper://report  resource  0.69
  What was found.

Read it: mcpl read papers paper://report
note: not searched: down exited with code 3. See all servers with: mcpl list
`,
			json: `{"query":"report","method":"bm25","results":[{"server":"papers","kind":"resource","uri":"paper://report","score":0.686,"title":"The report","description":"What was found.","mimeType":"text/plain","matched_in":["name","title"]}],"unsearched":[{"server":"down","why":"down exited with code 3","help":"See what happened with: mcpl doctor down"}]}`},
		"a prompt": {args: strings.Fields("search -k prompt review"), text: `papers review  prompt  0.69
  Review a paper
  (topic: string)

Get it, with key=value for each argument: mcpl prompt papers review
note: not searched: down exited with code 3. See all servers with: mcpl list
`,
			json: `{"query":"review","method":"bm25","results":[{"server":"papers","kind":"prompt","prompt":"review","score":0.686,"description":"Review a paper","signature":"topic: string","required":["topic"],"matched_in":["name","description"]}],"unsearched":[{"server":"down","why":"down exited with code 3","help":"See what happened with: mcpl doctor down"}]}`},
		"a template": {args: strings.Fields("search -k resource year"), text: `papers paper://{year}  template  0.69

Read one, with the braces filled in: mcpl read papers 'paper://{year}'
note: not searched: down exited with code 3. See all servers with: mcpl list
`,
			json: `{"query":"year","method":"bm25","results":[{"server":"papers","kind":"template","uriTemplate":"paper://{year}","score":0.686,"title":"by year","description":"","matched_in":["name","title"]}],"unsearched":[{"server":"down","why":"down exited with code 3","help":"See what happened with: mcpl doctor down"}]}`},
		"a deprecated tool": {args: strings.Fields("search table"), text: `demo/drop  0.41  deprecated
  Deprecated: drop a table
  (table?: users|orders)

Read one: mcpl inspect demo drop
note: not searched: down exited with code 3. See all servers with: mcpl list
`,
			json: `{"query":"table","method":"bm25","results":[{"server":"demo","tool":"drop","score":0.411,"description":"Deprecated: drop a table","signature":"table?: users|orders","required":[],"matched_in":["description","parameters"],"deprecated":true}],"unsearched":[{"server":"down","why":"down exited with code 3","help":"See what happened with: mcpl doctor down"}]}`},
		"with its schema and score": {args: strings.Fields("search --schema --explain -n 1 add"), text: `demo/add  0.76
  Add two numbers. And more.
  (a: number, b?: number)
    +0.369  add in name
    +0.138  add in description
    +0.126  (server) in server
    +0.123  add in title
  {
    "type": "object",
    "properties": {
      "a": {
        "type": "number",
        "description": "The first."
      },
      "b": {
        "type": "number",
        "default": 1.0
      }
    },
    "required": [
      "a"
    ]
  }

Read one: mcpl inspect demo add
note: not searched: down exited with code 3. See all servers with: mcpl list
`},
		"by a pattern": {args: strings.Fields("search -m regex ^demo/(add|drop)$"), text: `demo/add  1.00
  Add two numbers. And more.
  (a: number, b?: number)

demo/drop  1.00  deprecated
  Deprecated: drop a table
  (table?: users|orders)

Read one: mcpl inspect demo add
note: not searched: down exited with code 3. See all servers with: mcpl list
`},
		"by a piece of text": {args: strings.Fields("search -m exact ook at"), text: `web/look  0.50
  Look at a page

Read one: mcpl inspect web look
note: not searched: down exited with code 3. See all servers with: mcpl list
`},
		"nothing": {args: strings.Fields("search zebra"), text: "No tool fits. Use other or fewer words. See which servers there are with: mcpl list\nnote: not searched: down exited with code 3. See all servers with: mcpl list\n",
			json: `{"query":"zebra","method":"bm25","results":[],"unsearched":[{"server":"down","why":"down exited with code 3","help":"See what happened with: mcpl doctor down"}],"help":"No tool fits. Use other or fewer words. See which servers there are with: mcpl list"}`},
		"nothing, but of another kind": {args: strings.Fields("search report"), text: "No tool fits. Look at the resources that fit (with --kind resource), or use other or fewer words. See which servers there are with: mcpl list\nnote: not searched: down exited with code 3. See all servers with: mcpl list\n",
			json: `{"query":"report","method":"bm25","results":[],"unsearched":[{"server":"down","why":"down exited with code 3","help":"See what happened with: mcpl doctor down"}],"help":"No tool fits. Look at the resources that fit (with --kind resource), or use other or fewer words. See which servers there are with: mcpl list"}`},
		"nothing of any kind":              {args: strings.Fields("search --kind all zebra"), text: "Nothing fits. Use other or fewer words. See which servers there are with: mcpl list\nnote: not searched: down exited with code 3. See all servers with: mcpl list\n"},
		"a piece of a word":                {args: strings.Fields("search pap"), text: "No tool fits. Find the text as it stands (with --method exact), or use other or fewer words. See which servers there are with: mcpl list\nnote: not searched: down exited with code 3. See all servers with: mcpl list\n"},
		"nothing in a server by a pattern": {args: strings.Fields("search -m regex zebra -s demo"), text: "No tool fits. Search by words (without --method), or search all servers (without --server). See which servers there are with: mcpl list\n"},
		"asked again": {args: strings.Fields("search --refresh look"), asked: []string{"demo", "down", "papers", "web"}, text: `web/look  0.68
  Look at a page

Read one: mcpl inspect web look
note: not searched: down exited with code 3. See all servers with: mcpl list
`},
		"an invalid pattern": {args: strings.Fields("search -m regex ("), code: 2, says: []string{`error: the pattern "(" is not a regular expression: missing closing ) at 0: "("`}},
		"an unknown server":  {args: strings.Fields("search -s nosuch add"), code: 3, says: []string{`error: there is no server "nosuch"`}},
	})
}

func TestClipSignature(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct {
		signature string
		limit     int
		want      string
	}{
		"it fits":              {"a: number", 20, "a: number"},
		"the last goes":        {"a: number, b?: number", 20, "a: number, … +1"},
		"two go":               {"a: number, b?: number, c?: text", 12, "a: number, … +2"},
		"more had gone":        {"a: number, b?: number, … +3", 20, "a: number, … +4"},
		"commas within a type": {`a: {b: 1, c: "x, \", y"}, d?: [1, 2], e?: (f, g)`, 30, `a: {b: 1, c: "x, \", y"}, … +2`},
		"the first is long":    {"abcdefghijklmnop: number, b: x", 8, "abcdefgh…, … +1"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			if got := clipSignature(tc.signature, tc.limit); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// TestSearchBudget: a hit stays near its budget, whatever the server says.
func TestSearchBudget(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("find a needle in the haystack. ", 6)
	w := newWorld(t, `{"mcpServers": {"s": {"command": "x"}}}`, map[string]*server{"s": offering(t, "",
		`{"name":"find","description":"`+long+`Deprecated.","inputSchema":{"type":"object","properties":{"`+
			strings.Join([]string{"haystack", "needle", "number_of_threads", "where_to_look", "what_to_leave_out"}, `":{"type":"string"},"`)+
			`":{"type":"string"}}}}`)}).built()
	got := w.run(t.Context(), "--json", "search", "needle").stdout
	if len(got) > 2*hitBudget || !strings.Contains(got, `"deprecated":true`) || !strings.Contains(got, `… +`) {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	explained := w.run(t.Context(), "--json", "search", "--explain", "needle").stdout
	if !strings.Contains(explained, `"explain":[{"term":"needle","field":"`) {
		t.Errorf("%s", explained)
	}
}
