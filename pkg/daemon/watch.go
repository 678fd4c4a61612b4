package daemon

import (
	"context"
	"slices"
	"time"
)

// watchEvery is how often files are looked at while servers run.
const watchEvery = 2 * time.Second

// watch has the hub follow the configuration, as a request would, also while nothing is asked, and
// looks after the socket: an unreachable daemon keeps others from starting. It ends with ctx.
func (d *server) watch(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.hub.started:
		}
		ticker := time.NewTicker(d.opt.watchEvery)
		for d.look() {
			d.checkSocket()
			select {
			case <-ctx.Done():
				ticker.Stop()
				return
			case <-ticker.C:
			}
		}
		ticker.Stop()
	}
}

// look looks once at the files of those that servers run for, and reports whether there are any.
func (d *server) look() bool {
	wanted := d.hub.origins()
	var looked []*origin
	d.mu.Lock()
	for _, o := range d.origins {
		if slices.Contains(wanted, o.id) {
			looked = append(looked, o)
		}
	}
	d.mu.Unlock()
	for _, o := range looked {
		cfg, complaint := o.look()
		if complaint != "" {
			d.log(logName, "the configuration is left as it was: "+complaint)
		}
		if cfg != nil {
			d.hub.follow(o.id, func(name string) string { return o.keyIn(cfg, name) })
		}
	}
	return len(wanted) > 0
}

// forget forgets origins that no server runs for.
func (d *server) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	wanted := d.hub.origins()
	for key, o := range d.origins {
		if !slices.Contains(wanted, o.id) && time.Since(o.used) > originMemory {
			delete(d.origins, key)
		}
	}
}
