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

// client returns the HTTP client for a request that a server's word leads to. It does not follow redirects: a code or
// a secret goes to the address that it is meant for, or nowhere.
//
// allowed judges the addresses that a server sends us to as they are written; the strict way judges what they stand
// for, when it connects. If a server is on another machine, its word leads to nothing of this machine or its link,
// such as the metadata service of a cloud (MCP, security best practices, server-side request forgery). Private
// networks are allowed: a company has its authorization server there, and it has to show a certificate.
func (n network) client(s *config.Server, to string) *http.Client {
	way, own := n.open, hostIn(s.URL)
	if u, err := url.Parse(to); err == nil && !config.IsLoopback(own) && !strings.EqualFold(u.Hostname(), own) {
		// A proxy is the person's own choice, and may be on this machine.
		if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u}); err == nil && proxy == nil {
			way = n.strict
		}
	}
	return &http.Client{Transport: way, Timeout: requestLimit,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// notThisMachine refuses a connection to this machine or its link, once the name is resolved.
func notThisMachine(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	ip := to.Addr().Unmap()
	if err != nil || ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast() || ip.IsMulticast() {
		return forbiddenError("it points to this machine, and the server is another one")
	}
	return nil
}
