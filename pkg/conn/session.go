package conn

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
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

// session is one running server and the client that speaks to it.
type session struct {
	server *config.Server
	opt    Options
	via    config.Transport
	log    logger
	peer   peer
	wire   link
	http   *streamable      // the wire's, where it is Streamable HTTP
	roots  json.RawMessage  // the answer to roots/list; nil: none are offered
	events func(tool.Event) // gets what belongs to no call; may be nil

	router    router
	crew      *crew
	listening sync.Once
	waiting   atomic.Int64 // requests of the server that are being answered

	// Set by the handshake.
	version   string // the revision
	info      mcp.Implementation
	about     string // the server's instructions
	offers    mcp.ServerCapabilities
	connected time.Duration // how long start and handshake took
	ready     atomic.Bool   // the handshake is over

	headered sync.Map // by name: *mcp.Tool, where arguments are repeated in headers

	closing atomic.Bool // close was called
}

// link is a wire.
type link interface {
	transport.Interface
	next() int64
	send(ctx context.Context, reply []byte) error
}

func newSession(server *config.Server, opt Options, via config.Transport) *session {
	return &session{server: server, opt: opt, via: via, log: newLogger(server, opt.Log), roots: rootsOf(server, opt.Root),
		crew: newCrew()}
}

// logger tells what happens, with secrets masked, at most maxLogged bytes of it.
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
	limit := p.connectTimeout(server)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	started := time.Now()
	log := newLogger(server, p.opt.Log)
	s, f := p.connect(ctx, server, known, phase{name: firstMethod(server), limit: limit, flag: "--connect-timeout", key: "connectTimeout"})
	if f != nil {
		log("%s", f.Message)
		return nil, f
	}
	s.connected = time.Since(started)
	log("connected in %s: %s %s, protocol %s", seconds(s.connected), s.info.Name, s.info.Version, s.version)
	if known.Asks {
		s.router.takeTurns()
	}
	s.setLevel(ctx)
	s.ready.Store(true)
	return s, nil
}

// connect reaches the server over its transport, or over both where the entry leaves that open: the
// one that is known to work first, else Streamable HTTP.
func (p *Pool) connect(ctx context.Context, server *config.Server, known tool.Known, ph phase) (*session, *fault.Fault) {
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
		f, g, second = g, f, first // what Streamable HTTP says counts more
	}
	return nil, f.Trace(fmt.Sprintf("over %s: %s", second, g.Message))
}

// connectOver reaches the server over one transport and shakes hands. On failure nothing is left
// running, and the session says only what was found.
func (p *Pool) connectOver(ctx context.Context, server *config.Server, via config.Transport, known tool.Known, ph phase) (*session, *fault.Fault) {
	s := newSession(server, p.opt, via)
	s.events = p.publish
	if f := s.reach(ctx, via, p.spawner, ph); f != nil {
		s.crew.close()
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
		process, wire, f := startProcess(s.server, s.opt, s.log, run, func(message []byte) { s.receive("", message) })
		if f == nil {
			s.peer, s.wire = process, wire
		}
		return f
	}
	s.log("connecting to %s over %s", s.server.Display().URL, via)
	r, err := newRemote(s.server, s.opt, s.log, s.receive)
	if err != nil {
		return badURL(s.server)
	}
	s.peer = r
	if via == config.HTTP {
		wire, err := dialStreamable(r)
		if err != nil {
			return badURL(s.server)
		}
		s.wire, s.http = wire, wire.http
		return nil
	}
	stream, wire, err := openSSE(ctx, r)
	if err != nil {
		f := s.explain(ctx, err, ph)
		r.close()
		return f
	}
	s.peer, s.wire = stream, wire
	return nil
}

// maxLogged is how much is shown of one thing that happened, in bytes: a server may put anything into it.
const maxLogged = 4 << 10

// levelGrace is how long a server may take for logging/setLevel.
const levelGrace = 2 * time.Second

// presentable returns text of a server without its secrets, at most n bytes of it. It is cut after they are
// masked: half of one would not be known for what it is.
func presentable(server *config.Server, text string, n int) string {
	// What lies far beyond need not be masked; no secret is that long.
	text = server.Mask(text[:min(len(text), 2*n)])
	if len(text) > n {
		text = strings.ToValidUTF8(text[:n], "") + "…"
	}
	return text
}

// setLevel asks for all log messages where somebody wants to see them. From 2026-07-28 on each
// request says so itself.
func (s *session) setLevel(ctx context.Context) {
	if s.opt.Log == nil || s.offers.Logging == nil || s.modern() {
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, levelGrace, errTimeout)
	defer cancel()
	if _, err := s.request(ctx, nil, "logging/setLevel", []tool.Field{{Key: "level", Value: json.RawMessage(`"debug"`)}}); err != nil {
		s.log("its log messages cannot be had: %v", err)
	}
}

// overHTTP reports whether the transport is Streamable HTTP.
func (s *session) overHTTP() bool { return s.http != nil }

// alive reports whether the server can be asked something.
func (s *session) alive() bool { return s.peer.alive() }

// close stops the server. What is under way ends.
func (s *session) close() {
	s.closing.Store(true)
	s.hangUp()
}

// hangUp ends the connection.
func (s *session) hangUp() {
	s.crew.dismiss()
	_ = s.wire.Close() // releases waiting requests; what fails in it does not matter any more
	s.crew.close()
	s.peer.close()
}
