package verb

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
)

func configAddSpec() Spec {
	return Spec{
		Name: "config add", New: func() Verb { return new(configAddVerb) },
		Aliases: []Alias{{Words: "add install mcp-add add-json"}},
		Values:  map[string]Completer{"transport": fixed("http", "sse")},
		Use:     "add NAME URL | JSON | -- COMMAND ARGS...", Short: "Put a server into the configuration",
		Long: `Add puts a server into the configuration in force. Without one it makes
.mcp.json at the root of the repository or, outside of a repository,
~/.claude/mcp.json. Then it tries the server and says what came of it.

The words behind -- are the server's command. An address is that of a remote
server, an object its entry as other clients have it; with "mcpServers" around
it, as servers are often described, it brings its name along.

Keep secrets out of the command line: write ${NAME}, in single quotes, and put
NAME=... into an environment file.`,
		Example: `  mcpl config add memory -- npx -y @modelcontextprotocol/server-memory
  mcpl config add github --env 'GITHUB_PERSONAL_ACCESS_TOKEN=${GITHUB_TOKEN}' \
      -- mcp-server-github
  mcpl config add docs https://example.com/mcp \
      --header 'Authorization=Bearer ${DOCS_TOKEN}'
  mcpl config add memory '{"command": "npx", "args": ["-y", "PACKAGE"]}'`,
	}
}

// configAddVerb puts a server into a configuration file: mcpl config add NAME -- COMMAND ARGS...
type configAddVerb struct {
	To, URL, Transport, Cwd string
	Env, Headers            []string
	Force, NoTry            bool

	name     string
	entry    config.Entry
	problems []config.Problem // of the pasted JSON
}

func (v *configAddVerb) Flags(fs *pflag.FlagSet) {
	fs.StringVar(&v.URL, "url", "", "the `URL` of a remote server, instead of a command")
	fs.StringVar(&v.Transport, "transport", "", "reach it by `KIND` http or sse (default: what works)")
	fs.StringArrayVar(&v.Headers, "header", nil, "send this header, `NAME=VALUE`; repeatable")
	fs.StringArrayVar(&v.Env, "env", nil, "set this variable, `NAME=VALUE`; repeatable")
	fs.StringVar(&v.Cwd, "cwd", "", "start the command in `FOLDER`")
	fs.StringVar(&v.To, "to", "", "write to `FILE` (default: the one in force)")
	fs.BoolVar(&v.NoTry, "no-try", false, "do not try whether the server works")
	fs.BoolVar(&v.Force, "force", false, "replace a server of that name")
}

// addUsage shows how to type the verb.
const addUsage = "Type: mcpl config add NAME -- COMMAND ARGS...   or: mcpl config add NAME URL   or: " +
	"mcpl config add NAME '{\"command\": ...}'"

func (v *configAddVerb) Run(ctx context.Context, s *Session) error {
	target, err := s.App.Env.Target(s.selection(), v.To)
	if err != nil {
		return err
	}
	trial := s.App.Env.Trial(target)
	server, err := trial.Server(v.name, v.entry)
	if err != nil {
		return err
	}
	a := &addAnswer{Name: v.name, File: target.Path, Display: server.Display()}
	a.Created, err = s.App.Env.Edit(ctx, target.Path, v.entry.HoldsValues(), func(data []byte) ([]byte, error) {
		after, replaced, err := config.SetEntry(target.Path, data, v.name, v.entry, v.Force)
		a.Replaced = replaced
		return after, err
	})
	if err == nil {
		err = s.approveWritten(ctx, target.Path, v.name)
	}
	if err != nil {
		return err
	}
	for _, p := range v.problems {
		a.Warnings = append(a.Warnings, p.Message+". "+p.Fix)
	}
	put := s.App.Env.WhereToPut(target.Sources)
	_, literals := trial.Lift(v.name, v.entry)
	for _, l := range literals {
		a.Warnings = append(a.Warnings, fmt.Sprintf("%s is a literal secret: it is in %s now, and in your shell's history. "+
			"Better put %s=... into %s, write ${%s} instead, in single quotes, and add the server again with --force",
			l.Where, target.Path, l.Variable, put, l.Variable))
	}
	for _, m := range server.Missing {
		a.Warnings = append(a.Warnings, fmt.Sprintf("%s is not set: add %[1]s=... to %s%s", m.Name, put,
			output.Prefixed(", get it at ", config.WhereToGet(m.Name))))
	}
	if !v.NoTry {
		tried, err := s.try(ctx, target.Path, v.To != "", []string{v.name})
		if err != nil {
			return err
		}
		a.Tried = tried[v.name]
	}
	return s.Printer.Answer(a)
}

