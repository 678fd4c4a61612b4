package conn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// maxListened bounds the resources of a server since MCP 2026-07-28 that are subscribed to: each holds a request open.
const maxListened = 1000

// listened are the resources of a server since MCP 2026-07-28 that callers are subscribed to: the end of each, by URI.
type listened struct {
	mu   sync.Mutex
	ends map[string]context.CancelFunc
}

// enter notes that a resource is subscribed to. over ends with its end; it is nil if the resource is subscribed to
// already.
func (l *listened) enter(server, uri string) (over context.Context, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ends[uri] != nil:
		return nil, nil
	case len(l.ends) >= maxListened:
		return nil, &tool.UpstreamError{Code: mcp.INTERNAL_ERROR,
			Message: fmt.Sprintf("%d resources of %s are subscribed to, and more are not", maxListened, server)}
	}
	over, l.ends[uri] = context.WithCancel(context.Background())
	return over, nil
}

// leave ends the subscription to a resource, if there is one. If of is not nil, it has to be that one.
func (l *listened) leave(uri string, of context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if end := l.ends[uri]; end != nil && (of == nil || of.Err() == nil) {
		end()
		delete(l.ends, uri)
	}
}

// hearOf makes a caller's resources/subscribe or resources/unsubscribe at a server since MCP 2026-07-28, which has
// subscriptions/listen in their place (SEP-2575): one that is held open for each resource, until it is unsubscribed or
// the session ends. Subscribing again changes nothing. A server that refuses mostly does so at once: hearOf waits for
// that as long as for a stream.
func (s *session) hearOf(ctx context.Context, method string, params []tool.Field) (json.RawMessage, error) {
	done, uri := json.RawMessage("{}"), ""
	for _, p := range params {
		if p.Key == "uri" {
			uri = tool.Text(p.Value)
		}
	}
	if method == methodUnsubscribe {
		s.listened.leave(uri, nil)
		return done, nil
	}
	filter, err := json.Marshal(mcp.SubscriptionFilter{ResourceSubscriptions: []string{uri}})
	if err != nil {
		return nil, err
	}
	over, err := s.listened.enter(s.server.Name, uri)
	if over == nil {
		return done, err
	}
	first := make(chan error, 1) // the first end of the request
	s.goroutines.run(func(ctx context.Context) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(over, cancel)()
		defer s.listened.leave(uri, over)
		s.keepOpen(ctx, func(ctx context.Context) error {
			_, err := s.request(ctx, nil, methodListen, []tool.Field{{Key: "notifications", Value: filter}})
			select {
			case first <- err:
			default:
			}
			return err
		})
	})
	var refused *refusal
	select {
	case err := <-first:
		if errors.As(err, &refused) {
			return nil, refused.upstream()
		}
	case <-time.After(listenGrace):
	case <-ctx.Done():
	}
	return done, nil
}
