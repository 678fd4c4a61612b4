// Package early answers a verb before the MCP SDK is initialised.
//
// Importing mcp-go costs every process several milliseconds before main, since a JSON Schema library under it
// compiles its meta-schemas in an init function. A search on a fresh index needs none of that, nor does a call that a
// running daemon takes. The Go linker initialises packages in the order of their import paths as soon as their
// imports are initialised (https://go.dev/ref/spec#Program_initialization), and those of this package are long before
// net/http, which the SDK needs. So its init runs first, and may answer and exit. Everything unusual (help, a mistake
// in the flags, a stale index, a call without a daemon) it leaves to main, and has written nothing then.
//
// There is nothing to call: cmd/mcpl imports the package for its init, and no other package does. It
// reaches neither net/http nor text/template, cobra or the SDK; internal/archtest and a test on the
// built binary hold that. MCPL_EARLY=off switches it off. Both ways print the same bytes.
package early

import (
	"context"
	"io"
	"os"
	"slices"
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

// answer runs the verb that args name, if the index alone can answer it.
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
	// As in the command tree, one flag set takes the flags before and after the verb.
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
		// Only these verbs ask servers here, through the daemon, and may take long enough to be interrupted.
		app.Warm = true
		var stop func()
		ctx, stop = interruptible()
		defer func() {
			if !ok { // else the process ends, and a late signal does not change the exit code
				stop()
			}
		}()
	}
	code, err = app.Run(ctx, spec, v, g, whole.Args())
	return code, err == nil
}

// quick is how long a call runs before it can be interrupted. Catching signals costs a tenth of a quick
// call. If a signal kills the process before that, the daemon sees it go and cancels its call.
const quick = 20 * time.Millisecond

// interruptible returns a context that ends with SIGINT or SIGTERM, if they come after the time for quick calls.
func interruptible() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	timer := time.AfterFunc(quick, func() {
		heard := verb.Interruptible(ctx)
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
