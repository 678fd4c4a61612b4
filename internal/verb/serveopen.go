package verb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/auth/login"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/gateway"
	"github.com/mcp-launchpad/mcpl/pkg/policy"
	"github.com/mcp-launchpad/mcpl/pkg/state"
)

// stamp identifies the files that the engine of this session is made from. Those of principals are not among them: see
// [Session.choice].
func (s *Session) stamp() string {
	var b strings.Builder
	sources, err := s.App.Env.Locate(s.selection())
	if err != nil {
		return err.Error() + s.besides(nil)
	}
	for _, file := range slices.Concat(sources.Configs, sources.EnvFiles) {
		fmt.Fprintf(&b, "%s %d %d\n", file.Path, file.MTime, file.Size)
	}
	logins := login.Dir(s.App.Env.StateDir())
	fmt.Fprintln(&b, logins, modified(logins)) // a changed file is another entry of it
	return b.String() + s.besides(sources)
}

// besides identifies what decides beside the files of the configuration, which may be nil: settings, choices and
// approvals.
func (s *Session) besides(sources *config.Sources) string {
	var b strings.Builder
	env := s.App.Env
	fmt.Fprintln(&b, env.SettingsFile(), modified(env.SettingsFile()))
	files, err := state.InForce(env.StateDir(), env.Dir)
	if err != nil {
		return b.String() + err.Error()
	}
	for _, file := range files {
		fmt.Fprintln(&b, file.Path, modified(file.Path))
	}
	if sources != nil {
		b.WriteString(env.ApprovalStamp(sources))
	}
	return b.String()
}

// modified identifies the version of a file; "" if there is none.
func modified(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.ModTime().UnixNano(), info.Size(), info.Mode())
}

// openAnew returns the configuration as it is now. If the choice of tools cannot be read, nothing is on. It fails if
// the files of the configuration are damaged, and the one that is in force may stay so.
func (s *Session) openAnew(to *doors) (gateway.Opened, error) {
	app := *s.App
	next := &Session{App: &app, Globals: s.Globals, Printer: s.Printer, spec: s.spec, lookEvery: lookEvery, bare: true}
	notices, err := next.open()
	if err != nil {
		return gateway.Opened{}, err
	}
	for _, notice := range notices {
		s.Printer.Notice("%s", notice)
	}
	opened := gateway.Opened{Unsure: next.unsure, Profiles: make(map[string]gateway.Exposure)}
	for name, p := range next.Settings.Profiles {
		opened.Profiles[name] = gateway.Exposure(p.Mode)
	}
	opened.Engine = next.engineOver(next.selection(), func(cfg *config.Config, _ func(string)) engine.Caller {
		return to.sharing(cfg, to.caller(next, cfg))
	})
	next.Engine = opened.Engine
	opened.Narrow = next.narrow
	if opened.None, err = next.readable(to); err != nil {
		return gateway.Opened{}, errors.Join(err, opened.Engine.Close())
	}
	return opened, nil
}

// readable reads the files of the configuration. none says why there are none. It fails if they are damaged, and what
// was read of them before may stay in force: if nothing that decides beside them has changed since. Else requests fail.
func (s *Session) readable(to *doors) (none, err error) {
	sources, err := s.App.Env.Locate(s.selection())
	if err != nil {
		s.sayOnce(to, err.Error()) // a file that was named is gone
		return nil, nil
	}
	beside := s.besides(sources)
	_, damaged := s.catalog().Config()
	switch {
	case damaged != nil && to.beside == beside:
		to.said = ""
		return nil, damaged
	case damaged != nil:
		s.sayOnce(to, damaged.Error())
	case len(sources.Configs) == 0:
		missing := sources.NoConfig()
		s.sayOnce(to, missing.Message+", so there are no servers yet. Put them into "+sources.FirstPlace())
		return missing, nil
	default:
		to.beside, to.said = beside, ""
	}
	return nil, nil
}

// sayOnce notes what keeps requests from servers, unless it was the last such notice.
func (s *Session) sayOnce(to *doors, text string) {
	if text != to.said {
		s.Printer.Notice("%s", text)
	}
	to.said = text
}

