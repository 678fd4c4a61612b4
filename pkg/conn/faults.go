package conn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// phase is the part of a request that failed, and how to give it more time.
type phase struct {
	name  string // the method, mostly
	limit time.Duration
	most  time.Duration // the limit in all, whatever the progress
	flag  string        // of the command line; may be empty
	key   string        // of the server's entry
	ref   tool.Ref      // what is called; may be empty
}

// isHandshake reports whether the phase is the handshake.
func (ph phase) isHandshake() bool { return ph.name == methodInitialize || ph.name == methodDiscover }

// seconds returns d as texts show it.
func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// refusal is a JSON-RPC error that a server answered with.
type refusal struct {
	method  string
	details mcp.JSONRPCErrorDetails
	data    json.RawMessage // as the server sent it; nil if that was not kept
}

func (r *refusal) Error() string {
	return fmt.Sprintf("%s was answered with error %d: %s", r.method, r.details.Code, r.details.Message)
}

// upstream returns the error as the server has sent it.
func (r *refusal) upstream() *tool.UpstreamError {
	e := &tool.UpstreamError{Code: r.details.Code, Message: r.details.Message, Data: r.data}
	if e.Data == nil && r.details.Data != nil {
		e.Data, _ = json.Marshal(r.details.Data) // it was JSON before
	}
	return e
}

// breach is a response that is not what the protocol says.
type breach struct {
	what  string
	cause error
}

func (b *breach) Error() string { return b.what }
func (b *breach) Unwrap() error { return b.cause }

// explain makes the fault of a phase's error. A response counts more than a limit that ended just after it.
func (s *session) explain(ctx context.Context, err error, ph phase) *fault.Fault {
	name := s.server.Name
	var refused *refusal
	var broke *breach
	var waits *unopened
	var other *unpinned
	switch timeout := errors.Is(context.Cause(ctx), errTimeout); {
	case ctx.Err() != nil && !timeout:
		return interrupted(context.Cause(ctx), s.server, ph.name)
	case s.closing.Load():
		return interrupted(errClosed, s.server, ph.name)
	case errors.Is(err, errTurn), errors.Is(err, errRetired), errors.Is(err, errSessionEnded) && !s.overHTTP():
		return s.unsent(err, ph)
	case errors.As(err, &refused):
		return s.peer.attach(s.refused(refused, ph), ph)
	case errors.As(err, &broke):
		f := fault.New(fault.Protocol, fmt.Sprintf("%s broke the protocol: %s", name, broke.what),
			"Update the server, or report this to its authors.").On(name, "")
		return s.peer.attach(f.Because(masked(s.server, broke.cause)), ph)
	case errors.As(err, &waits):
		return s.peer.attach(s.pagesFirst(waits), ph)
	case errors.As(err, &other):
		return s.peer.attach(s.otherRevision(other), ph)
	case errors.Is(err, errRounds), errors.Is(err, errLater), errors.Is(err, errModel):
		return s.peer.attach(fault.New(fault.Protocol, fmt.Sprintf("%s did not answer %s: %s", name, ph.name, err),
			"Give all it may need in the arguments of the call, or try again later.").On(name, ""), ph)
	case timeout:
		f := timedOut(s.server, ph)
		if errors.Is(context.Cause(ctx), errMaxTime) {
			f = outOfTime(s.server, ph)
		}
		if u := (*unfinished)(nil); errors.As(err, &u) && u.stage != "" {
			f.Trace(s.server.Mask("it was " + u.stage))
		}
		return s.peer.attach(f, ph)
	default:
		return s.peer.attach(s.peer.failure(err, ph), ph)
	}
}

// unsent is the fault of a request that waited for its turn in vain, or whose server ended meanwhile.
func (s *session) unsent(err error, ph phase) *fault.Fault {
	name := s.server.Name
	if !errors.Is(err, errTurn) {
		return fault.New(fault.ServerConnection, name+" ended before the request was sent", "Try again.").
			On(name, "").Because(err)
	}
	message := fmt.Sprintf("%s was busy with calls of other clients for %s; nothing was sent", name, ph.limit)
	help := "Type the command again, or give it more time with " + ph.flag + "."
	if errors.Is(err, errPerson) {
		message = fmt.Sprintf("%s waits for the answer of another client to a question, and took no other call for %s; "+
			"nothing was sent", name, personLimit)
		help = "Try again when that has been answered."
	}
	return fault.New(fault.Timeout, message, help+" It asks its users questions that name no call, so that the calls of "+
		`different clients take turns. With "scope": "session" in its entry each session of mcpl serve has a process of `+
		"its own.").On(name, "").Because(tool.ErrNotSent)
}

