// Package verb holds the verbs of mcpl. Each, or a pair like enable and disable, has a file with all of it: a [Spec],
// which registers the verb and explains it, a struct with its options, and a [Verb]'s three methods, which bind flags
// to the options, judge the command line, and write the answer. [Table] lists the specs.
//
// To run a verb, find its spec with [Find], bind the flags of New's value and of [Globals] to a flag set, parse that,
// and call [App.Run] on an App from [Process].
//
// The package imports neither cobra nor the MCP SDK. So internal/early can answer a verb before those packages are
// initialised, and internal/cli can make its command tree of the same table: both ways run the same code and print the
// same bytes.
package verb

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/internal/verb/render"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/gateway"
	"github.com/mcp-launchpad/mcpl/pkg/host"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/results"
)

// App is the process as verbs see it. Nothing of it is global.
type App struct {
	Env            config.Env
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	OutTTY, ErrTTY output.Terminal
	InTTY          bool // stdin is a terminal, with a person at it
	Version        string
	Now            func() time.Time
	Started        time.Time
	// InProcess opens a caller that starts servers as children of this process. If nil, as on the early path, a verb
	// answers from a fresh index or fails with engine.ErrNotFresh.
	InProcess func(*config.Config, host.CallerOptions) engine.Caller
	// Warm lets requests go to a running daemon if InProcess is nil.
	Warm bool
	// Logins are the logins to servers over HTTP. They are nil on the early path.
	Logins Logins
	// Browser opens a browser at an address.
	Browser func(address string) error
	// Detach starts mcpl with these arguments in a process that outlives this one. If nil, nothing is started.
	Detach func(args []string) error
	// Script returns the completion script of a shell, "" if the shell is unknown.
	Script func(shell string) (string, error)
	// ExampleServer runs the embedded example server on these streams until stdin ends.
	ExampleServer func(ctx context.Context, stdin io.Reader, stdout io.Writer) error
	// ServeHTTP serves a gateway over HTTP until ctx ends. It is nil on the early path.
	ServeHTTP func(ctx context.Context, g *gateway.Gateway, opt HTTPOptions) error
	// Share opens what replicas of a gateway have in common, at the URL of a Redis. notice hears if that does not answer,
	// and the function that it returns closes it. It is nil on the early path. Errors are faults.
	Share func(ctx context.Context, url string, notice func(text string)) (gateway.Shared, func() error, error)
	// NewSpans returns what sends spans as the environment asks for; nil if it does not. It is nil on the early path.
	NewSpans func(notice func(text string)) Spans
	// JWT returns what judges the tokens of an issuer, and what ends it. notice tells a person why it cannot. It is nil on
	// the early path.
	JWT func(settings config.JWT, notice func(text string)) (principal Authenticator, end func())
	// Query parses a jq expression. It is nil on the early path.
	Query func(expr string) (render.Query, error)
	// QueryApart runs a jq expression of a stranger, within bounds. It is nil on the early path.
	QueryApart gateway.Query
}

// Verb is one run of a verb, with the options of its command line. The methods are called in order, each once.
type Verb interface {
	// Flags defines the verb's flags, bound to the value.
	Flags(fs *pflag.FlagSet)
	// Parse takes the words behind the verb's name and rejects what is wrong with them and the flags,
	// as far as that shows without reading anything. Errors are faults.
	Parse(words []string) error
	// Run does the verb. Errors are faults, except engine.ErrNotFresh.
	Run(ctx context.Context, s *Session) error
}

// plain is for verbs without flags of their own, and for those that take any words.
type plain struct{ words []string }

func (*plain) Flags(*pflag.FlagSet) {}

func (v *plain) Parse(words []string) error {
	v.words = words
	return nil
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
	if err = s.run(ctx, v, words); err == nil || errors.Is(err, engine.ErrNotFresh) {
		return s.code, err
	}
	return a.Fail(p, err), nil
}

// Fail writes the fault in err and returns its exit code. A closed pipe is not a failure: its reader has read enough.
func (a *App) Fail(p *output.Printer, err error) int {
	if isClosedPipe(err) {
		return 0
	}
	f := fault.From(err)
	if lost := new(output.LostError); errors.As(err, &lost) {
		f = fault.New(fault.Config, "the answer could not be written to stdout",
			"Make room there, or send it elsewhere, and type the command again.").Because(lost.Err)
	} else if err := p.Fault(f); err == nil || isClosedPipe(err) {
		return f.Type.ExitCode()
	}
	_ = a.NewPrinter(Globals{}).Fault(f) // as text on stderr: stdout takes nothing, and there is nowhere else
	return f.Type.ExitCode()
}

// results returns the store of results.
func (a *App) results() results.Store {
	return results.Store{Dir: filepath.Join(a.Env.CacheDir(), "results"), Now: a.Now}
}

// resultsOf returns the results of a principal of a gateway, by its name. Others do not read them.
func (a *App) resultsOf(principal string) results.Store {
	store := a.results()
	if principal != "" {
		sum := sha256.Sum256([]byte("mcpl results 1\x00" + principal))
		store.Dir = filepath.Join(a.Env.CacheDir(), "principals", hex.EncodeToString(sum[:16]), "results")
	}
	return store
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
	fs.BoolVarP(&g.Verbose, "verbose", "v", false, "show on stderr what happens, with times")
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
