package conn

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/proc"
)

// How long a server may take to end once its stdin is closed, if that is less than proc.ExitGrace.
const (
	// askedGrace is for a server that, its stdin closed, waits for the answer to a request.
	askedGrace = 50 * time.Millisecond
	// idleGrace is for a server that had only requests that change nothing, so that it has nothing to finish.
	idleGrace = 100 * time.Millisecond
)

// process is the peer over stdio: a server that runs as a child of ours.
type process struct {
	server   *config.Server
	envFile  string
	environ  []string // of the child
	child    *proc.Process
	messages *messageFilter        // from its stdout
	out      *outbox               // to its stdin
	noise    ends                  // lines on stdout that were not messages
	early    ends                  // requests and notifications before the handshake
	greeted  atomic.Bool           // the handshake is over
	refused  atomic.Pointer[error] // why a message of it was not read; nil if all were
	closing  atomic.Bool           // close was called
	hurry    chan time.Duration
}

// startProcess runs the command of a server. take is called with its requests and notifications.
func startProcess(server *config.Server, opt Options, log logger, run *proc.Spawner, take func([]byte)) (
	*process, *wire, *fault.Fault) {
	cmd := exec.Command(server.Command, server.Args...)
	cmd.Dir = cmp.Or(server.Cwd, opt.Dir)
	cmd.Env = append(server.Environ(opt.Environ), config.Behind+"=1")
	log("starting %s", server.Display().Command)
	var stderr proc.Options
	if opt.Log != nil {
		stderr.StderrLine = func(line string) { log("stderr: %s", line) }
	}
	p, err := newProcess(cmd, run, stderr, log, take)
	if err != nil {
		return nil, nil, cannotStart(server, err)
	}
	p.server, p.envFile = server, opt.EnvFile
	return p, newPipeWire(p.messages, p.out, stuckGrace), nil
}

// newProcess starts cmd and filters what it writes to stdout.
func newProcess(cmd *exec.Cmd, run *proc.Spawner, opt proc.Options, log logger, take func([]byte)) (*process, error) {
	child, err := run.Start(cmd, opt)
	if err != nil {
		return nil, err
	}
	p := &process{environ: cmd.Env, child: child, out: newOutbox(child.Stdin), hurry: make(chan time.Duration, 1)}
	foreign := func(line []byte) {
		p.noise.add(line)
		log("not a message on stdout: %s", line)
	}
	taken := func(message []byte) {
		p.noteRequest(message) // the reader of the messages may still be reading when close is called
		if !p.greeted.Load() {
			p.early.add(message)
		}
		take(message)
	}
	p.messages = newMessageFilter(child.Stdout, taken, foreign, func(err error) { p.refused.Store(&err) })
	return p, nil
}

// alive implements peer: the process runs and has not ended the streams between us.
func (p *process) alive() bool {
	select {
	case <-p.messages.ended:
		return false
	default:
		return p.child.Running() && p.out.failed() == nil
	}
}

// close implements peer; see proc.Process.Close.
func (p *process) close(grace time.Duration) {
	p.closing.Store(true)
	p.child.Close(proc.CloseOptions{Rest: p.readRest, Grace: grace, Hurry: p.hurry})
	<-p.out.done
}

// readRest reads stdout after the end of the session, up to a line that is too long.
func (p *process) readRest(stdout io.Reader) {
	rest := newMessageFilter(stdout, p.noteRequest, func([]byte) {}, func(error) {})
	_, _ = io.Copy(io.Discard, rest)
}

// noteRequest hurries close if the server sends a request after the end of the session.
func (p *process) noteRequest(message []byte) {
	if p.closing.Load() && isRequest(message) {
		select {
		case p.hurry <- askedGrace:
		default: // it hurries already
		}
	}
}

func (p *process) failure(err error, ph phase) *fault.Fault {
	refused := p.refused.Load()
	switch {
	case refused != nil:
		return messageRefused(p.server, *refused)
	case errors.Is(err, transport.ErrTransportClosed) || p.out.failed() != nil:
		return p.gone(ph)
	}
	return failedAt(p.server, err, ph)
}

// endGrace bounds the wait for the end of a server that has closed its output.
const endGrace = time.Second

