// Package conn connects to MCP servers: it starts or reaches them, speaks MCP to them and lets go of them.
//
// Call [NewPool] with a configuration, then [Pool.List] and [Pool.Call] (or [Pool.Request], for any method), and
// [Pool.Close] at the end. The pool starts or reaches each server at the first request that needs it. It turns
// everything that can go wrong on the way (an unknown program or host, silence, noise, crashes, statuses of HTTP,
// protocol errors) into faults that carry the command, how it ended and the tail of its stderr, or the URL and the last
// response, with secrets masked. Other packages decide which tools exist, what may be called and what is shown. Package
// conn is the only importer of mcp-go's client.
//
// The files follow the way of a call:
//
//   - pool.go: a [Pool] has a session with each server that was asked for.
//   - session.go, handshake.go: a session is one connection. It connects its peer and agrees on a revision.
//     goroutines.go has the work that no caller waits for.
//   - invoke.go, listing.go: what a caller wants; rounds.go, task.go and elicit.go: what the server may want first.
//   - call.go, clock.go: a call is one in-flight request of a caller. It routes progress, log messages and elicitation
//     to its Audience, and its clock ends it.
//   - router.go, receive.go, listen.go, watch.go: what the server sends unasked, and which call or watcher that belongs
//     to.
//   - request.go, wire.go: a request goes through the session's wire, a transport of the SDK.
//   - peer.go: the peer is the server behind the wire. It is a process (process.go, with filter.go and outbox.go), a
//     remote over Streamable HTTP (remote.go, streamable.go), or an ssePeer (sse.go). Both of HTTP send through
//     roundtripper.go and exchange.go; eventfilter.go, eventreader.go and login.go help.
//   - faults.go, badresponse.go, unreachable.go, diagnosis.go: what the user sees of a failure.
package conn
