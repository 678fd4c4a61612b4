package verb

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/internal/verb/render"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/results"
	"github.com/mcp-launchpad/mcpl/pkg/search"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func searchSpec() Spec {
	return Spec{
		Name: "search", Group: Tools, New: func() Verb { return new(searchVerb) },
		Early: true, Daemon: UseDaemon,
		Aliases: []Alias{{Words: "find query lookup grep discover search-tools search_tools tool-search"}},
		Values: map[string]Completer{"server": completeServer, "method": fixed("bm25", "regex", "exact"),
			"kind": fixed("tool", "resource", "prompt", "all")},
		Use: "search QUERY...", Short: "Find tools by what they do (starts no server)",
		Long: `Search finds tools by words, best first. The score, from 0 to 1, says how much
of the query the tool covers. Finding nothing is an answer, not an error.

With --method regex the query is an RE2 pattern over "server/name", title,
description and parameter names; case counts only if the pattern has flags of
its own. With --method exact it is a piece of text.

With --kind resource, prompt or all it finds resources (and templates of them)
and prompts, each ranked among its own kind.`,
		Example: `  mcpl search open a pull request
  mcpl --json search "read a file" --server filesystem --limit 3
  mcpl search --method regex '^github/(create|update)_'
  mcpl search --kind all code review`,
	}
}

// searchVerb finds tools, and on demand resources and prompts: mcpl search QUERY...
type searchVerb struct {
	Method  string
	Kind    string
	Limit   int
	Servers []string
	Schema  bool
	Refresh bool
	Explain bool

	query  string
	method search.Method
	kinds  []tool.Kind
}

func (v *searchVerb) Flags(fs *pflag.FlagSet) {
	fs.StringVarP(&v.Method, "method", "m", string(search.BM25), "match by `METHOD`: bm25, regex or exact")
	fs.StringVarP(&v.Kind, "kind", "k", "tool", "find `KIND` tool, resource, prompt or all")
	fs.IntVarP(&v.Limit, "limit", "n", 0, "show at most `N` hits (default 5)")
	fs.StringArrayVarP(&v.Servers, "server", "s", nil, "only what this `SERVER` has; repeatable")
	fs.BoolVar(&v.Schema, "schema", false, "show each tool's input schema")
	fs.BoolVar(&v.Refresh, "refresh", false, "ask the servers again first")
	fs.BoolVar(&v.Explain, "explain", false, "show what made each score")
}

// searchAnswer shows whole records as text, and in JSON as much of each as the budget allows.
type searchAnswer struct {
	query, method string
	hits          []engine.Found
	unsearched    []unsearchedServer
	help          string
	waiting       []waitingServer
}

// unsearchedServer is a server that a search left out although it was to be searched.
type unsearchedServer struct {
	server    string // empty for a whole file of the configuration
	why, help string
}

// maxUnsearchedText is how many bytes of a reason, and of a help, an answer shows: list and doctor have the whole.
const maxUnsearchedText = 240

// unsearched returns what an answer says of servers that were not searched.
func unsearched(faults []*fault.Fault) (list []unsearchedServer) {
	for _, f := range faults {
		list = append(list, unsearchedServer{f.Server, render.OneLine(f.Message, maxUnsearchedText),
			fault.Cut(output.InWords(f).Help, maxUnsearchedText)})
	}
	return list
}

func (u unsearchedServer) rawJSON() json.RawMessage {
	var o output.Object
	if u.server != "" {
		o.Add("server", u.server)
	}
	o.Add("why", u.why)
	if u.help != "" {
		o.Add("help", u.help)
	}
	return o.Bytes()
}

// noteUnsearched says on stderr which servers were not searched, for readers of text.
func (s *Session) noteUnsearched(list []unsearchedServer) {
	if len(list) == 0 || s.Globals.JSON {
		return
	}
	said := make([]string, len(list))
	for i, u := range list {
		if said[i] = u.why; !strings.Contains(u.why, u.server) {
			said[i] = u.server + ": " + u.why
		}
	}
	s.Printer.Notice("not searched: %s. See all servers with: mcpl list", strings.Join(said, "; "))
}

// schemaOf returns the input schema of a hit, nil without --schema.
func schemaOf(h engine.Found) json.RawMessage {
	if h.Definition == nil {
		return nil
	}
	return h.Definition.InputSchema
}

