// Command mcpl is one command in front of every MCP server that is configured: it searches,
// inspects, calls and lists their tools. See README.md.
package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/cli/browser"

	"github.com/mcp-launchpad/mcpl/internal/cli"
	_ "github.com/mcp-launchpad/mcpl/internal/early"
	"github.com/mcp-launchpad/mcpl/internal/example"
	"github.com/mcp-launchpad/mcpl/internal/verb"
	"github.com/mcp-launchpad/mcpl/pkg/auth"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/conn"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/gateway"
	"github.com/mcp-launchpad/mcpl/pkg/gateway/jwt"
	"github.com/mcp-launchpad/mcpl/pkg/gateway/otlp"
	"github.com/mcp-launchpad/mcpl/pkg/gateway/redis"
	"github.com/mcp-launchpad/mcpl/pkg/gateway/web"
	"github.com/mcp-launchpad/mcpl/pkg/host"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/proc"
)

func main() { os.Exit(run()) }

// run wires the rooms together and returns the exit code.
func run() int {
	if code, ok := proc.Init(); ok {
		return code
	}
	// The SDK logs broken pipes of dying servers; what matters of that is in our faults.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if code, ok := cli.Answers(context.Background(), os.Args[1:], os.Stdin, os.Stdout); ok {
		return code
	}
	ctx := interruptible()
	app, err := verb.Process()
	if err != nil {
		f := fault.From(err)
		_ = output.New(output.Options{Out: os.Stdout, Err: os.Stderr}).Fault(f)
		return f.Type.ExitCode()
	}
	app.Query = cli.Query
	var queries cli.Apart
	defer queries.Close()
	app.QueryApart = queries.Query
	manager := newLogins(app)
	app.Logins, app.Browser = manager, openBrowser
	app.InProcess = func(cfg *config.Config, o host.CallerOptions) engine.Caller {
		return conn.NewPool(cfg, conn.Options{
			Limits: o.Limits, Version: app.Version, Environ: o.Environ, Dir: o.Dir, Root: o.Root, EnvFile: o.EnvFile, Log: o.Log,
			Changed: o.Changed, Listen: o.Listen, Sampling: o.Sampling, Tokens: manager,
		})
	}
	app.ExampleServer = func(ctx context.Context, in io.Reader, out io.Writer) error {
		return example.Serve(ctx, in, out, example.Options{Notes: filepath.Join(app.Env.StateDir(), "example-notes.json")})
	}
	app.ServeHTTP = func(ctx context.Context, g *gateway.Gateway, opt verb.HTTPOptions) error {
		if opt.Principal == nil && !web.IsLoopback(opt.Address) {
			return fault.New(fault.Usage, "--no-auth is only for addresses of this machine, not for "+opt.Address,
				"Leave --no-auth away, so that clients need a token, or serve at 127.0.0.1.")
		}
		server := web.New(web.Options{Gateway: g, Expose: opt.Expose, Principal: opt.Principal, Resource: resource(opt),
			Now: app.Now, Metrics: opt.Metrics})
		return listening(opt.Address, server.Listen(ctx, opt.Address, opt.Listening))
	}
	app.Share = share
	app.NewSpans = func(notice func(string)) verb.Spans {
		if e := otlp.New(otlp.Options{Lookup: os.LookupEnv, Version: app.Version, Notice: notice}); e != nil {
			return e
		}
		return nil
	}
	app.JWT = func(settings config.JWT, notice func(string)) (verb.Authenticator, func()) {
		v := jwt.New(jwt.Options{Settings: settings, Version: app.Version, Now: app.Now, Notice: notice})
		return v.Principal, v.Close
	}
	app.Script = func(shell string) (string, error) { return cli.Script(app, shell) }
	return cli.Execute(ctx, os.Args[1:], app)
}

// listening returns how serving at an address ended. It is a fault of the kind usage if the address cannot be used.
func listening(address string, err error) error {
	if failed := new(net.OpError); errors.As(err, &failed) && failed.Op == "listen" {
		return fault.New(fault.Usage, "cannot serve at "+address+": "+failed.Err.Error(),
			"Name another address with --http, or end what has this one: another mcpl serve may run there.")
	}
	return err
}

// share opens what replicas of a gateway have in common.
func share(ctx context.Context, url string, notice func(text string)) (gateway.Shared, func() error, error) {
	redis.Silence()
	store, err := redis.New(redis.Options{URL: url, Notice: notice})
	if err != nil {
		return nil, nil, fault.New(fault.Config, config.RedisURL+": "+err.Error(), "Correct it, or unset it.")
	}
	store.Try(ctx)
	return store, store.Close, nil
}

// resource returns what clients read that look for a token of the issuer; nil if there is no issuer.
func resource(opt verb.HTTPOptions) *web.Resource {
	if opt.JWT == nil {
		return nil
	}
	return &web.Resource{ID: opt.Resource, PublicURL: opt.PublicURL, Issuer: opt.JWT.Issuer,
		Scopes: slices.Sorted(maps.Keys(opt.JWT.Scopes))}
}

// interruptible returns a context that ends with SIGINT or SIGTERM; servers are then stopped, which takes at most a few
// seconds. A closed stdout becomes a write error instead of a sudden death that would leave servers behind; unlike an
// ignored signal, a caught one is not inherited by them. Signals are caught until the process ends, so that a late one
// does not change the exit code.
func interruptible() context.Context {
	ctx := verb.Interruptible(context.Background())
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	return ctx
}

// newLogins returns the keeper of the logins. It reads the settings; if they are damaged, the verb that runs says so.
func newLogins(app *verb.App) *auth.Manager {
	settings, _, err := app.Env.LoadSettings()
	if err != nil {
		settings.Credentials = config.AutoCredentials
	}
	return auth.New(auth.Options{StateDir: app.Env.StateDir(), Credentials: settings.Credentials, Version: app.Version,
		Lookup: os.LookupEnv, Now: time.Now})
}

// openBrowser opens a browser, whose output stays out of our streams.
func openBrowser(address string) error {
	browser.Stdout, browser.Stderr = io.Discard, io.Discard
	return browser.OpenURL(address)
}
