package gateway

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

const (
	// listingsLast is how long a replica that has never listed a server takes over what another has listed.
	listingsLast = 24 * time.Hour
	// maxListing bounds what replicas share of one server, in bytes.
	maxListing = 4 << 20
	// listingField is the only field of a record of a listing.
	listingField = "listing"
)

// Listings are what servers have listed at any replica. A new replica shows tools without starting their servers. They
// are sealed: who can write to what replicas share cannot put words into a model's mouth.
type Listings struct {
	shared Shared
	sealer *sealer
}

// NewListings returns those of replicas with these keys, of which there is at least one.
func NewListings(shared Shared, keys [][]byte, now func() time.Time) (*Listings, error) {
	s, err := newSealer(keys, now)
	return &Listings{shared, s}, err
}

// Over returns a caller that shares what servers list, unless they list it for one principal or session. fingerprint
// identifies how a server is started or reached; if it is "", nothing of the server is shared.
func (l *Listings) Over(caller engine.Caller, fingerprint func(server string) string) engine.Caller {
	return listingCaller{caller, l, fingerprint}
}

// listingCaller is such a caller.
type listingCaller struct {
	engine.Caller
	listings    *Listings
	fingerprint func(server string) string
}

// List implements [engine.Caller]. A server that was listed before, which is known, is listed anew.
func (c listingCaller) List(ctx context.Context, server string, opt tool.CallOptions) (tool.Listing, error) {
	entry := c.fingerprint(server)
	if entry == "" || opt.Principal != "" || opt.Session != "" {
		return c.Caller.List(ctx, server, opt)
	}
	if opt.Known == (tool.Known{}) {
		if known, ok := c.listings.get(ctx, entry); ok {
			return known, nil
		}
	}
	now, err := c.Caller.List(ctx, server, opt)
	if err == nil {
		c.listings.put(ctx, entry, now)
	}
	return now, err
}

// sharedListing is a listing without what belongs to the replica that has made it. Definitions are bytes, which no
// encoder changes.
type sharedListing struct {
	Tools, Resources, Templates, Prompts    [][]byte
	Known                                   tool.Known
	ServerName, ServerVersion, Instructions string
	TTL                                     time.Duration
	Notes                                   []string
}

// record returns the name of the record of a server. The fingerprint is made of secrets, among others, and a digest of
// short ones could be guessed.
func (l *Listings) record(fingerprint string) string {
	return "listing:" + base64.RawURLEncoding.EncodeToString(mark(l.sealer.macs[0], "listing", []byte(fingerprint)))
}

// get returns what another replica has listed. ok is false if there is none.
func (l *Listings) get(ctx context.Context, fingerprint string) (known tool.Listing, ok bool) {
	record := l.record(fingerprint)
	fields, err := l.shared.Fields(ctx, record, listingsLast, listingField)
	if err != nil {
		return known, false
	}
	var kept sharedListing
	if l.sealer.open(record, fields[listingField], &kept) != nil {
		return known, false
	}
	known = tool.Listing{Known: kept.Known, ServerName: kept.ServerName, ServerVersion: kept.ServerVersion,
		Instructions: kept.Instructions, TTL: kept.TTL, Notes: kept.Notes}
	for _, part := range []struct {
		kind tool.Kind
		raw  [][]byte
		into *[]tool.Def
	}{{tool.Tool, kept.Tools, &known.Tools}, {tool.Resource, kept.Resources, &known.Resources},
		{tool.Template, kept.Templates, &known.Resources}, {tool.Prompt, kept.Prompts, &known.Prompts}} {
		for _, raw := range part.raw {
			def, err := tool.Parse(part.kind, json.RawMessage(raw))
			if err != nil { // another mcpl may have taken it
				return tool.Listing{}, false
			}
			*part.into = append(*part.into, def)
		}
	}
	return known, true
}

// put shares what a server has listed here.
func (l *Listings) put(ctx context.Context, fingerprint string, now tool.Listing) {
	kept := sharedListing{Known: now.Known, ServerName: now.ServerName, ServerVersion: now.ServerVersion,
		Instructions: now.Instructions, TTL: now.TTL, Notes: now.Notes}
	for _, defs := range [][]tool.Def{now.Tools, now.Resources, now.Prompts} {
		for _, def := range defs {
			into := map[tool.Kind]*[][]byte{tool.Tool: &kept.Tools, tool.Resource: &kept.Resources,
				tool.Template: &kept.Templates, tool.Prompt: &kept.Prompts}[def.Kind]
			*into = append(*into, def.Whole())
		}
	}
	record := l.record(fingerprint)
	sealed, err := l.sealer.seal(record, kept, listingsLast)
	if err == nil && len(sealed) <= maxListing {
		// If it cannot be shared, a new replica lists the server itself.
		_ = l.shared.Change(ctx, record, listingsLast, map[string]string{listingField: sealed}, nil)
	}
}
