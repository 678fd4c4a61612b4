package conn

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/proc"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// session is one connection to a server.
type session struct {
	server *config.Server
	opt    Options
	via    config.Transport
	log    logger
	peer   peer
	wire   link
	http   *streamable      // the wire's, if that is Streamable HTTP; else nil
	roots  json.RawMessage  // the result of roots/list; nil if the server is offered no roots
	asked  rootsAsked       // by the server
	events func(tool.Event) // gets the messages that belong to no call; may be nil

	router     *router
	goroutines *goroutines
	listening  sync.Once
	listened   listened
	waiting    atomic.Int64 // requests of the server that are being answered

	// Set by the handshake.
	version      string // the revision
	info         mcp.Implementation
	instructions string
	offers       mcp.ServerCapabilities
	connected    time.Duration // how long start and handshake took
	ready        atomic.Bool   // the handshake is over

	offer       offer
	headerTools sync.Map // by name: *mcp.Tool of those whose arguments are repeated in headers

	retired atomic.Bool // no more calls; see router.spoiled
	changes atomic.Bool // it had a call that may have changed something
	moved   atomic.Bool // the server says that its lists have changed

	users   atomic.Int32 // requests; more come only with the turn of its slot
	kept    bool         // not all of them were brief; guarded by that turn
	closing atomic.Bool  // close was called
}

// link is a wire.
type link interface {
	transport.Interface
	next() int64
	send(ctx context.Context, reply []byte) error
}

func newSession(server *config.Server, opt Options, via config.Transport) *session {
	return &session{server: server, opt: opt, via: via, log: newLogger(server, opt.Log),
		roots: rootsOf(server, opt.Root), asked: newRootsAsked(), router: newRouter(), goroutines: newGoroutines(),
		listened: listened{ends: make(map[string]context.CancelFunc)}}
}

// logger logs an event with secrets masked, at most maxLogged bytes of it.
type logger func(format string, args ...any)

func newLogger(server *config.Server, log func(server, event string)) logger {
	return func(format string, args ...any) {
		if log != nil {
			log(server.Name, presentable(server, fmt.Sprintf(format, args...), maxLogged))
		}
	}
}

// start starts server and shakes hands. On failure nothing is left running.
func (p *Pool) start(ctx context.Context, server *config.Server, known tool.Known) (*session, *fault.Fault) {
	limit := cmp.Or(p.opt.Limits.ForceConnect, server.ConnectTimeout, p.opt.Limits.Connect)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	started := time.Now()
	log := newLogger(server, p.opt.Log)
	s, f := p.connect(ctx, server, known,
		phase{name: firstMethod(server), limit: limit, flag: "--connect-timeout", key: "connectTimeout"})
	if f != nil {
		log("%s", f.Message)
		return nil, f
	}
	s.connected = time.Since(started)
	if process, ok := s.peer.(*process); ok {
		process.greeted.Store(true)
		s.goroutines.run(func(ctx context.Context) { s.announceEnd(ctx, process) })
	}
	log("connected in %s: %s %s, protocol %s", seconds(s.connected), s.info.Name, s.info.Version, s.version)
	if known.Asks {
		s.router.turns.Store(true)
	}
	s.setLevel(ctx)
	s.settleRoots(ctx)
	s.ready.Store(true)
	return s, nil
}

// announceEnd tells the watchers of a server that its process has ended by itself.
func (s *session) announceEnd(ctx context.Context, process *process) {
	select {
	case <-process.messages.ended:
		if ctx.Err() == nil && !s.closing.Load() && s.events != nil {
			s.events(tool.Event{Server: s.server.Name, Ended: true})
		}
	case <-ctx.Done():
	}
}

// connect reaches the server over its transport. If the entry leaves the transport open, connect tries both: first the
// one that is known to work, else Streamable HTTP.
func (p *Pool) connect(ctx context.Context, server *config.Server, known tool.Known, ph phase) (
	*session, *fault.Fault) {
	first, second := server.Transport, config.SSE
	if server.FallBack && known.Transport == string(config.SSE) {
		first, second = config.SSE, config.HTTP
	}
	s, f := p.connectOver(ctx, server, first, known, ph)
	if f == nil {
		return s, nil
	}
	other := first == config.SSE && f.Type != fault.AuthRequired || s.http != nil && s.http.older()
	if !server.FallBack || !other || ctx.Err() != nil {
		return nil, f
	}
	s.log("%s; trying the other transport, %s", f.Message, second)
	s, g := p.connectOver(ctx, server, second, known, ph)
	switch {
	case g == nil:
		return s, nil
	case g.Type == fault.AuthRequired || g.Type == fault.Interrupted:
		return nil, g
	case second == config.HTTP:
		f, g, second = g, f, first // the fault over Streamable HTTP counts more
	}
	return nil, f.Trace(fmt.Sprintf("over %s: %s", second, g.Message))
}

