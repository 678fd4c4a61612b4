package verb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/catalog"
	"github.com/mcp-launchpad/mcpl/pkg/daemon"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/host"
	"github.com/mcp-launchpad/mcpl/pkg/humanize"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/state"
)

func daemonSpec() Spec {
	return Spec{
		Name: "daemon", Group: Setup, New: func() Verb { return new(Daemon) },
		Complete: fixed("status", "stop", "restart", "logs", "run"),
		Use:      "daemon [status|stop|restart|logs [SERVER]|run]",
		Short:    "Look at or stop the daemon that keeps servers warm",
		Long: `The daemon keeps servers running between calls, each until it was idle for 15
minutes. The first call starts the daemon, and it ends an hour after the last
request. There is one for each set of configuration files.

  status   show whether it runs, and its servers (default)
  stop     end it and its servers; running calls have 10 seconds to finish
  restart  end it if it runs, and start it
  logs     show what happened, to all servers or to one; -f shows new lines too
  run      run it here, in the foreground, until Ctrl-C

MCPL_DAEMON=off or daemon = false in config.toml switch it off, --no-daemon for
one command.`,
		Example: `  mcpl daemon status
  mcpl daemon logs github -f
  mcpl daemon stop`,
	}
}

// Daemon looks after the daemon: mcpl daemon [status|stop|restart|logs [SERVER]|run].
type Daemon struct {
	Follow   bool
	Detached bool

	action string
	server string // of logs; may be empty
}

// Flags implements [Verb].
func (v *Daemon) Flags(fs *pflag.FlagSet) {
	fs.BoolVarP(&v.Follow, "follow", "f", false, "with logs: show new lines as they come")
	fs.BoolVar(&v.Detached, "detached", false, "with run: report to the parent process when it listens")
	_ = fs.MarkHidden("detached") // it exists
}

// Parse implements [Verb].
func (v *Daemon) Parse(words []string) error {
	v.action = "status"
	if len(words) > 0 {
		v.action, words = words[0], words[1:]
	}
	if v.action == "logs" && len(words) > 0 {
		v.server, words = words[0], words[1:]
	}
	if len(words) > 0 {
		return fault.New(fault.Usage, fmt.Sprintf("daemon %s does not take %q", v.action, words[0]), "").
			Then("See what it takes with", fault.Step{Verb: "daemon", Args: []string{"--help"}})
	}
	switch v.action {
	case "status", "stop", "restart", "logs", "run":
		return nil
	}
	return fault.New(fault.Usage, fmt.Sprintf("unknown daemon command %q", v.action),
		"Type one of: mcpl daemon status, stop, restart, logs, run")
}

// Run implements [Verb].
func (v *Daemon) Run(ctx context.Context, s *Session) error {
	place, err := s.daemonPlace()
	if err != nil {
		return err
	}
	switch v.action {
	case "stop", "restart":
		return v.stop(ctx, s, place)
	case "logs":
		return v.logs(ctx, s, place)
	case "run":
		return v.serve(ctx, s, place)
	default:
		return v.status(s, place)
	}
}

// daemonPlace returns the place of the daemon of this configuration set.
func (s *Session) daemonPlace() (daemon.Place, error) {
	folder, err := s.catalog().Folder()
	if err != nil {
		return daemon.Place{}, err
	}
	place, err := daemon.PlaceOf(s.App.Env, filepath.Base(folder))
	if err != nil {
		return place, fault.New(fault.Config, "the daemon is not available here",
			"Everything works without it: each call starts its server.").Because(err)
	}
	return place, nil
}

// daemonCommand returns the arguments that run the daemon of this configuration set.
func (s *Session) daemonCommand() []string {
	return append([]string{"daemon", "run", "--detached"}, s.files()...)
}

// usesDaemon reports whether requests of this session may go to the daemon.
func (s *Session) usesDaemon() bool {
	return s.spec.Daemon != NoDaemon && s.Settings.Daemon && !s.Globals.NoDaemon && daemon.Supported
}

