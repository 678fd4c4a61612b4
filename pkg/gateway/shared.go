package gateway

import (
	"context"
	"crypto/rand"
	"sync"
	"time"
)

// Shared is what the replicas of one gateway have in common. Its methods may be called concurrently, and take a short
// time, but for Receive. An error says that it cannot be reached now: the gateway goes on with what it has itself.
type Shared interface {
	// Fields returns these fields of a record, or all of them if none is named. Those that it does not have are left out.
	// A record that there is lasts for another while.
	Fields(ctx context.Context, record string, lasts time.Duration, fields ...string) (map[string]string, error)
	// Change sets and removes fields of a record in one step. The record lasts for a while from then on.
	Change(ctx context.Context, record string, lasts time.Duration, set map[string]string, remove []string) error
	// Take takes one out of a bucket, which holds as many as it gets in a minute, or returns how long there is none.
	Take(ctx context.Context, bucket string, perMinute int) (wait time.Duration, err error)
	// Publish sends a message to all that receive on a channel now, and returns how many these are.
	Publish(ctx context.Context, channel string, message []byte) (receivers int, err error)
	// Receive hands on the messages of some channels, one after the other, until ctx ends. It outlasts a connection.
	Receive(ctx context.Context, channels []string, handle func(message []byte))
}

// Fields of each record. A version is a random text, which each change replaces.
const (
	versionField = "version"
	endedField   = "ended"
)

// record is the part of a client's state that replicas share, under a name.
type record struct {
	name  string
	lasts time.Duration

	mu      sync.Mutex
	version string // that was taken over; a change made here does not change it, since others may have come before
	unsaved bool   // a change could not be shared
}

// recorded is a state that lies in a record, field by field.
type recorded interface {
	// fields returns all of it.
	fields() map[string]string
	// adopt replaces all of it.
	adopt(fields map[string]string)
}

// follow takes over what other replicas have changed of a state, and shares what they have not got before. It
// reports whether one of them has ended it.
func (g *Gateway) follow(ctx context.Context, r *record, s recorded) (moved, ended bool) {
	if g.opt.Shared == nil {
		return false, false
	}
	now, err := g.opt.Shared.Fields(ctx, r.name, r.lasts, versionField, endedField)
	if err != nil {
		return false, false
	}
	r.mu.Lock()
	known, unsaved := r.version, r.unsaved
	r.unsaved = false
	r.mu.Unlock()
	switch {
	case now[endedField] != "":
		return false, true
	case unsaved || now[versionField] == "": // it may have been lost
		g.share(ctx, r, s.fields(), nil)
		return false, false
	case now[versionField] == known:
		return false, false
	}
	all, err := g.opt.Shared.Fields(ctx, r.name, r.lasts)
	if err != nil {
		return false, false
	}
	s.adopt(all)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version = all[versionField]
	return true, false
}

// share shares a change of a state with the other replicas.
func (g *Gateway) share(ctx context.Context, r *record, set map[string]string, remove []string) {
	if g.opt.Shared == nil {
		return
	}
	set[versionField] = rand.Text()
	if err := g.opt.Shared.Change(ctx, r.name, r.lasts, set, remove); err != nil {
		r.mu.Lock()
		r.unsaved = true
		r.mu.Unlock()
		return
	}
	_ = g.tell(ctx, everyone, note{Kind: stateChanged, Record: r.name}) // they follow it with the next request
}
