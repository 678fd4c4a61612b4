// Package verb holds what each verb of mcpl does: its flags, on a pflag.FlagSet, and its run
// function, from parsed flags to a written answer.
//
// It imports neither cobra nor the MCP SDK. That lets internal/early answer a verb before
// those packages are initialised, and internal/cli hang the same verbs into its command tree:
// both paths run the same code and print the same bytes.
package verb

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/daemon"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
)

// App is the process as verbs see it. All of it is handed in, nothing is global.
type App struct {
	Env            config.Env
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	OutTTY, ErrTTY output.Terminal
	InTTY          bool // a person can be asked
	Version        string
	Now            func() time.Time
	Started        time.Time
	// NewCaller reaches live servers. nil (the early path) means that only what a fresh index
	// can answer is answered; all else is engine.ErrNotFresh.
	NewCaller func(*config.Config, CallerOptions) engine.Caller
	// Warm lets a call go to a daemon that runs, where there is no NewCaller.
	Warm bool
	// InProcess opens a caller that starts servers as children of this process.
	InProcess func(*config.Config, daemon.CallerOptions) engine.Caller
	// Logins are the logins to servers over HTTP. They are nil on the early path.
	Logins Logins
	// Browser opens a browser at an address.
	Browser func(address string) error
	// Detach starts mcpl with these arguments in a process that outlives this one; nil: not.
	Detach func(args []string) error
	// Script returns the completion script of a shell, "" if the shell is unknown.
	Script func(shell string) (string, error)
	// Query applies a jq expression to a JSON value and returns the results.
	Query func(ctx context.Context, expr string, value json.RawMessage) ([]json.RawMessage, error)
}

// CallerOptions are what the settings and flags say about connections; Environ is main's.
type CallerOptions struct {
	daemon.CallerOptions
	// Daemon is how to reach the daemon, without InProcess; nil: it is not used.
	Daemon *daemon.ClientOptions
}

// Verb is one run of a verb, with the options that the command line gives it. The methods are called
// in their order, each once.
type Verb interface {
	// Flags defines the verb's flags, bound to the value.
	Flags(fs *pflag.FlagSet)
	// Parse takes the words behind the verb's name and rejects what is wrong with them and the flags,
	// as far as that shows without reading anything. Errors are faults.
	Parse(words []string) error
	// Run does the verb. Errors are faults, except engine.ErrNotFresh.
	Run(ctx context.Context, s *Session) error
}

// NewPrinter returns the printer for these flags.
func (a *App) NewPrinter(g Globals) *output.Printer {
	out, errs := a.OutTTY, a.ErrTTY
	if g.NoColor {
		out.Color, errs.Color = false, false
	}
	return output.New(output.Options{Out: a.Stdout, Err: a.Stderr, JSON: g.JSON, Verbose: g.Verbose,
		OutTTY: out, ErrTTY: errs, Started: a.Started})
}

// Run runs v, a verb of the spec with parsed flags, on the words behind its name, and writes its answer
// or its fault. It returns the exit code. If the answer needs a live server and the app cannot reach
// one, it writes nothing and returns engine.ErrNotFresh.
func (a *App) Run(ctx context.Context, spec Spec, v Verb, g Globals, words []string) (code int, err error) {
	p := a.NewPrinter(g)
	s := &Session{App: a, Globals: g, Printer: p, spec: spec}
	err = s.run(ctx, v, words)
	switch {
	case errors.Is(err, engine.ErrNotFresh):
		return 0, err
	case err == nil:
		return s.code, nil
	}
	return a.Fail(p, err), nil
}

// Fail writes the fault in err and returns its exit code. Nobody reading stdout any more (a
// closed pipe) is no failure of ours.
func (a *App) Fail(p *output.Printer, err error) int {
	if isClosedPipe(err) {
		return 0
	}
	f := fault.From(err)
	if lost := new(output.LostError); errors.As(err, &lost) {
		f = fault.New(fault.Config, "the answer could not be written to stdout",
			"Make room where it goes, or send it elsewhere, and type the command again.").Because(lost.Err)
		return a.failAside(f)
	}
	if err := p.Fault(f); err != nil && !isClosedPipe(err) {
		return a.failAside(f)
	}
	return f.Type.ExitCode()
}

// failAside writes a fault as text to stderr, where stdout takes nothing.
func (a *App) failAside(f *fault.Fault) int {
	_ = a.NewPrinter(Globals{}).Fault(f) // nowhere else to report it
	return f.Type.ExitCode()
}
