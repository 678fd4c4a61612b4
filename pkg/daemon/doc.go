// Package daemon is a host of warm servers (pkg/host) behind a unix socket: one process per user and configuration set,
// shared by the mcpl processes that come and go.
//
// [NewClient] returns the client side, an engine.Caller. It starts the daemon if none runs, and makes a request in its
// own process if it cannot have the daemon. A request that was not yet sent is never lost. A request that was sent is
// never sent twice, unless its tool may be called twice. [Serve] is the daemon itself; [Ask] and [Stop] are for the
// commands that look after it.
//
// The host keeps the servers, and the composition root hands in what starts them. This package adds the socket, the
// log, the daemon's life, and the way of a server's questions to the client and back. It prints nothing.
//
// The socket carries frames (frame.go) and not HTTP. A frame is five bytes and its payload, so that a result crosses
// byte for byte, a cancellation is one more frame, and a client needs no net/http, whose initialisation costs a process
// more than a warm call.
package daemon
