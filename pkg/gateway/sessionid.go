package gateway

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/mcp"
)

const (
	// SessionIdle is how long a session lasts without a request or an open stream.
	SessionIdle = 30 * time.Minute
	// sessionMoves is how long after its beginning a session may be continued by a replica that does not have it yet. At
	// a replica that has it, it lasts as long as it is used.
	sessionMoves = 24 * time.Hour
)

// SessionID is what the id of a session says. A client keeps it sealed, so that each replica with the same keys can
// continue the session.
type SessionID struct {
	// ID tells sessions of all replicas apart.
	ID string `json:"i"`
	// Home is the replica that the session began at.
	Home string `json:"h"`
	// Revision and Can are what the client and that replica have agreed on.
	Revision string    `json:"r"`
	Can      abilities `json:"c"`
	Began    time.Time `json:"b"`
	// Who is the digest of the identity that the session began with.
	Who string `json:"w"`
}

// sessionPurpose is the purpose of the session ids of a principal: no other one can use them.
func sessionPurpose(who Identity) string { return "session of " + who.Principal.identity() }

// BeginSession returns the id of a new session, and the same sealed, as its client gets it. initialize is the message
// that the session begins with.
func (g *Gateway) BeginSession(ctx context.Context, who Identity, initialize mcp.Message) (
	id SessionID, sealed string, err error) {
	var p hello
	_ = json.Unmarshal(initialize.Params, &p) // else the answer to initialize says what is wrong
	id = SessionID{ID: rand.Text(), Home: g.replica, Revision: mcp.Agreed(p.Revision), Can: p.Capabilities.short(),
		Began: g.opt.Now().UTC().Truncate(time.Second), Who: who.digest()}
	if g.opt.Shared != nil {
		r := sessionRecord(id.ID)
		// If it cannot be shared now, it is with its next request.
		_ = g.opt.Shared.Change(ctx, r.name, r.lasts, map[string]string{versionField: rand.Text()}, nil)
	}
	sealed, err = g.sealer.seal(sessionPurpose(who), id, 0)
	return id, sealed, err
}

// OpenSession returns what the id of a session says to a client of that identity. ok is false if it was not sealed with
// a key of this gateway, or for another principal.
func (g *Gateway) OpenSession(who Identity, sealed string) (id SessionID, ok bool) {
	return id, g.sealer.open(sessionPurpose(who), sealed, &id) == nil
}

// Replica tells this gateway from others that continue its sessions; it is empty if there are none.
func (g *Gateway) Replica() string {
	if len(g.opt.Keys) == 0 {
		return ""
	}
	return g.replica
}

// Is reports whether the session began with this identity.
func (id SessionID) Is(who Identity) bool { return id.Who == who.digest() }

// Movable reports whether the session may be continued by a replica that does not have it, as far as its id says: not
// where it began, since it has ended there then.
func (g *Gateway) Movable(id SessionID) bool {
	return id.Home != g.replica && g.opt.Now().Before(id.Moves())
}

// Moves returns until when the session may be continued by replicas that do not have it.
func (id SessionID) Moves() time.Time { return id.Began.Add(sessionMoves) }

// ConnectAs is [Gateway.Connect] for a session that this replica does not have. The client need not initialize. It
// returns nil if the session has ended.
func (g *Gateway) ConnectAs(ctx context.Context, id SessionID, who Identity, out Outlet) *Client {
	c := g.Connect(id.ID, who, out)
	c.revision, c.can = id.Revision, id.Can
	switch lives, known := g.lives(ctx, &c.shared); {
	case known && !lives, !known && !g.Movable(id):
		return nil
	}
	c.begin(untagged(out))
	c.Follow(ctx)
	return c
}

// lives reports whether a record is there and has not ended. known is false if the replicas share none, or it cannot be
// reached.
func (g *Gateway) lives(ctx context.Context, r *record) (lives, known bool) {
	if g.opt.Shared == nil {
		return false, false
	}
	now, err := g.opt.Shared.Fields(ctx, r.name, r.lasts, versionField, endedField)
	return now[versionField] != "" && now[endedField] == "", err == nil
}

// EndSession ends a session for all replicas that can be reached. here says that this one has it. ended is false if
// there was none.
func (g *Gateway) EndSession(ctx context.Context, id SessionID, here bool) (ended bool) {
	r := sessionRecord(id.ID)
	switch lives, known := g.lives(ctx, &r); {
	case !known:
		return here || g.Movable(id)
	case !lives && !here:
		return false
	}
	// A replica that does not hear of it ends the session when it is idle.
	_ = g.opt.Shared.Change(ctx, r.name, sessionMoves, map[string]string{endedField: "1"}, nil)
	return true
}

// sessionRecord returns what replicas share of a session.
func sessionRecord(id string) record { return record{name: "session:" + id, lasts: SessionIdle} }

// digest identifies an identity.
func (i Identity) digest() string {
	sum := sha256.Sum256([]byte(i.Principal.key() + "\x00" + i.Profile + "\x00" + string(i.Expose)))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}
