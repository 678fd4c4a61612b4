package conn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// errTimeout is the cause of contexts that a limit of ours has ended.
var errTimeout = errors.New("timed out")

// errInput says that a tool wants more input before it answers (MCP 2026-07-28).
var errInput = errors.New("the server answered with resultType input_required")

// phase is what was going on when something failed, and how to give it more time.
type phase struct {
	name  string
	limit time.Duration
	flag  string // of the command line; "" where there is none
	key   string // of the server's entry
}

// refusal is a JSON-RPC error that a server answered with.
type refusal struct {
	method  string
	details mcp.JSONRPCErrorDetails
}

func (r *refusal) Error() string {
	return fmt.Sprintf("%s was answered with error %d: %s", r.method, r.details.Code, r.details.Message)
}

// breach is an answer that is not what the protocol says.
type breach struct {
	what  string
	cause error
}

func (b *breach) Error() string { return b.what }
func (b *breach) Unwrap() error { return b.cause }

// explain turns what went wrong in a phase into the fault that a user sees. An answer counts
// more than a limit that ended just after it.
func (s *session) explain(ctx context.Context, err error, ph phase) *fault.Fault {
	name := s.server.Name
	var refused *refusal
	var broke *breach
	switch timeout := errors.Is(context.Cause(ctx), errTimeout); {
	case ctx.Err() != nil && !timeout:
		return interrupted(context.Cause(ctx), s.server, ph.name)
	case s.closing.Load():
		return interrupted(errClosed, s.server, ph.name)
	case errors.As(err, &refused):
		return s.attach(s.refused(refused))
	case errors.As(err, &broke):
		f := fault.New(fault.Protocol, fmt.Sprintf("%s broke the protocol: %s", name, broke.what),
			"Update the server, or report this to its authors.").On(name, "")
		return s.attach(f.Because(s.masked(broke.cause)))
	case errors.Is(err, errInput):
		return s.attach(fault.New(fault.Protocol, fmt.Sprintf("%s asks for more input before it answers, which mcpl cannot give", name),
			"Give all it may need in the arguments of the call.").On(name, "").Because(err))
	case timeout:
		return s.attach(timedOut(s.server, ph))
	case s.tooLong.Load():
		return s.attach(fault.New(fault.Protocol, fmt.Sprintf("%s sent a message of more than %d MB", name, maxMessage>>20),
			"Ask the tool for less: most have a limit, page or filter argument.").On(name, ""))
	case errors.Is(err, transport.ErrTransportClosed) || s.wire.out.failed() != nil:
		return s.attach(s.gone(ph))
	default:
		return s.attach(fault.New(fault.Protocol, fmt.Sprintf("%s failed at %s", name, ph.name),
			s.askVerbosely()).On(name, "").Because(s.masked(err)))
	}
}

// masked returns err without the server's secrets.
func (s *session) masked(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(s.server.Mask(err.Error()))
}

func (s *session) askVerbosely() string {
	return "See all it says with: mcpl list " + fault.Quote(s.server.Name) + " --refresh --verbose"
}

// endGrace is how long a server that has closed its output may take to end.
const endGrace = time.Second

// gone is the fault of a server that ended, or closed its streams, before it answered. It waits
// for the end, to say how it came, and for the last words on stderr.
func (s *session) gone(ph phase) *fault.Fault {
	message := fmt.Sprintf("%s closed its output before it answered %s", s.server.Name, ph.name)
	if s.child.within(endGrace) {
		<-s.child.ended
		message = fmt.Sprintf("%s %s before it answered %s", s.server.Name, s.child.ending(), ph.name)
	}
	help := "Run its command by hand to see what it needs: " + s.server.Display().Command
	if s.greeted {
		help = "The next command starts it again. " + s.askVerbosely()
	}
	return fault.New(fault.ServerConnection, message, help).On(s.server.Name, "")
}

