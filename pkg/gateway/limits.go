package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// limits bound the calls of principals: those at the same time, and those in a minute by a bucket that holds as many
// and fills up evenly.
type limits struct {
	now    func() time.Time
	shared Shared // nil if there is none

	mu sync.Mutex
	of map[string]*usage // by the principal's identity
}

// usage is what a principal has used of its limits.
type usage struct {
	running int
	used    float64 // calls that the bucket lacks
	at      time.Time
}

func newLimits(now func() time.Time, shared Shared) *limits {
	return &limits{now: now, shared: shared, of: make(map[string]*usage)}
}

// begin begins a call of a principal, or says why it may not begin now. The caller calls end after it. Replicas share
// the bucket, unless they cannot be reached; the calls at the same time are those of this one.
func (l *limits) begin(ctx context.Context, p Principal) (end func(), err error) {
	if p.PerMinute == 0 && p.AtOnce == 0 {
		return func() {}, nil
	}
	wait, err := l.enter(p)
	if err != nil {
		return nil, err
	}
	end = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.of[p.identity()].running--
	}
	if p.PerMinute > 0 && l.shared != nil {
		if shared, err := l.shared.Take(ctx, bucket(p), p.PerMinute); err == nil {
			wait = shared
		}
	}
	if wait > 0 {
		end()
		return nil, fault.New(fault.Usage, fmt.Sprintf("this client may make %d calls in a minute", p.PerMinute),
			fmt.Sprintf("Make the call again in %s.", max(wait.Round(time.Second), time.Second)))
	}
	return end, nil
}

// bucket names the bucket of a principal.
func bucket(p Principal) string {
	sum := sha256.Sum256([]byte(p.identity()))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// enter counts one more call of a principal, and returns how long its bucket has none.
func (l *limits) enter(p Principal) (wait time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	u := l.of[p.identity()]
	if u == nil {
		l.forget(now)
		u = new(usage)
		l.of[p.identity()] = u
	}
	if p.AtOnce > 0 && u.running >= p.AtOnce {
		return 0, fault.New(fault.Usage, fmt.Sprintf("%d calls of this client run already, as many as it may make at once",
			u.running), "Wait for one of them to end, then make the call again.")
	}
	u.running++
	if p.PerMinute == 0 {
		return 0, nil
	}
	perSecond := float64(p.PerMinute) / 60
	u.used = max(0, u.used-now.Sub(u.at).Seconds()*perSecond)
	u.at = now
	if over := u.used + 1 - float64(p.PerMinute); over > 0 {
		return time.Duration(over / perSecond * float64(time.Second)), nil
	}
	u.used++
	return 0, nil
}

// forget removes what is as if it were new: nothing runs, and the bucket is full again. It needs mu.
func (l *limits) forget(now time.Time) {
	for name, u := range l.of {
		if u.running == 0 && now.Sub(u.at) > time.Minute {
			delete(l.of, name)
		}
	}
}