// daemonClient returns how this session reaches the daemon.
func (s *Session) daemonClient(o host.CallerOptions) daemon.ClientOptions {
	c := daemon.ClientOptions{Env: s.App.Env, Environ: os.Environ(), Identity: daemon.Identity(s.App.Version),
		Selection: s.selection(), Limits: o.Limits, Idle: s.Settings.Idle, Roots: s.Settings.Roots,
		Log: o.Log, Frozen: func() {
			s.Printer.Notice("the daemon does not answer, so mcpl does without it for a minute; if that lasts, end its process")
		}}
	if s.spec.Daemon == StartDaemon {
		c.Start = s.daemonCommand()
	}
	return c
}

func (v *Daemon) serve(ctx context.Context, s *Session, place daemon.Place) error {
	opt := daemon.Options{Place: place, Identity: daemon.Identity(s.App.Version), StateDir: s.App.Env.StateDir(),
		NewCaller: s.App.InProcess, NewCatalog: s.App.daemonCatalog}
	if v.Detached {
		opt.Listening = daemon.Announce
		// A process that lasts must not keep its folder from being unmounted.
		if err := os.Chdir("/"); err != nil {
			return err
		}
	} else {
		opt.Listening = func(err error) {
			if err == nil {
				s.Printer.Notice("listening on %s; Ctrl-C ends it", place.Socket)
			}
		}
		opt.Ending = func() { s.Printer.Notice("ending; running calls have 10 s to finish") }
		opt.Event = s.Printer.Verbose
	}
	if err := daemon.Serve(ctx, opt); err != nil {
		return fault.New(fault.Config, "the daemon cannot run: "+err.Error(), "").
			Because(errors.Unwrap(err)).Then("See whether one runs with", fault.Step{Verb: "daemon status"})
	}
	return nil
}

// daemonCatalog returns the index that the daemon renews, with the settings of the client that asks for it.
func (a *App) daemonCatalog(o host.CatalogOptions) (host.Catalog, error) {
	settings, _, err := o.Env.LoadSettings()
	if err != nil {
		return nil, err
	}
	tools, notices, err := state.Read(o.Env.StateDir(), o.Env.Dir)
	if err != nil {
		return nil, err
	}
	events := daemonEvents{o.Log}
	for _, notice := range notices {
		events.Notice("%s", notice)
	}
	choice := &choice{dir: o.Env.StateDir(), folder: o.Env.Dir, tools: tools}
	return catalog.New(catalog.Options{Env: o.Env, Selection: o.Selection, Settings: settings,
		Allows: choice.AllowsServer, Events: events, Now: a.Now, Lister: o.Lister,
		Pins: pinsIn(o.Env.StateDir(), choice)}), nil
}

// daemonEvents, a [catalog.Events], writes the events of a catalog into the daemon's log.
type daemonEvents struct{ log func(who, event string) }

func (e daemonEvents) Notice(format string, args ...any) {
	e.log("index", fmt.Sprintf(format, args...))
}

// Status shows nothing: there is no terminal.
func (e daemonEvents) Status(string) {}

func (e daemonEvents) Verbose(who, event string) { e.log(who, event) }

// stop ends the daemon, if it runs, and starts it again if that is asked for.
func (v *Daemon) stop(ctx context.Context, s *Session, place daemon.Place) error {
	s.Printer.Status("waiting for the daemon to end; running calls have 10 s to finish")
	stopped, err := daemon.Stop(ctx, place)
	s.Printer.Status("")
	switch {
	case err != nil && ctx.Err() != nil:
		return fault.New(fault.Interrupted, "interrupted while the daemon ends",
			"It still ends, once its calls have ended.").Then("See whether it has with", fault.Step{Verb: "daemon"})
	case err != nil:
		return daemonFault("the daemon does not end", err)
	case v.action == "stop":
		return s.Printer.Answer(&stopAnswer{stopped})
	}
	if err := daemon.Start(ctx, place, s.daemonCommand(), s.App.Env.Dir); err != nil {
		return daemonFault("the daemon does not start", err)
	}
	return v.status(s, place)
}

