package verb

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/gateway"
	"github.com/mcp-launchpad/mcpl/pkg/gateway/tokens"
)

const (
	// revokedRecord is where replicas keep the IDs of tokens that do not count any more, though their file has them. An
	// ID has a part of the token's hash, so that a new token of the same name counts.
	revokedRecord = "revoked"
	// revokedLasts is longer than any replica runs; each look at the record has it last so long again.
	revokedLasts = 10 * 365 * 24 * time.Hour
	// revokedGap is how long a replica goes by its last look.
	revokedGap = time.Second
)

// revocations are the tokens that were revoked at any replica. What has been seen as revoked stays so.
type revocations struct {
	shared gateway.Shared
	now    func() time.Time

	mu     sync.Mutex
	known  map[string]string // when, by ID
	looked time.Time
}

// revoked reports whether a token does not count any more. While the replicas have nothing in common it goes by what
// it knows.
func (r *revocations) revoked(ctx context.Context, id string) bool {
	r.mu.Lock()
	due := r.now().Sub(r.looked) >= revokedGap
	if due {
		r.looked = r.now() // the other requests do not wait for it
	}
	r.mu.Unlock()
	if due {
		r.look(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, is := r.known[id]
	return is
}

// look takes over what is revoked, and says it again where it has been lost.
func (r *revocations) look(ctx context.Context) {
	all, err := r.shared.Fields(ctx, revokedRecord, revokedLasts)
	if err != nil {
		return // a notice has said it
	}
	r.mu.Lock()
	lost := maps.Clone(r.known)
	maps.DeleteFunc(lost, func(id, _ string) bool { return all[id] != "" })
	if r.known == nil {
		r.known = make(map[string]string, len(all))
	}
	maps.Copy(r.known, all)
	r.mu.Unlock()
	if len(lost) > 0 {
		_ = r.shared.Change(ctx, revokedRecord, revokedLasts, lost, nil) // the next look tries again
	}
}

// revokeShared revokes the token of that name at all replicas, whose common file of tokens mcpl only reads. It reports
// whether there is one.
func (s *Session) revokeShared(ctx context.Context, store tokens.Store, name string) (revoked bool, err error) {
	list, err := store.List()
	if err != nil {
		return false, err
	}
	ids := make(map[string]string)
	for _, t := range list {
		if t.Name == name {
			ids[t.ID()] = s.App.Now().UTC().Format(time.RFC3339)
		}
	}
	if len(ids) == 0 {
		return false, nil
	}
	shared, leave, err := s.share(ctx)
	if err != nil {
		return false, err
	}
	defer func() { _ = leave() }() // it is said, or an error is returned
	if err := shared.Change(ctx, revokedRecord, revokedLasts, ids, nil); err != nil {
		return false, fault.New(fault.ServerConnection, "the token is not revoked: "+config.RedisURL+" cannot be reached",
			"Try it again when Redis answers, or take the token out of "+store.Path+".").Because(err)
	}
	return true, nil
}

// sharesTokens reports whether the tokens lie in a file of somebody else, and replicas can tell one another which of
// them do not count any more.
func (s *Session) sharesTokens() bool {
	url, _ := s.App.Env.Lookup(config.RedisURL)
	return url != "" && s.tokens().Fixed
}

// revokedTokens returns the IDs of the tokens that were revoked at all replicas.
func (s *Session) revokedTokens(ctx context.Context) (map[string]string, error) {
	if !s.sharesTokens() {
		return nil, nil
	}
	shared, leave, err := s.share(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = leave() }() // it has only been read
	ids, err := shared.Fields(ctx, revokedRecord, revokedLasts)
	if err != nil {
		return nil, fault.New(fault.ServerConnection, "whether tokens were revoked is not known: "+config.RedisURL+
			" cannot be reached", "Try it again when Redis answers.").Because(err)
	}
	return ids, nil
}
