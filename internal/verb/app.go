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
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/daemon"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/state"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
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
	// Query applies a jq expression to a JSON value and returns the results.
	Query func(ctx context.Context, expr string, value json.RawMessage) ([]json.RawMessage, error)
}

// CallerOptions are what the settings and flags say about connections; Environ is main's.
type CallerOptions struct {
	daemon.CallerOptions
	// Daemon is how to reach the daemon, without InProcess; nil: it is not used.
	Daemon *daemon.ClientOptions
}

// Verb is one verb: a new value for each run, since flags are parsed into it.
type Verb interface {
	// Flags defines the verb's flags, bound to the value.
	Flags(fs *pflag.FlagSet)
	// Run does the verb. Errors are faults, except engine.ErrNotFresh.
	Run(ctx context.Context, s *Session, args []string) error
}

// Globals are the flags that every verb has, before and after its name.
type Globals struct {
	JSON, Verbose, NoColor bool
	NoDaemon               bool
	Configs, EnvFiles      []string
	ConnectTimeout         time.Duration
}

// Flags defines the global flags.
func (g *Globals) Flags(fs *pflag.FlagSet) {
	fs.BoolVar(&g.JSON, "json", false, "print one JSON document, also on failure")
	fs.BoolVarP(&g.Verbose, "verbose", "v", false, "tell on stderr what happens, with times")
	fs.BoolVar(&g.NoColor, "no-color", false, "print without colours (or set NO_COLOR=1)")
	fs.StringArrayVar(&g.Configs, "config", nil, "use this configuration `FILE`; repeatable")
	fs.StringArrayVar(&g.EnvFiles, "env-file", nil, "use this environment `FILE`; repeatable")
	fs.BoolVar(&g.NoDaemon, "no-daemon", false, "start servers for this command only")
	fs.Var((*durationValue)(&g.ConnectTimeout), "connect-timeout", "limit for starting a server (default 30s)")
}

// durationValue is a flag that takes "30s", "2m" or a number of seconds.
type durationValue time.Duration

func (d *durationValue) Set(text string) error {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		text = strconv.FormatFloat(n, 'f', -1, 64) + "s"
	}
	v, err := time.ParseDuration(text)
	if err != nil || v <= 0 {
		return errors.New("give a duration like 30s or 2m")
	}
	*d = durationValue(v)
	return nil
}

func (d *durationValue) Type() string { return "duration" }

func (d *durationValue) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}

// Session is one run of one verb.
type Session struct {
	App      *App
	Globals  Globals
	Printer  *output.Printer
	Settings config.Settings
	States   state.File
	Tools    state.Tools
	Engine   *engine.Engine
	// daemon says what the verb that runs has to do with the daemon.
	daemon daemonUse
	// code is the exit code of an answer that is no fault and yet no success.
	code int
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

// Run runs a verb with parsed flags and writes its answer or its fault. It returns the exit
// code, or ErrNotFresh where the app has no way to live servers and the answer needs one;
// nothing was written then.
func (a *App) Run(ctx context.Context, v Verb, g Globals, args []string) (code int, err error) {
	p := a.NewPrinter(g)
	s := &Session{App: a, Globals: g, Printer: p}
	err = s.run(ctx, v, args)
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

func (s *Session) run(ctx context.Context, v Verb, args []string) (err error) {
	settings, _, err := s.App.Env.LoadSettings()
	if err != nil {
		return err
	}
	s.Settings = settings
	s.States = state.FileIn(s.App.Env.StateDir())
	tools, notice, err := s.States.Read()
	if err != nil {
		return err
	}
	if notice != "" {
		s.Printer.Notice("%s", notice)
	}
	s.Tools = tools
	s.daemon = daemonUseOf(v)
	s.Engine = s.newEngine()
	defer func() {
		if closeErr := s.Engine.Close(); err == nil {
			err = closeErr
		}
	}()
	err = v.Run(ctx, s, args)
	if late := s.Engine.CatchUp(ctx); late != nil {
		s.Printer.Verbose("mcpl", fmt.Sprintf("what a server offers now could not be found out: %v", late))
	}
	if err != nil {
		return err
	}
	if err := s.Engine.RefreshBehind(); err != nil {
		s.Printer.Verbose("mcpl", fmt.Sprintf("the index could not be refreshed behind the answer: %v", err))
	}
	return nil
}

func (s *Session) newEngine() *engine.Engine {
	opt := engine.Options{
		Env:       s.App.Env,
		Selection: s.selection(),
		Settings:  s.Settings,
		Switches:  s.Tools,
		Events:    s.Printer,
		Now:       s.App.Now,
	}
	if s.App.Detach != nil {
		opt.Background = s.refreshBehind
	}
	if s.App.Warm && s.usesDaemon() {
		opt.Warm = func(sources *config.Sources) engine.Caller {
			return daemon.NewClient(sources, s.daemonClient(s.callerOptions()))
		}
	}
	if s.App.NewCaller != nil {
		opt.NewCaller = func(cfg *config.Config, changed func(string)) engine.Caller {
			o := s.callerOptions()
			o.Changed = changed
			o.EnvFile, o.Root = s.App.Env.WhereToPut(cfg.Sources), s.App.Env.Root(cfg.Sources)
			if s.usesDaemon() {
				client := s.daemonClient(o)
				o.Daemon = &client
			}
			return s.App.NewCaller(cfg, o)
		}
	}
	return engine.New(opt)
}

func (s *Session) callerOptions() CallerOptions {
	o := CallerOptions{CallerOptions: daemon.CallerOptions{Dir: s.App.Env.Dir, Limits: tool.Limits{
		Connect: s.Settings.ConnectTimeout, Call: s.Settings.CallTimeout, ForceConnect: s.Globals.ConnectTimeout}}}
	if s.Globals.Verbose {
		o.Log = s.Printer.Verbose
	}
	return o
}

// selection is what the command line says about files.
func (s *Session) selection() config.Selection {
	return config.Selection{Configs: s.Globals.Configs, EnvFiles: s.Globals.EnvFiles}
}

// live is for verbs that cannot be answered from the index: it stops the early path.
func (s *Session) live() error {
	if s.App.NewCaller == nil {
		return engine.ErrNotFresh
	}
	return nil
}
