package jwt

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	jose "github.com/golang-jwt/jwt/v5"

	"github.com/mcp-launchpad/mcpl/pkg/gateway"
)

const (
	// fresh is how old keys are when they are fetched again: what an issuer takes back counts no longer than that.
	fresh = 10 * time.Minute
	// stale is how old keys may be that cannot be fetched again.
	stale = 24 * time.Hour
	// pause is the least time between two fetches, however many tokens name keys that are not known.
	pause = 10 * time.Second
	// fetchLimit bounds a fetch, with all its requests.
	fetchLimit = 10 * time.Second
)

// keySet holds the keys of an issuer. One fetch runs at a time; who has keys that count does not wait for it.
type keySet struct {
	now    func() time.Time
	notice func(string)
	issuer string
	fetch  func(ctx context.Context) ([]key, error)

	mu     sync.Mutex
	keys   []key
	got    time.Time // when keys were fetched
	tried  time.Time // when the last fetch began
	failed error     // of the last fetch
	flight chan struct{}
	cancel context.CancelFunc // of the fetch that runs
	closed bool
	busy   sync.WaitGroup // the fetch; Add only while mu is held and closed is false
}

func newKeySet(opt Options) *keySet {
	return &keySet{now: opt.Now, notice: opt.Notice, issuer: opt.Settings.Issuer, fetch: newSource(opt).fetch}
}

// find returns the keys that a token may be signed with: those of that id, or without one all that there are for the
// algorithm (RFC 7515, 4.1.4, has it optional). The error is a [gateway.TokenError].
func (k *keySet) find(ctx context.Context, id, algorithm string) (found jose.VerificationKeySet, err error) {
	for waited := false; ; waited = true {
		flight, found, err := k.look(ctx, id, algorithm, waited)
		if flight == nil {
			return found, err
		}
		select {
		case <-flight:
		case <-ctx.Done():
			return found, k.unreachable()
		}
	}
}

// look returns the keys that are there, or a fetch to wait for. waited says that one has been waited for.
func (k *keySet) look(ctx context.Context, id, algorithm string, waited bool) (flight <-chan struct{},
	found jose.VerificationKeySet, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	count := k.keys != nil && now.Sub(k.got) < stale
	if count {
		found = k.matching(id, algorithm)
	}
	known := len(found.Keys) > 0
	if k.flight == nil && !waited && now.Sub(k.tried) >= pause && !(known && now.Sub(k.got) < fresh) {
		k.begin(ctx, now)
	}
	switch {
	case known:
		return nil, found, nil
	case k.flight != nil:
		return k.flight, found, nil
	case !count || k.failed != nil: // the key may be one that could not be fetched
		return nil, found, k.unreachable()
	}
	return nil, found, invalid("its key is none of its issuer's")
}

// matching returns the keys of an id and algorithm. It needs mu.
func (k *keySet) matching(id, algorithm string) (found jose.VerificationKeySet) {
	for _, key := range k.keys {
		if (id == "" || key.id == id) && slices.Contains(key.algorithms, algorithm) {
			found.Keys = append(found.Keys, key.public)
		}
	}
	return found
}

// unreachable is the error of a token whose key cannot be had.
func (k *keySet) unreachable() error {
	return &gateway.TokenError{Code: gateway.CannotJudge, Reason: "the keys of the issuer cannot be fetched now"}
}

// begin begins a fetch. It outlasts the request that needs it, since others wait for it too. It needs mu.
func (k *keySet) begin(ctx context.Context, now time.Time) {
	if k.closed {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchLimit)
	flight := make(chan struct{})
	k.flight, k.cancel, k.tried = flight, cancel, now
	k.busy.Go(func() {
		defer cancel()
		keys, err := k.fetch(ctx)
		k.end(keys, err)
		close(flight)
	})
}

// end takes the keys that were fetched, or keeps those that there are. The person who runs the gateway hears of a
// failure once.
func (k *keySet) end(keys []key, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.flight = nil
	if err == nil {
		k.keys, k.got = keys, k.now()
	} else if !k.closed && (k.failed == nil || k.failed.Error() != err.Error()) {
		k.notice("the keys of the issuer " + k.issuer + " cannot be fetched: " + err.Error() +
			". Its tokens cannot be checked without them; keys that were fetched before count for a day.")
	}
	k.failed = err
}

// close ends a fetch that runs, and returns when it has.
func (k *keySet) close() {
	k.mu.Lock()
	k.closed = true
	if k.failed == nil {
		k.failed = errors.New("the gateway is ending")
	}
	if k.cancel != nil {
		k.cancel()
	}
	k.mu.Unlock()
	k.busy.Wait()
}
