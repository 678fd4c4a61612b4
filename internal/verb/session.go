package verb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/catalog"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/daemon"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/gateway/tokens"
	"github.com/mcp-launchpad/mcpl/pkg/host"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/state"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
	"github.com/mcp-launchpad/mcpl/pkg/trust"
)

// Session is one run of one verb.
type Session struct {
	App      *App
	Globals  Globals
	Printer  *output.Printer
	Settings config.Settings
	States   state.File
	Tools    state.All
	Engine   *engine.Engine
	unsure   error            // why it cannot be read what is on; nothing is then
	settings []config.Setting // Settings, with where each comes from
	// lookEvery is that of [catalog.Options].
	lookEvery time.Duration
	bare      bool         // no configuration counts as one without servers
	judge     *trust.Judge // of servers that come with a project
	tokenMemo tokens.Memo  // of the file of the gateway's tokens
	// spec is that of the verb that runs.
	spec Spec
	// code is the exit code of an answer that is neither a fault nor a success.
	code int
}

// open reads the settings and the state.
func (s *Session) open() (notices []string, err error) {
	if s.Settings, s.settings, err = s.App.Env.LoadSettings(); err != nil {
		return nil, err
	}
	s.judge = trust.NewJudge(s.App.Env, s.Settings.Trusted)
	app := *s.App // that of the caller may serve other sessions
	app.Env.Approver = s.judge
	s.App = &app
	s.States = state.FileIn(s.App.Env.StateDir())
	if s.Tools, notices, s.unsure = state.Read(s.App.Env.StateDir(), s.App.Env.Dir); s.unsure != nil {
		s.Tools = state.Nothing()
	}
	return append(notices, s.App.Env.TrustsNothing(s.Settings.Trusted)...), nil
}

// run opens the session, runs the verb, and has the index refreshed behind its answer.
func (s *Session) run(ctx context.Context, v Verb, words []string) (err error) {
	notices, err := s.open()
	if err != nil {
		return err
	}
	if s.unsure != nil && !s.spec.Unsure {
		return s.unsure
	}
	if err := v.Parse(words); err != nil {
		return err
	}
	s.Engine = s.newEngine(s.selection())
	defer func() {
		if closeErr := s.Engine.Close(); err == nil {
			err = closeErr
		}
	}()
	if err = v.Run(ctx, s); errors.Is(err, engine.ErrNotFresh) {
		return err
	}
	for _, notice := range notices {
		s.Printer.Notice("%s", notice)
	}
	s.sayRefused(s.catalog().Looked())
	if late := s.catalog().Settle(ctx); late != nil {
		s.Printer.Verbose("mcpl", fmt.Sprintf("the index could not be refreshed behind the answer: %v", late))
	}
	return err
}

// sayRefused says which files of the project do not count, of those that were looked at, and why.
func (s *Session) sayRefused(looked []config.Looked) {
	for _, l := range looked {
		if l.Refused {
			s.Printer.Notice("%s is %s. If you trust its folder, add that to \"trusted\" in %s", l.Path, l.Note,
				s.App.Env.SettingsFile())
		}
	}
}

// catalog returns the configuration and the index that the session works with.
func (s *Session) catalog() *catalog.Catalog { return s.Engine.Catalog() }

// root returns the folder of the project.
func (s *Session) root() (string, error) {
	sources, err := s.catalog().Sources()
	if err != nil {
		return "", err
	}
	return s.App.Env.Root(sources), nil
}

// server returns the server of that name in the configuration.
func (s *Session) server(name string) (*config.Server, error) {
	cfg, err := s.catalog().Config()
	if err != nil {
		return nil, err
	}
	return cfg.Server(name)
}

// newEngine returns the engine for these settings and flags, and for the configuration in the selection.
func (s *Session) newEngine(selection config.Selection) *engine.Engine {
	if s.App.InProcess == nil {
		return s.engineOver(selection, nil)
	}
	return s.engineOver(selection, s.newCaller)
}

// engineOver is newEngine with another way to live servers.
func (s *Session) engineOver(selection config.Selection,
	open func(*config.Config, func(string)) engine.Caller) *engine.Engine {
	choice := &choice{dir: s.App.Env.StateDir(), folder: s.App.Env.Dir, tools: s.Tools}
	opt := engine.Options{Switches: choice, Policy: s.Settings.Policy, Approvals: s.approvals(),
		Catalog: catalog.Options{Env: s.App.Env, Selection: selection, Settings: s.Settings, Events: s.Printer,
			Now: s.App.Now, Pins: pinsIn(s.App.Env.StateDir(), choice), LookEvery: s.lookEvery, MayBeEmpty: s.bare}}
	if s.App.Detach != nil {
		opt.Catalog.Background = s.refreshBehind
	}
	if s.App.Warm && s.usesDaemon() {
		opt.Warm = func(sources *config.Sources) engine.Caller {
			return daemon.NewClient(sources, s.daemonClient(s.callerOptions()))
		}
	}
	opt.NewCaller = open
	return engine.New(opt)
}

// newCaller opens the way to live servers: through the daemon if it may be used, else in this process.
func (s *Session) newCaller(cfg *config.Config, changed func(string)) engine.Caller {
	o := s.callerOptions()
	o.Changed, o.Environ = changed, os.Environ()
	o.EnvFile = s.App.Env.WhereToPut(cfg.Sources)
	if s.Settings.Roots {
		o.Root = s.App.Env.Root(cfg.Sources)
	}
	if !s.usesDaemon() {
		return s.App.InProcess(cfg, o)
	}
	client := s.daemonClient(o)
	client.InProcess = func() engine.Caller { return s.App.InProcess(cfg, o) }
	client.Ephemeral = func(name string) bool {
		server, err := cfg.Server(name)
		return err == nil && server.Lifecycle == config.Ephemeral
	}
	return daemon.NewClient(cfg.Sources, client)
}

// callerOptions returns what the settings and flags say about connections.
func (s *Session) callerOptions() host.CallerOptions {
	o := host.CallerOptions{Dir: s.App.Env.Dir, Limits: tool.Limits{
		Connect: s.Settings.ConnectTimeout, Call: s.Settings.CallTimeout, ForceConnect: s.Globals.ConnectTimeout}}
	if s.Globals.Verbose {
		o.Log = s.Printer.Verbose
	}
	return o
}

// selection returns the files that the command line names.
func (s *Session) selection() config.Selection {
	return config.Selection{Configs: s.Globals.Configs, EnvFiles: s.Globals.EnvFiles, Trusted: s.Settings.Trusted,
		Tools: s.spec.Tools}
}

// live fails on the early path. Early verbs call it, before they print, for what the index cannot answer.
func (s *Session) live() error {
	if s.App.InProcess == nil {
		return engine.ErrNotFresh
	}
	return nil
}
