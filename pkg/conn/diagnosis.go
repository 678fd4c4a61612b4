package conn

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-launchpad/mcpl/pkg/cause"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// The lines of a stream that are shown and kept for a diagnosis: some servers name the cause first, before a usage text
// or a stack, others last.
const (
	firstLines = 4
	lastLines  = 20
)

// ends keeps the first and the last of many lines. Its methods may be called concurrently.
type ends struct {
	mu    sync.Mutex
	lines []string
	count int
}

// maxKept bounds a line that is kept, in bytes.
const maxKept = 4 << 10

func (e *ends) add(line []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.count++; len(e.lines) == firstLines+lastLines {
		e.lines = slices.Delete(e.lines, firstLines, firstLines+1)
	}
	e.lines = append(e.lines, string(line[:min(len(line), maxKept)]))
}

// text returns the lines that are kept, with "…" for those between, and how many there were.
func (e *ends) text() (kept string, count int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	lines := e.lines
	if e.count > len(lines) {
		lines = slices.Insert(slices.Clone(lines), firstLines, "…")
	}
	return strings.Join(lines, "\n"), e.count
}

// diagnose says in f why the server failed in the handshake, if what it wrote tells.
func (p *process) diagnose(f *fault.Fault, e cause.Evidence) {
	c, ok := cause.Find(e)
	if !ok {
		return
	}
	f.Message += ": " + c.Line
	if c.Kind != cause.Unknown {
		f.Reason = string(c.Kind)
		f.Help, f.Next = remedy(p.server, p.envFile, c), nil
	}
}

// diagnoseCall is diagnose for what came after the handshake. It may be a warning of long ago, so that only what stands
// at the end counts, and the help is added to.
func (p *process) diagnoseCall(f *fault.Fault, e cause.Evidence) {
	names := cause.Variables(e.Stderr, e.HasValue)
	lines := strings.Split(e.Stderr, "\n")
	e.Stderr = strings.Join(lines[max(0, len(lines)-lastLines):], "\n")
	switch c, ok := cause.Find(e); {
	case !ok:
	case c.Kind.OfNetwork() && (f.Type == fault.Timeout || f.Type == fault.ServerConnection):
		f.Message += ": " + c.Line
		f.Reason = string(c.Kind)
		f.Help = remedy(p.server, p.envFile, c) + " " + f.Help
	case f.Type == fault.ServerConnection && c.Kind != cause.Variable:
		f.Message += ": " + c.Line
	}
	if len(names) > 0 {
		f.Help += " " + setVariables(p.server, p.envFile, names)
	}
}

// evidence returns what is known of the process beside what it wrote to stdout.
func (p *process) evidence() cause.Evidence {
	return cause.Evidence{Stderr: p.stderr(), Ended: !p.child.Running(), HasValue: func(name string) bool {
		return slices.ContainsFunc(p.environ, func(kv string) bool {
			value, ok := strings.CutPrefix(kv, name+"=")
			return ok && value != ""
		})
	}}
}

// networkCause returns the failure on the way to a service that a refusal quotes, with its address from stderr if the
// refusal does not name it. Its second result is false if the refusal is about something else.
func (s *session) networkCause(r *refusal) (cause.Cause, bool) {
	c, ok := cause.Find(cause.Evidence{Stderr: s.server.Mask(r.details.Message + "\n" + string(r.data))})
	if !ok || !c.Kind.OfNetwork() {
		return cause.Cause{}, false
	}
	if p, isProcess := s.peer.(*process); isProcess && c.Name == "" {
		if named, ok := cause.Find(p.evidence()); ok && named.Kind.OfNetwork() {
			c.Kind, c.Name = named.Kind, named.Name
		}
	}
	return c, true
}

// remedy returns what to do about a cause.
func remedy(server *config.Server, envFile string, c cause.Cause) string {
	entry := "its entry in " + server.Place()
	switch c.Kind {
	case cause.Variable:
		return setVariables(server, envFile, c.Names)
	case cause.Setup:
		if command, ok := setupCommand(server.Display().Command, c.Name); ok {
			return fmt.Sprintf("%s wants to be set up first. Run once by hand: %s", server.Name, command)
		}
		return fmt.Sprintf("%s wants to be set up first; the message has its own words. Do what its documentation says: a "+
			"command that a server wrote may do anything.", server.Name)
	case cause.Module:
		return installModule(server, c.Name)
	case cause.Runtime:
		return fmt.Sprintf("It needs a newer version of %s than the one that PATH finds first. Install one, or give its "+
			"path as \"command\" or in \"env\" of %s.", c.Name, entry)
	case cause.Addon:
		return "A compiled part of it was not built, or not for this machine or this version of its runtime. " +
			reinstall(server) + " Let npm run the scripts of packages (no --ignore-scripts)."
	case cause.Refused:
		return fmt.Sprintf("Nothing listens at %s, which the server needs. Start that service, or correct its address in "+
			"\"args\" or \"env\" of %s.", cmp.Or(c.Name, "the address"), entry)
	case cause.Host:
		return fmt.Sprintf("The server cannot look up %s. Check that this machine is online and that nothing on the "+
			"network (a proxy, a firewall) is in the way, or correct the host in \"args\" or \"env\" of %s.",
			cmp.Or(c.Name, "a host that it needs"), entry)
	case cause.Network:
		return fmt.Sprintf("The server cannot reach %s. Check that this machine is online and that nothing on the network "+
			"(a proxy, a firewall) is in the way.", cmp.Or(c.Name, "a service that it needs"))
	case cause.HTTP:
		return servedOverHTTP(c.Name, entry)
	case cause.Argument:
		return fmt.Sprintf("%s wants other command-line arguments: correct \"args\" of %s. Its command is: %s",
			server.Name, entry, server.Display().Command)
	case cause.Setting:
		return fmt.Sprintf("A setting that %s needs is missing or wrong. Its documentation names the variable or the "+
			"argument: put it into \"env\" or \"args\" of %s.", server.Name, entry)
	}
	return ""
}