// Parse makes an entry of the command line.
func (v *configAddVerb) Parse(words []string) (err error) {
	if len(words) == 0 {
		return fault.New(fault.Usage, "the server needs a name", addUsage)
	}
	if last := words[len(words)-1]; len(words) <= 2 && strings.HasPrefix(strings.TrimSpace(last), "{") {
		return v.parseJSON(words[:len(words)-1], last)
	}
	v.name, words = words[0], words[1:]
	if len(words) > 0 && isAddress(words[0]) && v.URL == "" {
		if len(words) > 1 {
			return fault.New(fault.Usage, "an address takes no further words", addUsage)
		}
		v.URL, words = words[0], nil
	}
	problem := v.conflict(len(words) > 0)
	if problem == "" && len(words) > 0 {
		problem = noCommand(words[0])
	}
	if problem != "" {
		return fault.New(fault.Usage, problem, addUsage)
	}
	v.entry = config.Entry{URL: v.URL, Cwd: v.Cwd, Transport: config.Transport(v.Transport)}
	if len(words) > 0 {
		v.entry.Command, v.entry.Args = words[0], words[1:]
	}
	if v.entry.Env, err = pairs("--env", v.Env); err != nil {
		return err
	}
	v.entry.Headers, err = pairs("--header", v.Headers)
	return err
}

// parseJSON takes the entry that a person pasted. Its name is the one typed, or the one that it brings along.
func (v *configAddVerb) parseJSON(name []string, text string) error {
	if v.URL != "" || v.Transport != "" || v.Cwd != "" || len(v.Env)+len(v.Headers) > 0 {
		return fault.New(fault.Usage, "the JSON is a whole entry: flags for parts of it do not go with it", addUsage)
	}
	entries, problems, err := config.ParseEntries(strings.Join(name, ""), text)
	if err != nil {
		f := fault.From(err)
		f.Help = cmp.Or(f.Help, addUsage)
		return f
	}
	names := slices.Sorted(maps.Keys(entries))
	switch {
	case len(name) > 0:
		v.name = name[0]
	case len(names) > 0:
		v.name = names[0]
	}
	pasted := v.name
	if len(names) == 1 {
		pasted = names[0]
	}
	entry, there := entries[pasted]
	if !there || len(names) > 1 && len(name) == 0 {
		return fault.New(fault.Usage, fmt.Sprintf("the JSON has %s", cmp.Or(strings.Join(names, ", "), "no server")),
			"Add one server at a time: mcpl config add NAME '{...}' takes the one of that name.")
	}
	v.entry = entry
	v.problems = slices.DeleteFunc(problems, func(p config.Problem) bool { return p.Server != "" && p.Server != pasted })
	return nil
}

// isAddress reports whether a word is the address of a remote server, which no command is.
func isAddress(word string) bool {
	word = strings.ToLower(word)
	return strings.HasPrefix(word, "https://") || strings.HasPrefix(word, "http://")
}