func (a *searchAnswer) RawJSON() []byte {
	results := make([]json.RawMessage, len(a.hits))
	for i, hit := range a.hits {
		results[i] = hitJSON(hit)
	}
	var o output.Object
	o.Add("query", a.query)
	o.Add("method", a.method)
	o.Add("results", tool.JoinArray(results))
	if a.unsearched != nil {
		left := make([]json.RawMessage, len(a.unsearched))
		for i, u := range a.unsearched {
			left[i] = u.rawJSON()
		}
		o.Add("unsearched", tool.JoinArray(left))
	}
	if a.help != "" {
		o.Add("help", a.help)
	}
	if len(a.waiting) > 0 {
		o.Add("waiting", a.waiting)
	}
	return o.Bytes()
}

// A hit costs an agent about 60 tokens, so that five cost about 300. hitBudget is the size of a hit in
// the JSON answer, in bytes. The signature is cut first, then the description.
const (
	hitBudget       = 240
	maxSignature    = 80
	leastOfAbstract = 60
)

func hitJSON(h engine.Found) []byte {
	var o output.Object
	o.Add("server", h.Server)
	if h.Kind != tool.Tool {
		o.Add("kind", string(h.Kind))
	}
	o.Add(nameKey(h.Kind), h.Name)
	o.Add("score", json.RawMessage(strconv.FormatFloat(math.Round(h.Score*1000)/1000, 'f', -1, 64)))
	description := addAbout(&o, h.Record, "", clipSignature(h.Signature, maxSignature))
	o.Add("matched_in", h.MatchedIn)
	room := hitBudget - len(o.Bytes())
	o[description].Value = tool.Quote(index.FirstSentences(h.Description, max(leastOfAbstract, room)))
	if h.Stale {
		o.Add("stale", true)
	}
	if deprecated(h) {
		o.Add("deprecated", true)
	}
	if h.Changed != nil {
		o.Add("changed", changedOf(h.Changed).JSON())
	}
	if len(h.Hit.Explain) > 0 {
		o.Add("explain", h.Hit.Explain)
	}
	if schema := schemaOf(h); schema != nil {
		o.Add("inputSchema", schema)
	}
	return o.Bytes()
}

// deprecated reports whether the tool's own words advise against it. The budget may have cut off just those.
func deprecated(h engine.Found) bool {
	return strings.Contains(strings.ToLower(h.Title+" "+h.Description), "deprecated")
}

func (v *searchVerb) Parse(words []string) (err error) {
	if v.query = strings.TrimSpace(strings.Join(words, " ")); v.query == "" {
		return fault.New(fault.Usage, "search for what?", `Say it in words: mcpl search "open a pull request".`).
			Then("To see everything", fault.Step{Verb: "list"})
	}
	v.method = search.Method(strings.ToLower(v.Method))
	if v.method != search.BM25 && v.method != search.Regex && v.method != search.Exact {
		return fault.New(fault.Usage, fmt.Sprintf("unknown search method %q", v.Method), "Use --method bm25, regex or exact.")
	}
	if v.Limit < 0 {
		return fault.New(fault.Usage, fmt.Sprintf("--limit %d is not a number of hits", v.Limit),
			"Give a number of 1 or more.")
	}
	if v.kinds = allKinds(); strings.ToLower(v.Kind) != "all" {
		v.kinds = make([]tool.Kind, 1)
		v.kinds[0], err = kindOf(v.Kind, "tool, resource, prompt or all")
	}
	return err
}

func (v *searchVerb) Run(ctx context.Context, s *Session) error {
	if err := s.approveWaiting(ctx, v.Servers); err != nil {
		return err
	}
	q := search.Query{Text: v.query, Method: v.method, Limit: cmp.Or(v.Limit, s.Settings.Limit), Explain: v.Explain}
	result, err := s.Engine.Search(ctx, engine.SearchRequest{Query: q, Servers: v.Servers, Kinds: v.kinds,
		Refresh: v.Refresh, Definitions: v.Schema})
	var syntax *search.SyntaxError
	if errors.As(err, &syntax) {
		return fault.New(fault.Usage, syntax.Error(),
			"Patterns are RE2 (https://github.com/google/re2/wiki/Syntax). To find the text as it stands, use --method exact.")
	}
	if err != nil {
		return err
	}
	answer := &searchAnswer{query: v.query, method: string(v.method), hits: result.Found,
		unsearched: unsearched(result.Unsearched), waiting: s.waiting(result.Waiting)}
	if len(result.Found) == 0 {
		if answer.help, err = v.emptyHelp(ctx, s, q); err != nil {
			return err
		}
	}
	s.noteUnsearched(answer.unsearched)
	return s.Printer.Answer(answer)
}

