package daemon

import (
	"context"
	"os"
	"runtime"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/host"
)

// Status describes a daemon.
type Status struct {
	PID     int       `json:"pid"`
	Version string    `json:"version"` // its [Identity]
	Started time.Time `json:"started"`
	// Ending says that it takes no requests any more.
	Ending bool `json:"ending,omitempty"`
	// Requests counts the requests to servers that run now, Goroutines all goroutines of the daemon.
	Requests   int                 `json:"requests"`
	Goroutines int                 `json:"goroutines"`
	Servers    []host.ServerStatus `json:"servers"`
}

func (d *daemon) status() Status {
	st := Status{PID: os.Getpid(), Version: d.opt.Identity, Started: d.started, Ending: d.endingFor() > 0,
		Goroutines: runtime.NumGoroutine(), Servers: d.host.Status()}
	for _, s := range st.Servers {
		st.Requests += s.Running
	}
	return st
}

// Ask returns the status of the daemon at place. running is false if none runs. An error is that of a socket that
// cannot be used or does not answer.
func Ask(place Place) (st Status, running bool, err error) {
	s, _, err := connectTo(place, pack(kindQuery, query{Op: opStatus}))
	if absent(err) {
		return Status{}, false, nil
	} else if err != nil {
		return Status{}, false, err
	}
	defer s.close()
	s.readWithin(greetPatience)
	err = s.expect(kindAnswer, &st)
	return st, err == nil, err
}

// Stop asks the daemon at place to end and returns when it and its servers have ended. Running requests may go on for
// 10 s. stopped is false if none ran.
func Stop(ctx context.Context, place Place) (stopped bool, err error) {
	if err = end(ctx, place, opStopNow, 0); absent(err) {
		return false, nil
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return err == nil, err
}
