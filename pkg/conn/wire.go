package conn

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// stuckGrace is how long a cancellation may take to reach a server that reads nothing.
const stuckGrace = 250 * time.Millisecond

const (
	methodInitialize = string(mcp.MethodInitialize)
	methodDiscover   = string(mcp.MethodServerDiscover)
	methodCall       = string(mcp.MethodToolsCall)
	methodPrompt     = string(mcp.MethodPromptsGet)
	methodRead       = string(mcp.MethodResourcesRead)
	methodListen     = string(mcp.MethodSubscriptionsListen)
	methodCancelled  = string(mcp.MethodNotificationCancelled)

	methodSubscribe   = string(mcp.MethodResourcesSubscribe)
	methodUnsubscribe = string(mcp.MethodResourcesUnsubscribe)
)

// wire is a transport of the SDK that carries responses only. Filters take requests and notifications of the
// server out before, byte for byte, since the SDK decodes them, forgets in whose stream they came and gives a
// person half a minute for an answer. wire sends a cancellation before SendRequest returns, since the connection may
// be closed right after. It numbers the requests: each client of the SDK begins at 1, and its transport over
// streams drops the response to an id that is used again at once.
type wire struct {
	transport.Interface
	ids atomic.Int64 // the last request's
	// cancelled sends the server a notification that a request is given up.
	cancelled func(ctx context.Context, note mcp.JSONRPCNotification)
	// reply sends a response to a request of the server.
	reply func(ctx context.Context, message []byte) error
}

// newPipeWire returns a wire over two streams. Its Close closes out. A cancellation may take grace to be written.
func newPipeWire(in *messageFilter, out *outbox, grace time.Duration) *wire {
	pipe := transport.NewIO(in, out, nil)
	cancelled := func(ctx context.Context, note mcp.JSONRPCNotification) {
		if pipe.SendNotification(ctx, note) == nil {
			out.flush(grace)
		}
	}
	reply := func(_ context.Context, message []byte) error {
		_, err := out.Write(append(message, '\n'))
		return err
	}
	return &wire{Interface: pipe, cancelled: cancelled, reply: reply}
}

// SendRequest implements transport.Interface.
func (w *wire) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	response, err := w.Interface.SendRequest(ctx, req)
	// "The initialize request MUST NOT be cancelled by clients" (MCP 2025-11-25, cancellation).
	if err != nil && ctx.Err() != nil && req.Method != methodInitialize && req.Method != methodDiscover {
		w.cancel(ctx, req.ID)
	}
	return response, err
}

// next returns the id of the next request.
func (w *wire) next() int64 { return w.ids.Add(1) }

// send sends a response to a request of the server.
func (w *wire) send(ctx context.Context, reply []byte) error { return w.reply(ctx, reply) }

func (w *wire) cancel(ctx context.Context, id mcp.RequestId) {
	note := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
		Method: methodCancelled,
		Params: mcp.NotificationParams{AdditionalFields: map[string]any{
			"requestId": id, "reason": context.Cause(ctx).Error()}},
	}}
	w.cancelled(context.WithoutCancel(ctx), note)
}

// SendNotification implements transport.Interface. It drops the SDK's own cancellation, which comes from a
// goroutine after the request has returned; wire has sent one by then.
func (w *wire) SendNotification(ctx context.Context, note mcp.JSONRPCNotification) error {
	if note.Method == methodCancelled {
		return nil
	}
	return w.Interface.SendNotification(ctx, note)
}