// clipSignature shortens a signature of more than limit bytes by whole parameters and says how many it
// leaves out. Required parameters come first in it, so the optional ones go first.
func clipSignature(signature string, limit int) string {
	if len(signature) <= limit {
		return signature
	}
	params := splitParams(signature)
	more := 0
	if last := len(params) - 1; strings.HasPrefix(params[last], "… +") { // already shortened
		more, _ = strconv.Atoi(strings.TrimPrefix(params[last], "… +"))
		params = params[:last]
	}
	kept, used := 0, 0
	for _, p := range params {
		if used += len(p) + len(", "); used > limit && kept > 0 {
			break
		}
		kept++
	}
	short := fault.Cut(strings.Join(params[:kept], ", "), limit)
	if more += len(params) - kept; more > 0 {
		short += fmt.Sprintf(", … +%d", more)
	}
	return short
}

// splitParams splits a signature at the commas between parameters, but not at those within types.
func splitParams(signature string) []string {
	var params []string
	depth, begin, quoted := 0, 0, false
	for i := 0; i < len(signature); i++ {
		switch c := signature[i]; {
		case quoted:
			if c == '\\' {
				i++
			}
			quoted = c != '"'
		case c == '"':
			quoted = true
		case c == '{' || c == '[' || c == '(':
			depth++
		case c == '}' || c == ']' || c == ')':
			depth--
		case depth == 0 && strings.HasPrefix(signature[i:], ", "):
			params = append(params, signature[begin:i])
			begin = i + len(", ")
		}
	}
	return append(params, signature[begin:])
}

// emptyHelp says what to try if nothing was found.
func (v *searchVerb) emptyHelp(ctx context.Context, s *Session, q search.Query) (string, error) {
	var tries []string
	q.Limit = 1
	for _, kind := range allKinds() {
		if slices.Contains(v.kinds, kind) {
			continue
		}
		request := engine.SearchRequest{Query: q, Servers: v.Servers, Kinds: []tool.Kind{kind}}
		switch other, err := s.Engine.Search(ctx, request); {
		case err != nil:
			return "", err
		case len(other.Found) > 0:
			tries = append(tries, fmt.Sprintf("look at the %ss that fit (with --kind %[1]s)", kind))
		}
	}
	exact := q
	exact.Method = search.Exact
	switch text, err := s.Engine.Search(ctx, engine.SearchRequest{Query: exact, Servers: v.Servers, Kinds: v.kinds}); {
	case err != nil:
		return "", err
	case len(text.Found) > 0:
		tries = append(tries, "find the text as it stands (with --method exact)")
	}
	if q.Method != search.BM25 {
		tries = append(tries, "search by words (without --method)")
	} else {
		tries = append(tries, "use other or fewer words")
	}
	if len(v.Servers) > 0 {
		tries = append(tries, "search all servers (without --server)")
	}
	help := fmt.Sprintf("No %s fits. ", v.kinds[0])
	if len(v.kinds) > 1 {
		help = "Nothing fits. "
	}
	return help + capital(strings.Join(tries, ", or ")) + ". See which servers there are with: mcpl list", nil
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (a *searchAnswer) WriteText(t *output.Text) {
	for i, hit := range a.hits {
		if i > 0 {
			t.Line()
		}
		mark := ""
		if hit.Stale {
			mark = "  (its server failed when last asked)"
		}
		if deprecated(hit) {
			mark += "  deprecated"
		}
		mark += hiddenMark(hiddenIn(hit.Record))
		t.Line(nameSpan(refOf(hit.Record)), output.Dim(fmt.Sprintf("  %.2f", hit.Score)), output.Yellow(mark),
			changedOf(hit.Changed).span())
		writeAbout(t, hit.Record)
		for _, c := range hit.Hit.Explain {
			t.Line(output.Dim(fmt.Sprintf("    %+.3f  %s in %s", c.Score, c.Term, c.Field)))
		}
		if schema := schemaOf(hit); schema != nil {
			t.Print(results.Indented(schema, "  "))
		}
	}
	if len(a.hits) == 0 {
		t.Line(a.help)
		return
	}
	recs := make([]index.Record, len(a.hits))
	for i, hit := range a.hits {
		recs[i] = hit.Record
	}
	writeUses(t, recs)
}
