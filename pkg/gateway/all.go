package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/mcp"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// all shows every tool that is on, and two tools to switch tools on and off, as Syntropy does.
type all struct{ whole }

func (all) instructions() string {
	return "These tools belong to several servers; the name of each begins with that of its server. list_all_tools " +
		"also names those that are switched off, and enable_tools switches tools on and off."
}

// The names of the tools of the gateway, and their definitions.
const (
	enableTools    = "enable_tools"
	listAllTools   = "list_all_tools"
	enableToolsDef = `{"name":"enable_tools","description":"Enable or disable specific tools dynamically without ` +
		`restart. Changes persist across sessions. Once any tool is enabled by name, only those enabled by name are on.",` +
		`"inputSchema":{"type":"object","properties":{` +
		`"enable":{"type":"array","items":{"type":"string"},"description":"Names of tools to enable; * for all",` +
		`"default":[]},` +
		`"disable":{"type":"array","items":{"type":"string"},"description":"Names of tools to disable","default":[]}}},` +
		`"annotations":{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`
	listAllToolsDef = `{"name":"list_all_tools","description":"List all tools from all connected MCP servers with ` +
		`their enabled/disabled status","inputSchema":{"type":"object","properties":{}},` +
		`"annotations":{"readOnlyHint":true,"openWorldHint":false}}`
)

func (x all) definitions(ctx context.Context, v *view, l *lists, kind tool.Kind) ([]json.RawMessage, error) {
	list, err := x.whole.definitions(ctx, v, l, kind)
	if kind == tool.Tool {
		list = append(list, json.RawMessage(enableToolsDef), json.RawMessage(listAllToolsDef))
	}
	return list, err
}

func (x all) call(ctx context.Context, r *request, name string) (json.RawMessage, error) {
	l, err := r.view.current(ctx)
	if err != nil {
		return nil, err
	}
	ref, ok := l.find(tool.Tool, name)
	if ok {
		return x.callTool(ctx, r, l, ref)
	}
	var text string
	switch isOwn := namesOwn(name); {
	case isOwn(enableTools):
		text, err = x.limitedEnable(ctx, r, l)
	case isOwn(listAllTools):
		text, err = x.listAll(ctx, r, l)
	default:
		if ref, _, err = r.view.Resolve([]string{name}, tool.Tool); err == nil {
			return x.callTool(ctx, r, l, ref)
		}
		return nil, &tool.UpstreamError{Code: mcp.InvalidParams, Message: fmt.Sprintf(
			"there is no tool %q; tools/list shows those that are on, and list_all_tools all of them",
			fault.Name(name))}
	}
	return r.asResult(textResult(text, false), err)
}

// namesOwn returns a function that reports whether a name, also as clients show it, is that of a tool of the gateway.
func namesOwn(name string) func(own string) bool {
	names := append([]string{name}, tool.Unprefixed(name)...)
	return func(own string) bool { return slices.Contains(names, own) }
}

// callTool calls a tool of a server.
func (all) callTool(ctx context.Context, r *request, l *lists, ref tool.Ref) (json.RawMessage, error) {
	if refused := r.view.Refused(ref.Server); refused != nil && !r.afterLogin(ctx, refused) {
		return r.asResult(nil, refused)
	} else if refused != nil {
		return r.relayTool(ctx, ref)
	}
	if name, off := l.off[ref]; off {
		r.refused(ctx, ref)
		if r.client.who.Principal.identity() != "" && !r.gen.Engine.IsOn(ref) {
			return textResult(fmt.Sprintf("%s is switched off for all clients; %s cannot change that.", ref, enableTools),
				true), nil
		}
		return textResult(fmt.Sprintf(`%s is switched off. Switch it on with: %s {"enable":[%q]}. If no other tool is `+
			`enabled by name, that leaves no other on; {"enable":["*"]} switches everything on.`, ref, enableTools, name),
			true), nil
	}
	return r.relayTool(ctx, ref)
}

