package gateway

import (
	"fmt"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// limits bound the calls of principals: those at the same time, and those in a minute by a bucket that holds as many
// and fills up evenly.
type limits struct {
	now func() time.Time

	mu sync.Mutex
	of map[string]*usage // by the principal's name
}

// usage is what a principal has used of its limits.
type usage struct {
	running int
	used    float64 // calls that the bucket lacks
	at      time.Time
}

func newLimits(now func() time.Time) *limits { return &limits{now: now, of: make(map[string]*usage)} }

// begin begins a call of a principal, or says why it may not begin now. The caller calls end after it.
func (l *limits) begin(p Principal) (end func(), err error) {
	if p.PerMinute == 0 && p.AtOnce == 0 {
		return func() {}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	u := l.of[p.Name]
	if u == nil {
		l.forget(now)
		u = new(usage)
		l.of[p.Name] = u
	}
	if p.AtOnce > 0 && u.running >= p.AtOnce {
		return nil, fault.New(fault.Usage, fmt.Sprintf("%d calls of this client run already, as many as it may make at once",
			u.running), "Wait for one of them to end, then make the call again.")
	}
	if p.PerMinute > 0 {
		perSecond := float64(p.PerMinute) / 60
		u.used = max(0, u.used-now.Sub(u.at).Seconds()*perSecond)
		u.at = now
		if over := u.used + 1 - float64(p.PerMinute); over > 0 {
			wait := time.Duration(over / perSecond * float64(time.Second)).Round(time.Second)
			return nil, fault.New(fault.Usage, fmt.Sprintf("this client may make %d calls in a minute", p.PerMinute),
				fmt.Sprintf("Make the call again in %s.", max(wait, time.Second)))
		}
		u.used++
	}
	u.running++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		u.running--
	}, nil
}

// forget removes what is as if it were new: nothing runs, and the bucket is full again. It needs mu.
func (l *limits) forget(now time.Time) {
	for name, u := range l.of {
		if u.running == 0 && now.Sub(u.at) > time.Minute {
			delete(l.of, name)
		}
	}
}
