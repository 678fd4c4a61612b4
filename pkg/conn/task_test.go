package conn

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// taskTools are tools whose calls become tasks.
func taskTools() []mcptest.Tool {
	ask := &mcptest.Ask{Method: "elicitation/create", Params: askName}
	failure := &mcptest.Error{Code: -32000, Message: "no luck"}
	return []mcptest.Tool{
		{Name: "plain", Text: "done", Task: &mcptest.Task{Polls: 2, PollMs: 1}},
		{Name: "failing", Task: &mcptest.Task{PollMs: 1, Error: failure}},
		{Name: "asking", Replies: true, Task: &mcptest.Task{PollMs: 1, Ask: ask}},
		{Name: "modelling", Task: &mcptest.Task{PollMs: 1, Ask: &mcptest.Ask{Method: "sampling/createMessage"}}},
		{Name: "slow", Task: &mcptest.Task{Polls: 1000, PollMs: 1}},
		{Name: "sleepy", Task: &mcptest.Task{Polls: 1000, PollMs: 1e9}},
		{Name: "needing", Text: "done", Task: &mcptest.Task{}, Behaviour: mcptest.Behaviour{ErrorTimes: 1,
			Error: &mcptest.Error{Code: -32601, Message: "as a task"}}},
		{Name: "odd", Behaviour: mcptest.Behaviour{Result: `{"resultType":"task","task":{"status":"working"}}`}},
	}
}

func TestTasks(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"", "only"} {
		t.Run("modern "+era, func(t *testing.T) {
			t.Parallel()
			received := t.TempDir() + "/received"
			p := newPool(t, scripts{"s": {Modern: era, Received: received, Tools: taskTools()}})
			a := &audience{}
			opt := tool.CallOptions{Task: true, Audience: a}
			if got, err := callFor(t, p, "plain", opt); err != nil || got != "done" {
				t.Errorf("got %s, %v", got, err)
			}
			if got := a.said(); got != "progress 0/0 poll 0\nprogress 0/0 poll 1\nprogress 0/0 poll 2\nprogress 0/0 poll 3" {
				t.Errorf("heard %s", got)
			}
			opt.Audience = &audience{}
			_, err := callFor(t, p, "failing", opt)
			wantFault(t, err, fault.Protocol, "no luck")
			want := `{"action":"accept","content":{"name":"Ann"}}`
			if era != "" {
				want = `{"ask":` + want + `}`
			}
			if got, err := callFor(t, p, "asking", opt); err != nil || got != want {
				t.Errorf("got %s, %v", got, err)
			}
			_, err = callFor(t, p, "odd", opt)
			wantFault(t, err, fault.Protocol, "s broke the protocol: the task that it made of the call is not what the protocol says")
			if era != "" {
				_, err = callFor(t, p, "modelling", opt)
				wantFault(t, err, fault.Protocol, "s did not answer tools/call: it asks for the answer of a language model")
			} else if got, err := callFor(t, p, "needing", tool.CallOptions{}); err != nil || got != "done" {
				t.Errorf("a tool that wants to be a task: got %s, %v", got, err)
			}
			lines := strings.Join(mcptest.Lines(t, received), "\n")
			if strings.Contains(lines, `"task":{}`) != (era == "") || strings.Contains(lines, "tasks/cancel") {
				t.Errorf("received\n%s", lines)
			}
		})
	}
}

// A task that is given up is cancelled, and what it waits for ends at once.
func TestTaskGivenUp(t *testing.T) {
	t.Parallel()
	received := t.TempDir() + "/received"
	p := newPool(t, scripts{"s": {Received: received, Tools: taskTools()}})
	_, err := callFor(t, p, "slow", tool.CallOptions{Task: true, MaxTime: 500 * time.Millisecond})
	wantFault(t, err, fault.Timeout, "s did not finish tools/call within 500ms in all")

	ctx, cancel := context.WithCancel(t.Context())
	a := &hearing{progress: cancel}
	_, err = p.Call(ctx, tool.Ref{Server: "s", Name: "sleepy"}, nil, tool.CallOptions{Task: true, Audience: a})
	wantFault(t, err, fault.Interrupted, "interrupted during tools/call of s")
	if got := strings.Count(strings.Join(mcptest.Lines(t, received), "\n"), "tasks/cancel"); got != 2 {
		t.Errorf("%d tasks cancelled", got)
	}

	closing := &hearing{progress: func() { go p.Close() }}
	_, err = p.Call(t.Context(), tool.Ref{Server: "s", Name: "sleepy"}, nil, tool.CallOptions{Task: true, Audience: closing})
	wantFault(t, err, fault.Interrupted, "interrupted during tools/call of s")
}

// A task that lives is waited for beyond the limit of silence, also while it is asked for its result.
func TestTaskOutlivesTheLimit(t *testing.T) {
	t.Parallel()
	const limit = 2 * time.Second // which takes more polls than pass within it
	tools := []mcptest.Tool{{Name: "long", Text: "done", Task: &mcptest.Task{Polls: 25}},
		{Name: "asking", Text: "done", Task: &mcptest.Task{Ask: &mcptest.Ask{Method: "elicitation/create", Params: askName},
			Busy: mcptest.Duration(5 * limit / 4)}}}
	p := newPool(t, scripts{"s": {Tools: tools}})
	var wg sync.WaitGroup
	for _, tl := range tools {
		wg.Go(func() {
			got, err := callFor(t, p, tl.Name, tool.CallOptions{Task: true, Timeout: limit, Audience: &audience{}})
			if err != nil || got != "done" {
				t.Errorf("%s: got %s, %v", tl.Name, got, err)
			}
		})
	}
	wg.Wait()
}

// hearing calls a function at each sign of progress.
type hearing struct {
	audience
	progress func()
}

func (h *hearing) Progress(tool.Progress) { h.progress() }

func TestTaskIntervals(t *testing.T) {
	t.Parallel()
	ms := func(v float64) *float64 { return &v }
	for _, tt := range []struct {
		t    task
		want time.Duration
	}{
		{task{}, time.Second}, {task{Poll: ms(0)}, minPoll}, {task{Poll: ms(-1e300)}, minPoll},
		{task{PollMs: ms(250.5)}, 250500 * time.Microsecond},
		{task{Poll: ms(1e300)}, maxPoll}, {task{Poll: ms(7), PollMs: ms(700)}, 700 * time.Millisecond},
	} {
		if got := tt.t.interval(); got != tt.want {
			t.Errorf("%+v: %v", tt.t, got)
		}
	}
	if _, err := (task{Status: "completed"}).ending(); err == nil {
		t.Error("a task that ends with nothing has an outcome")
	}
}
