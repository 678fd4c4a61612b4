package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/humanize"
	"github.com/mcp-launchpad/mcpl/pkg/mcp"
	"github.com/mcp-launchpad/mcpl/pkg/search"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// searching shows four tools, by which a model finds and calls all others.
type searching struct{ whole }

func (searching) instructions() string {
	return "Many tools are here, of several servers. Find one with search_tools, read its schema with read_tool if its " +
		"signature does not say enough, and call it with call_tool."
}

// The definitions of the four tools. That of search_tools has a place for its description.
const (
	searchTools = `{"name":"search_tools","description":%s,` +
		`"inputSchema":{"type":"object","properties":{` +
		`"query":{"type":"string","description":"What the tool should do"},` +
		`"limit":{"type":"integer","minimum":1,"maximum":50},` +
		`"server":{"type":"string","description":"Only this server"},` +
		`"kind":{"enum":["tool","resource","prompt"]}},"required":["query"]},"annotations":{"readOnlyHint":true}}`
	readTool = `{"name":"read_tool","description":"Read the full definitions of tools, or a result that is kept.",` +
		`"inputSchema":{"type":"object","properties":{` +
		`"names":{"type":"array","items":{"type":"string"},"description":"As server/tool"},` +
		`"result":{"type":"string","description":"ID of a result"},` +
		`"lines":{"type":"string","description":"Of the result, as 10:50"},` +
		`"grep":{"type":"string"},"jq":{"type":"string"}}},"annotations":{"readOnlyHint":true}}`
	callTool = `{"name":"call_tool","description":"Call a tool of a server.",` +
		`"inputSchema":{"type":"object","properties":{` +
		`"server":{"type":"string"},"tool":{"type":"string"},"arguments":{"type":"object"}},` +
		`"required":["server","tool"]}}`
	listServers = `{"name":"list_servers","description":"List the servers, how many tools each has, and what is wrong ` +
		`with those that do not work.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`
)

func (x searching) definitions(ctx context.Context, v *view, l *lists, kind tool.Kind) (
	[]json.RawMessage, error) {
	if kind != tool.Tool {
		return x.whole.definitions(ctx, v, l, kind)
	}
	servers, err := v.List(ctx, false)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range servers.Servers {
		if !s.Disabled {
			names = append(names, s.Name)
		}
	}
	text := "Find tools by what they do. Servers: " + strings.Join(withTopics(names, l), ", ") + "."
	return []json.RawMessage{json.RawMessage(fmt.Sprintf(searchTools, tool.Quote(text))), json.RawMessage(readTool),
		json.RawMessage(callTool), json.RawMessage(listServers)}, nil
}

func (x searching) call(ctx context.Context, r *request, name string) (result json.RawMessage, err error) {
	var text string
	switch name {
	case "search_tools":
		text, err = x.search(ctx, r)
	case "read_tool":
		text, err = x.read(ctx, r)
	case "list_servers":
		text, err = x.servers(ctx, r)
	case "call_tool":
		result, err = x.callTool(ctx, r)
		return r.asResult(result, err)
	default:
		return nil, &tool.UpstreamError{Code: mcp.InvalidParams, Message: fmt.Sprintf(
			"there is no tool %q here: call it with call_tool, or find it with search_tools", fault.Name(name))}
	}
	return r.asResult(textResult(text, false), err)
}

// deniedReserve is how many times the hits are searched for, since some of them may be tools that the policy denies.
const deniedReserve = 4

// maxQuery bounds a query, in bytes.
const maxQuery = 10_000

// Bounds of what a model reads of a search, in bytes, so that the answer with five hits costs it at most 300 tokens:
// of the signature and of the description of a hit, of all of a hit, and of the answer.
const (
	maxDescription = 100
	maxHit         = 220
	maxAnswer      = 1200
)

