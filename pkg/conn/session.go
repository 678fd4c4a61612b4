package conn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Bounds of one tools/list, so that a server that invents pages cannot hold us for ever.
const (
	maxPages = 1000
	maxTools = 100_000
)

// session is one running server and the client that speaks to it.
type session struct {
	server *config.Server
	opt    Options
	log    logger
	peer   peer
	wire   transport.Interface
	client *client.Client
	// connected is how long start and handshake took.
	connected time.Duration
	info      mcp.Implementation
	about     string      // the server's instructions
	closing   atomic.Bool // close was called
}

// logger tells what happens, with secrets masked.
type logger func(format string, args ...any)

func newLogger(server *config.Server, log func(server, event string)) logger {
	return func(format string, args ...any) {
		if log != nil {
			log(server.Name, server.Mask(fmt.Sprintf(format, args...)))
		}
	}
}

// start starts server and shakes hands. On failure nothing is left running.
func (p *Pool) start(ctx context.Context, server *config.Server) (*session, *fault.Fault) {
	limit := p.connectTimeout(server)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	started := time.Now()
	s := &session{server: server, opt: p.opt, log: newLogger(server, p.opt.Log)}
	if f := s.connect(ctx, phase{name: methodInitialize, limit: limit, flag: "--connect-timeout", key: "connectTimeout"}); f != nil {
		s.log("%s", f.Message)
		return nil, f
	}
	s.connected = time.Since(started)
	s.log("connected in %s: %s %s, protocol %s", seconds(s.connected), s.info.Name, s.info.Version, s.client.ProtocolVersion())
	return s, nil
}

// connect reaches the server and shakes hands. On failure nothing is left running.
func (s *session) connect(ctx context.Context, ph phase) *fault.Fault {
	f := s.connectOver(ctx, s.server.Transport, ph)
	http, isHTTP := s.wire.(*streamableWire)
	if f == nil || !s.server.FallBack || !isHTTP || !http.http.older() || ctx.Err() != nil {
		return f
	}
	s.log("%s; trying the older transport, SSE", f.Message)
	second := s.connectOver(ctx, config.SSE, ph)
	if second == nil || second.Type == fault.AuthRequired || second.Type == fault.Interrupted {
		return second
	}
	return f.Trace("over sse: " + second.Message)
}

// connectOver is connect over one transport.
func (s *session) connectOver(ctx context.Context, via config.Transport, ph phase) *fault.Fault {
	failure := s.reach(ctx, via, ph)
	if failure != nil {
		return failure
	}
	if err := s.handshake(ctx); err != nil {
		f := s.explain(ctx, err, ph)
		s.hangUp()
		return f
	}
	return nil
}

// reach gives the session a peer and a wire to it. On failure there is nothing to close.
func (s *session) reach(ctx context.Context, via config.Transport, ph phase) *fault.Fault {
	if via == config.Stdio {
		process, wire, f := startProcess(s.server, s.opt, s.log)
		if f == nil {
			s.peer, s.wire = process, wire
		}
		return f
	}
	s.log("connecting to %s over %s", s.server.Display().URL, via)
	r, err := newRemote(s.server, s.opt, s.log)
	if err != nil {
		return badURL(s.server)
	}
	s.peer = r
	if via == config.HTTP {
		wire, err := dialStreamable(r)
		if err != nil {
			return badURL(s.server)
		}
		s.wire = wire
		return nil
	}
	stream, wire, err := openEventStream(ctx, r)
	if err != nil {
		f := s.explain(ctx, err, ph)
		r.close()
		return f
	}
	s.peer, s.wire = stream, wire
	return nil
}

// maxLogged is how much of a line of a server is shown with --verbose, in bytes.
const maxLogged = 4 << 10

// discoverGrace is how long a server that has refused initialize may take for server/discover.
const discoverGrace = 2 * time.Second

