package verb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/natefinch/atomic"
	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
)

// Instructions prints the snippet that teaches an agent to use mcpl: mcpl instructions.
type Instructions struct {
	Write string
}

// Flags implements [Verb].
func (v *Instructions) Flags(fs *pflag.FlagSet) {
	fs.StringVar(&v.Write, "write", "", "put it into `FILE` between markers, replacing what stands there from the last time")
}

// The markers around the snippet in a file.
const (
	beginMarker = "<!-- mcpl:begin -->"
	endMarker   = "<!-- mcpl:end -->"
)

// Run implements [Verb].
func (v *Instructions) Run(_ context.Context, s *Session, args []string) error {
	if len(args) > 0 {
		return fault.New(fault.Usage, fmt.Sprintf("instructions takes no %q", args[0]), "Type: mcpl instructions")
	}
	if err := s.live(); err != nil {
		return err
	}
	text, err := s.snippet()
	if err != nil {
		return err
	}
	a := &snippetAnswer{Text: text}
	if v.Write != "" {
		if a.Changed, err = writeBetween(v.Write, text); err != nil {
			return fault.New(fault.Config, "cannot write "+v.Write, "Give --write a file that you may write to.").Because(err)
		}
		a.File = v.Write
	}
	return s.Printer.Answer(a)
}

// snippet is the text: the verbs, the rule, and a line for each server that is on.
func (s *Session) snippet() (string, error) {
	cfg, err := s.Engine.Config()
	if err != nil {
		return "", err
	}
	sn, err := s.Engine.Cached()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(`## MCP tools through mcpl

Tools of MCP servers are reached by shell commands. Do not guess names or arguments: search, inspect, then call.

    mcpl --json search "what you want to do"
    mcpl --json inspect SERVER TOOL
    mcpl --json call SERVER TOOL '{"key": "value"}'

A failure is {"success":false,"error":{...}}: follow its "help". Servers:
`)
	for _, server := range cfg.Servers {
		if server.Disabled || !s.Tools.AllowsServer(server.Name) {
			continue
		}
		about := ""
		if sn != nil {
			if info, ok := sn.Server(server.Name); ok {
				about = serverAbout(info.ServerName, info.Instructions, server, info.Tools)
			}
		}
		fmt.Fprintf(&b, "- %s%s\n", server.Name, prefixed(": ", about))
	}
	return b.String(), nil
}

// aboutLimit is how many bytes a server's line may say about it: ten servers should cost an
// agent about as much as the rest of the snippet.
const aboutLimit = 60

// serverAbout says in a few words what a server is for, from what it says of itself.
func serverAbout(name, instructions string, server *config.Server, tools int) string {
	about := clipWords(instructions, aboutLimit)
	if about == "" && name != "" && !strings.EqualFold(name, server.Name) {
		about = clipWords(name, aboutLimit)
	}
	if tools > 0 {
		if about != "" {
			about += " "
		}
		about += fmt.Sprintf("(%s)", plural(tools, "tool"))
	}
	return about
}

// clipWords returns the words of s that fit in n bytes, without line breaks.
func clipWords(s string, n int) string {
	var b strings.Builder
	for _, w := range strings.Fields(s) {
		if b.Len()+1+len(w) > n {
			return strings.TrimRight(b.String(), ".,;:") + "…"
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w)
	}
	return b.String()
}

// writeBetween puts text between the markers in a file, at its end where they are not there
// yet, and reports whether that changed the file.
func writeBetween(path, text string) (bool, error) {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	block := beginMarker + "\n" + text + endMarker
	var out string
	if before, rest, ok := strings.Cut(string(old), beginMarker); ok {
		_, after, closed := strings.Cut(rest, endMarker)
		if !closed {
			return false, fmt.Errorf("%s stands in it without %s after it", beginMarker, endMarker)
		}
		out = before + block + after
	} else {
		out = string(old)
		if out != "" {
			out = strings.TrimRight(out, "\n") + "\n\n"
		}
		out += block + "\n"
	}
	if out == string(old) {
		return false, nil
	}
	if old == nil {
		// Instructions are for others to read too, unlike what atomic.WriteFile creates.
		return true, os.WriteFile(path, []byte(out), 0o644)
	}
	return true, atomic.WriteFile(path, bytes.NewReader([]byte(out)))
}

type snippetAnswer struct {
	Text    string `json:"text"`
	File    string `json:"file,omitempty"`
	Changed bool   `json:"changed,omitempty"`
}

// WriteText implements [output.Document].
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
