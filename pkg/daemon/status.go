package daemon

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Status is what a daemon tells of itself.
type Status struct {
	PID     int       `json:"pid"`
	Version string    `json:"version"` // its [Identity]
	Started time.Time `json:"started"`
	// Ending says that it takes no requests any more.
	Ending bool `json:"ending,omitempty"`
	// Requests is how many run now, Goroutines how much goes on inside the daemon.
	Requests   int            `json:"requests"`
	Goroutines int            `json:"goroutines"`
	Servers    []ServerStatus `json:"servers"`
}

// ServerStatus is one server of a daemon.
type ServerStatus struct {
	Name string `json:"name"`
	// State is "busy", "idle", or "crashed" for one that is started again by its next call.
	State string `json:"state"`
	Calls int    `json:"calls"`
	// Running are the calls that run now, Started is when its first request came, and Stops when it
	// ends if nothing is asked.
	Running int       `json:"running,omitempty"`
	Started time.Time `json:"started,omitzero"`
	Stops   time.Time `json:"stops,omitzero"`
	Crash   string    `json:"crash,omitempty"`
}

func (d *server) status() Status {
	st := Status{PID: os.Getpid(), Version: d.opt.Identity, Started: d.started, Ending: d.endingFor() > 0,
		Goroutines: runtime.NumGoroutine(), Servers: d.hub.status()}
	for _, s := range st.Servers {
		st.Requests += s.Running
	}
	return st
}

func (h *hub) status() []ServerStatus {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := []ServerStatus{}
	for _, w := range h.warm {
		s := ServerStatus{Name: w.name, Calls: w.calls}
		switch r := w.run; {
		case r == nil && w.crash == nil:
			continue
		case r == nil:
			s.State, s.Crash = "crashed", w.crash.Message
		case r.users > 0:
			s.State, s.Running, s.Started = "busy", r.users, r.started
		default:
			s.State, s.Started = "idle", r.started
			if !r.keep {
				s.Stops = r.used.Add(r.idle)
			}
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b ServerStatus) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return a.Started.Compare(b.Started)
	})
	return list
}

// Ask returns what the daemon at place says of itself. running is false where none runs. An error
// is that of a socket that cannot be used or does not answer.
func Ask(place Place) (st Status, running bool, err error) {
	s, _, err := greet(place, opFrame(opStatus))
	if err != nil {
		if absent(err) {
			err = nil
		}
		return Status{}, false, err
	}
	defer s.close()
	s.readWithin(greetPatience)
	err = s.readJSON(kindReport, &st)
	return st, err == nil, err
}

// Stop asks the daemon at place to end and returns when it has, its servers too. Requests that run
// may go on for 10 s. stopped is false where none ran.
func Stop(ctx context.Context, place Place) (stopped bool, err error) {
	s, _, err := greet(place, opFrame(opStopNow))
	if err != nil {
		if absent(err) {
			err = nil
		}
		return false, err
	}
	defer s.close()
	s.readWithin(0)
	defer context.AfterFunc(ctx, s.interrupt)()
	if _, _, err = s.read(); errors.Is(err, io.EOF) || errors.Is(err, errReset) {
		return true, nil
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return false, err
}

// Start starts the daemon at place with these arguments of this program, in dir, and returns when
// it listens.
func Start(ctx context.Context, place Place, args []string, dir string) error {
	return spawn(ctx, args, dir, place.Log)
}