// refused is the fault of a request that was answered with a JSON-RPC error.
func (s *session) refused(r *refusal) *fault.Fault {
	name := s.server.Name
	f := fault.New(fault.Protocol, s.server.Mask(fmt.Sprintf("%s refused %s: %s", name, r.method, r.details.Message)), "")
	switch {
	case r.method == methodInitialize:
		f.Help = "Its command runs, but it does not accept the handshake. " + s.askVerbosely()
	case r.method == "tools/list":
		f.Help = "It runs, but cannot say which tools it has; often a service behind it is down. " + s.askVerbosely()
	case r.details.Code == mcp.INVALID_PARAMS:
		f.Help = "The server does not know this tool or does not take these arguments. See what it offers now with: mcpl list " +
			fault.Quote(name) + " --refresh"
	default:
		f.Help = "The server runs, but failed at this call. " + s.askVerbosely()
	}
	return f.On(name, "").Trace(s.server.Mask(r.Error()))
}

// attach adds the command, the state of the process and the tail of stderr to a fault, masked,
// and lets stderr speak in the help where it says what is missing: alone where that kept the
// server from starting, else at the end, since then it may be a mere warning.
func (s *session) attach(f *fault.Fault) *fault.Fault {
	stderr := s.server.Mask(s.child.tail.text())
	f.Trace("command: " + s.server.Display().Command)
	f.Trace("process: " + s.child.ending())
	if n := s.foreign.Load(); n > 0 {
		f.Trace(fmt.Sprintf("stdout: %d lines that are no MCP messages (see them with --verbose)", n))
	}
	if stderr == "" {
		f.Trace("stderr: nothing")
	} else {
		f.Trace("stderr:\n" + lastLines(stderr, 20))
	}
	switch help := s.missing(stderr); {
	case help == "":
	case s.greeted:
		f.Help += " " + help
	default:
		f.Help = help
	}
	return f
}

// missing says what to do about what stderr says is missing, or nothing.
func (s *session) missing(stderr string) string {
	if help := s.variableHelp(stderr); help != "" {
		return help
	}
	if asksForArgument(stderr) {
		return fmt.Sprintf("%s wants a command-line argument, see stderr above. Add it to \"args\" of its entry in %s, line %d.",
			s.server.Name, s.server.File, s.server.Line)
	}
	return ""
}

