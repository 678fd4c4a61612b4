// Package daemon keeps servers warm between commands: a process of its own, one per user and
// configuration set, that holds connections for the mcpl processes that come and go.
//
// [Serve] is that process. It resolves the configuration anew for every request, with the working
// directory and the environment of the client that asks, and keeps one server for each resolved
// entry until it was idle for its time. [Client] is the other side: an engine.Caller over the
// socket, which starts the daemon where none runs and does the work in its own process whenever
// the daemon cannot be had. A request that was not yet sent is never lost; one that was sent is
// never sent twice unless its tool may be called twice.
//
// How a server is started and spoken to is decided elsewhere: the composition root hands in what
// opens a caller. Nothing here prints.
//
// The socket carries frames (frame.go) and not HTTP. A frame is five bytes and the payload as it
// is, so that a result crosses byte for byte, cancelling is one more frame, and a client needs no
// net/http, whose initialisation costs a process more than a warm call.
package daemon
