package verb

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/state"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Completion prints the script that makes a shell complete mcpl: mcpl completion SHELL.
type Completion struct {
	// Script returns the script of a shell, "" for a shell that has none.
	Script func(shell string) (string, error)
}

// Flags implements [Verb].
func (v *Completion) Flags(*pflag.FlagSet) {}

// Run implements [Verb].
func (v *Completion) Run(_ context.Context, s *Session, args []string) error {
	const example = "There is one for bash, zsh, fish and powershell. For example: mcpl completion bash"
	if len(args) != 1 {
		return fault.New(fault.Usage, "completion for which shell?", example)
	}
	script, err := v.Script(args[0])
	switch {
	case err != nil:
		return err
	case script == "":
		return fault.New(fault.Usage, fmt.Sprintf("there is no completion for %q", args[0]), example)
	}
	return s.Printer.Answer(&scriptAnswer{Shell: args[0], Script: script})
}

type scriptAnswer struct {
	Shell  string `json:"shell"`
	Script string `json:"script"`
}

// WriteText implements [output.Document].
func (a *scriptAnswer) WriteText(t *output.Text) { t.Print(a.Script) }

// Names are the servers of the index and what they offer, for completion.
type Names struct {
	engine *engine.Engine
	index  *index.Snapshot
	states state.Tools
}

// Names opens the index as it is; nil where there is none that matches the configuration. The
// caller closes it.
func (a *App) Names(g Globals) *Names {
	s := &Session{App: a, Globals: g, Printer: a.NewPrinter(g)}
	s.States = state.FileIn(a.Env.StateDir())
	tools, _, err := s.States.Read()
	if err != nil {
		return nil
	}
	e := s.newEngine()
	sn, err := e.Cached()
	if err != nil || sn == nil {
		_ = e.Close() // nothing was started or opened
		return nil
	}
	return &Names{e, sn, tools}
}

// Close releases the index.
func (n *Names) Close() { _ = n.engine.Close() } // nothing was started

// Servers returns the servers, all or only those that are on.
func (n *Names) Servers(on bool) []string {
	var names []string
	for _, s := range n.index.Servers() {
		if !on || (!s.Off && n.states.AllowsServer(s.Name)) {
			names = append(names, s.Name)
		}
	}
	return names
}

// Tools returns a server's tools, all or only those that are on.
func (n *Names) Tools(server string, on bool) []index.Record {
	return slices.DeleteFunc(n.records(server, tool.Tool), func(r index.Record) bool { return on && !n.states.Allows(server, r.Name) })
}

// Resources returns the resources of a server that is on, without templates.
func (n *Names) Resources(server string) []index.Record { return n.offers(server, tool.Resource) }

// Prompts returns the prompts of a server that is on.
func (n *Names) Prompts(server string) []index.Record { return n.offers(server, tool.Prompt) }

func (n *Names) offers(server string, kind tool.Kind) []index.Record {
	if !slices.Contains(n.Servers(true), server) {
		return nil
	}
	return n.records(server, kind)
}

func (n *Names) records(server string, kind tool.Kind) []index.Record {
	recs, err := n.index.Records(server, kind)
	if err != nil { // a damaged index completes nothing
		return nil
	}
	return recs
}
