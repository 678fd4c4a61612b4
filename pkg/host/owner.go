package host

import (
	"fmt"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

const (
	// maxVariants bounds how many shared servers of one name run at once: one entry gives several if clients differ in
	// environment or folder. The one that has been idle for longest stops first; one in use does not.
	maxVariants = 8
	// maxOwnProcesses and maxOwnConnections bound how many servers of one name run at once that sessions or users have for
	// themselves, and ownShare which part of them runs for one principal. The one that has been idle for longest stops
	// first: of the principal that has its share, or else of the one that has most. If all are in use, no other starts.
	maxOwnProcesses   = 100
	maxOwnConnections = 1000
	ownShare          = 4
)

// owner is whose a server is. That of the zero owner is shared by all who would start it the same way.
type owner struct {
	principal tool.Principal
	session   string
	forwarded string // a digest of the headers of its client that the server gets
}

// ownerOf returns whose server of an entry a request gets.
func ownerOf(entry *config.Server, opt tool.CallOptions) owner {
	var o owner
	if entry.PerUser() {
		o.principal = opt.Principal
	}
	if entry.Credentials == config.Forwarded && len(opt.Forward) > 0 {
		var texts []string
		for _, h := range opt.Forward {
			texts = append(texts, h.Name, h.Value)
		}
		o.forwarded = digest(texts...)
	}
	if entry.PerSession() {
		o.session = opt.Session
	}
	return o
}

// makeRoom stops the server that has been idle for longest, if too many of a name run. It fails if that is needed and
// none is idle.
func (v *supervisor) makeRoom(s spec) error {
	if (s.owner != owner{}) {
		return v.makeOwnRoom(s)
	}
	n, idle := v.running(s.name, func(srv *server) bool { return srv.owner == owner{} })
	if n >= maxVariants && idle != nil {
		v.replace(idle, n, "clients that differ in environment or folder")
	}
	return nil
}

// makeOwnRoom makes room for a server that somebody has for himself. A principal has a share that it cannot exceed; the
// person who runs the host, which is "", has no other bound than that of all.
func (v *supervisor) makeOwnRoom(s spec) error {
	most := maxOwnConnections
	if s.isProcess {
		most = maxOwnProcesses
	}
	hint := `If they need not be kept apart, set "scope": "shared" in the server's entry.`
	if n, idle := v.runningFor(s.name, s.principal); s.principal != "" && n >= most/ownShare {
		if idle == nil {
			return fault.New(fault.ServerConnection, fmt.Sprintf("%d sessions of this client use %s at this moment, each "+
				"with a server of its own, and more are not started", n, s.name),
				"Try again when calls of other sessions have ended. "+hint).On(s.name, "").Because(tool.ErrNotSent)
		}
		v.replace(idle, n, "one client")
		return nil
	}
	n, _ := v.running(s.name, func(srv *server) bool { return srv.owner != owner{} })
	if n < most {
		return nil
	}
	idle := v.idleOfLargest(s.name)
	if idle == nil {
		message := fmt.Sprintf("%d sessions or users use %s at this moment, each with a server of its own, and more are "+
			"not started", n, s.name)
		return fault.New(fault.ServerConnection, message, "Try again when calls of others have ended. "+hint).
			On(s.name, "").Because(tool.ErrNotSent)
	}
	v.replace(idle, n, "sessions or users of their own")
	return nil
}

// replace ends a server that is idle, of n that run for some.
func (v *supervisor) replace(idle *server, n int, some string) {
	v.log(idle.name, fmt.Sprintf("%d servers of this name run for %s; one that is idle ends", n, some))
	v.retire(idle)
}

// idleOfLargest returns, of the servers of a name that somebody has for himself, an idle one of the principal that has
// most of them, among those that have an idle one: the one that has been idle for longest. It is nil if all are in use.
func (v *supervisor) idleOfLargest(name string) (idle *server) {
	held := make(map[tool.Principal]int)
	for _, srv := range v.servers {
		if srv.name == name && srv.run != nil && (srv.owner != owner{}) {
			held[srv.run.principal]++
		}
	}
	most := 0
	for principal, n := range held {
		if n < most {
			continue
		}
		_, one := v.runningFor(name, principal)
		if one != nil && (n > most || one.run.used.Before(idle.run.used)) {
			idle, most = one, n
		}
	}
	return idle
}

// runningFor counts the servers of a name that sessions of a principal have for themselves, or that it has.
func (v *supervisor) runningFor(name string, principal tool.Principal) (n int, idle *server) {
	return v.running(name, func(srv *server) bool { return srv.owner != owner{} && srv.run.principal == principal })
}

// running counts the servers of a name that run and count. idle is the one that has been idle for longest, nil if all
// are in use.
func (v *supervisor) running(name string, counts func(*server) bool) (n int, idle *server) {
	for _, srv := range v.servers {
		if srv.name != name || srv.run == nil || !counts(srv) {
			continue
		}
		n++
		if len(srv.run.uses) == 0 && (idle == nil || srv.run.used.Before(idle.run.used)) {
			idle = srv
		}
	}
	return n, idle
}

// leave stops the server that a session has for itself, after the requests that use it.
func (v *supervisor) leave(name, session string) {
	for key, srv := range v.servers {
		if srv.name != name || srv.owner.session != session {
			continue
		}
		if srv.run != nil {
			v.log(name, "its session has ended, and this server ends with it")
			v.retire(srv)
		}
		delete(v.servers, key)
	}
}
