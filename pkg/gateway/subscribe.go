package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/mcp"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// renewEvery is how often a subscription is made again: a server forgets it when it is started again, and a server that
// is only subscribed to would stop for being idle.
const renewEvery = time.Minute

// subscriptions are the resources that clients want to hear of.
type subscriptions struct {
	gateway *Gateway

	mu      sync.Mutex
	byTopic map[topic]*subscription
	of      map[*Client]int // how many each client has
	by      map[string]int  // how many the clients of each principal have, by its name
}

// The most subscriptions of one client, of all clients of one principal, and of all. Each is kept up by a goroutine and
// asks its server once a minute. The person who runs the gateway, who has no name, has what all have.
const (
	maxOwnSubscriptions       = 100
	maxPrincipalSubscriptions = 200
	maxSubscriptions          = 1000
)

// topic is a resource of a server, and whose server that is.
type topic struct {
	tool.Ref
	of owner
}

// subscription is one topic.
type subscription struct {
	topic
	subscribers map[subscriber]struct{}
	ended       chan struct{} // closed when the last subscriber has left
}

// subscriber is a client, and the URI that it knows the resource by.
type subscriber struct {
	client *Client
	uri    string
}

func newSubscriptions(g *Gateway) *subscriptions {
	return &subscriptions{gateway: g, byTopic: make(map[topic]*subscription), of: make(map[*Client]int),
		by: make(map[string]int)}
}

// subscribe has the client hear of updates of a resource.
func (r *request) subscribe(ctx context.Context) (json.RawMessage, error) {
	var p struct {
		URI string `json:"uri"`
	}
	if err := r.params(&p); err != nil {
		return nil, err
	}
	if err := r.subscribeTo(ctx, p.URI); err != nil {
		return nil, err
	}
	r.client.subscribed(p.URI, true)
	r.client.share(ctx, map[string]string{uriField + p.URI: "1"}, nil)
	return json.RawMessage("{}"), nil
}

// subscribeTo subscribes the client to a resource.
func (r *request) subscribeTo(ctx context.Context, uri string) error {
	l, err := r.client.lists(ctx, r.view)
	if err != nil {
		return err
	}
	ref, ok := l.resource(uri)
	if !ok {
		return r.noResource(uri)
	}
	s := r.client.gateway.subscriptions
	headers, err := r.allForwarded(ref.Server)
	if err != nil {
		return err
	}
	own, about := subscriber{r.client, uri}, topic{ref, r.client.use(ctx, r.gen, ref.Server)}
	if len(headers) > 0 {
		encoded, err := json.Marshal(headers)
		if err != nil {
			return err
		}
		about.of.forward = string(encoded)
	}
	if err := s.room(about, own); err != nil {
		return err
	}
	if err := s.renew(ctx, r.gen, about); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.isRoom(about, own); err != nil {
		return err
	}
	if one, first := s.enter(about, own); first {
		s.gateway.goroutine(func(ctx context.Context) { s.keep(ctx, one) })
	}
	return nil
}

// enter adds a subscriber while mu is held, and reports whether it is the first of this resource.
func (s *subscriptions) enter(about topic, own subscriber) (one *subscription, first bool) {
	one = s.byTopic[about]
	if first = one == nil; first {
		one = &subscription{topic: about, subscribers: make(map[subscriber]struct{}), ended: make(chan struct{})}
		s.byTopic[about] = one
	}
	if _, has := one.subscribers[own]; !has {
		one.subscribers[own] = struct{}{}
		s.of[own.client]++
		s.by[own.client.who.Principal.identity()]++
	}
	return one, first
}

// room returns an error if a client may not subscribe to one more resource.
func (s *subscriptions) room(about topic, own subscriber) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isRoom(about, own)
}

// isRoom is room while mu is held.
func (s *subscriptions) isRoom(about topic, own subscriber) error {
	one := s.byTopic[about]
	if one != nil {
		if _, has := one.subscribers[own]; has {
			return nil
		}
	}
	name := own.client.who.Principal.identity()
	if s.of[own.client] >= maxOwnSubscriptions || name != "" && s.by[name] >= maxPrincipalSubscriptions ||
		one == nil && len(s.byTopic) >= maxSubscriptions {
		return &tool.UpstreamError{Code: mcp.InternalError, Message: fmt.Sprintf("there are too many subscriptions: a "+
			"client may have %d, the clients of one token %d, and all clients together %d",
			maxOwnSubscriptions, maxPrincipalSubscriptions, maxSubscriptions)}
	}
	return nil
}

// unsubscribe has the client hear of a resource no more.
func (r *request) unsubscribe(ctx context.Context) (json.RawMessage, error) {
	var p struct {
		URI string `json:"uri"`
	}
	if err := r.params(&p); err != nil {
		return nil, err
	}
	r.client.unsubscribe(p.URI)
	r.client.share(ctx, make(map[string]string), []string{uriField + p.URI})
	return json.RawMessage("{}"), nil
}

// unsubscribe has the client hear of a resource no more.
func (c *Client) unsubscribe(uri string) {
	c.subscribed(uri, false)
	gone := subscriber{c, uri}
	c.gateway.subscriptions.remove(func(s subscriber) bool { return s == gone })
}

// leave ends the subscriptions of a client.
func (s *subscriptions) leave(c *Client) {
	s.mu.Lock()
	has := s.of[c] > 0
	s.mu.Unlock()
	if has {
		s.remove(func(s subscriber) bool { return s.client == c })
	}
}