// variableHelp says what to do about the environment variables that stderr asks for.
func (s *session) variableHelp(stderr string) string {
	var names []string
	for _, name := range variablesNamed(stderr) {
		if !slices.ContainsFunc(s.child.cmd.Env, func(kv string) bool {
			value, ok := strings.CutPrefix(kv, name+"=")
			return ok && value != ""
		}) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s not set for %s. ", isOrAre(names), s.server.Name)
	fmt.Fprintf(&b, "Put %s=... into %s and ", strings.Join(names, "=... and "), s.opt.EnvFile)
	var entries []string
	for _, n := range names {
		entries = append(entries, fmt.Sprintf("%q: \"${%s}\"", n, n))
	}
	fmt.Fprintf(&b, "\"env\": {%s} into the entry of %s in %s.", strings.Join(entries, ", "), s.server.Name, s.server.File)
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

// variablesNamed returns the environment variables that a server's stderr complains about: in a
// line that speaks of something missing, words in capitals with an underscore.
func variablesNamed(stderr string) []string {
	var names []string
	for line := range strings.Lines(stderr) {
		low := strings.ToLower(line)
		if !complains(low) && !containsAny(low, "environment variable", "env variable", "env var", "in environment",
			"in the environment", "not set", "must be set", "must set", "please set", "keyerror") {
			continue
		}
		for _, word := range strings.FieldsFunc(line, func(r rune) bool {
			return r != '_' && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && (r < 'a' || r > 'z')
		}) {
			if isVariable(word) && !slices.Contains(names, word) {
				names = append(names, word)
			}
		}
	}
	return names
}

// asksForArgument reports whether stderr complains about a missing argument of the command.
func asksForArgument(stderr string) bool {
	for line := range strings.Lines(stderr) {
		if low := strings.ToLower(line); strings.Contains(low, "argument") && complains(low) {
			return true
		}
	}
	return false
}

// complains reports whether a line, in small letters, says that something is missing.
func complains(line string) bool {
	return containsAny(line, "is required", "are required", "required:", "required.", "please provide", "missing", "undefined",
		"not defined", "not provided", "no value", "must provide", "must be provided")
}

func isVariable(word string) bool {
	return len(word) >= 4 && strings.Contains(strings.Trim(word, "_"), "_") && word == strings.ToUpper(word) &&
		(word[0] >= 'A' && word[0] <= 'Z') && !strings.HasPrefix(word, "ERR_")
}

func containsAny(s string, subs ...string) bool {
	return slices.ContainsFunc(subs, func(sub string) bool { return strings.Contains(s, sub) })
}

// timedOut is the fault of a phase that took too long.
func timedOut(server *config.Server, ph phase) *fault.Fault {
	more := 2 * ph.limit
	help := "Give it more time "
	if ph.flag != "" {
		help += fmt.Sprintf("with %s %s, or for good ", ph.flag, more)
	}
	help += fmt.Sprintf("with \"%s\": \"%s\" in its entry in %s, line %d.", ph.key, more, server.File, server.Line)
	return fault.New(fault.Timeout, fmt.Sprintf("%s did not answer %s within %s", server.Name, ph.name, ph.limit), help).On(server.Name, "")
}

// interrupted is the fault of a request that was given up, by the user or by closing the pool.
func interrupted(cause error, server *config.Server, during string) *fault.Fault {
	f := fault.New(fault.Interrupted, fmt.Sprintf("interrupted during %s of %s", during, server.Name),
		"Nothing is left running. Type the command again to retry.").On(server.Name, "")
	if errors.Is(cause, context.Canceled) {
		return f // says no more than the message
	}
	return f.Because(cause)
}

// closedPool is the fault of a request to a pool after its end.
func closedPool(server string) *fault.Fault {
	return fault.New(fault.Internal, "a server was asked for after the end of its pool",
		"This is a defect of mcpl. Run the command again with --verbose and report what it prints.").On(server, "").Because(errClosed)
}

// notReachable is the fault of servers that are not started by a command.
func notReachable(server *config.Server) *fault.Fault {
	return fault.New(fault.ServerConnection,
		fmt.Sprintf("%s is reached over %s, which this version of mcpl does not speak", server.Name, server.Transport),
		fmt.Sprintf("Until it does, let a bridge speak it over stdio: replace its entry in %s by "+
			"{\"command\": \"npx\", \"args\": [\"-y\", \"mcp-remote\", %q]}.", server.File, server.Display().URL)).On(server.Name, "")
}

// cannotStart is the fault of a command that the system does not run.
func cannotStart(server *config.Server, err error) *fault.Fault {
	command := server.Mask(server.Command)
	f := fault.New(fault.ServerConnection, fmt.Sprintf("cannot start %s: %s cannot be run", server.Name, command), "")
	switch {
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist):
		f.Message = fmt.Sprintf("cannot start %s: there is no program %s", server.Name, command)
		f.Help = missingProgram(server)
	case errors.Is(err, fs.ErrPermission):
		f.Help = "Make it executable: chmod +x " + fault.Quote(command)
	default:
		f.Help = fmt.Sprintf("Check \"command\" and \"cwd\" of %s in %s, line %d.", server.Name, server.File, server.Line)
	}
	return f.On(server.Name, "").Because(errors.New(server.Mask(err.Error()))).Trace("command: " + server.Display().Command)
}

// missingProgram says how to come by a program that is not there.
func missingProgram(server *config.Server) string {
	switch filepath.Base(server.Command) {
	case "npx", "node", "npm":
		return "Install Node.js (https://nodejs.org), or give the full path of " + server.Command + " as \"command\"."
	case "uvx", "uv":
		return "Install uv (https://docs.astral.sh/uv/), or give its full path as \"command\"."
	case "docker":
		return "Install Docker (https://docs.docker.com/get-docker/), or give its full path as \"command\"."
	}
	return fmt.Sprintf("Install it, or correct \"command\" of %s in %s, line %d. A name without / is looked up in PATH.",
		server.Name, server.File, server.Line)
}

// maxTraced is how much of a line of stderr a traceback quotes, in characters.
const maxTraced = 500

// lastLines returns the last n lines of text, each indented by two spaces and cut at maxTraced.
func lastLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-n):]
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		if runes := []rune(line); len(runes) > maxTraced {
			line = string(runes[:maxTraced]) + "…"
		}
		lines[i] = "  " + line
	}
	return strings.Join(lines, "\n")
}
