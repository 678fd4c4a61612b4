// Package early answers a verb before the MCP SDK is initialised.
//
// Importing mcp-go costs every process several milliseconds before main, since a JSON Schema
// library under it compiles its meta-schemas in an init function. A search on a fresh index
// needs none of that, nor does a call that a daemon takes. The Go linker initialises packages in
// the order of their import paths as soon as what they import is ready
// (https://go.dev/ref/spec#Program_initialization), and what this package imports is ready long
// before net/http, which the SDK needs. So its init runs first and may answer and exit; whatever
// is unusual (help, a mistake in the flags, a stale index, a call without a daemon) it leaves to
// main, having written nothing.
//
// Rules of this package, held by a test on the built binary: it imports nothing that reaches
// net/http, text/template, cobra or the SDK, directly or not, and nothing but cmd/mcpl imports
// it. Setting MCPL_EARLY=off switches it off; both ways print the same bytes.
package early

import (
	"context"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/internal/verb"
)

func init() {
	if os.Getenv("MCPL_EARLY") == "off" {
		return
	}
	if code, ok := answer(os.Args[1:]); ok {
		os.Exit(code)
	}
}

// answer runs the verb that args name, if it is one that the index alone can answer.
func answer(args []string) (code int, ok bool) {
	front := flagSet(new(verb.Globals))
	front.SetInterspersed(false) // stop at the verb
	if front.Parse(args) != nil || front.NArg() == 0 || front.ArgsLenAtDash() >= 0 {
		return 0, false
	}
	spec, ok := verb.Find(front.Arg(0))
	if !ok || !spec.Early {
		return 0, false
	}
	v := spec.New()
	// As in the command tree, one flag set takes what stands before and after the verb.
	var g verb.Globals
	whole := flagSet(&g)
	v.Flags(whole)
	at := len(args) - front.NArg()
	if whole.Parse(slices.Concat(args[:at], args[at+1:])) != nil {
		return 0, false
	}
	app, err := verb.Process()
	if err != nil {
		return 0, false
	}
	app.Stdout = stdout()
	ctx := context.Background()
	if spec.Daemon == verb.StartDaemon {
		// Only a request to a server in the daemon can take long enough to be interrupted: a fresh
		// index needs no lock.
		app.Warm = true
		var stop func()
		ctx, stop = interruptible()
		defer stop()
	}
	code, err = app.Run(ctx, spec, v, g, whole.Args())
	return code, err == nil
}

// quick is for how long a call may run before somebody can want to interrupt it. To hear of signals
// costs a tenth of a quick call. A process that a signal kills before that has its call cancelled
// by the daemon, which sees it go.
const quick = 20 * time.Millisecond

// interruptible returns a context that ends with SIGINT or SIGTERM, once the process is no longer
// quick.
func interruptible() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	timer := time.AfterFunc(quick, func() {
		heard, _ := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		context.AfterFunc(heard, func() { cancel(context.Cause(heard)) })
	})
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// flagSet returns a silent flag set with the global flags.
func flagSet(g *verb.Globals) *pflag.FlagSet {
	fs := pflag.NewFlagSet("mcpl", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	g.Flags(fs)
	return fs
}