// handshake agrees on a revision. It tries initialize first, which servers of every revision up
// to 2025-11-25 and most newer ones answer; only a server that refuses it is asked the way of
// 2026-07-28 (server/discover). The other order costs five seconds with each old server that
// ignores a method it does not know.
func (s *session) handshake(ctx context.Context) error {
	// The SDK answers the server's own requests under this context, also after the handshake.
	scope := context.WithoutCancel(ctx)
	req := mcp.InitializeRequest{}
	req.Params.ClientInfo = mcp.Implementation{Name: "mcpl", Version: s.opt.Version}

	s.client = client.NewClient(s.wire, client.WithProtocolVersion(mcp.LATEST_LEGACY_PROTOCOL_VERSION))
	if err := s.client.Start(scope); err != nil {
		return err
	}
	try, x := record(ctx)
	res, err := s.client.Initialize(try, req)
	if err != nil && x.answer != nil && x.answer.Error != nil {
		refused := &refusal{method: methodInitialize, details: *x.answer.Error}
		s.client = client.NewClient(s.wire, client.WithDiscoverTimeout(discoverGrace))
		if err := s.client.Start(scope); err != nil {
			return err
		}
		if res, err = s.client.Initialize(ctx, req); err != nil {
			return cmp.Or(s.denied(), error(refused)) // the SDK tells only of the last of its requests
		}
	}
	switch {
	case err != nil && x.answer != nil:
		return &breach{what: "its answer to initialize is not what the protocol says", cause: err}
	case err != nil:
		return err
	}
	s.info, s.about = res.ServerInfo, res.Instructions
	return nil
}

// denied returns the answer by which a server over HTTP asked for a login, nil where there was none.
func (s *session) denied() error {
	r, ok := s.peer.(*remote)
	if !ok {
		return nil
	}
	if bad := r.denied.Load(); bad != nil {
		return bad
	}
	return nil
}

// alive reports whether the server can be asked something.
func (s *session) alive() bool { return s.peer.alive() }

// close stops the server. What is under way ends.
func (s *session) close() {
	s.closing.Store(true)
	s.hangUp()
}

// hangUp ends the connection.
func (s *session) hangUp() {
	_ = s.wire.Close() // releases waiting requests; what fails in it does not matter any more
	s.peer.close()
}

// list follows all pages of tools/list.
func (s *session) list(ctx context.Context, limit time.Duration) (tool.Listing, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	l := tool.Listing{Protocol: s.client.ProtocolVersion(), ServerName: s.info.Name,
		ServerVersion: s.info.Version, Instructions: s.about, Connect: s.connected}
	var col collector
	var cursor mcp.Cursor
	for page := 1; ; page++ {
		next, ttl, err := s.page(ctx, cursor, &col)
		if err != nil {
			return tool.Listing{}, s.explain(ctx, err, phase{name: "tools/list", limit: limit, key: "callTimeout"})
		}
		if ttl > 0 {
			l.TTL = ttl
		}
		if next == "" || col.stop(next, page) {
			break
		}
		cursor = next
	}
	l.Tools, l.Notes = col.tools, col.notes
	s.log("listed %d tools", len(l.Tools))
	return l, nil
}

// page asks for one page and collects its tools from the raw answer.
func (s *session) page(ctx context.Context, cursor mcp.Cursor, col *collector) (mcp.Cursor, time.Duration, error) {
	var req mcp.ListToolsRequest
	req.Params.Cursor = cursor
	try, x := recordOnly(ctx)
	_, err := s.client.ListToolsByPage(try, req)
	switch {
	case x.answer == nil:
		return "", 0, err
	case x.answer.Error != nil && x.answer.Error.Code == mcp.METHOD_NOT_FOUND && cursor == "":
		return "", 0, nil // a server without tools
	case x.answer.Error != nil:
		return "", 0, &refusal{method: "tools/list", details: *x.answer.Error}
	}
	var result struct {
		Tools      []json.RawMessage `json:"tools"`
		NextCursor mcp.Cursor        `json:"nextCursor"`
		TTLMs      json.RawMessage   `json:"ttlMs"`
	}
	if err := json.Unmarshal(x.answer.Result, &result); err != nil {
		return "", 0, &breach{what: "its answer to tools/list is not what the protocol says", cause: err}
	}
	for _, raw := range result.Tools {
		col.add(raw)
	}
	return result.NextCursor, ttlOf(result.TTLMs), nil
}