// narrow returns what is taken away from all that there is for a principal in a profile.
func (s *Session) narrow(ctx context.Context, of gateway.Principal, profile string) (
	n engine.Narrowing, err error) {
	var shows []func(server, name string) bool
	if profile != "" {
		p, known := s.Settings.Profiles[profile]
		if !known {
			return n, s.noProfile(profile)
		}
		shows = append(shows, p.Shows)
	}
	if len(of.Servers) > 0 {
		var globs []policy.Glob
		for _, text := range of.Servers {
			g, err := config.ParseServerGlob(text)
			if err != nil {
				return n, err
			}
			globs = append(globs, g)
		}
		shows = append(shows, config.Profile{Servers: globs}.Shows)
	}
	n.Shows = func(server, name string) bool {
		return !slices.ContainsFunc(shows, func(shows func(server, name string) bool) bool { return !shows(server, name) })
	}
	n.Policy = tierRules(of)
	if n.Refuses, err = s.lackOf(ctx, of); err != nil || of.Name == "" {
		return n, err
	}
	tools, notices, err := s.choiceFile(cmp.Or(of.ID, of.Name)).Read()
	if err != nil { // what it has off would be on without it
		notices = append(notices, fmt.Sprintf("nothing is on for %s: %v", of.Name, err))
		tools = state.Nothing()[0]
	}
	for _, notice := range notices {
		s.Printer.Notice("%s", notice)
	}
	n.Switches = state.All{tools}
	n.Help = `The client's own choice has it off. enable_tools {"enable":["*"]}, at the path /mcp/all, switches ` +
		`everything on.`
	return n, nil
}

// noProfile is the fault of a profile that there is not.
func (s *Session) noProfile(name string) error {
	f := fault.New(fault.Usage, fmt.Sprintf("there is no profile %q", name),
		fmt.Sprintf("Profiles stand in %s, as in: [profiles.%s]", s.App.Env.SettingsFile(), name))
	f.Suggest(slices.Sorted(maps.Keys(s.Settings.Profiles)))
	return f
}

// tierRules returns the rules of the tier of a principal.
func tierRules(of gateway.Principal) policy.Rules {
	denied := map[gateway.Tier][]policy.Annotation{
		gateway.TierRead:  {policy.Writes},
		gateway.TierWrite: {policy.Destructive, policy.Unannotated},
	}[of.Tier]
	if denied == nil {
		return nil
	}
	return policy.Rules{{Annotations: denied, Action: policy.Deny,
		Source: fmt.Sprintf("the tier %q of %q", of.Tier, of.Name)}}
}

// lackOf returns a function that says why a server cannot be used with the logins of a principal. It asks no server.
func (s *Session) lackOf(ctx context.Context, of gateway.Principal) (func(server string) error, error) {
	cfg, err := s.catalog().Config()
	if err != nil { // what needs it says so
		return func(string) error { return nil }, nil
	}
	type lack struct {
		login.State
		server *config.Server
	}
	lacks := make(map[string]lack)
	for _, server := range cfg.Servers {
		if server.Transport == config.Stdio || server.Usable() != nil {
			continue
		}
		own := server.For(cmp.Or(of.ID, of.Name), nil)
		state, err := s.App.Logins.State(ctx, own)
		if err != nil { // the call says so
			continue
		}
		lacks[server.Name] = lack{state, own}
	}
	return func(name string) error {
		l, known := lacks[name]
		ended := l.Kind == login.Expired || !l.Expires.IsZero() && !l.Renewable && !s.App.Now().Before(l.Expires)
		never := known && l.Kind == login.NotLoggedIn && l.server.Credentials == config.OfUser
		if !ended && !never {
			return nil
		}
		return noLogin(l.server, of.Name)
	}, nil
}

// noLogin is the fault of a server whose login is not there, or has ended.
func noLogin(server *config.Server, principal string) error {
	step := fault.Step{Verb: "auth login", Server: server.Name}
	message := server.Name + " at " + server.Display().URL + " needs a login"
	if server.Principal() != "" {
		step.Args = []string{"--as", principal}
		message += " of " + principal
	}
	return fault.New(fault.AuthRequired, message, "").On(server.Name, "").Then("A person logs in with", step)
}
