package conn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// discoverGrace is the limit of server/discover for a server that may not know the method and ignore it.
const discoverGrace = 5 * time.Second

// firstMethod is the first method to ask for: that of the revision that the server's entry pins, else initialize.
func firstMethod(server *config.Server) string {
	if mcp.IsModernProtocol(server.Protocol) {
		return methodDiscover
	}
	return methodInitialize
}

// handshake agrees on a revision: the one that the entry pins, or one that both sides know. It tries
// initialize first, which servers of every revision up to 2025-11-25 and most newer ones answer; only
// a server that refuses it, or is known for it, is asked the way of 2026-07-28 (server/discover). The
// other order costs discoverGrace with each old server that ignores a method it does not know. If a server
// asks for a login, handshake tries no other way: the answer would not be about the revision.
func (s *session) handshake(ctx context.Context, known tool.Known) error {
	pin := s.server.Protocol
	res, err := (*mcp.InitializeResult)(nil), error(nil)
	switch {
	case mcp.IsModernProtocol(pin):
		res, err = s.discover(ctx, pin, -1) // it has all the time of ctx
	case pin == "" && mcp.IsModernProtocol(known.Protocol):
		res, err = s.discover(ctx, known.Protocol, discoverGrace)
		if err != nil && s.denied() == nil {
			res, _, err = s.shakeHands(ctx, methodInitialize, client.WithProtocolVersion(mcp.LATEST_LEGACY_PROTOCOL_VERSION))
		}
	default:
		version := cmp.Or(pin, mcp.LATEST_LEGACY_PROTOCOL_VERSION)
		res, _, err = s.shakeHands(ctx, methodInitialize, client.WithProtocolVersion(version))
		var refused *refusal
		if errors.As(err, &refused) && pin == "" {
			res, err = s.discoverAfter(ctx, refused)
		}
	}
	switch {
	case err != nil:
		return err
	case pin != "" && res.ProtocolVersion != pin:
		return &unpinned{pin: pin, offered: res.ProtocolVersion}
	}
	s.version, s.info, s.instructions, s.offers = res.ProtocolVersion, res.ServerInfo, res.Instructions, res.Capabilities
	return nil
}

// discoverAfter shakes hands in the way of 2026-07-28 with a server that has refused initialize. If both fail, the
// answer to initialize counts, which is about a revision that the server knows, unless the server asks for a login.
func (s *session) discoverAfter(ctx context.Context, refused *refusal) (*mcp.InitializeResult, error) {
	limit := discoverGrace
	if refused.details.Code == mcp.UNSUPPORTED_PROTOCOL_VERSION {
		limit = -1 // an error of the revision that has the method
	}
	res, err := s.discover(ctx, mcp.LATEST_PROTOCOL_VERSION, limit)
	if err != nil {
		return nil, cmp.Or(s.denied(), error(refused))
	}
	return res, nil
}

// discover shakes hands in the way of 2026-07-28, and in no other. If a server refuses the revision and names it among
// those that it supports, discover asks once more: "The client should choose a mutually supported version from this
// list and retry" (MCP 2026-07-28, schema, UnsupportedProtocolVersionError). The SDK does so only for another revision.
func (s *session) discover(ctx context.Context, version string, limit time.Duration) (*mcp.InitializeResult, error) {
	how := []client.ClientOption{client.WithProtocolVersion(version), client.WithDiscoverTimeout(limit)}
	res, reply, err := s.shakeHands(ctx, methodDiscover, how...)
	supported := reply.supported()
	if err != nil && slices.Contains(supported, version) {
		res, reply, err = s.shakeHands(ctx, methodDiscover, how...)
		supported = reply.supported()
	}
	if err != nil && len(supported) > 0 && !slices.Contains(supported, version) {
		return nil, &unpinned{pin: version, offered: strings.Join(supported, " and ")}
	}
	return res, err
}

// shakeHands shakes hands once by a method, with a client of the SDK. An error that the server answers is a refusal.
func (s *session) shakeHands(ctx context.Context, method string, how ...client.ClientOption) (
	*mcp.InitializeResult, handshakeReply, error) {
	h := &handshaker{link: s.wire, method: method}
	c := client.NewClient(h.transport(), how...)
	// The transport lives as long as the context it is started with.
	if err := c.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, h.reply, err
	}
	req := mcp.InitializeRequest{}
	req.Params.ClientInfo, req.Params.Capabilities = s.self(), s.capabilities(method == methodDiscover, nil)
	res, err := c.Initialize(ctx, req)
	switch r := h.reply.response; {
	case err == nil:
		return res, h.reply, nil
	case r == nil:
		return nil, h.reply, cmp.Or(h.reply.err, err)
	case r.Error != nil:
		return nil, h.reply, &refusal{method: method, details: *r.Error}
	case errors.Is(err, errNoOther):
		err = json.Unmarshal(r.Result, new(mcp.DiscoverResult)) // the SDK reports only the last of its requests
	}
	return nil, h.reply, &breach{what: "its answer to " + method + " is not what the protocol says", cause: err}
}

// denied returns the response by which a server over HTTP asked for a login. It is nil if there was none.
func (s *session) denied() error {
	if r, ok := s.peer.(*remote); ok {
		if bad := r.denied.Load(); bad != nil {
			return bad
		}
	}
	return nil
}

// handshaker is the wire as a client of the SDK sees it in a handshake. It lets the requests of one method pass,
// numbers them, and keeps the last response, of which the SDK tells little.
type handshaker struct {
	link
	method string
	reply  handshakeReply
}

// handshakeReply is what became of the last request of a handshake: the raw response, or why there was none.
type handshakeReply struct {
	response *transport.JSONRPCResponse
	err      error
}

// errNoOther ends the SDK's attempt to shake hands in the other way.
var errNoOther = errors.New("no other handshake is wanted")

// SendRequest implements transport.Interface.
func (h *handshaker) SendRequest(
	ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	if req.Method != h.method {
		return nil, errNoOther
	}
	req.ID = mcp.NewRequestId(h.next())
	h.reply.response, h.reply.err = h.link.SendRequest(ctx, req)
	return h.reply.response, h.reply.err
}

// transport returns the handshaker as the kind of transport that the wire is: the SDK adds headers for one over HTTP.
func (h *handshaker) transport() transport.Interface {
	if conn, ok := h.link.(transport.HTTPConnection); ok {
		return &httpHandshaker{handshaker: h, setVersion: conn.SetProtocolVersion}
	}
	return h
}

// httpHandshaker is a handshaker over Streamable HTTP.
type httpHandshaker struct {
	*handshaker
	setVersion func(version string)
}

// SetProtocolVersion implements transport.HTTPConnection.
func (h *httpHandshaker) SetProtocolVersion(version string) { h.setVersion(version) }

// supported returns the valid revisions that the server has named when it refused another, or nil.
func (r handshakeReply) supported() []string {
	if r.response == nil || r.response.Error == nil {
		return nil
	}
	var unsupported mcp.UnsupportedProtocolVersionError
	if !errors.As(r.response.Error.AsError(), &unsupported) {
		return nil
	}
	return slices.DeleteFunc(unsupported.Supported, func(v string) bool { return !mcp.IsValidProtocolVersion(v) })
}
