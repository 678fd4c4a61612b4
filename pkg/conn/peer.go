package conn

import (
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// peer is the server at the other end of a session's wire: a process (stdio), a remote (Streamable HTTP) or an ssePeer.
type peer interface {
	// alive reports whether the server can take a request.
	alive() bool
	// close ends the connection and returns when nothing of it is left. It is called once, after the wire's Close. grace
	// is how long a process may take to end by itself.
	close(grace time.Duration)
	// failure returns the fault of a request that ended with err, although neither a time limit nor its caller
	// ended it and the server did not refuse it.
	failure(err error, ph phase) *fault.Fault
	// attach adds the state of the server to a fault, secrets masked, and returns it.
	attach(f *fault.Fault, ph phase) *fault.Fault
}
