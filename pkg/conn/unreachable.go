package conn

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// unreachable returns the fault of a request that did not reach the server. It is nil if err is about something else.
func (r *remote) unreachable(err error, ph phase) *fault.Fault {
	var outer *url.Error
	if !errors.As(err, &outer) {
		return nil
	}
	err = outer.Err // the URL in outer may hold secrets in a spelling of its own
	name, host := r.server.Name, r.url.Hostname()
	because := func(message, help string) *fault.Fault {
		return fault.New(fault.ServerConnection, r.server.Mask("cannot reach "+name+": "+message), r.server.Mask(help)).
			On(name, "").Because(masked(r.server, err))
	}
	online := fmt.Sprintf("Check that you are online, and \"url\" of %s in %s.", name, r.server.Place())
	var dns *net.DNSError
	var op *net.OpError
	if message, help := r.tlsTrouble(err); message != "" {
		return because(message, help)
	}
	switch isOp := errors.As(err, &op); {
	case isOp && op.Op == "proxyconnect":
		return because("the proxy cannot be reached",
			"Check HTTPS_PROXY and HTTP_PROXY in your environment, or name the host in NO_PROXY: NO_PROXY="+host)
	case errors.As(err, &dns):
		return because(dns.Name+" has no address", online)
	case isOp && op.Op == "dial" && errors.Is(err, syscall.ECONNREFUSED):
		return because("nothing listens at "+r.url.Host,
			fmt.Sprintf("Start the server, or correct \"url\" of %s in %s.", name, r.server.Place()))
	case isOp && op.Op == "dial":
		return because("cannot connect to "+r.url.Host, online)
	}
	return r.failure(&cutOff{cause: err}, ph)
}

// tlsTrouble returns why there is no secure connection and what to do. message is empty if err is about something else.
func (r *remote) tlsTrouble(err error) (message, help string) {
	host := r.url.Hostname()
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var wrong x509.HostnameError
	var other *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var op *net.OpError
	switch {
	case errors.As(err, &unknown):
		return "its certificate is signed by an authority that this machine does not trust",
			"If that is your own or your company's authority, add its certificate to those of the system; on Linux, " +
				"SSL_CERT_FILE=/path/to/ca.pem does it for one command. mcpl has no switch that turns the check off."
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "its certificate has expired, or is not valid yet",
			"Check the clock of this machine; if that is right, whoever runs " + host + " has to renew the certificate."
	case errors.As(err, &wrong):
		return "its certificate is not for " + host, certifiedNames(wrong.Certificate) + r.correct("url")
	case errors.As(err, &invalid), errors.As(err, &other):
		return "its certificate is not valid", "Whoever runs " + host + " has to renew it."
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		return host + " does not speak TLS at this port, as https:// demands", r.correct("url")
	case errors.As(err, &op) && op.Op == "remote error": // a TLS alert
		return "it refuses a secure connection", "The server wants another version of TLS, or a certificate of the " +
			"client, which mcpl does not have. Ask whoever runs " + host + "."
	}
	return "", ""
}

// certifiedNames returns which hosts a certificate is for, or "".
func certifiedNames(c *x509.Certificate) string {
	if c == nil || len(c.DNSNames) == 0 {
		return ""
	}
	return "It is for " + strings.Join(c.DNSNames[:min(len(c.DNSNames), 5)], ", ") + ". "
}
