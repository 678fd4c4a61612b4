package conn

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"
)

// desk knows the errands of a session while they run, and so whom what a server says is for.
type desk struct {
	mu        sync.Mutex
	errands   []*errand          // oldest first
	tokens    map[string]*errand // by progress token, as JSON
	tasks     map[string]*errand // by the id of the task that a call became
	busy      map[*errand]int    // how many questions it is being asked
	questions map[string]func()  // by the id of the server's request, as JSON: how to give them up
}

func (d *desk) enter(e *errand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.errands = append(d.errands, e)
}

func (d *desk) leave(e *errand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.errands = slices.DeleteFunc(d.errands, func(other *errand) bool { return other == e })
	for token, other := range d.tokens {
		if other == e {
			delete(d.tokens, token)
		}
	}
	for task, other := range d.tasks {
		if other == e {
			delete(d.tasks, task)
		}
	}
	delete(d.busy, e)
}

// expect says that a request whose progress token is id belongs to an errand, until its end.
func (d *desk) expect(id int64, e *errand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tokens == nil {
		d.tokens = make(map[string]*errand)
	}
	d.tokens[strconv.FormatInt(id, 10)] = e
}

// became says that a call of an errand became a task, until the errand's end.
func (d *desk) became(task string, e *errand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tasks == nil {
		d.tasks = make(map[string]*errand)
	}
	d.tasks[task] = e
}

// owner returns the errand with a progress token, or nil.
func (d *desk) owner(token []byte) *errand {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.tokens[string(token)]
}

// addressee returns the errand that a message is for which came under ctx: the one in whose stream
// it came, else the oldest one that has an audience. It is nil where there is none.
func (d *desk) addressee(ctx context.Context) *errand {
	if e := errandOf(ctx); e != nil {
		return e
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.errands {
		if e.audience != nil {
			return e
		}
	}
	return nil
}

// respondent returns the errand that a question is for which came under ctx, and counts it as asked
// until [desk.replied]. Where neither the stream nor the task says so, it is the oldest one that has an
// audience and is not being asked something else: the call that a question belongs to waits for its answer.
func (d *desk) respondent(ctx context.Context, task string) *errand {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := cmp.Or(errandOf(ctx), d.tasks[task], d.free())
	if e == nil {
		return nil
	}
	if d.busy == nil {
		d.busy = make(map[*errand]int)
	}
	d.busy[e]++
	return e
}

// free returns the oldest errand that has an audience, best one that is not being asked anything.
func (d *desk) free() *errand {
	var first *errand
	for _, e := range d.errands {
		switch {
		case e.audience == nil:
		case d.busy[e] == 0:
			return e
		case first == nil:
			first = e
		}
	}
	return first
}

// replied says that an errand, if it is one, is not being asked any more.
func (d *desk) replied(e *errand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy[e] <= 1 {
		delete(d.busy, e)
		return
	}
	d.busy[e]--
}

// asked notes how to give up the question with that id.
func (d *desk) asked(id string, giveUp func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.questions == nil {
		d.questions = make(map[string]func())
	}
	d.questions[id] = giveUp
}

// answered forgets the question with that id.
func (d *desk) answered(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.questions, id)
}

// withdraw gives up the question with that id, if there is one.
func (d *desk) withdraw(id string) {
	d.mu.Lock()
	giveUp := d.questions[id]
	d.mu.Unlock()
	if giveUp != nil {
		giveUp()
	}
}
