package verb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/catalog"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/hidden"
	"github.com/mcp-launchpad/mcpl/pkg/humanize"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func instructionsSpec() Spec {
	return Spec{
		Name: "instructions", Group: Setup, New: func() Verb { return new(instructionsVerb) },
		Aliases: []Alias{{Words: "snippet agents claude usage"}},
		Use:     "instructions", Short: "Print the snippet that teaches an agent to use mcpl",
		Long: `Instructions prints a short text for CLAUDE.md, AGENTS.md or a system prompt:
the three verbs, the rule, and the servers that are on with the names of their
tools. An agent obeys such a file, so what the servers say of themselves is in
it only with --describe, in quotes.`,
		Example: `  mcpl instructions
  mcpl instructions --write AGENTS.md`,
	}
}

// instructionsVerb prints the snippet that teaches an agent to use mcpl: mcpl instructions.
type instructionsVerb struct {
	Write    string
	Describe bool
}

func (v *instructionsVerb) Flags(fs *pflag.FlagSet) {
	fs.StringVar(&v.Write, "write", "", "write it into `FILE`, in place of the last one")
	fs.BoolVar(&v.Describe, "describe", false, "quote what each server says of itself")
}

// The markers around the snippet in a file.
const (
	beginMarker = "<!-- mcpl:begin -->"
	endMarker   = "<!-- mcpl:end -->"
)

func (v *instructionsVerb) Parse(words []string) error {
	if len(words) > 0 {
		return fault.New(fault.Usage, fmt.Sprintf("instructions does not take %q", words[0]), "").
			Then("To write them into a file, type", fault.Step{Verb: "instructions", Args: []string{"--write", words[0]}})
	}
	return nil
}

func (v *instructionsVerb) Run(ctx context.Context, s *Session) error {
	a := &snippetAnswer{}
	none := catalog.Need{Servers: []string{}} // lists no server
	err := s.catalog().Read(ctx, none, func(view *catalog.View) (err error) {
		a.Text, err = s.snippet(view, v.Describe)
		return err
	})
	if err != nil {
		return err
	}
	if v.Write != "" {
		if a.Changed, err = writeBetween(v.Write, a.Text); err != nil {
			return fault.New(fault.Config, "cannot write "+v.Write, "Give --write a regular file that you may write to.").
				Because(err)
		}
		a.File = v.Write
	}
	return s.Printer.Answer(a)
}

// The parts of the snippet before the servers: the rule, a line on more than tools, and the heading of the servers.
const (
	preamble = `## MCP tools through mcpl

Tools of MCP servers are reached by shell commands. Do not guess names or arguments: search, inspect, then call.

    mcpl --json search "what you want to do"
    mcpl --json inspect SERVER TOOL
    mcpl --json call SERVER TOOL '{"key": "value"}'

`
	beyondTools = "Resources and prompts: search --kind all, then mcpl read SERVER URI " +
		"or mcpl prompt SERVER NAME key=value.\n"
	servers = `A failure is {"success":false,"error":{...}}: follow its "help". Servers:
`
)

// snippetBudget is the size of the snippet for ten servers, in bytes: about 250 tokens. The more servers
// there are, the less is said about each, down to its name and the number of its tools.
const snippetBudget = 1000

// snippet returns the text: the verbs, the rule, and a line for each server that is on and approved. It says what a
// server is for by the names of its tools or, if describe is set, in its own words.
func (s *Session) snippet(view *catalog.View, describe bool) (string, error) {
	on := slices.DeleteFunc(slices.Clone(view.Servers()), func(info index.ServerInfo) bool {
		return info.Off || !s.Tools.AllowsServer(info.Name) || info.Waits()
	})
	head := preamble
	if slices.ContainsFunc(on, func(info index.ServerInfo) bool { return info.Offers() > info.Tools }) {
		head += beyondTools
	}
	head += servers
	var b strings.Builder
	b.WriteString(head)
	for _, info := range on {
		recs, err := view.Records(info.Name, tool.Tool)
		if err != nil {
			return "", err
		}
		var names []string
		for _, rec := range recs {
			if s.Tools.Allows(rec.Server, rec.Name) {
				names = append(names, rec.Name)
			}
		}
		line := "- " + info.Name
		if len(names) > 0 {
			line += fmt.Sprintf(" (%s)", humanize.Plural(len(names), "tool"))
		}
		about, before, after := strings.Join(slices.DeleteFunc(names, isSentence), ", "), ": ", ""
		if describe && info.Instructions != "" {
			about, before, after = quotable(info.Instructions), `, says of itself: "`, `"`
		}
		room := (snippetBudget-len(head))/len(on) - len(line) - len(before+after+"\n")
		if about = clipWords(about, room); room >= leastAbout && about != "" {
			line += before + about + after
		}
		b.WriteString(line + "\n")
	}
	return hidden.Show(b.String()), nil // a file that every later session reads
}

// isSentence reports whether a name is more than a name: MCP allows letters, digits, _, -, . and / (2025-11-25,
// server/tools, "Tool Names"). Another name could be a sentence that an agent obeys.
func isSentence(name string) bool {
	return len(name) > 128 || strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./", r))
	})
}

// quotable returns a server's words for quotes in a file that an agent obeys: without hidden characters, and without
// what could end the quotes, the line or the comment that marks the snippet.
func quotable(text string) string {
	var b strings.Builder
	for r, isHidden := range hidden.All(text) {
		switch {
		case isHidden || r == '<' || r == '>':
		case r == '"' || r == '`':
			b.WriteByte('\'')
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// leastAbout is the least number of bytes that still says something about a server.
const leastAbout = 12

// clipWords returns the words of s that fit in n bytes, without line breaks, "" if none does.
func clipWords(s string, n int) string {
	var b strings.Builder
	for _, w := range strings.Fields(s) {
		if b.Len()+len(" ")+len(w)+len("…") > n {
			if b.Len() == 0 {
				return ""
			}
			return strings.TrimRight(b.String(), ".,;:") + "…"
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w)
	}
	return b.String()
}

// maxInstructions bounds the file that a snippet is written into, in bytes.
const maxInstructions = 16 << 20

// writeBetween puts text between the markers in a file, else at its end, and reports whether that changed the file.
func writeBetween(path, text string) (bool, error) {
	// CLAUDE.md is often a link to AGENTS.md: the file is replaced, not the link.
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	old, err := atomicfile.Read(path, maxInstructions)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	block := beginMarker + "\n" + text + endMarker
	out := string(old)
	if before, rest, ok := strings.Cut(out, beginMarker); ok {
		_, after, closed := strings.Cut(rest, endMarker)
		if !closed {
			return false, fmt.Errorf("it has %s without %s after it", beginMarker, endMarker)
		}
		out = before + block + after
	} else {
		if out != "" {
			out = strings.TrimRight(out, "\n") + "\n\n"
		}
		out += block + "\n"
	}
	if out == string(old) {
		return false, nil
	}
	mode := fs.FileMode(0o644) // others may read instructions
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	return true, errors.Join(atomicfile.Sweep(path), atomicfile.Write(path, []byte(out), mode))
}

type snippetAnswer struct {
	Text    string `json:"text"`
	File    string `json:"file,omitempty"`
	Changed bool   `json:"changed,omitempty"`
}

func (a *snippetAnswer) WriteText(t *output.Text) {
	switch {
	case a.File == "":
		t.Print(a.Text)
	case a.Changed:
		t.Line("Written to ", output.Cyan(a.File), ", between ", beginMarker, " and ", endMarker, ".")
	default:
		t.Line(output.Cyan(a.File), " is up to date.")
	}
}