// connectOver is connect over one transport. On failure nothing is left running; the session says what was found.
func (p *Pool) connectOver(ctx context.Context, server *config.Server, via config.Transport, known tool.Known,
	ph phase) (*session, *fault.Fault) {
	s := newSession(server, p.opt, via)
	s.events = p.publish
	if f := s.reach(ctx, via, p.spawner, ph); f != nil {
		s.goroutines.close()
		return s, f
	}
	if err := s.handshake(ctx, known); err != nil {
		f := s.explain(ctx, err, ph)
		s.hangUp()
		return s, f
	}
	return s, nil
}

// reach gives the session a peer and a wire to it. On failure there is nothing to close.
func (s *session) reach(ctx context.Context, via config.Transport, run *proc.Spawner, ph phase) *fault.Fault {
	if via == config.Stdio {
		take := func(message []byte) { s.receive("", message) }
		process, wire, f := startProcess(s.server, s.opt, s.log, run, take)
		if f == nil {
			s.peer, s.wire = process, wire
		}
		return f
	}
	s.log("connecting to %s over %s", s.server.Display().URL, via)
	r, err := newRemote(s.server, s.opt, s.log, s.receive)
	if s.peer = r; err == nil && via == config.HTTP {
		var wire *streamableWire
		if wire, err = dialStreamable(r); err == nil {
			s.wire, s.http = wire, wire.http
			return nil
		}
	}
	if err != nil { // pkg/config lets no such URL through
		return fault.New(fault.Config, fmt.Sprintf("the URL of %s cannot be used", s.server.Name),
			fmt.Sprintf("Correct \"url\" in %s.", s.server.Place())).On(s.server.Name, "")
	}
	stream, wire, err := openSSE(ctx, r)
	if err != nil {
		f := s.explain(ctx, err, ph)
		r.close(0)
		return f
	}
	s.peer, s.wire = stream, wire
	return nil
}

// maxLogged bounds one event in the log, in bytes: a server may put anything into it.
const maxLogged = 4 << 10

// levelGrace bounds logging/setLevel.
const levelGrace = 2 * time.Second

// presentable returns at most n bytes of a server's text, masked before it is cut: half a secret would not be found.
func presentable(server *config.Server, text string, n int) string {
	// Text far beyond need not be masked; no secret is that long.
	return fault.Cut(server.Mask(text[:min(len(text), 2*n)]), n)
}

// setLevel asks for all log messages if Options.Log wants them. From 2026-07-28 on each request asks for itself.
func (s *session) setLevel(ctx context.Context) {
	if s.opt.Log == nil || s.offers.Logging == nil || s.modern() {
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, levelGrace, errTimeout)
	defer cancel()
	params := []tool.Field{{Key: "level", Value: json.RawMessage(`"debug"`)}}
	if _, err := s.request(ctx, nil, "logging/setLevel", params); err != nil {
		s.log("it sends no log messages: %v", err)
	}
}

// overHTTP reports whether the transport is Streamable HTTP.
func (s *session) overHTTP() bool { return s.http != nil }

// alive reports whether the server can take a request.
func (s *session) alive() bool { return !s.retired.Load() && s.peer.alive() }

// close stops the server. Requests under way end as interrupted.
func (s *session) close() {
	s.closing.Store(true)
	s.hangUp()
}

// hangUp ends the connection.
func (s *session) hangUp() {
	s.goroutines.cancel()
	_ = s.wire.Close() // releases waiting requests; its error does not matter any more
	s.goroutines.close()
	s.peer.close(s.grace())
}

// grace returns how long the server may take to end once its stdin is closed.
func (s *session) grace() time.Duration {
	if s.changes.Load() {
		return proc.ExitGrace
	}
	return idleGrace
}