// noCommand says why a word cannot be a command, "" if it can. The reason does not quote the word, which may hold a
// secret.
func noCommand(word string) string {
	scheme, _, isURL := strings.Cut(word, "://")
	switch {
	case strings.ContainsAny(word[:min(1, len(word))], `"[`) && json.Valid([]byte(word)):
		return "that is JSON, but no entry: an entry is an object"
	case isURL && !strings.ContainsAny(scheme, `/\ `):
		return fmt.Sprintf("a server has an address with http or https, not %s", scheme)
	case looksLikeAddress(word):
		return "that looks like an address, which begins with https:// or http://, or with ./ if it is a program"
	}
	return ""
}

// looksLikeAddress reports whether a word is an address with a wrong scheme or with none: https:/h/mcp, h.example/mcp.
func looksLikeAddress(word string) bool {
	host, path, hasPath := strings.Cut(strings.ToLower(word), "/")
	host, port, hasPort := strings.Cut(host, ":")
	if (host == "https" || host == "http") && hasPort {
		return true
	}
	i := strings.LastIndexByte(host, '.')
	isHost := i > 0 && strings.Trim(host[i+1:], "abcdefghijklmnopqrstuvwxyz") == "" && len(host[i+1:]) > 1
	isPort := port != "" && strings.Trim(port, "0123456789") == ""
	return isHost && hasPath && path != "" && (isPort || !hasPort) || isPort && (isHost || host == "localhost")
}

// conflict says which parts of the command line do not go together, "" if all do.
func (v *configAddVerb) conflict(command bool) string {
	transport := config.Transport(v.Transport)
	switch {
	case !command && v.URL == "":
		return "the server needs a command or a URL"
	case command && v.URL != "":
		return "the server has either a command or a URL, not both"
	case command && (v.Transport != "" || len(v.Headers) > 0):
		return "--transport and --header belong to a URL"
	case !command && (len(v.Env) > 0 || v.Cwd != ""):
		return "--env and --cwd belong to a command"
	case v.Transport != "" && transport != config.HTTP && transport != config.SSE:
		return fmt.Sprintf("--transport is http or sse, not %q", v.Transport)
	}
	return ""
}

// pairs reads NAME=VALUE flags. The last one of a name counts. A header may be written NAME: VALUE too, as for curl.
func pairs(flag string, texts []string) ([]config.KeyValue, error) {
	var list []config.KeyValue
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if before, after, colon := strings.Cut(text, ": "); flag == "--header" && colon && !strings.Contains(before, "=") {
			name, value, ok = before, after, true
		}
		if !ok || name == "" {
			// The message does not quote the text: it may be a secret.
			return nil, fault.New(fault.Usage, flag+" wants NAME=VALUE", "Write it as in: "+flag+" 'TOKEN=${TOKEN}'")
		}
		if i := slices.IndexFunc(list, func(kv config.KeyValue) bool { return kv.Name == name }); i >= 0 {
			list[i].Value = value
		} else {
			list = append(list, config.KeyValue{Name: name, Value: value})
		}
	}
	return list, nil
}

type addAnswer struct {
	Name     string `json:"name"`
	File     string `json:"file"`
	Created  bool   `json:"created"`
	Replaced bool   `json:"replaced"`
	config.Display
	Warnings []string `json:"warnings,omitempty"`
	Tried    *trial   `json:"tried,omitempty"`
}

func (a *addAnswer) WriteText(t *output.Text) {
	done, where := "Added ", "In "
	if a.Replaced {
		done = "Replaced "
	}
	t.Line(done, output.Cyan(a.Name), ": ", a.Command+a.URL)
	if a.Created {
		where = "In the new file "
	}
	t.Line(output.Dim(where + a.File))
	for _, w := range a.Warnings {
		t.Line(output.Yellow("warning"))
		t.Wrap("  ", w)
	}
	if a.Tried != nil {
		t.Print("Tried: ")
		a.Tried.write(t, "")
	}
	if a.Tried == nil || a.Tried.Error == nil {
		t.Line("See its tools with: mcpl list ", fault.Quote(a.Name))
		return
	}
	t.Line("Try it again with: mcpl doctor ", fault.Quote(a.Name))
}
