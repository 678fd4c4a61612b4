package conn

import (
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// peer is the server at the other end of a session's wire: a process of ours, or one that is
// reached by its URL.
type peer interface {
	// alive reports whether the server can be asked something.
	alive() bool
	// close ends the connection, once the wire is closed or where there never was one, and returns
	// when nothing of it is left. It is called once.
	close()
	// failure is the fault of a request that ended with err although neither a time limit nor its
	// caller ended it, and that the server did not refuse.
	failure(err error, ph phase) *fault.Fault
	// stderr returns the end of what a process has written to stderr, secrets masked; else "".
	stderr() string
	// attach adds to a fault what is known of the server, secrets masked, and returns it.
	attach(f *fault.Fault, ph phase) *fault.Fault
}