// limitedEnable switches tools on and off, which counts as a call.
func (x all) limitedEnable(ctx context.Context, r *request, l *lists) (string, error) {
	end, err := r.client.gateway.limits.begin(ctx, r.client.who.Principal)
	if err != nil {
		return "", err
	}
	defer end()
	return x.enable(ctx, r, l)
}

// enable switches tools on and off.
func (all) enable(ctx context.Context, r *request, l *lists) (string, error) {
	enable, disable, err := r.switches()
	if err != nil {
		return "", err
	}
	on, unknown, err := r.known(l, enable)
	if err != nil {
		return "", err
	}
	off, more, err := r.known(l, disable)
	if err != nil {
		return "", err
	}
	unknown = append(unknown, more...)
	on, denied := l.allowed(on)
	isOff := make(map[string]bool)
	for _, name := range off {
		isOff[name] = true
	}
	g := r.client.gateway
	switched, err := g.opt.Switch(ctx, r.client.who.Principal.identity(), on, off)
	if err != nil {
		return "", err
	}
	// A principal's choice shows in its views alone. Only other changes need a new generation.
	if r.client.who.Principal.identity() == "" || g.opt.Stamp() != r.gen.stamp {
		_ = g.Renew(ctx) // if it fails, the log says why
	}
	isOff[everything] = true
	still, err := r.stillOff(ctx, slices.DeleteFunc(on, func(name string) bool { return isOff[name] }))
	if err != nil {
		return "", err
	}
	message := "Tool state updated successfully."
	for _, w := range []struct {
		names []string
		why   string
	}{{unknown, "Skipped, since they are not known; list_all_tools shows the names"}, {denied,
		"Skipped, since the policy denies them"}, {still, "Still off, by another choice than the one in the state file"}} {
		if len(w.names) > 0 {
			names := firstOf(w.names)
			message += fmt.Sprintf(" %s: %s.", w.why, names)
			g.opt.Log("", fmt.Sprintf("%s: %s: %s", enableTools, w.why, names))
		}
	}
	return asJSON(struct {
		Success  bool   `json:"success"`
		Message  string `json:"message"`
		Enabled  int    `json:"enabled_count"`
		Disabled int    `json:"disabled_count"`
		File     string `json:"state_file"`
	}{true, message, switched.Enabled, switched.Disabled, switched.File})
}

// switches returns the arguments of enable_tools.
func (r *request) switches() (enable, disable []string, err error) {
	var p struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := r.params(&p); err != nil || p.Arguments == nil {
		return nil, nil, err
	}
	wrong := func(what string) error {
		return fault.New(fault.InvalidArguments, what, `Give lists of names, as in {"enable":["NAME"],"disable":[]}.`)
	}
	fields, err := tool.SplitObject(p.Arguments)
	if err != nil {
		return nil, nil, wrong("the arguments are not an object")
	}
	for _, f := range fields {
		list := map[string]*[]string{"enable": &enable, "disable": &disable}[f.Key]
		if list == nil {
			return nil, nil, wrong(fmt.Sprintf("%s does not take %q", enableTools, fault.Name(f.Key)))
		}
		value := f.Value
		if text := tool.Text(value); strings.HasPrefix(text, "[") { // models often write a list as a string
			value = json.RawMessage(text)
		} else if text != "" {
			value = tool.JoinArray([]json.RawMessage{tool.Quote(text)})
		}
		if json.Unmarshal(value, list) != nil {
			return nil, nil, wrong(f.Key + " is not a list of names")
		}
	}
	if len(enable)+len(disable) > maxWords {
		return nil, nil, fault.New(fault.InvalidArguments, fmt.Sprintf("more than %d names were given", maxWords),
			"Name servers, or switch fewer tools at a time.")
	}
	for _, name := range slices.Concat(enable, disable) {
		if len(name) > fault.MaxName {
			return nil, nil, fault.New(fault.InvalidArguments, fmt.Sprintf("the name %q has more than %d bytes",
				fault.Cut(name, maxShownName), fault.MaxName), listAllTools+" shows the names.")
		}
	}
	return enable, disable, nil
}

