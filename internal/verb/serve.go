package verb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/daemon"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/gateway"
	"github.com/mcp-launchpad/mcpl/pkg/gateway/telemetry"
	"github.com/mcp-launchpad/mcpl/pkg/host"
)

func serveSpec() Spec {
	return Spec{
		Name: "serve", Group: Setup, Daemon: StartDaemon, Unsure: true, New: func() Verb { return new(serveVerb) },
		Complete: completeServe,
		Values: map[string]Completer{"expose": fixed("search", "activate", "all"),
			"tier": fixed("read", "write", "destructive")},
		Tools: true,
		Use:   "serve [token add|list|revoke [NAME]]", Short: "Be an MCP server in front of all servers",
		Long: `Serve makes mcpl an MCP server for clients that cannot run commands: one
connection, with all servers behind it. It speaks MCP on stdin and stdout until
stdin ends, or over Streamable HTTP with --http.

  --expose search    the model finds, reads and calls tools with four tools
  --expose activate  the model sees what is active, and activates more
  --expose all       the model sees every tool that is on, and can switch
                     tools on and off, for good, with enable_tools

Over HTTP a client needs a token, in "Authorization: Bearer TOKEN" or in the
path /api/mcp/TOKEN. If there is none yet, one is made and printed, once, on
stderr. serve token adds, lists and revokes them; --no-auth does without, for
programs of this machine only. A token may be limited: to --servers, to a
--tier of tools (read, write), to a --profile, in time (--expires), and in its
calls (--per-minute, --at-once). With [gateway.jwt] in config.toml the tokens of
an authorization server count, too. SIGHUP has serve read its configuration
again.

A profile of config.toml names servers, tools and an exposure. Over HTTP its
path is /mcp/p/NAME, else --profile NAME shows it.

A tools.toml of Toolman in the working directory, or one that --config names, is
taken as the configuration. Then the default is activate, else search.`,
		Example: `  mcpl serve
  mcpl serve --expose all
  mcpl serve --http 127.0.0.1:7332
  mcpl serve token add laptop
  mcpl serve token add ci --servers 'git*' --tier read --expires 90d`,
	}
}

type serveVerb struct {
	Expose string
	HTTP   string
	Audit  string
	NoAuth bool
	Daemon string
	Cwd    string
	// Profile is that of a client over stdin and stdout.
	Profile string

	token tokenAction
}

// Flags implements [Verb].
func (v *serveVerb) Flags(fs *pflag.FlagSet) {
	fs.StringVar(&v.Expose, "expose", "", "show tools by `MODE`: search, activate, all")
	fs.StringVar(&v.HTTP, "http", "", "serve Streamable HTTP at this `ADDR`")
	fs.Lookup("http").NoOptDefVal = "127.0.0.1:7332"
	fs.StringVar(&v.Audit, "audit", "", "log calls to `FILE`, or to stderr with -")
	fs.BoolVar(&v.NoAuth, "no-auth", false, "with --http: clients need no token")
	fs.StringVar(&v.Profile, "profile", "", "show what belongs to the profile `NAME`")
	v.token.flags(fs)
	fs.StringVar(&v.Daemon, "daemon", "auto", "use daemon `WHEN`: on, off")
	fs.StringVar(&v.Cwd, "cwd", "", "work in `FOLDER`, as if started there")
}

// Parse implements [Verb].
func (v *serveVerb) Parse(words []string) error {
	switch {
	case len(words) > 0 && words[0] == "token":
		return v.token.parse(words[1:], v.Profile)
	case v.token.limited():
		return fault.New(fault.Usage, "--servers, --tier, --expires, --per-minute and --at-once limit a token that is made",
			"Type: mcpl serve token add NAME, and the limits.")
	case v.Profile != "" && v.HTTP != "":
		return fault.New(fault.Usage, "--profile is for stdin and stdout: over HTTP each profile has its own address",
			"Use the path /mcp/p/"+v.Profile+", or a token of that profile.")
	case len(words) == 1 && v.HTTP != "":
		v.HTTP = words[0] // --http takes its address with = or as the next word
	case len(words) > 0:
		return fault.New(fault.Usage, fmt.Sprintf("serve does not take %q", words[0]), "").
			Then("See what it takes with", fault.Step{Verb: "serve", Args: []string{"--help"}})
	}
	return v.check()
}

// check fails for flags that do not go together, or have a value that they cannot have.
func (v *serveVerb) check() error {
	if v.Expose != "" && !slices.Contains(gateway.Exposures(), gateway.Exposure(v.Expose)) {
		return fault.New(fault.Usage, fmt.Sprintf("unknown exposure %q", v.Expose), "Use --expose search, activate or all.")
	}
	if !slices.Contains([]string{"auto", "on", "off"}, v.Daemon) {
		return fault.New(fault.Usage, fmt.Sprintf("--daemon %s is neither on nor off", v.Daemon),
			"Use --daemon on, off or auto: over stdin and stdout auto is on, over HTTP off.")
	}
	return v.checkHTTP()
}

// checkHTTP fails if the flags for HTTP do not fit.
func (v *serveVerb) checkHTTP() error {
	if v.HTTP == "" && v.NoAuth {
		return fault.New(fault.Usage, "--no-auth is for --http: over stdin and stdout there are no tokens", "Leave it away.")
	}
	if v.HTTP == "" {
		return nil
	}
	if _, _, err := net.SplitHostPort(v.HTTP); err != nil {
		return fault.New(fault.Usage, fmt.Sprintf("--http %s is not an address with a port", v.HTTP),
			"Write it as in: mcpl serve --http 127.0.0.1:7332")
	}
	return nil
}

