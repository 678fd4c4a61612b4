package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Fields of the records of clients, beside those of every record. What follows a prefix is a name.
const (
	levelField  = "level"
	uriField    = "uri:"
	activeField = "active:" // a kind, a colon and a name
)

// activeLasts is how long replicas share the active set of clients without sessions after its last use.
const activeLasts = 24 * time.Hour

// activeRecord returns the name of the record of an active set. Its key has the name of a principal.
func activeRecord(key string) string {
	sum := sha256.Sum256([]byte(key))
	return activeField + base64.RawURLEncoding.EncodeToString(sum[:])
}

// hasSession reports whether the client is a session, or a connection.
func (c *Client) hasSession() bool { return c.out != nil && !c.modern() }

// mayBeElsewhere reports whether another replica may have answered requests of the client.
func (c *Client) mayBeElsewhere() bool { return len(c.gateway.opt.Keys) > 0 && c.hasSession() }

// shares returns what the client shares with the replicas; nil if nothing.
func (c *Client) shares() (*record, recorded) {
	switch {
	case c.hasSession():
		return &c.shared, c
	case c.who.Expose == Activate:
		set := c.activeSet()
		return &set.shared, set
	}
	return nil, nil
}

// share shares a change of what the client shares.
func (c *Client) share(ctx context.Context, set map[string]string, remove []string) {
	if r, _ := c.shares(); r != nil {
		c.gateway.share(ctx, r, set, remove)
	}
}

// followActive takes over what other replicas have changed of an active set that the client shares with others.
func (c *Client) followActive(ctx context.Context) {
	if r, s := c.shares(); r != nil && r != &c.shared {
		c.gateway.follow(ctx, r, s)
	}
}

// Follow takes over what other replicas have changed of a session, and has it last there. It reports whether one of
// them has ended it.
func (c *Client) Follow(ctx context.Context) (ended bool) {
	moved, ended := c.gateway.follow(ctx, &c.shared, c)
	if moved {
		c.resubscribe(ctx)
	}
	return ended
}

// fields implements [recorded].
func (c *Client) fields() map[string]string {
	fields := c.active.fields()
	c.mu.Lock()
	defer c.mu.Unlock()
	fields[levelField] = levels()[c.level]
	for uri := range c.uris {
		fields[uriField+uri] = "1"
	}
	return fields
}

// adopt implements [recorded].
func (c *Client) adopt(fields map[string]string) {
	c.active.adopt(fields)
	c.mu.Lock()
	c.level = max(slices.Index(levels(), fields[levelField]), 0)
	var gone []string
	for uri := range c.uris {
		if fields[uriField+uri] == "" {
			gone = append(gone, uri)
		}
	}
	for field := range fields {
		if uri, is := strings.CutPrefix(field, uriField); is && !c.uris[uri] {
			c.missing = append(c.missing, uri)
		}
	}
	c.mu.Unlock()
	for _, uri := range gone {
		c.unsubscribe(uri)
	}
}

// subscribed notes whether the client is subscribed to a resource.
func (c *Client) subscribed(uri string, is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if delete(c.uris, uri); is {
		c.uris[uri] = true
	}
}

// resubscribe subscribes to what the client has subscribed to at other replicas. It does not wait for servers.
func (c *Client) resubscribe(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	missing := c.missing
	c.missing = nil
	if c.closed || len(missing) == 0 {
		return
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	r := &request{client: c, cancel: cancel}
	const key = "subscriptions" // no id of a request, which is JSON; with it the client cancels this at its end
	if c.requests[key] != nil {
		c.missing = missing // the next request of the client takes them over
		cancel(nil)
		return
	}
	c.requests[key] = r
	for _, uri := range missing {
		c.uris[uri] = true
	}
	c.wg.Go(func() {
		defer cancel(nil)
		for _, uri := range missing {
			if err := r.resubscribeTo(ctx, uri); err != nil {
				c.subscribed(uri, false)
				c.gateway.opt.Log("", "the subscription to "+uri+" could not be taken over: "+err.Error())
			}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.requests, key)
	})
}

// resubscribeTo is subscribeTo for a request that the client has not made.
func (r *request) resubscribeTo(ctx context.Context, uri string) (err error) {
	r.gen = r.client.gateway.enter()
	defer func() { _ = r.gen.leave() }() // an engine that was replaced meanwhile has nothing to say
	if r.view, err = r.gen.viewOf(ctx, r.client); err != nil {
		return err
	}
	return r.subscribeTo(ctx, uri)
}

// fields implements [recorded].
func (a *activeSet) fields() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	fields := make(map[string]string)
	for name, on := range a.chosen {
		fields[activeField+name.kind.String()+":"+name.name] = onOff(on)
	}
	return fields
}

// adopt implements [recorded].
func (a *activeSet) adopt(fields map[string]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.chosen)
	for field, value := range fields {
		name, is := strings.CutPrefix(field, activeField)
		if !is {
			continue
		}
		kind, name, _ := strings.Cut(name, ":")
		for _, k := range []tool.Kind{tool.Tool, tool.Resource, tool.Template} {
			if k.String() == kind {
				a.chosen[exposed{k, name}] = value == onOff(true)
			}
		}
	}
}

// activeFields returns the fields of entries that were switched off, and then others on.
func activeFields(off, on []entry) map[string]string {
	fields := make(map[string]string)
	for _, e := range off {
		fields[activeField+e.ref.Kind.String()+":"+e.name] = onOff(false)
	}
	for _, e := range on {
		fields[activeField+e.ref.Kind.String()+":"+e.name] = onOff(true)
	}
	return fields
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
