package auth

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"

	"github.com/mcp-launchpad/mcpl/pkg/config"
)

// network holds the two ways out to authorization servers. Both use the environment's proxy.
type network struct {
	open   http.RoundTripper // leads anywhere
	strict http.RoundTripper // leads neither to this machine nor to its link
}

func newNetwork() network {
	to := func(control func(network, address string, c syscall.RawConn) error) *http.Transport {
		d := net.Dialer{Timeout: requestLimit, Control: control}
		return &http.Transport{Proxy: http.ProxyFromEnvironment, DialContext: d.DialContext, ForceAttemptHTTP2: true,
			DisableKeepAlives: true}
	}
	return network{open: to(nil), strict: to(notThisMachine)}
}

// client returns the HTTP client for requests that a server's word leads to. It does not follow redirects: a code or
// a secret goes to the address that it is meant for, or nowhere.
func (n network) client(s *config.Server) *http.Client {
	out := &outbound{network: n}
	if u, err := url.Parse(s.URL); err == nil && !config.IsLoopback(u.Hostname()) {
		out.own = u.Hostname()
	}
	return &http.Client{Transport: out, Timeout: requestLimit,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// outbound is the way out to authorization servers for one MCP server. endpointCheck judges the addresses that a
// server sends us to as they are written; outbound judges what they stand for, when it connects. If a server is on
// another machine, its word leads to nothing of this machine or its link, such as the metadata service of a cloud
// (MCP, security best practices, server-side request forgery). Private networks are allowed: a company has its
// authorization server there, and it has to show a certificate.
type outbound struct {
	network
	own string // the server's host; empty for a server of this machine, whose word may lead anywhere
}

// RoundTrip implements http.RoundTripper.
func (o *outbound) RoundTrip(req *http.Request) (*http.Response, error) {
	if o.own != "" && !strings.EqualFold(req.URL.Hostname(), o.own) {
		// A proxy is the person's own choice, and may be on this machine.
		if proxy, err := http.ProxyFromEnvironment(req); err == nil && proxy == nil {
			return o.strict.RoundTrip(req)
		}
	}
	return o.open.RoundTrip(req)
}

// notThisMachine refuses a connection to this machine or its link, once the name is resolved.
func notThisMachine(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	ip := to.Addr().Unmap()
	if err != nil || ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast() || ip.IsMulticast() {
		return &forbiddenError{"it points to this machine, and the server is another one"}
	}
	return nil
}