func (searching) search(ctx context.Context, r *request) (string, error) {
	var p struct {
		Arguments struct {
			Query  string `json:"query"`
			Limit  int    `json:"limit"`
			Server string `json:"server"`
			Kind   string `json:"kind"`
		} `json:"arguments"`
	}
	if err := r.params(&p); err != nil {
		return "", err
	}
	a := p.Arguments
	if strings.TrimSpace(a.Query) == "" {
		return "", fault.New(fault.InvalidArguments, "query is missing", "Say in a few words what the tool should do.")
	}
	if len(a.Query) > maxQuery {
		return "", fault.New(fault.InvalidArguments, fmt.Sprintf("query has more than %d bytes", maxQuery),
			"Say in a few words what the tool should do.")
	}
	if a.Limit <= 0 {
		a.Limit = 5
	}
	query := search.Query{Text: a.Query, Method: search.BM25, Limit: a.Limit * deniedReserve}
	request := engine.SearchRequest{Query: query}
	if a.Server != "" {
		request.Servers = []string{a.Server}
	}
	if kind := tool.Kind(a.Kind); kind == tool.Resource || kind == tool.Prompt {
		request.Kinds = []tool.Kind{kind}
	}
	found, err := r.view.Search(ctx, request)
	if err != nil {
		return "", err
	}
	l, err := r.view.current(ctx)
	if err != nil {
		return "", err
	}
	found.Found = slices.DeleteFunc(found.Found, func(h engine.Found) bool {
		return r.gen.health.isDown(h.Server) != nil || l.denied[tool.Ref{Server: h.Server, Name: h.Name, Kind: h.Kind}] ||
			l.shadowed[tool.Ref{Server: h.Server, Name: h.Name, Kind: h.Kind}]
	})
	found.Found = found.Found[:min(len(found.Found), a.Limit)]
	return hitsInWords(found), nil
}

// hitsInWords returns the hits, a line or two each.
func hitsInWords(found *engine.SearchResult) string {
	var b strings.Builder
	for _, h := range found.Found {
		const marks = len("/(…)\n  …\n")
		room := maxHit - marks - len(h.Server) - len(h.Name)
		signature := cut(h.Signature, min(maxDescription, max(0, room)))
		fmt.Fprintf(&b, "%s/%s(%s)\n", h.Server, h.Name, signature)
		room = min(maxDescription, room-len(signature))
		if about := strings.Join(strings.Fields(h.Description), " "); about != "" && room > 0 {
			fmt.Fprintf(&b, "  %s\n", cut(about, room))
		}
	}
	if b.Len() == 0 {
		b.WriteString("No tool fits. Use other or fewer words, or see the servers with list_servers.\n")
	}
	missing := slices.Concat(found.Unsearched, found.Waiting)
	for i, f := range missing {
		line := fmt.Sprintf("Not searched: %s\n", cut(f.Message, maxDescription))
		rest := fmt.Sprintf("Not searched: %s; list_servers says why.\n", humanize.Plural(len(missing)-i, "more server"))
		if left := maxAnswer - b.Len() - len(line); left < 0 || left < len(rest) && i < len(missing)-1 {
			b.WriteString(rest)
			break
		}
		b.WriteString(line)
	}
	return b.String()
}

func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

// maxRead bounds the definitions of one answer: a model that needs more of them wants to search.
const maxRead = 50

