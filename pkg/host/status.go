package host

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// ServerStatus describes one server of a host.
type ServerStatus struct {
	Name string `json:"name"`
	// State is "busy", "idle", or "crashed" if the next call starts the server again.
	State string `json:"state"`
	Calls int    `json:"calls"`
	// Running counts the calls that run now. Started is the time of the first request, and Stops the time at which an
	// idle server stops.
	Running int       `json:"running,omitempty"`
	Started time.Time `json:"started,omitzero"`
	Stops   time.Time `json:"stops,omitzero"`
	Crash   string    `json:"crash,omitempty"`
}

func (v *supervisor) status() []ServerStatus {
	v.mu.Lock()
	defer v.mu.Unlock()
	list := []ServerStatus{}
	for _, srv := range v.servers {
		s := ServerStatus{Name: srv.name, Calls: srv.calls}
		switch r := srv.run; {
		case r == nil && srv.crash == nil:
			continue
		case r == nil:
			s.State, s.Crash = "crashed", srv.crash.Message
		case len(r.uses) > 0:
			s.State, s.Running, s.Started = "busy", len(r.uses), r.started
		default:
			s.State, s.Started = "idle", r.started
			if !r.keepAlive {
				s.Stops = r.used.Add(r.idle)
			}
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b ServerStatus) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), a.Started.Compare(b.Started))
	})
	return list
}
