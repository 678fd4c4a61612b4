package conn

import (
	"context"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// stuckGrace is how long a write to a server that reads nothing may outlive its context.
const stuckGrace = 250 * time.Millisecond

const (
	methodInitialize = string(mcp.MethodInitialize)
	methodDiscover   = string(mcp.MethodServerDiscover)
	methodCancelled  = string(mcp.MethodNotificationCancelled)
)

// wire is the SDK's stdio transport over a child's pipes. It adds three things: the untouched
// answer, for callers that must not lose a byte to the SDK's structs; cancellation that is on
// the wire before SendRequest returns, since the process may be stopped right after; and
// writes that end when the server reads nothing.
type wire struct {
	*transport.Stdio
	child *child
}

func newWire(c *child, messages *messageFilter) *wire {
	return &wire{Stdio: transport.NewIO(messages, c.stdin, nil), child: c}
}

// exchange receives the raw answer to a request whose context carries it.
type exchange struct{ answer *transport.JSONRPCResponse }

type exchangeKey struct{}

// record returns a context under which the next answer is kept in the exchange.
func record(ctx context.Context) (context.Context, *exchange) {
	x := new(exchange)
	return context.WithValue(ctx, exchangeKey{}, x), x
}

// SendRequest implements transport.Interface.
func (w *wire) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	stop := context.AfterFunc(ctx, func() { w.child.stdin.SetWriteDeadline(time.Now().Add(stuckGrace)) })
	defer stop()
	answer, err := w.Stdio.SendRequest(ctx, req)
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok && answer != nil {
		x.answer = answer
	}
	// "The initialize request MUST NOT be cancelled by clients" (MCP 2025-11-25, cancellation).
	if err != nil && ctx.Err() != nil && req.Method != methodInitialize && req.Method != methodDiscover {
		w.cancel(ctx, req.ID)
	}
	return answer, err
}

func (w *wire) cancel(ctx context.Context, id mcp.RequestId) {
	note := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
		Method: methodCancelled,
		Params: mcp.NotificationParams{AdditionalFields: map[string]any{
			"requestId": id, "reason": context.Cause(ctx).Error()}},
	}}
	if err := w.Stdio.SendNotification(context.WithoutCancel(ctx), note); err != nil {
		w.child.stdin.Close() // half a message may be in the pipe: nothing can follow it
		return
	}
	w.child.stdin.SetWriteDeadline(time.Time{})
}

// SendNotification implements transport.Interface. The SDK's own cancellation comes from a
// goroutine after the request has returned; wire has sent one by then.
func (w *wire) SendNotification(ctx context.Context, note mcp.JSONRPCNotification) error {
	if note.Method == methodCancelled {
		return nil
	}
	return w.Stdio.SendNotification(ctx, note)
}
