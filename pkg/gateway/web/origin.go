package web

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// expected reports whether a request is meant for this machine, by a program or a page of this machine: "Servers MUST
// validate the Origin header on all incoming connections to prevent DNS rebinding attacks" (MCP 2025-11-25,
// transports). Where requests need tokens, which no strange page has, it may also be meant for another name, by a page
// of the same name.
func (s *Server) expected(r *http.Request) bool {
	known := func(host string) bool { return isLoopback(host) || s.opt.Principal != nil && host == r.Host }
	if !known(r.Host) {
		return false
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || !known(u.Host) {
			return false
		}
	}
	return true
}

// IsLoopback reports whether an address to listen at is of this machine alone.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && isLoopback(host)
}

// isLoopback reports whether a host, with or without a port, is this machine.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.Trim(strings.ToLower(host), "[]"), ".")
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
