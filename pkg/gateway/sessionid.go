package gateway

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/mcp"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
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
	Revision string            `json:"r"`
	Can      tool.Capabilities `json:"c"`
	Began    time.Time         `json:"b"`
	// Who is the digest of the identity that the session began with.
	Who string `json:"w"`
}

// sessionPurpose is the purpose of the session ids of a principal: no other one can use them.
func sessionPurpose(who Identity) string { return "session of " + who.Principal.Name }

// BeginSession returns the id of a new session, and the same sealed, as its client gets it. initialize is the message
// that the session begins with.
func (g *Gateway) BeginSession(who Identity, initialize mcp.Message) (id SessionID, sealed string, err error) {
	var p hello
	_ = json.Unmarshal(initialize.Params, &p) // else the answer to initialize says what is wrong
	id = SessionID{ID: rand.Text(), Home: g.replica, Revision: mcp.Agreed(p.Revision), Can: p.Capabilities.can(),
		Began: g.opt.Now().UTC().Truncate(time.Second), Who: who.digest()}
	sealed, err = g.sealer.seal(sessionPurpose(who), id, 0)
	return id, sealed, err
}

// OpenSession returns what the id of a session says to a client of that identity. ok is false if it was not sealed with
// a key of this gateway, or for another principal.
func (g *Gateway) OpenSession(who Identity, sealed string) (id SessionID, ok bool) {
	return id, g.sealer.open(sessionPurpose(who), sealed, &id) == nil
}

// Is reports whether the session began with this identity.
func (id SessionID) Is(who Identity) bool { return id.Who == who.digest() }

// Movable reports whether the session may be continued here, if this replica does not have it: it is not one that ended
// here.
func (g *Gateway) Movable(id SessionID) bool {
	return id.Home != g.replica && g.opt.Now().Before(id.Moves())
}

// Moves returns until when the session may be continued by replicas that do not have it.
func (id SessionID) Moves() time.Time { return id.Began.Add(sessionMoves) }

// ConnectAs is [Gateway.Connect] for a session that began at another replica. The client need not initialize.
func (g *Gateway) ConnectAs(id SessionID, who Identity, out Outlet) *Client {
	c := g.Connect(id.ID, who, out)
	c.revision, c.can = id.Revision, id.Can
	c.begin(untagged(out))
	return c
}

// digest identifies an identity.
func (i Identity) digest() string {
	sum := sha256.Sum256([]byte(i.Principal.key() + "\x00" + i.Profile + "\x00" + string(i.Expose)))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}
