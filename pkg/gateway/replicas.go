package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/catalog"
)

// note is what one replica tells another, or all of them. It is sealed: what carries it can neither read nor make one.
type note struct {
	From string   `json:"from"`
	Kind noteKind `json:"kind"`
	// Record names a state that has changed.
	Record string `json:"record,omitempty"`
	// Server says that its List has changed.
	Server string `json:"server,omitempty"`
	List   string `json:"list,omitempty"`
	// Session is that of an answer, Call names a call that was handed over, and Who makes it.
	Session string    `json:"session,omitempty"`
	Call    string    `json:"call,omitempty"`
	Who     *Identity `json:"who,omitempty"`
	// Message is one of the protocol, in bytes that no encoder changes.
	Message []byte `json:"message,omitempty"`
}

// noteKind says what a note is about.
type noteKind string

const (
	stateChanged  noteKind = "state"
	listChanged   noteKind = "list"
	answerGiven   noteKind = "answer" // of a session's client, to a question
	callMade      noteKind = "call"   // to be answered with notes of the kind reply
	callCancelled noteKind = "cancel"
	callReply     noteKind = "reply" // a message; the last one is the response
	areYouThere   noteKind = "there"
)

const (
	// everyone is the channel that all replicas receive on, beside one of their own, which has their name.
	everyone = "all"
	// noteLasts bounds the time, and the difference of clocks, between a note and its receipt.
	noteLasts = 5 * time.Minute
)

// errNoReplica says that no replica of that name is there.
var errNoReplica = errors.New("the replica has ended")

// tell sends a note on a channel.
func (g *Gateway) tell(ctx context.Context, to string, n note) error {
	n.From = g.replica
	text, err := g.sealer.seal("note to "+to, n, noteLasts)
	if err != nil {
		return err
	}
	receivers, err := g.opt.Shared.Publish(ctx, to, []byte(text))
	if err == nil && receivers == 0 {
		return errNoReplica
	}
	return err
}

// hearNotes takes notes of other replicas until ctx ends.
func (g *Gateway) hearNotes(ctx context.Context) {
	g.opt.Shared.Receive(ctx, []string{everyone, g.replica}, func(message []byte) {
		for _, to := range []string{g.replica, everyone} {
			var n note
			if g.sealer.open("note to "+to, string(message), &n) == nil && n.From != g.replica {
				g.heard(ctx, n)
				return
			}
		}
	})
}

// heard takes a note. What takes long goes on in a goroutine.
func (g *Gateway) heard(ctx context.Context, n note) {
	switch n.Kind {
	case stateChanged:
		g.goroutine(func(ctx context.Context) { g.stateChanged(ctx, n.Record) })
	case listChanged:
		g.listChangedElsewhere(n.Server, n.List)
	case answerGiven:
		if m, ok := parsed(n.Message); ok {
			if c := g.session(n.Session); c != nil {
				_ = c.TakeAnswer(ctx, m) // one that is not waited for any more
			}
		}
	case callMade:
		g.goroutine(func(ctx context.Context) { g.answerFor(ctx, n) })
	case callCancelled:
		g.handed.cancel(n.Call)
	case callReply:
		g.handed.reply(n.Call, n.Message)
	}
}

// session returns the client of a session that hears of changes; nil if it is not here.
func (g *Gateway) session(id string) *Client {
	for _, c := range g.listeners() {
		if c.id == id {
			return c
		}
	}
	return nil
}

// stateChanged has the clients here follow a state that has changed at another replica, and hear of what it changes for
// them.
func (g *Gateway) stateChanged(ctx context.Context, name string) {
	gen := g.enter()
	defer func() { _ = gen.leave() }() // an engine that was replaced meanwhile has nothing to say
	for _, c := range g.listeners() {
		r, s := c.shares()
		if r == nil || r.name != name {
			continue
		}
		g.follow(ctx, r, s) // who has ended hears of that with the next request
		c.resubscribe(ctx)
		c.tellChanged(ctx, gen, nil)
	}
}

// quietTime is how long a replica says nothing of a server's lists after another has: a server that says so whenever it
// is listed would have the replicas list it in turns, without end.
const quietTime = 10 * time.Second

// listChangedElsewhere lists a server again whose list has changed at another replica.
func (g *Gateway) listChangedElsewhere(server, list string) {
	g.mu.Lock()
	g.announced[news{server, list, nil}] = true
	g.quiet[server] = g.opt.Now().Add(quietTime)
	g.mu.Unlock()
	g.goroutine(func(ctx context.Context) {
		gen := g.enter()
		err := gen.Engine.Catalog().Read(ctx, catalog.Need{Servers: []string{server}, List: catalog.ListChanged},
			func(*catalog.View) error { return nil })
		if err != nil && ctx.Err() == nil {
			g.opt.Log(server, "it could not be listed again: "+err.Error())
		}
		_ = gen.leave() // an engine that was replaced meanwhile has nothing to say
	})
}

// tellLists tells other replicas of the lists that servers say have changed here.
func (g *Gateway) tellLists(ctx context.Context) {
	g.mu.Lock()
	changed := g.changedHere
	g.changedHere = make(map[serverList]bool)
	g.mu.Unlock()
	for c := range changed {
		_ = g.tell(ctx, everyone, note{Kind: listChanged, Server: c.server, List: c.list}) // news may be missed
	}
}

// serverList is a list of a server, as notifications name it.
type serverList struct{ server, list string }