func (searching) read(ctx context.Context, r *request) (string, error) {
	var p struct {
		Arguments struct {
			part
			Names []string `json:"names"`
		} `json:"arguments"`
	}
	if err := r.params(&p); err != nil {
		return "", err
	}
	switch {
	case p.Arguments.ID != "":
		return r.readOn(ctx, p.Arguments.part)
	case len(p.Arguments.Names) == 0:
		return "", fault.New(fault.InvalidArguments, "names is missing", "Give a list of names such as server/tool.")
	}
	var names []string
	for seen := make(map[string]bool); len(names) <= maxRead && len(p.Arguments.Names) > 0; {
		name := p.Arguments.Names[0]
		if p.Arguments.Names = p.Arguments.Names[1:]; !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	if len(names) > maxRead {
		return "", fault.New(fault.InvalidArguments, fmt.Sprintf("more than %d names were given", maxRead),
			"Search with other words, or read fewer at a time.")
	}
	var list []json.RawMessage
	for _, name := range names {
		ref, err := r.resolve(ctx, []string{name})
		if err != nil {
			return "", err
		}
		def, _, err := r.view.Inspect(ctx, ref)
		if err != nil {
			return "", err
		}
		server := tool.Field{Key: "server", Value: tool.Quote(ref.Server)}
		list = append(list, tool.JoinObject(append([]tool.Field{server}, def.Shown()...)))
	}
	if len(list) == 1 {
		return string(list[0]), nil
	}
	return string(tool.JoinArray(list)), nil
}

// resolve returns the tool that a model names: as server and tool, as server/tool, or by a name that a list shows.
func (r *request) resolve(ctx context.Context, name []string) (tool.Ref, error) {
	l, err := r.view.current(ctx)
	if err != nil {
		return tool.Ref{}, err
	}
	if ref, ok := l.findTool(name); ok {
		return ref, nil
	}
	ref, _, err := r.view.Resolve(name, tool.Tool)
	return ref, err
}

// unwrapped returns the call that a model has put into the arguments: the name of the tool, and its arguments.
func unwrapped(args json.RawMessage) (name string, inner json.RawMessage) {
	var call struct {
		Tool      string          `json:"tool"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(args, &call) != nil || call.Tool == "" && call.Name == "" {
		return "", args
	}
	if call.Arguments == nil {
		call.Arguments = json.RawMessage("{}")
	}
	return cmp.Or(call.Tool, call.Name), call.Arguments
}

func (searching) callTool(ctx context.Context, r *request) (json.RawMessage, error) {
	var p struct {
		Arguments struct {
			part
			Server    string          `json:"server"`
			Tool      string          `json:"tool"`
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"arguments"`
	}
	if err := r.params(&p); err != nil {
		return nil, err
	}
	if p.Arguments.ID != "" && p.Arguments.Tool == "" {
		text, err := r.readOn(ctx, p.Arguments.part)
		return textResult(text, false), err
	}
	args := p.Arguments.Arguments
	if args == nil {
		args = json.RawMessage("{}")
	}
	if text := tool.Text(args); text != "" { // models often write the object as a string
		args = json.RawMessage(text)
	}
	called := cmp.Or(p.Arguments.Tool, p.Arguments.Name)
	if called == "" {
		called, args = unwrapped(args)
	}
	name := slices.DeleteFunc([]string{p.Arguments.Server, called}, func(s string) bool { return s == "" })
	ref, err := r.resolve(ctx, name)
	if r.afterLogin(ctx, err) {
		ref, err = r.resolve(ctx, name)
	}
	if err != nil {
		return nil, err
	}
	raw, err := r.passed(ctx, ref, args, true, func(plan *engine.Plan) (json.RawMessage, error) {
		result, err := r.view.Call(ctx, plan, r.options(ctx, ref.Server))
		if err != nil {
			return nil, err
		}
		return result.Raw, nil
	})
	if err != nil {
		return nil, err
	}
	return r.fitted(ref, raw), nil
}

func (searching) servers(ctx context.Context, r *request) (string, error) {
	if r.gen.None != nil {
		return "", r.gen.None
	}
	list, err := r.view.List(ctx, false)
	if err != nil {
		return "", err
	}
	r.gen.health.hurry()
	var b strings.Builder
	for _, s := range list.Servers {
		switch down := r.gen.health.isDown(s.Name); {
		case s.Disabled:
			continue
		case down != nil:
			fmt.Fprintf(&b, "%s: is down, and is tried again: %s\n", s.Name, r.words(fault.From(down)))
		case s.Refused != nil:
			fmt.Fprintf(&b, "%s: %s\n", s.Name, r.words(fault.From(s.Refused)))
		case s.Error != nil:
			fmt.Fprintf(&b, "%s: %s\n", s.Name, r.words(s.Error))
		default:
			fmt.Fprintf(&b, "%s: %d tools, %d resources, %d prompts\n", s.Name, s.On, s.Resources+s.Templates, s.Prompts)
		}
	}
	return b.String(), nil
}