const (
	// maxShownNames bounds the names that an answer lists, and maxShownName the bytes of one that is too long.
	maxShownNames = 20
	maxShownName  = 60
)

// firstOf returns the first names of a list, and how many more there are.
func firstOf(names []string) string {
	text := strings.Join(names[:min(len(names), maxShownNames)], ", ")
	if more := len(names) - maxShownNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// everything is the name that stands for all tools.
const everything = "*"

// known returns what names of servers and tools mean, as SERVER or SERVER/TOOL, each once, and the names that mean
// nothing.
func (r *request) known(l *lists, names []string) (known, unknown []string, err error) {
	seen := make(map[string]bool)
	for _, given := range names {
		ref, ok := l.find(tool.Tool, given)
		name := ref.String()
		if given == everything {
			name, ok = everything, true
		}
		if !ok {
			if name, ok, err = r.view.Name(given); err != nil {
				return nil, nil, err
			}
		}
		switch {
		case !ok:
			unknown = append(unknown, given)
		case !seen[name]:
			seen[name] = true
			known = append(known, name)
		}
	}
	return known, unknown, nil
}

// allowed splits names into those that the policy may allow calls of, and the others.
func (l *lists) allowed(names []string) (allowed, denied []string) {
	isDenied := make(map[string]bool)
	for _, o := range l.every {
		isDenied[o.ref.String()] = o.denied
	}
	for _, name := range names {
		if isDenied[name] {
			denied = append(denied, name)
		} else {
			allowed = append(allowed, name)
		}
	}
	return allowed, denied
}

// stillOff returns the names of servers and tools that are off now.
func (r *request) stillOff(ctx context.Context, names []string) (off []string, err error) {
	gen := r.client.gateway.enter()
	defer func() { _ = gen.leave() }() // an engine that was replaced meanwhile has nothing to say
	v, err := gen.viewOf(ctx, r.client)
	if err != nil {
		return nil, err
	}
	l, err := v.current(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		server, of, isTool := strings.Cut(name, "/")
		_, isOff := l.off[tool.Ref{Server: server, Name: of}]
		if isOff || !isTool && v.CheckServers([]string{server}) != nil {
			off = append(off, name)
		}
	}
	return off, nil
}

// listAll lists all tools. Servers that do not answer are named apart.
func (all) listAll(ctx context.Context, r *request, l *lists) (string, error) {
	type listed struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Server      string `json:"server"`
		Status      string `json:"status"`
	}
	type missing struct {
		Server string `json:"server"`
		Why    string `json:"why"`
	}
	var answer struct {
		Total    int       `json:"total_tools"`
		Enabled  int       `json:"enabled_tools"`
		Disabled int       `json:"disabled_tools"`
		Tools    []listed  `json:"tools"`
		Missing  []missing `json:"unavailable_servers,omitempty"`
	}
	answer.Tools = []listed{} // not null in JSON
	for _, o := range l.every {
		if r.gen.health.isDown(o.ref.Server) != nil {
			continue
		}
		status := "enabled"
		if _, off := l.off[o.ref]; off || o.denied {
			status = "disabled"
			answer.Disabled++
		} else {
			answer.Enabled++
		}
		answer.Total++
		answer.Tools = append(answer.Tools, listed{o.name, o.description, o.ref.Server, status})
	}
	servers, err := r.view.List(ctx, false)
	if err != nil {
		return "", err
	}
	for _, s := range servers.Servers {
		switch down := r.gen.health.isDown(s.Name); {
		case down != nil:
			answer.Missing = append(answer.Missing, missing{s.Name, r.words(fault.From(down))})
		case s.Refused != nil:
			answer.Missing = append(answer.Missing, missing{s.Name, r.words(fault.From(s.Refused))})
		case s.Error != nil && !s.Disabled:
			answer.Missing = append(answer.Missing, missing{s.Name, r.words(s.Error)})
		}
	}
	return asJSON(answer)
}

// asJSON returns a value as JSON text for a model.
func asJSON(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSpace(b.String()), err
}