// remove takes out the subscribers that have gone, and ends the subscriptions without one.
func (s *subscriptions) remove(gone func(subscriber) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for about, one := range s.byTopic {
		for sub := range one.subscribers {
			if !gone(sub) {
				continue
			}
			delete(one.subscribers, sub)
			if s.of[sub.client]--; s.of[sub.client] == 0 {
				delete(s.of, sub.client)
			}
			name := sub.client.who.Principal.identity()
			if s.by[name]--; s.by[name] == 0 {
				delete(s.by, name)
			}
		}
		if len(one.subscribers) == 0 {
			close(one.ended)
			delete(s.byTopic, about)
		}
	}
}

// renew subscribes at the server.
func (s *subscriptions) renew(ctx context.Context, gen *generation, about topic) error {
	params := tool.JoinObject([]tool.Field{{Key: "uri", Value: tool.Quote(about.Name)}})
	_, err := gen.Engine.Ask(ctx, about.Server, "resources/subscribe", params, about.of.options())
	return err
}

// keep passes the updates of a resource on until ctx ends or the last client has left, and then unsubscribes at the
// server.
func (s *subscriptions) keep(ctx context.Context, one *subscription) {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	leave := func() {}
	defer func() { leave() }()
	renewed := "" // the server's entry when it was last subscribed at; "" if that is to be done again
	for kept := true; kept; {
		gen := s.gateway.enter()
		s.prune(ctx, gen, one)
		stop, err := gen.Engine.Watch(ctx, one.Server, one.of.options(), func(e tool.Event) { s.updated(one.topic, e) })
		leave() // not before: a server may stop that no client watches
		leave = func() {
			if stop != nil {
				stop()
			}
			_ = gen.leave() // an engine that was replaced meanwhile has nothing to say
		}
		if entry := gen.Engine.Fingerprint(one.Server); err == nil && (entry == "" || entry != renewed) {
			err, renewed = s.renew(ctx, gen, one.topic), entry
		}
		if err != nil {
			renewed = ""
		}
		if err != nil && ctx.Err() == nil {
			s.gateway.opt.Log(one.Server, "the subscription to "+one.Name+" could not be renewed: "+err.Error())
		}
		select {
		case <-tick.C:
			renewed = ""
		case <-gen.replaced:
		case <-one.ended:
			kept = false
			s.end(ctx, gen, one.topic)
		case <-ctx.Done():
			kept = false
		}
	}
}

// pruneOf is prune for the subscriptions of some principals, by their identity.
func (s *subscriptions) pruneOf(ctx context.Context, gen *generation, principals []string) {
	var theirs []*subscription
	s.mu.Lock()
	for _, one := range s.byTopic {
		for sub := range one.subscribers {
			if slices.Contains(principals, sub.client.who.Principal.identity()) {
				theirs = append(theirs, one)
				break
			}
		}
	}
	s.mu.Unlock()
	for _, one := range theirs {
		s.prune(ctx, gen, one)
	}
}

// prune takes out the subscribers that may not read the resource any more.
func (s *subscriptions) prune(ctx context.Context, gen *generation, one *subscription) {
	s.mu.Lock()
	subscribers := slices.Collect(maps.Keys(one.subscribers))
	s.mu.Unlock()
	for _, sub := range subscribers {
		v, err := gen.viewOf(ctx, sub.client)
		if err == nil && v.CheckServers([]string{one.Server}) == nil {
			continue
		}
		s.remove(func(other subscriber) bool { return other == sub })
	}
}

// endLimit bounds the word to a server that nothing is to be heard of a resource any more.
const endLimit = 5 * time.Second

// end unsubscribes at the server, unless that ends with its session.
func (s *subscriptions) end(ctx context.Context, gen *generation, about topic) {
	if about.of.session != nil && about.of.session.hasEnded() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	params := tool.JoinObject([]tool.Field{{Key: "uri", Value: tool.Quote(about.Name)}})
	// It may have forgotten it.
	_, _ = gen.Engine.Ask(ctx, about.Server, "resources/unsubscribe", params, about.of.options())
}

// updated passes the news of a resource on to the clients that are subscribed to it.
func (s *subscriptions) updated(about topic, e tool.Event) {
	var p struct {
		URI string `json:"uri"`
	}
	if e.Method != "notifications/resources/updated" || json.Unmarshal(e.Params, &p) != nil || p.URI != about.Name {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.byTopic[about]
	if one == nil {
		return
	}
	for sub := range one.subscribers {
		sub.client.mu.Lock()
		out := sub.client.hears
		sub.client.mu.Unlock()
		params := withoutTag(e.Params)
		if fields, err := tool.SplitObject(params); err == nil && sub.uri != about.Name {
			params = renamed(fields, "uri", sub.uri)
		}
		if out != nil {
			out(e.Method, params)
		}
	}
}

// withoutTag returns the params of a notification without the subscription that a server since MCP 2026-07-28 has sent
// it for: that is mcpl's own.
func withoutTag(params json.RawMessage) json.RawMessage {
	fields, err := tool.SplitObject(params)
	if err != nil {
		return params
	}
	for i, f := range fields {
		if f.Key != "_meta" {
			continue
		}
		meta, err := tool.SplitObject(f.Value)
		isTag := func(f tool.Field) bool { return f.Key == metaSubscription }
		if err != nil || !slices.ContainsFunc(meta, isTag) {
			return params
		}
		if meta = slices.DeleteFunc(meta, isTag); len(meta) == 0 {
			return tool.JoinObject(slices.Delete(fields, i, i+1))
		}
		fields[i].Value = tool.JoinObject(meta)
		return tool.JoinObject(fields)
	}
	return params
}