const (
	// relistGap is how soon a server is listed again that keeps changing, and lookEvery how soon the gateway sees that:
	// its clients wait for the news.
	relistGap = time.Second
	lookEvery = 100 * time.Millisecond
)

// Run implements [Verb].
func (v *serveVerb) Run(ctx context.Context, s *Session) (err error) {
	if v.token.action != "" {
		return v.token.run(ctx, s)
	}
	if behind, _ := s.App.Env.Lookup(config.Behind); behind != "" {
		return fault.New(fault.Config, "mcpl serve was started by mcpl, as a server behind itself",
			"Remove its entry from the configuration that mcpl reads, or have another client start it.")
	}
	if err := s.workIn(v.Cwd); err != nil {
		return err
	}
	log := func(string, string) {}
	if s.Globals.Verbose {
		log = s.Printer.Verbose
	}
	expose, err := v.exposure(s)
	if err != nil {
		return err
	}
	doors := &doors{latest: make(map[string]*config.Config)}
	doors.host = host.New(host.Options{NewCaller: s.App.InProcess, NewCatalog: s.App.daemonCatalog,
		StateDir: s.App.Env.StateDir(), Log: log, RelistGap: relistGap})
	if v.Daemon == "on" || v.Daemon == "auto" && v.HTTP == "" && s.usesDaemon() {
		doors.clients = make(map[string]*daemon.Client)
	}
	defer func() { err = errors.Join(err, doors.close()) }()
	seen, err := v.operate(s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, seen.close()) }()
	opt := gateway.Options{Version: s.App.Version, Now: s.App.Now,
		Log: log, Results: s.App.resultsOf, MaxBytes: s.Settings.MaxBytes, Stamp: s.stamp, Query: s.App.QueryApart,
		Catalog: string(s.Settings.Catalog), Notice: func(text string) { s.Printer.Notice("%s", text) },
		Switch: s.switchTools, Choice: s.choice,
		Open: func() (gateway.Opened, error) { return s.openAnew(doors) }}
	seen.options(&opt)
	g, end, err := s.newGateway(ctx, &opt, doors, v.HTTP != "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if v.HTTP != "" {
		shared := opt.Shared
		defer s.collectLess()()
		seen.gauge(g, doors)
		ctx, end := context.WithCancel(ctx)
		defer end()
		defer seen.followHangups(ctx, s, g, end)()
		opt := HTTPOptions{Address: v.HTTP, Expose: expose, Metrics: seen.metrics}
		if !v.NoAuth {
			end, err := s.authenticate(ctx, &opt, shared)
			if err != nil {
				return err
			}
			defer end()
		}
		opt.Listening = func(url string) { s.Printer.Notice("listening on %s; Ctrl-C ends it", url) }
		return s.App.ServeHTTP(ctx, g, opt)
	}
	return g.Serve(ctx, gateway.Identity{Profile: v.Profile, Expose: expose}, s.App.Stdin, s.App.Stdout)
}

// exposure returns the exposure that the command line asks for, else the one that fits the configuration.
func (v *serveVerb) exposure(s *Session) (gateway.Exposure, error) {
	if _, known := s.Settings.Profiles[v.Profile]; v.Profile != "" && !known {
		return "", s.noProfile(v.Profile)
	}
	if v.Expose != "" {
		return gateway.Exposure(v.Expose), nil
	}
	if v.Profile != "" {
		return gateway.Exposure(s.Settings.Profiles[v.Profile].Mode), nil
	}
	sources, err := s.App.Env.Locate(s.selection())
	if err != nil {
		return "", err
	}
	s.sayRefused(sources.Looked) // it lasts, so a person hears of that now
	if sources.HasTools() {
		return gateway.Activate, nil
	}
	return gateway.Search, nil
}

// HTTPOptions say where a gateway is served over HTTP.
type HTTPOptions struct {
	Address string
	// Listening is called with the URL once it can be connected to.
	Listening func(url string)
	// Expose is the exposure at the path /mcp.
	Expose gateway.Exposure
	// Metrics are served at /metrics.
	Metrics *telemetry.Metrics
	// Principal returns whose a token is, nil if it is none. If Principal is nil, clients need no token, and have to be of
	// this machine: another address is a fault of the kind usage.
	Principal Authenticator
	// JWT says whose JSON Web Tokens Principal takes, too; nil if it takes none. Resource is the identifier of the gateway
	// for that issuer, and PublicURL where clients find it; either may be empty if requests say it.
	JWT                 *config.JWT
	Resource, PublicURL string
}

// Authenticator returns whose a token is, nil if it is none. A [gateway.TokenError] says why it does not count; another
// error says why tokens cannot be judged.
type Authenticator func(ctx context.Context, token string) (*gateway.Principal, error)

// surroundings returns what a host starts servers of this session with.
func (s *Session) surroundings() host.Surroundings {
	env, sel := s.App.Env, s.selection()
	return host.Surroundings{Dir: env.Dir, Home: env.Home, Configs: sel.Configs, EnvFiles: sel.EnvFiles,
		Trusted: sel.Trusted, Tools: sel.Tools, Environ: os.Environ(), Limits: s.callerOptions().Limits,
		Idle: s.Settings.Idle, Roots: s.Settings.Roots}
}