// daemonFault is the fault of a daemon that does not do what it should.
func daemonFault(message string, err error) error {
	return fault.New(fault.ServerConnection, message, "").Because(err).
		Then("See what happened with", fault.Step{Verb: "daemon logs"})
}

func (v *Daemon) status(s *Session, place daemon.Place) error {
	st, running, err := daemon.Ask(place)
	if err != nil {
		return daemonFault("the daemon does not answer", err)
	}
	a := &daemonAnswer{Running: running, Socket: place.Socket, Log: place.Log, now: s.App.Now()}
	if running {
		a.Status = &st
	}
	return s.Printer.Answer(a)
}

// stopAnswer is the answer of daemon stop. It is false if no daemon ran.
type stopAnswer struct {
	Stopped bool `json:"stopped"`
}

func (a *stopAnswer) WriteText(t *output.Text) {
	if a.Stopped {
		t.Line("The daemon has ended, and its servers with it.")
	} else {
		t.Line("No daemon runs for this configuration.")
	}
}

type daemonAnswer struct {
	Running bool `json:"running"`
	*daemon.Status
	Socket string `json:"socket"`
	Log    string `json:"log"`
	now    time.Time
}

func (a *daemonAnswer) WriteText(t *output.Text) {
	if !a.Running {
		t.Line("No daemon runs for this configuration. The next call starts one, unless it is switched off.")
		return
	}
	t.Line(fmt.Sprintf("process %d, started %s, mcpl %s", a.PID, humanize.Ago(a.now, a.Started), a.Version))
	t.Line("log: ", a.Log)
	if a.Ending {
		t.Line(output.Yellow("It is ending"), " and takes no more calls.")
	}
	if len(a.Servers) == 0 {
		t.Line("No server is warm.")
		return
	}
	t.Line()
	rows := [][]any{dim("SERVER", "STATE", "CALLS", "STARTED", "STOPS")}
	for _, w := range a.Servers {
		stops := ""
		if !w.Stops.IsZero() {
			stops = "in " + w.Stops.Sub(a.now).Round(time.Second).String()
		}
		started := ""
		if !w.Started.IsZero() {
			started = humanize.Ago(a.now, w.Started)
		}
		rows = append(rows, []any{output.Bold(w.Name), w.State, fmt.Sprintf("%5d", w.Calls), started, stops})
	}
	t.Table("", rows)
	for _, w := range a.Servers {
		if w.Crash != "" {
			t.Line()
			t.Line(output.Red("crashed "), output.Bold(w.Name), ": ", w.Crash)
		}
	}
}

// logs shows the log. An answer in JSON is one document, so --follow has none.
func (v *Daemon) logs(ctx context.Context, s *Session, place daemon.Place) error {
	if v.Follow && s.Printer.JSON() {
		return fault.New(fault.Usage, "--follow cannot be combined with --json", "Omit one of them.")
	}
	if v.Follow {
		return daemon.ReadLog(ctx, place, v.server, true, func(l daemon.LogLine) error {
			return s.Printer.Answer(&logAnswer{Lines: []daemon.LogLine{l}})
		})
	}
	a := &logAnswer{Lines: []daemon.LogLine{}}
	if err := daemon.ReadLog(ctx, place, v.server, false, func(l daemon.LogLine) error {
		a.Lines = append(a.Lines, l)
		return nil
	}); err != nil {
		return fault.New(fault.Config, "the log of the daemon cannot be read", "Look at it yourself: "+place.Log).Because(err)
	}
	if len(a.Lines) == 0 {
		s.Printer.Notice("nothing about %s is in %s", cmp.Or(v.server, "any server"), place.Log)
	}
	return s.Printer.Answer(a)
}

type logAnswer struct {
	Lines []daemon.LogLine `json:"lines"`
}

func (a *logAnswer) WriteText(t *output.Text) {
	for _, l := range a.Lines {
		t.Line(output.Dim(l.Time), " ", output.Bold(l.Who), " ", l.Event)
	}
}
