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
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// discoverGrace is how long a server that may not know server/discover, and ignore it, may take for it.
const discoverGrace = 5 * time.Second

// firstMethod is what a server is asked first: the method of the revision that its entry pins, else
// initialize.
func firstMethod(server *config.Server) string {
	if mcp.IsModernProtocol(server.Protocol) {
		return methodDiscover
	}
	return methodInitialize
}

// handshake agrees on a revision: the one that the entry pins, or one that both sides know. It tries
// initialize first, which servers of every revision up to 2025-11-25 and most newer ones answer; only
// a server that refuses it, or is known for it, is asked the way of 2026-07-28 (server/discover). The
// other order costs discoverGrace with each old server that ignores a method it does not know. A server
// that asks for a login is asked no other way: what it would say then is not about its revision.
func (s *session) handshake(ctx context.Context, known tool.Known) error {
	pin := s.server.Protocol
	res, err := (*mcp.InitializeResult)(nil), error(nil)
	switch {
	case mcp.IsModernProtocol(pin):
		res, err = s.discover(ctx, pin, -1) // it has all the time of ctx
	case pin == "" && mcp.IsModernProtocol(known.Protocol):
		res, err = s.discover(ctx, known.Protocol, discoverGrace)
		if err != nil && s.denied() == nil {
			res, err = s.initialize(ctx, mcp.LATEST_LEGACY_PROTOCOL_VERSION)
		}
	default:
		res, err = s.initialize(ctx, cmp.Or(pin, mcp.LATEST_LEGACY_PROTOCOL_VERSION))
		var refused *refusal
		if errors.As(err, &refused) && pin == "" {
			limit := discoverGrace
			if refused.details.Code == mcp.UNSUPPORTED_PROTOCOL_VERSION {
				limit = -1 // an error of the revision that has the method
			}
			if res, err = s.discover(ctx, mcp.LATEST_PROTOCOL_VERSION, limit); err != nil {
				err = cmp.Or(s.denied(), error(refused)) // what it says to its own revision counts more
			}
		}
	}
	switch {
	case err != nil:
		return err
	case pin != "" && res.ProtocolVersion != pin:
		return &unpinned{pin: pin, offered: res.ProtocolVersion}
	}
	s.version, s.info, s.about, s.offers = res.ProtocolVersion, res.ServerInfo, res.Instructions, res.Capabilities
	return nil
}

// initialize shakes hands in the way of the revisions up to 2025-11-25.
func (s *session) initialize(ctx context.Context, version string) (*mcp.InitializeResult, error) {
	res, _, err := s.greet(ctx, methodInitialize, client.WithProtocolVersion(version))
	return res, err
}

// discover shakes hands in the way of 2026-07-28, and in no other. A server that refuses the revision and
// names it among those that it supports is asked once more: "The client should choose a mutually supported
// version from this list and retry" (MCP 2026-07-28, schema, UnsupportedProtocolVersionError). The SDK does
// so only where that is another revision.
func (s *session) discover(ctx context.Context, version string, limit time.Duration) (*mcp.InitializeResult, error) {
	how := []client.ClientOption{client.WithProtocolVersion(version), client.WithDiscoverTimeout(limit)}
	res, x, err := s.greet(ctx, methodDiscover, how...)
	supported := x.supported()
	if err != nil && slices.Contains(supported, version) {
		res, x, err = s.greet(ctx, methodDiscover, how...)
		supported = x.supported()
	}
	if err != nil && len(supported) > 0 && !slices.Contains(supported, version) {
		return nil, &unpinned{pin: version, offered: strings.Join(supported, " and ")}
	}
	return res, err
}

// greet shakes hands once by a method, with a client of the SDK. An error that the server answered with is
// a refusal.
func (s *session) greet(ctx context.Context, method string, how ...client.ClientOption) (*mcp.InitializeResult, *exchange, error) {
	try, x := record(ctx, method)
	c := client.NewClient(s.wire, how...)
	// The transport lives as long as the context it is started with.
	if err := c.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, x, err
	}
	req := mcp.InitializeRequest{}
	req.Params.ClientInfo, req.Params.Capabilities = s.self(), s.capabilities(method == methodDiscover, nil)
	res, err := c.Initialize(try, req)
	switch {
	case err == nil:
		return res, x, nil
	case x.answer == nil:
		return nil, x, cmp.Or(x.err, err)
	case x.answer.Error != nil:
		return nil, x, &refusal{method: method, details: *x.answer.Error}
	case errors.Is(err, errNoOther):
		err = json.Unmarshal(x.answer.Result, new(mcp.DiscoverResult)) // the SDK tells only of the last of its requests
	}
	return nil, x, &breach{what: "its answer to " + method + " is not what the protocol says", cause: err}
}

// supported returns the revisions that the server has named when it refused another, as far as there are such
// revisions; nil where it named none.
func (x *exchange) supported() []string {
	if x.answer == nil || x.answer.Error == nil {
		return nil
	}
	var unsupported mcp.UnsupportedProtocolVersionError
	if !errors.As(x.answer.Error.AsError(), &unsupported) {
		return nil
	}
	return slices.DeleteFunc(unsupported.Supported, func(version string) bool { return !mcp.IsValidProtocolVersion(version) })
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