// ttlOf reads a ttlMs; one that is no time at all counts as unsaid, one of years as a year.
func ttlOf(raw json.RawMessage) time.Duration {
	const year = 365 * 24 * time.Hour
	var ms float64
	if json.Unmarshal(raw, &ms) != nil || ms <= 0 {
		return 0
	}
	return time.Duration(min(ms, float64(year/time.Millisecond)) * float64(time.Millisecond))
}

// call sends tools/call and returns the raw result.
func (s *session) call(ctx context.Context, ref tool.Ref, args json.RawMessage, limit time.Duration) (*tool.Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	var req mcp.CallToolRequest
	req.Params.Name = ref.Name
	if args != nil {
		req.Params.Arguments = args
	}
	started := time.Now()
	res, err := s.callOnce(ctx, req)
	var refused *refusal
	if errors.As(err, &refused) && refused.details.Code == mcp.HEADER_MISMATCH && s.learnHeaders(ctx) {
		res, err = s.callOnce(ctx, req)
	}
	if err != nil {
		ph := phase{name: "tools/call", limit: limit, flag: "--timeout", key: "callTimeout"}
		return nil, s.explain(ctx, err, ph).On(ref.Server, ref.Name)
	}
	s.log("%s answered in %s, %d bytes", ref.Name, seconds(time.Since(started)), len(res.Raw))
	return res, nil
}

func (s *session) callOnce(ctx context.Context, req mcp.CallToolRequest) (*tool.Result, error) {
	try, x := recordOnly(ctx)
	_, err := s.client.CallTool(try, req)
	if x.answer != nil {
		return resultIn(x.answer)
	}
	return nil, err
}

// learnHeaders lets the SDK read the definitions of the tools, since some say that arguments are to
// be repeated in headers (x-mcp-header, MCP 2026-07-28, HTTP alone). It reports whether the call
// that was refused for their lack may be made again.
func (s *session) learnHeaders(ctx context.Context) bool {
	_, err := s.client.ListTools(ctx, mcp.ListToolsRequest{})
	return err == nil
}

// resultIn takes the result out of an answer to tools/call.
func resultIn(answer *transport.JSONRPCResponse) (*tool.Result, error) {
	if answer.Error != nil {
		return nil, &refusal{method: "tools/call", details: *answer.Error}
	}
	var head *struct {
		Type    json.RawMessage `json:"resultType"`
		IsError json.RawMessage `json:"isError"`
	}
	if err := json.Unmarshal(answer.Result, &head); err != nil || head == nil {
		return nil, &breach{what: "its answer to tools/call is not what the protocol says", cause: err}
	}
	if string(head.Type) == `"input_required"` { // MCP 2026-07-28, multi round-trip requests
		return nil, errInput
	}
	return &tool.Result{Raw: answer.Result, IsError: string(head.IsError) == "true"}, nil
}

// collector gathers definitions over pages and notes what is odd about them.
type collector struct {
	tools   []tool.Def
	notes   []string
	names   map[string]bool
	cursors map[mcp.Cursor]bool
}

func (c *collector) add(raw json.RawMessage) {
	def, err := tool.ParseDef(raw)
	if err != nil {
		c.notes = append(c.notes, fmt.Sprintf("a definition was left out: %v", err))
		return
	}
	if c.names[def.Name] {
		c.notes = append(c.notes, fmt.Sprintf("the tool %q is defined more than once; the first definition counts", def.Name))
		return
	}
	if c.names == nil {
		c.names = make(map[string]bool)
	}
	c.names[def.Name] = true
	c.tools = append(c.tools, def)
}

// stop reports whether to ask for no more pages although the server offers next.
func (c *collector) stop(next mcp.Cursor, pages int) bool {
	switch {
	case c.cursors[next]:
		c.notes = append(c.notes, fmt.Sprintf("page %d of its tools points back to an earlier one; what came until then is kept", pages))
	case pages >= maxPages || len(c.tools) >= maxTools:
		c.notes = append(c.notes, fmt.Sprintf("its tools have no end; the first %d are kept", len(c.tools)))
	default:
		if c.cursors == nil {
			c.cursors = make(map[mcp.Cursor]bool)
		}
		c.cursors[next] = true
		return false
	}
	return true
}
