// Package fault holds the one error shape that a user or an agent of mcpl ever sees.
//
// Make a [Fault] with [New] where the failure is known, say what can be done with [Fault.Then] and [Fault.ThenSet],
// and add the cause with [Fault.Because]; [From] finds it again in a chain of errors. A fault says what failed, why,
// and what to do now. It stays the same through wrapping, through the daemon's socket and through MCP, and is
// rendered once, by a face (pkg/output). The package knows nothing of terminals, servers or files: the packages that
// do make faults.
package fault

import (
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// Type names the kind of a failure. It is part of mcpl's contract: see docs/contracts.md.
type Type string

// The types of faults, with the exit code each leads to.
const (
	Tool             Type = "ToolError"             // 1: the tool ran and reported an error
	Result           Type = "ResultError"           // 1: the tool ran, and its result cannot be shown as asked
	Usage            Type = "UsageError"            // 2: the command line is wrong
	InvalidArguments Type = "InvalidArgumentsError" // 2: a tool's arguments do not fit its schema
	Config           Type = "ConfigError"           // 2: a configuration file is missing or wrong
	MissingVariable  Type = "MissingVariableError"  // 2: a ${VAR} of the configuration has no value
	ServerNotFound   Type = "ServerNotFoundError"   // 3: no such server, or it is disabled
	ToolNotFound     Type = "ToolNotFoundError"     // 3: no such tool, or it is disabled
	ResultNotFound   Type = "ResultNotFoundError"   // 3: no such result is kept, or not any more
	ServerConnection Type = "ServerConnectionError" // 4: a server cannot be started or reached, or died
	Protocol         Type = "ProtocolError"         // 4: a server broke the protocol or refused a request
	Timeout          Type = "TimeoutError"          // 5: a phase took longer than its limit
	AuthRequired     Type = "AuthRequiredError"     // 6: a server wants a login
	ApprovalRequired Type = "ApprovalRequiredError" // 6: a person has to approve first
	Internal         Type = "InternalError"         // 70: a defect of mcpl (EX_SOFTWARE of sysexits.h)
	Interrupted      Type = "InterruptedError"      // 130: 128 + SIGINT
)

// ExitCode returns the process exit code that a fault of type t leads to.
// An unknown type is a defect and counts as Internal.
func (t Type) ExitCode() int {
	switch t {
	case Tool, Result:
		return 1
	case Usage, InvalidArguments, Config, MissingVariable:
		return 2
	case ServerNotFound, ToolNotFound, ResultNotFound:
		return 3
	case ServerConnection, Protocol:
		return 4
	case Timeout:
		return 5
	case AuthRequired, ApprovalRequired:
		return 6
	case Interrupted:
		return 130
	default:
		return 70
	}
}

// Fault is an error with everything a reader needs to get further. Its JSON form is the
// value of "error" in every failing answer of mcpl.
type Fault struct {
	Type Type `json:"type"`
	// Message says what failed, in one sentence, without a trailing period.
	Message string `json:"message"`
	// Reason says in a word why a server does not work, if what it wrote tells: one of the kinds of pkg/cause.
	Reason string `json:"reason,omitempty"`
	// Traceback is the chain of causes, one a line, and the tail of the server's stderr if there is one. Secrets are
	// masked before they get here. It may be empty.
	Traceback string `json:"traceback"`
	// Help says what to do now, in words that fit every face. Verbs and variables are in Next.
	Help string `json:"help"`
	// Next lists what can be done now, the best first. A face that shows text appends it to Help.
	Next []Next `json:"next,omitempty"`
	// Server and Tool name what the fault is about. Either may be empty.
	Server string `json:"server,omitempty"`
	Tool   string `json:"tool,omitempty"`
	// Suggestions are the nearest names to the one that was not found, best first.
	Suggestions []string `json:"suggestions,omitempty"`
	// Arguments lists every argument that does not fit, for InvalidArguments.
	Arguments []Argument `json:"arguments,omitempty"`
	// Result is the result that the tool gave in spite of the fault: it reported an error (Tool), or it asked something
	// and got no answer (ApprovalRequired) or one that did not fit (InvalidArguments), or what the caller wanted done
	// with it failed (Result, Protocol).
	Result any `json:"result,omitempty"`
	// Approval says what a person has to approve, for ApprovalRequired.
	Approval *Approval `json:"approval,omitempty"`
	// Diff is what has changed of a definition, a line each, for an approval of the kind "pin". It is safe to show.
	Diff []string `json:"diff,omitempty"`

	cause error
}

// PinApproval is the [Approval.Kind] of a definition that has changed.
const PinApproval = "pin"

// Approval is what a person has to approve before something is done.
type Approval struct {
	// Kind is "trust" for a server of a project, "policy" for a call that a rule asks about or denies, "pin" for a
	// definition that has changed.
	Kind string `json:"kind"`
	// Why says in a few words why an approval is needed.
	Why string `json:"why"`
	// Command is the command line that starts a server, URL its address; one of them is empty. Secrets are masked.
	Command string `json:"command,omitempty"`
	URL     string `json:"url,omitempty"`
	// ID names the request for a call, and Token approves it. The token is empty if the rule does not take one, both if no
	// approval helps.
	ID    string `json:"id,omitempty"`
	Token string `json:"token,omitempty"`
	// Tool is what would be called, as "server/tool", and Arguments its exact arguments, secrets masked.
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// By are the ways of approving.
	By []string `json:"by,omitempty"`
	// Expires is when the request does.
	Expires time.Time `json:"expires,omitzero"`
}

// Argument is one fault of a tool call's arguments.
type Argument struct {
	// Pointer is the JSON pointer (RFC 6901) of the value in question. The empty one is the whole object.
	Pointer string `json:"pointer"`
	// Problem says what is wrong with it.
	Problem string `json:"problem"`
	// Expected says what the schema asks for there. It may be empty.
	Expected string `json:"expected,omitempty"`
	// Nearest is the known key closest to an unknown one. It may be empty.
	Nearest string `json:"nearest,omitempty"`
}

// New returns a fault of type t. help may be empty if there is nothing to do, or if Next says all of it.
func New(t Type, message, help string) *Fault {
	return &Fault{Type: t, Message: message, Help: help}
}

// Error returns the message; the causes are in the traceback.
func (f *Fault) Error() string { return f.Message }

// Unwrap returns the cause given to [Fault.Because]. It may be nil.
func (f *Fault) Unwrap() error { return f.cause }

// Because records cause and appends its message to the traceback, unless f's own message has it. It returns f. A nil
// cause changes nothing.
func (f *Fault) Because(cause error) *Fault {
	if cause == nil {
		return f
	}
	f.cause = cause
	if strings.Contains(f.Message, cause.Error()) {
		return f
	}
	return f.Trace(cause.Error())
}

// Trace appends text to the traceback on a line of its own. It returns f. Text that is empty or already the last in
// the traceback changes nothing.
func (f *Fault) Trace(text string) *Fault {
	text = strings.TrimRight(text, "\n")
	switch {
	case text == "" || strings.HasSuffix(f.Traceback, text):
	case f.Traceback == "":
		f.Traceback = text
	default:
		f.Traceback += "\n" + text
	}
	return f
}

// On names the server and the tool (which may be empty) that f is about. It returns f.
func (f *Fault) On(server, tool string) *Fault {
	f.Server, f.Tool = server, tool
	return f
}

// Suggest asks in the help whether one of these names was meant. It returns f. Without names it changes nothing.
func (f *Fault) Suggest(names []string) *Fault {
	if len(names) > 0 {
		f.Suggestions, f.Help = names, "Did you mean "+strings.Join(names, " or ")+"?"
	}
	return f
}

// From returns the fault in err's chain. An error without one becomes an Internal fault, since every foreseen failure
// is described where it happens. From(nil) is nil.
func From(err error) *Fault {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*Fault](err); ok {
		return f
	}
	return New(Internal, err.Error(),
		"This is a defect of mcpl. Run the command again with --verbose and report what it prints.").Because(err)
}

// Is reports whether err holds a fault of type t.
func Is(err error, t Type) bool {
	f, ok := errors.AsType[*Fault](err)
	return ok && f.Type == t
}

// Quote quotes a word for a POSIX shell if it needs that, for commands in help texts.
func Quote(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\r\n'\"\\$`!*?[]{}()<>|&;#~%^") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
