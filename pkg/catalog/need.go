package catalog

import (
	"cmp"
	"slices"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/index"
)

// Need says what a request needs of the index.
type Need struct {
	// Servers in question. If nil, all of them. If empty but not nil, none: no server is listed.
	Servers []string
	// List says which of these servers are listed before the index is read.
	List List
	// Keep says that the servers are called next. Else a server that was started to be listed ends right after.
	Keep bool
}

// List says which servers have to be listed for a request.
type List int

// The zero value is what most requests need.
const (
	// ListExpired lists servers that were never listed, whose entry has changed, or whose list has expired for longer
	// than the grace period.
	ListExpired List = iota
	// ListFailed also lists servers that failed last time, however recently.
	ListFailed
	// ListDue also lists servers whose list has expired, and servers that failed some time ago. It is the work of a
	// background refresh: if another process is writing the index, Ensure fails with ErrBusy.
	ListDue
	// ListAll lists every server, however fresh its list is.
	ListAll
	// ListChanged lists every server once more, and replaces the index only if it offers something else now. A failure
	// changes nothing and is the error of Ensure: a request that needs the server will say what is wrong with it.
	ListChanged
)

const (
	// retryAfter is how long a server that failed is left alone by requests that do not name it. Its last good list
	// stays searchable meanwhile.
	retryAfter = 10 * time.Minute
	// minTTL bounds a TTL from below: a search must not start a server again that says its list is valid for a second.
	minTTL = time.Minute
)

func (n Need) covers(server string) bool {
	return n.Servers == nil || slices.Contains(n.Servers, server)
}

// urgency says when a server has to be listed.
type urgency int

const (
	notDue   urgency = iota
	dueLater         // its list has expired, but still serves
	dueNow           // before anything is answered
)

// due says when a server has to be listed. A list that is older than its TTL serves for the grace period. A failure
// serves for ever: a request must not wait, every ten minutes, for a server that is down. tried reports whether a
// listing was started after the request came, and has ended.
func (c *Catalog) due(s *index.Facts, tried bool, need Need, clock time.Time) urgency {
	late := dueLater
	switch need.List {
	case ListAll, ListChanged:
		if tried {
			return notDue
		}
		return dueNow
	case ListDue:
		late = dueNow
	}
	ttl := max(cmp.Or(s.TTL, c.opt.Settings.TTL), minTTL)
	switch {
	case s.State == index.Listed && passed(s.ListedAt, clock, ttl+c.opt.Settings.Grace):
		return dueNow
	case s.State == index.Listed && passed(s.ListedAt, clock, ttl):
		return late
	case s.State == index.Listed:
		return notDue
	case s.State != index.Failed:
		return dueNow
	case needsChange(s.Error):
		return notDue
	case need.List == ListFailed && !tried:
		return dueNow
	case passed(s.TriedAt, clock, retryAfter):
		return late
	}
	return notDue
}

// needsChange reports whether only another configuration, environment or approval can mend a failure.
func needsChange(f *fault.Fault) bool {
	return f != nil && (f.Type == fault.MissingVariable || f.Type == fault.ApprovalRequired)
}

// passed reports whether d has passed since t. A time in the future (the clock was set back) counts as long ago.
func passed(t, now time.Time, d time.Duration) bool {
	age := now.Sub(t)
	return age >= d || age < -time.Minute
}