// gone returns the fault of a server that ended, or closed its streams, before it answered. It waits for the end,
// to say how the server ended, and for the last words on stderr.
func (p *process) gone(ph phase) *fault.Fault {
	message := fmt.Sprintf("%s closed its output before it answered %s", p.server.Name, ph.name)
	if p.child.ExitsWithin(endGrace) {
		<-p.child.Ended()
		message = fmt.Sprintf("%s %s before it answered %s", p.server.Name, p.child.State(), ph.name)
	}
	f := fault.New(fault.ServerConnection, message, "").On(p.server.Name, "")
	if !ph.isHandshake() {
		f.Help = "It is started again when it is next called."
		return f.Then(seeAll(p.server))
	}
	f.Help = "Run its command by hand to see what it needs: " + p.server.Display().Command
	return f
}

// stderr returns the start and the end of what the process has written to stderr, secrets masked.
func (p *process) stderr() string { return p.server.Mask(p.child.Stderr()) }

// attach implements peer. It adds the command, the state of the process and what it wrote to a fault, masked, and the
// cause if that tells it.
func (p *process) attach(f *fault.Fault, ph phase) *fault.Fault {
	e := p.evidence()
	noise, count := p.noise.text()
	if ph.isHandshake() {
		early, _ := p.early.text()
		e.Stdout, e.Messages = p.server.Mask(noise), p.server.Mask(early)
	}
	f.Trace("command: " + p.server.Display().Command)
	f.Trace("process: " + p.child.State().String())
	switch {
	case count > 0 && ph.isHandshake():
		f.Trace(fmt.Sprintf("stdout: %s:\n%s", noMessages(count), endsOf(e.Stdout)))
	case count > 0:
		f.Trace(fmt.Sprintf("stdout: %s (see them with --verbose)", noMessages(count)))
	}
	if e.Messages != "" {
		f.Trace("messages before the handshake:\n" + endsOf(e.Messages))
	}
	if e.Stderr == "" {
		f.Trace("stderr: nothing")
	} else {
		f.Trace("stderr:\n" + endsOf(e.Stderr))
	}
	if ph.isHandshake() {
		p.diagnose(f, e)
	} else {
		p.diagnoseCall(f, e)
	}
	return f
}

// maxTraced bounds a line of stderr, or the start of a body, in a traceback, in bytes.
const maxTraced = 500

// endsOf returns the first and the last lines of text, each indented by two spaces and cut at maxTraced. "…" stands for
// those between.
func endsOf(text string) string {
	lines := strings.Split(text, "\n")
	if len(lines) > firstLines+lastLines {
		lines = slices.Concat(lines[:firstLines], []string{"…"}, lines[len(lines)-lastLines:])
	}
	for i, line := range lines {
		lines[i] = "  " + fault.Cut(strings.TrimRight(line, "\r"), maxTraced)
	}
	return strings.Join(lines, "\n")
}

// cannotStart returns the fault of a command that the system does not run.
func cannotStart(server *config.Server, err error) *fault.Fault {
	command := server.Mask(server.Command)
	message := fmt.Sprintf("cannot start %s: %s cannot be run", server.Name, command)
	f := fault.New(fault.ServerConnection, message, "")
	exhausted := fault.NoMoreFiles(err)
	switch {
	case exhausted != nil:
		f.Message, f.Help = fmt.Sprintf("cannot start %s: %s", server.Name, exhausted.Message), exhausted.Help
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist):
		f.Message = fmt.Sprintf("cannot start %s: there is no program %s", server.Name, command)
		f.Help = missingProgram(server)
	case errors.Is(err, fs.ErrPermission):
		f.Help = "Make it executable: chmod +x " + fault.Quote(command)
	default:
		f.Help = fmt.Sprintf("Check \"command\" and \"cwd\" of %s in %s.", server.Name, server.Place())
	}
	return f.On(server.Name, "").Because(masked(server, err)).Trace("command: " + server.Display().Command)
}

// missingProgram returns how to get the program of a server.
func missingProgram(server *config.Server) string {
	switch filepath.Base(server.Command) {
	case "npx", "node", "npm":
		return "Install Node.js (https://nodejs.org), or give the full path of " + server.Command +
			" as \"command\"."
	case "uvx", "uv":
		return "Install uv (https://docs.astral.sh/uv/), or give its full path as \"command\"."
	case "docker":
		return "Install Docker (https://docs.docker.com/get-docker/), or give its full path as \"command\"."
	}
	return fmt.Sprintf("Install it, or correct \"command\" of %s in %s. "+
		"A name without / is looked up in PATH.", server.Name, server.Place())
}

func noMessages(lines int) string {
	if lines == 1 {
		return "1 line that is not an MCP message"
	}
	return fmt.Sprintf("%d lines that are not MCP messages", lines)
}