// servedOverHTTP is the remedy for a server that serves HTTP at where, a URL or a port. A URL of another machine is not
// proposed: a server may name any.
func servedOverHTTP(where, entry string) string {
	address := where
	if port, ok := strings.CutPrefix(where, "port "); ok {
		address = "http://127.0.0.1:" + port + "/mcp"
	}
	at, by := "", "a \"url\" with the address that its documentation names."
	if isOwn(address) {
		at, by = " at "+where, fmt.Sprintf("\"url\": %q.", address)
	}
	return fmt.Sprintf("It serves HTTP%s instead of speaking MCP over its stdin and stdout. Many such servers have a "+
		"flag for that: add it to \"args\" of %s, mostly \"--stdio\". Or run it yourself, and replace "+
		"\"command\" there by %s", at, entry, by)
}

// isOwn reports whether an address is one of this machine.
func isOwn(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return strings.EqualFold(u.Hostname(), "localhost") || err == nil && (ip.IsLoopback() || ip.IsUnspecified())
}

// setupCommand returns the command line by which a server is set up: its own, and the words that it asks for. Its
// second result is false if the server asks for anything else, which could be a command that does harm.
func setupCommand(own, asked string) (command string, ok bool) {
	rest, isOwn := strings.CutPrefix(asked, own+" ")
	words := strings.Fields(rest)
	if len(words) == 0 || !isOwn && len(words) > 1 || slices.ContainsFunc(words, isNotBare) {
		return "", false
	}
	return own + " " + strings.Join(words, " "), true
}

// isNotBare reports whether a word is more than a letter and then letters, digits, "_" and "-", all of them ASCII.
func isNotBare(word string) bool {
	letter := func(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }
	other := func(r rune) bool { return !letter(r) && (r < '0' || r > '9') && r != '_' && r != '-' }
	return !letter(rune(word[0])) || strings.ContainsFunc(word, other)
}

// installModule is the remedy for a server that lacks a module, which may be its own script or package. Runtimes name
// scripts by their absolute paths.
func installModule(server *config.Server, name string) string {
	entry := "of its entry in " + server.Place()
	is := func(arg string) bool {
		return arg == name || strings.HasPrefix(arg, name+"@") || strings.HasPrefix(arg, name+"==")
	}
	switch {
	case filepath.IsAbs(name) && !strings.Contains(filepath.ToSlash(name), "/node_modules/"):
		return fmt.Sprintf("There is no file %s: correct \"args\" %s, or build the server first if the file is made of its "+
			"source.", name, entry)
	case name != "" && slices.ContainsFunc(server.Args, is):
		return fmt.Sprintf("There is no package %s: correct its name or version in \"args\" %s.", name, entry)
	}
	return "Its installation is incomplete: a module that it needs is missing. " + reinstall(server)
}

// reinstall returns how to install a server anew.
func reinstall(server *config.Server) string {
	switch filepath.Base(server.Command) {
	case "npx":
		return "Reinstall it: delete the folder _npx in npm's cache (npm config get cache says where that is), and npx " +
			"installs it anew."
	case "uvx", "uv":
		return "Reinstall it: after \"uv cache clean\" it is installed anew."
	}
	return "Reinstall it."
}

// setVariables returns where to put variables that a server lacks, and where to get their values.
func setVariables(server *config.Server, envFile string, names []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s not set for %s. ", isOrAre(names), server.Name)
	fmt.Fprintf(&b, "Put %s=... into %s and ", strings.Join(names, "=... and "), envFile)
	var entries []string
	for _, n := range names {
		entries = append(entries, fmt.Sprintf("%q: \"${%s}\"", n, n))
	}
	fmt.Fprintf(&b, "\"env\": {%s} into the entry of %s in %s.", strings.Join(entries, ", "), server.Name, server.File)
	for _, n := range names {
		if where := config.WhereToGet(n); where != "" {
			fmt.Fprintf(&b, " Get %s at %s.", n, where)
		}
	}
	return b.String()
}

func isOrAre(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names, ", ") + " are"
}
