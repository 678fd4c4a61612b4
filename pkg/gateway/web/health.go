package web

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/gateway/telemetry"
)

// operate serves what whoever runs the gateway asks it:
//
//   - /livez answers 200 as long as the process answers at all,
//   - /readyz, also called /healthz, answers 200 while clients are to be sent here, else 503 with the reason,
//   - /metrics answers with numbers, if there are any, to programs of this machine and to who has a token.
//
// Who may ask the first two is not asked: a kubelet and a balancer have no token, and what they hear tells nothing.
func (s *Server) operate() {
	s.mux.HandleFunc("/livez", onlyGet(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") }))
	s.mux.HandleFunc("/readyz", onlyGet(s.ready))
	s.mux.HandleFunc("/healthz", onlyGet(s.ready))
	if s.opt.Metrics == nil {
		return
	}
	s.opt.Metrics.Gauge("mcpl_sessions", "Sessions of clients.", "", func() float64 {
		s.mu.Lock()
		defer s.mu.Unlock()
		return float64(len(s.sessions))
	})
	s.opt.Metrics.Gauge("mcpl_streams", "Open streams of events.", "", func() float64 { return float64(s.streams.Load()) })
	s.mux.HandleFunc("/metrics", onlyGet(s.local(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", telemetry.MetricsType)
		_ = s.opt.Metrics.WriteText(w) // a client that has gone reads nothing
	})))
}

// ready answers whether clients are to be sent here: the first lists have been read, and the end has not begun. A
// server behind the gateway that does not work keeps no client away from the others.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	select {
	case <-s.ending:
		http.Error(w, "ending", http.StatusServiceUnavailable)
		return
	default:
	}
	if !s.opt.Gateway.Loaded() {
		http.Error(w, "the servers are being listed", http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprintln(w, "ok") // a client that has gone reads nothing
}

// onlyGet answers GET and HEAD by answer.
func onlyGet(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "use GET or HEAD", http.StatusMethodNotAllowed)
			return
		}
		answer(w, r)
	}
}

// local answers programs of this machine, and those that have a token, by answer.
func (s *Server) local(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.expected(r) {
			http.Error(w, "requests of this origin, or for this host, are not taken", http.StatusForbidden)
			return
		}
		if !isLocal(r) {
			principal, ok := s.authorized(w, r)
			if !ok {
				return
			}
			if len(principal.Servers) > 0 || principal.Profile != "" { // they are numbers of all servers
				http.Error(w, "this token is not for all servers", http.StatusForbidden)
				return
			}
		}
		answer(w, r)
	}
}

// isLocal reports whether a request comes from this machine and was meant for it. A proxy on this machine sends
// requests of others, which are for another host, or name it in a header.
func isLocal(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil || !net.ParseIP(host).IsLoopback() || !isLoopback(r.Host) {
		return false
	}
	handedOn := []string{"Forwarded", "Via", "X-Real-Ip", "Cf-Connecting-Ip", "True-Client-Ip", "Fly-Client-Ip"}
	for name := range r.Header {
		isForwarded := strings.HasPrefix(name, "X-Forwarded") || strings.HasPrefix(name, "X-Original")
		if isForwarded || slices.Contains(handedOn, name) {
			return false
		}
	}
	return true
}

// serveCounted answers a request, and counts its response as it begins.
func (s *Server) serveCounted(w http.ResponseWriter, r *http.Request) {
	if s.opt.Metrics == nil {
		s.mux.ServeHTTP(w, r)
		return
	}
	counted := &countedWriter{ResponseWriter: w, server: s}
	defer counted.end()
	s.mux.ServeHTTP(counted, r)
}

// countedWriter counts one response.
type countedWriter struct {
	http.ResponseWriter
	server *Server
	begun  bool
	stream bool
}

// WriteHeader implements http.ResponseWriter.
func (c *countedWriter) WriteHeader(status int) {
	c.begin(status)
	c.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (c *countedWriter) Write(b []byte) (int, error) {
	c.begin(http.StatusOK)
	return c.ResponseWriter.Write(b)
}

// Unwrap gives http.ResponseController the writer, which can flush and has deadlines.
func (c *countedWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *countedWriter) begin(status int) {
	if c.begun {
		return
	}
	c.begun = true
	c.server.opt.Metrics.Responded(status)
	if strings.HasPrefix(c.Header().Get("Content-Type"), "text/event-stream") {
		c.stream = true
		c.server.streams.Add(1)
	}
}

func (c *countedWriter) end() {
	if c.stream {
		c.server.streams.Add(-1)
	}
}
