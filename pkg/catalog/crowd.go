package catalog

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// crowd bounds how many servers are started at a time. A server has a place from its start until it was listed, and if
// it was only listed until it has ended. Places are given in the order in which they were asked for.
//
// Forty-five servers that start at once on two busy cores all take longer than the connect limit. Four at a time take a
// few seconds each, and no longer in all.
type crowd struct {
	room int // for so many servers

	mu    sync.Mutex
	taken int // of room
	queue []*place
	tally tally
}

// tally is what happened since the crowd was last empty.
type tally struct {
	started int           // servers that had a place
	slowest time.Duration // to answer, of the servers that did so among others
	silent  int           // servers that did not answer in time although they were tried alone
}

// place is the right to start one server.
type place struct {
	crowd *crowd
	size  int           // 1, or all the room for a server that is tried alone
	given chan struct{} // closed when the server may start
}

// cores is how many processes run at the same time.
func cores() int { return runtime.GOMAXPROCS(0) }

// newCrowd returns a crowd with this room. Zero means twice the cores, since servers also wait for files and networks,
// and at least four.
func newCrowd(room int) *crowd {
	if room == 0 {
		room = max(4, 2*cores())
	}
	return &crowd{room: room}
}

// enter asks for a place. The caller waits for it, and leaves it in any case.
func (c *crowd) enter() *place {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken == 0 && len(c.queue) == 0 {
		c.tally = tally{}
	}
	p := c.add(1)
	c.give()
	return p
}

// add puts a new place into the queue. It needs mu.
func (c *crowd) add(size int) *place {
	p := &place{crowd: c, size: size, given: make(chan struct{})}
	c.queue = append(c.queue, p)
	return p
}

// give gives places in their order. It needs mu.
func (c *crowd) give() {
	for len(c.queue) > 0 && c.taken+c.queue[0].size <= c.room {
		p := c.queue[0]
		c.queue = c.queue[1:]
		c.taken += p.size
		if p.size == 1 {
			c.tally.started++
		}
		close(p.given)
	}
}

// wait waits until the place is given. Else the error is that of ctx.
func (p *place) wait(ctx context.Context) error {
	select {
	case <-p.given:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave gives the place back, whether it was given or not.
func (p *place) leave() {
	p.crowd.mu.Lock()
	defer p.crowd.mu.Unlock()
	p.end()
}

// alone exchanges the place, which was given, for all the room, behind all that wait already.
func (p *place) alone() *place {
	p.crowd.mu.Lock()
	defer p.crowd.mu.Unlock()
	all := p.crowd.add(p.crowd.room)
	p.end()
	return all
}

// end ends the use of the place. It needs mu.
func (p *place) end() {
	c := p.crowd
	if i := slices.Index(c.queue, p); i >= 0 {
		c.queue = slices.Delete(c.queue, i, i+1)
	} else {
		c.taken -= p.size
	}
	c.give()
}

// note notes how long the server of the place took to answer, or that it did not answer in time.
func (p *place) note(a answer) {
	p.crowd.mu.Lock()
	defer p.crowd.mu.Unlock()
	t, alone := &p.crowd.tally, p.size > 1
	switch {
	case a.err == nil && !alone:
		t.slowest = max(t.slowest, a.took)
	case alone && fault.Is(a.err, fault.Timeout):
		t.silent++
	}
}

// blame reports whether one of the servers may have been silent for limit only because so many were started. That is
// not so if others answered in a fraction of the time. The first servers that are tried alone tell whether it is worth
// to try others: again is false once one of them was silent too, or two if a server has answered among others. Without
// that end, servers that hang would cost the limit one after another.
func (c *crowd) blame(limit time.Duration) (started int, may, again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, most := c.tally, 1
	if t.slowest > 0 {
		most = 2
	}
	may = t.started > c.room/2 && (t.slowest == 0 || t.slowest >= limit/4)
	return t.started, may, may && t.silent < most
}

// inTurn lists a server in its place. If the server is silent, and the crowd may be why, inTurn tries it once more,
// alone.
func (c *Catalog) inTurn(ctx context.Context, p *place, server string,
	list func(context.Context) answer) answer {
	defer func() { p.leave() }()
	if p.wait(ctx) != nil {
		return answer{err: Interrupted(ctx)}
	}
	a := list(ctx)
	p.note(a)
	if !fault.Is(a.err, fault.Timeout) {
		return a
	}
	p = p.alone()
	if p.wait(ctx) != nil {
		return a
	}
	started, may, again := p.crowd.blame(a.took)
	while := fmt.Sprintf("while %d servers were started on %d cores", started, cores())
	switch f := *fault.From(a.err); {
	case !may, !again && f.Reason != "": // its own words tell more than the crowd
		return a
	case !again:
		f.Message += " " + while
		f.Help, f.Next = "The machine may be too busy for so many.", nil
		a.err = f.Then("When it has less to do, ask them again with", fault.Step{Verb: "list", Args: []string{"--refresh"}})
		return a
	}
	c.opt.Events.Verbose(server, "silent "+while+"; it is tried once more, alone")
	a = list(ctx)
	p.note(a)
	if fault.Is(a.err, fault.Timeout) {
		a.err = fault.From(a.err).Trace("it was silent alone, and before that " + while)
	}
	return a
}