// messageRefused returns the fault of a message that is not read: one that exceeds maxMessage or maxDepth.
func messageRefused(server *config.Server, err error) *fault.Fault {
	if errors.Is(err, errTooDeep) {
		return fault.New(fault.Protocol,
			fmt.Sprintf("%s sent a message that is nested more than %d levels deep", server.Name, maxDepth),
			"That is a defect of the server, or an attack: report it to whoever wrote it.").On(server.Name, "")
	}
	return fault.New(fault.Protocol, fmt.Sprintf("%s sent a message of more than %d MB", server.Name, maxMessage>>20),
		"Ask the tool for less: most have a limit, page or filter argument.").On(server.Name, "")
}

// failedAt returns the fault of an unforeseen error of a server.
func failedAt(server *config.Server, err error, ph phase) *fault.Fault {
	return fault.New(fault.Protocol, fmt.Sprintf("%s failed at %s", server.Name, ph.name), "").
		On(server.Name, "").Because(masked(server, err)).Then(seeAll(server))
}

// masked returns err without the server's secrets.
func masked(server *config.Server, err error) error {
	if err == nil {
		return nil
	}
	return errors.New(server.Mask(err.Error()))
}

// seeAll is the step that shows all that a server says.
func seeAll(server *config.Server) (why string, s fault.Step) {
	return "See all it says with", fault.Step{
		Verb: "list", Server: server.Name, Args: []string{"--refresh", "--verbose"}}
}

// seeAgain is the step that makes a call once more and shows all that the server says meanwhile. For a request that is
// not a call it is seeAll.
func seeAgain(server *config.Server, ref tool.Ref) (why string, s fault.Step) {
	if ref.Name == "" {
		return seeAll(server)
	}
	return "Make the same call again and see all it says with", fault.Step{
		Verb: ref.Kind.Verb(), Server: server.Name, Tool: ref.Name, Args: []string{"--verbose"}}
}

// maxRefusal bounds the message of a JSON-RPC error, in bytes: some list all that is wrong with the arguments.
const maxRefusal = 16 << 10

// refused returns the fault of a request that was answered with a JSON-RPC error.
func (s *session) refused(r *refusal, ph phase) *fault.Fault {
	name := s.server.Name
	message := fmt.Sprintf("%s refused %s: %s", name, r.method, r.details.Message)
	f := fault.New(fault.Protocol, presentable(s.server, message, maxRefusal), "")
	switch unreachable, ok := s.networkCause(r); {
	case ok:
		f.Reason = string(unreachable.Kind)
		f.Help = remedy(s.server, s.opt.EnvFile, unreachable)
		f.Then(seeAgain(s.server, ph.ref))
	case r.method == methodInitialize:
		f.Help = "It runs, but does not accept the handshake."
		f.Then(seeAll(s.server))
	case r.method == methodDiscover: // of an entry that pins the revision
		f.Help = fmt.Sprintf("It may be older than revision %s of the protocol. %s", s.server.Protocol, s.agree())
	case r.method == "tools/list":
		f.Help = "It runs, but cannot say which tools it has; often a service behind it is down."
		f.Then(seeAll(s.server))
	case r.method == methodRead && (r.details.Code == mcp.RESOURCE_NOT_FOUND || r.details.Code == mcp.INVALID_PARAMS):
		f.Help = "The server has nothing at this URI."
		f.Then("See what it offers with", fault.Step{Verb: "resources", Server: name})
	case r.method == methodPrompt && r.details.Code == mcp.INVALID_PARAMS:
		f.Help = "The server does not know this prompt or does not take these arguments."
		f.Then("See what it offers with", fault.Step{Verb: "prompts", Server: name})
	case r.details.Code == mcp.INVALID_PARAMS:
		f.Help = "The server does not know this tool or does not take these arguments."
		f.Then("See what it offers now with", fault.Step{Verb: "list", Server: name, Args: []string{"--refresh"}})
	case r.details.Code == serverError && s.overHTTP() && !s.alive():
		f.Help = "The server may have been started anew and have forgotten the session. " +
			"Type the command again: that starts a new session."
		f.Because(errForgotten)
	default:
		f.Help = "The server runs, but failed at this call."
		f.Then(seeAgain(s.server, ph.ref))
	}
	return f.On(name, "").Trace(presentable(s.server, r.Error(), maxRefusal))
}

