package auth

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"

	"github.com/mcp-launchpad/mcpl/pkg/config"
)

// gate is the way out to servers of authorization. endpointCheck judges the addresses that a server sends us
// to as they are written; the gate judges what they stand for, when it is connected to. Where a server is no
// part of this machine, its word leads to nothing of this machine or its link, as the metadata service of a
// cloud is (MCP, security best practices, server-side request forgery). Private networks are no such place: a
// company has its authorization server there, and what is there has to show a certificate.
type gate struct{ base *http.Transport }

type (
	ownHostKey struct{} // in the context of a request: the host of the server that it is for
	strictKey  struct{} // in the context of a connection: it must not lead to this machine
)

// forServer returns a context for requests that the word of a server leads to.
func forServer(ctx context.Context, s *config.Server) context.Context {
	u, err := url.Parse(s.URL)
	if err != nil || config.IsLoopback(u.Hostname()) {
		return ctx
	}
	return context.WithValue(ctx, ownHostKey{}, u.Hostname())
}

// RoundTrip implements http.RoundTripper.
func (g *gate) RoundTrip(req *http.Request) (*http.Response, error) {
	own, ours := req.Context().Value(ownHostKey{}).(string)
	if ours && !strings.EqualFold(req.URL.Hostname(), own) {
		// A proxy is the person's own choice, and may be on this machine.
		if proxy, err := http.ProxyFromEnvironment(req); err == nil && proxy == nil {
			req = req.WithContext(context.WithValue(req.Context(), strictKey{}, true))
		}
	}
	return g.base.RoundTrip(req)
}

// dial is the DialContext of a gate.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: requestLimit}
	if ctx.Value(strictKey{}) != nil {
		d.Control = func(_, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if ip := to.Addr().Unmap(); err != nil || ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast() || ip.IsMulticast() {
				return &forbiddenError{"it points to this machine, and the server is another one"}
			}
			return nil
		}
	}
	return d.DialContext(ctx, network, address)
}
