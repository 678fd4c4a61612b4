package conn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Bounds of the time between two looks at a task.
const (
	minPoll     = 100 * time.Millisecond
	maxPoll     = 30 * time.Second
	defaultPoll = time.Second
)

// task is the state of a task (MCP 2025-11-25, basic/utilities/tasks). From 2026-07-28 on, in the extension of
// SEP-2663, the state itself holds the outcome and the input that the task waits for.
type task struct {
	ID       string                   `json:"taskId"`
	Status   mcp.TaskStatus           `json:"status"`
	Message  string                   `json:"statusMessage"`
	Poll     *float64                 `json:"pollInterval"` // ms
	PollMs   *float64                 `json:"pollIntervalMs"`
	Result   json.RawMessage          `json:"result"`
	Error    *mcp.JSONRPCErrorDetails `json:"error"`
	Requests json.RawMessage          `json:"inputRequests"`
}

// takesTasks reports whether a call may ask to become a task, as until 2025-11-25.
func (s *session) takesTasks() bool {
	t := s.offers.Tasks
	return !s.modern() && t != nil && t.Requests != nil && t.Requests.Tools != nil && t.Requests.Tools.Call != nil
}

// taskIn reads the result of a call that became a task.
func taskIn(raw json.RawMessage) (task, error) {
	var created struct {
		Task *task `json:"task"` // until 2025-11-25
		task
	}
	err := json.Unmarshal(raw, &created)
	if created.Task != nil {
		created.task = *created.Task
	}
	if err != nil || created.ID == "" {
		return task{}, &breach{what: "the task that it made of the call is not what the protocol says", cause: err}
	}
	return created.task, nil
}

// interval returns the wait before the next tasks/get.
func (t task) interval() time.Duration {
	ms := cmp.Or(t.PollMs, t.Poll)
	if ms == nil {
		return defaultPoll
	}
	bounded := min(max(*ms, float64(minPoll/time.Millisecond)), float64(maxPoll/time.Millisecond))
	return time.Duration(bounded * float64(time.Millisecond))
}

// follow waits for a task's outcome, and cancels it if the call is given up. Signs of life restart the call's limit.
func (s *session) follow(ctx context.Context, c *call, created json.RawMessage) (json.RawMessage, error) {
	t, err := taskIn(created)
	if err != nil {
		return nil, err
	}
	s.log("it made task %s of it", t.ID)
	s.router.became(t.ID, c)
	raw, err := s.outcomeOf(ctx, c, t)
	if errors.Is(err, errSessionEnded) { // which did not answer the call
		err = lost(err)
	}
	if err != nil && ctx.Err() != nil {
		// The call has ended; this is its last request.
		late, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), goodbyeTimeout, errTimeout)
		defer cancel()
		_, _ = s.request(late, c, string(mcp.MethodTasksCancel), taskParams(t.ID)) // the call has failed already
	}
	return raw, err
}

func taskParams(id string) []tool.Field { return []tool.Field{{Key: "taskId", Value: tool.Quote(id)}} }

// outcomeOf polls a task until it has an outcome.
func (s *session) outcomeOf(ctx context.Context, c *call, t task) (json.RawMessage, error) {
	id, said := t.ID, ""
	given := map[string]bool{} // input, by key
	result := &taskResult{came: make(chan struct{})}
	ctx, giveUp := context.WithCancel(ctx)
	defer result.wg.Wait()
	defer giveUp()
	ask := func() (json.RawMessage, error) {
		return s.request(ctx, c, string(mcp.MethodTasksResult), taskParams(id))
	}
	for {
		if words := cmp.Or(t.Message, string(t.Status)); words != said {
			said = words
			s.log("task %s: %s", id, words)
			words = s.server.Mask(words)
			words = words[:min(len(words), maxNote)]
			c.enqueue(func(a tool.Audience) { a.Progress(tool.Progress{Message: words}) })
		}
		switch {
		case t.Status.IsTerminal() && s.modern():
			return t.ending()
		case t.Status.IsTerminal():
			result.begin(ask)
			<-result.came
			return result.raw, result.err
		case t.Status == mcp.TaskStatusInputRequired && s.modern():
			if err := s.update(ctx, c, t, given); err != nil {
				return nil, err
			}
		case t.Status == mcp.TaskStatusInputRequired:
			// "When the requestor encounters the input_required status, it SHOULD preemptively call
			// tasks/result" (MCP 2025-11-25, tasks): over HTTP its stream brings the questions.
			result.begin(ask)
		}
		if woken, err := s.sleep(ctx, t.interval(), result.came); err != nil {
			return nil, err
		} else if woken {
			return result.raw, result.err
		}
		raw, err := s.request(ctx, c, string(mcp.MethodTasksGet), taskParams(id))
		if err != nil {
			return nil, err
		}
		c.clock.renew()
		t = task{}
		if err := json.Unmarshal(raw, &t); err != nil {
			return nil, &breach{what: "its answer to tasks/get is not what the protocol says", cause: err}
		}
		t.ID = id
	}
}

// taskResult is a tasks/result under way, beside which the task is polled as before.
type taskResult struct {
	once sync.Once
	wg   sync.WaitGroup
	came chan struct{} // closed when raw and err are set
	raw  json.RawMessage
	err  error
}

// begin sends the request, once. The goroutine ends with its answer or with ctx.
func (r *taskResult) begin(request func() (json.RawMessage, error)) {
	r.once.Do(func() {
		r.wg.Go(func() {
			defer close(r.came)
			r.raw, r.err = request()
		})
	})
}

// ending returns the outcome that the state of a task holds.
func (t task) ending() (json.RawMessage, error) {
	switch {
	case t.Status == mcp.TaskStatusCompleted && t.Result != nil:
		return t.Result, nil
	case t.Error != nil:
		return nil, &refusal{method: methodCall, details: *t.Error}
	}
	return nil, &breach{what: fmt.Sprintf("its task ended as %s without saying more", t.Status)}
}

// update gives a task the input that it waits for, each input once.
func (s *session) update(ctx context.Context, c *call, t task, given map[string]bool) error {
	requests, err := tool.SplitObject(orEmpty(t.Requests))
	if err != nil {
		return &breach{what: "the input that its task requires is not what the protocol says", cause: err}
	}
	var fresh []tool.Field
	for _, r := range requests {
		if !given[r.Key] {
			given[r.Key] = true
			fresh = append(fresh, r)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	responses, err := s.fulfil(ctx, c, fresh)
	if err != nil {
		return err
	}
	params := append(taskParams(t.ID), tool.Field{Key: "inputResponses", Value: responses})
	_, err = s.request(ctx, c, "tasks/update", params)
	return err
}