// likelySeconds is the largest number in an entry's limit that is likely to be meant as seconds.
const likelySeconds = 120

// timedOut returns the fault of a phase that took too long.
func timedOut(server *config.Server, ph phase) *fault.Fault {
	message := fmt.Sprintf("%s did not answer %s within %s", server.Name, ph.name, ph.limit)
	f := fault.New(fault.Timeout, message, "").On(server.Name, "")
	own := map[string]time.Duration{"connectTimeout": server.ConnectTimeout, "callTimeout": server.CallTimeout}[ph.key]
	if n := own.Milliseconds(); own == ph.limit && own <= likelySeconds*time.Millisecond {
		f.Help = fmt.Sprintf("A number as %q counts milliseconds: %d is %s. "+
			"Write \"%[1]s\": \"%[2]ds\" in its entry in %[4]s.", ph.key, n, own, server.Place())
		return f
	}
	more := 2 * ph.limit
	f.Help = "Give it more time "
	if ph.flag != "" {
		f.Help += fmt.Sprintf("with %s %s, or for good ", ph.flag, more)
	}
	f.Help += fmt.Sprintf("with \"%s\": \"%s\" in its entry in %s.", ph.key, more, server.Place())
	return f
}

// outOfTime returns the fault of a request that made progress, but took too long in all.
func outOfTime(server *config.Server, ph phase) *fault.Fault {
	return fault.New(fault.Timeout, fmt.Sprintf("%s did not finish %s within %s in all", server.Name, ph.name, ph.most),
		fmt.Sprintf("Give it more time with --max-time %s.", 2*ph.most)).On(server.Name, "")
}

// pagesFirst returns the fault of a call that waits for pages that the user has to open.
func (s *session) pagesFirst(u *unopened) *fault.Fault {
	var pages []string
	for _, q := range u.pages {
		pages = append(pages, strings.TrimSpace(s.server.Mask(q.URL)+" "+fault.Excerpt(s.server.Mask(q.Message), maxTraced)))
	}
	return fault.New(fault.ApprovalRequired, fmt.Sprintf("%s wants you to open a page first", s.server.Name),
		"Open it if you trust it, and type the command again:\n  "+strings.Join(pages, "\n  ")).
		On(s.server.Name, "").Trace(s.server.Mask(u.Error()))
}

// unpinned is the error of a server that does not speak the revision that its entry asks for.
type unpinned struct{ pin, offered string }

func (u *unpinned) Error() string { return "it speaks revision " + u.offered + ", not " + u.pin }

// otherRevision returns the fault of a server that does not speak the revision that its entry asks for.
func (s *session) otherRevision(u *unpinned) *fault.Fault {
	message := fmt.Sprintf("%s speaks revision %s of the protocol, not %s", s.server.Name, u.offered, u.pin)
	return fault.New(fault.Protocol, s.server.Mask(message), s.agree()).On(s.server.Name, "")
}

// agree returns how to have a revision agreed on.
func (s *session) agree() string {
	return fmt.Sprintf("Correct \"protocol\" of %s in %s, or omit it to have one agreed on.",
		s.server.Name, s.server.Place())
}

// interrupted returns the fault of a request that was given up, by the user or by closing the pool.
func interrupted(cause error, server *config.Server, during string) *fault.Fault {
	help := "Type the command again to retry."
	if during == methodCall {
		help = "mcpl cancelled it, but the server may have done part or all of it: look before you type the command again."
	}
	message := fmt.Sprintf("interrupted during %s of %s", during, server.Name)
	f := fault.New(fault.Interrupted, message, help).On(server.Name, "")
	if errors.Is(cause, context.Canceled) {
		return f // says no more than the message
	}
	return f.Because(cause)
}

// closedPool returns the fault of a request to a pool after its end.
func closedPool(server string) *fault.Fault {
	return fault.New(fault.Internal, "a server was asked for after the end of its pool",
		"This is a defect of mcpl. Run the command again with --verbose and report what it prints.").
		On(server, "").Because(errClosed)
}
