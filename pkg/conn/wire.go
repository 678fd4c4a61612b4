package conn

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// stuckGrace is how long a cancellation may take to reach a server that reads nothing.
const stuckGrace = 250 * time.Millisecond

const (
	methodInitialize = string(mcp.MethodInitialize)
	methodDiscover   = string(mcp.MethodServerDiscover)
	methodCancelled  = string(mcp.MethodNotificationCancelled)
)

// wire is a transport of the SDK. It adds the untouched answer, for callers that must not lose a
// byte to the SDK's structs; cancellation that is sent before SendRequest returns, since the
// connection may be closed right after; and the right answer to requests of the server.
type wire struct {
	transport.BidirectionalInterface
	// cancelled tells the server that a request is given up.
	cancelled func(ctx context.Context, note mcp.JSONRPCNotification)
}

// newPipeWire returns a wire over two streams of messages. Its Close closes out. A cancellation may
// take grace to be written.
func newPipeWire(in *messageFilter, out *outbox, grace time.Duration) *wire {
	pipe := transport.NewIO(in, out, nil)
	return &wire{pipe, func(ctx context.Context, note mcp.JSONRPCNotification) {
		if pipe.SendNotification(ctx, note) == nil {
			out.flush(grace)
		}
	}}
}

// exchange receives the raw answer to a request whose context carries it.
type exchange struct {
	answer *transport.JSONRPCResponse
	hidden bool // the SDK is not to decode the result
}

type exchangeKey struct{}

// record returns a context under which the last answer is kept in the exchange.
func record(ctx context.Context) (context.Context, *exchange) {
	x := new(exchange)
	return context.WithValue(ctx, exchangeKey{}, x), x
}

// recordOnly is record for results that only we decode. The SDK sees an empty one: its own
// decoding loses keywords, rejects odd schemas and takes half a second for 20 MB.
func recordOnly(ctx context.Context) (context.Context, *exchange) {
	ctx, x := record(ctx)
	x.hidden = true
	return ctx, x
}

// SendRequest implements transport.Interface.
func (w *wire) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	answer, err := w.BidirectionalInterface.SendRequest(ctx, req)
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		x.answer = answer
		if x.hidden && answer != nil && answer.Error == nil {
			answer = transport.NewJSONRPCResultResponse(answer.ID, json.RawMessage("{}"))
		}
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
	w.cancelled(context.WithoutCancel(ctx), note)
}

// SendNotification implements transport.Interface. The SDK's own cancellation comes from a
// goroutine after the request has returned; wire has sent one by then.
func (w *wire) SendNotification(ctx context.Context, note mcp.JSONRPCNotification) error {
	if note.Method == methodCancelled {
		return nil
	}
	return w.BidirectionalInterface.SendNotification(ctx, note)
}

// SetRequestHandler implements transport.BidirectionalInterface. We declare no capabilities, so
// only ping is a request that a server may send; to the SDK the others are internal errors.
func (w *wire) SetRequestHandler(handle transport.RequestHandler) {
	w.BidirectionalInterface.SetRequestHandler(func(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
		if req.Method == string(mcp.MethodPing) {
			return handle(ctx, req)
		}
		return transport.NewJSONRPCErrorResponse(req.ID, mcp.METHOD_NOT_FOUND, "mcpl does not offer "+req.Method, nil), nil
	})
}
