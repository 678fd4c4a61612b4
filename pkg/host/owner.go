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
	// themselves. The one that has been idle for longest stops first. If all are in use, no other starts.
	maxOwnProcesses   = 100
	maxOwnConnections = 1000
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
	own, most := s.owner != owner{}, maxVariants
	if own {
		if most = maxOwnConnections; s.isProcess {
			most = maxOwnProcesses
		}
	}
	n, idle := v.running(s.name, own)
	switch {
	case n < most:
	case idle != nil:
		who := "clients that differ in environment or folder"
		if own {
			who = "sessions or users of their own"
		}
		v.log(s.name, fmt.Sprintf("%d servers of this name run for %s; one that is idle ends", n, who))
		v.retire(idle)
	case own:
		message := fmt.Sprintf("%d sessions or users use %s at this moment, each with a server of its own, and more are "+
			"not started", n, s.name)
		return fault.New(fault.ServerConnection, message, `Try again when calls of others have ended. If they need not be `+
			`kept apart, set "scope": "shared" in the server's entry.`).On(s.name, "").Because(tool.ErrNotSent)
	}
	return nil
}

// running counts the servers of a name that run, those that have an owner of their own or the others. idle is the one
// that has been idle for longest, nil if all are in use.
func (v *supervisor) running(name string, own bool) (n int, idle *server) {
	for _, srv := range v.servers {
		if srv.name != name || srv.run == nil || (srv.owner != owner{}) != own {
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
