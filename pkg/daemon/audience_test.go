//go:build linux || darwin

package daemon

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// person is an audience that notes its calls.
type person struct {
	tool.Unable
	elicit func(ctx context.Context, q tool.Question) (tool.Reply, error)

	mu       sync.Mutex
	progress []tool.Progress
	messages []tool.Message
	asking   int
	left     bool // the request has returned
	late     int  // what came after that
}

func (p *person) note(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left {
		p.late++
	}
	change()
}

func (p *person) Progress(v tool.Progress) { p.note(func() { p.progress = append(p.progress, v) }) }
func (p *person) Message(v tool.Message)   { p.note(func() { p.messages = append(p.messages, v) }) }
func (p *person) Elicit(ctx context.Context, q tool.Question) (tool.Reply, error) {
	p.note(func() { p.asking++ })
	defer p.note(func() { p.asking-- })
	return p.elicit(ctx, q)
}

// leave notes that the request has returned and fails where it is still being asked something.
func (p *person) leave(t *testing.T) {
	t.Helper()
	p.note(func() {
		if p.left = true; p.asking > 0 {
			t.Errorf("%d questions are still being asked", p.asking)
		}
	})
}

// untilGone answers when the question is given up.
func untilGone(ctx context.Context, _ tool.Question) (tool.Reply, error) {
	<-ctx.Done()
	return tool.Reply{}, ctx.Err()
}

func TestAudience(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.serve(t.Context(), nil)
	schema := json.RawMessage(`{ "type" : "object", "properties": {"z": {"const": 1.0}, "a": {"title": "<&>"}} }`)
	content := json.RawMessage(`{ "z": 1.0,"a":"<&>` + "\xff" + `" }`)
	progress := []tool.Progress{{Done: 0.5}, {Done: 1, Total: 2, Message: "half"}}
	message := tool.Message{Level: "warning", Logger: "l", Data: json.RawMessage(`{ "x": 1.0 }`)}
	opt := tool.CallOptions{Timeout: time.Minute, MaxTime: time.Hour, Repeatable: true, ReadOnly: true, Task: true,
		Client: "c", Principal: "p", Session: "s", Sampling: true, Known: tool.Known{Protocol: "2025-11-25", Transport: "sse", Asks: true}}
	want := opt
	var both sync.WaitGroup
	h.talk = func(ctx context.Context, ref tool.Ref, got tool.CallOptions) error {
		to := got.Audience
		if got.Audience = nil; !reflect.DeepEqual(got, want) || ref.Server != "s" {
			t.Errorf("%v is asked with %+v", ref, got)
		}
		for _, p := range progress {
			to.Progress(p)
		}
		to.Message(message)
		var wg sync.WaitGroup
		for _, q := range []tool.Question{{Server: "s", Message: "a", Schema: schema},
			{Server: "s", Message: "b", URL: "https://x.test/?a&b"}} {
			wg.Go(func() {
				r, err := to.Elicit(ctx, q)
				wanted := tool.Reply{Action: tool.Accept, Content: content}
				if q.Message == "b" {
					wanted = tool.Reply{Action: tool.Decline}
				}
				if err != nil || !reflect.DeepEqual(r, wanted) {
					t.Errorf("%s is answered %+v, %v", q.Message, r, err)
				}
			})
		}
		wg.Wait()
		return nil
	}
	// Each is answered only when both are open.
	elicit := func(_ context.Context, q tool.Question) (tool.Reply, error) {
		both.Done()
		both.Wait()
		if q.Message == "a" {
			if string(q.Schema) != string(schema) || q.URL != "" || q.Server != "s" {
				t.Errorf("asked %+v", q)
			}
			return tool.Reply{Action: tool.Accept, Content: content}, nil
		}
		if q.Schema != nil || q.URL != "https://x.test/?a&b" {
			t.Errorf("asked %+v", q)
		}
		return tool.Reply{Action: tool.Decline}, nil
	}
	for _, what := range []string{"tool", "resource", "prompt", "list"} {
		both.Add(2)
		p := &person{elicit: elicit}
		opt.Audience = p
		var err error
		switch c := h.client(nil); what {
		case "list":
			_, err = c.List(t.Context(), "s", opt)
		default:
			kind := map[string]tool.Kind{"resource": tool.Resource, "prompt": tool.Prompt}[what]
			_, err = c.Call(t.Context(), tool.Ref{Server: "s", Name: "t", Kind: kind}, nil, opt)
		}
		p.leave(t)
		if err != nil || !reflect.DeepEqual(p.progress, progress) || !reflect.DeepEqual(p.messages, []tool.Message{message}) {
			t.Errorf("%s: %+v, %+v, %v", what, p.progress, p.messages, err)
		}
	}
}

// A client without an audience gets no questions.
func TestNoAudience(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.serve(t.Context(), nil)
	h.talk = func(_ context.Context, ref tool.Ref, opt tool.CallOptions) error {
		if opt.Audience != nil || ref != (tool.Ref{Server: "s", Name: "file:///x", Kind: tool.Resource}) {
			t.Errorf("%+v with %+v", ref, opt)
		}
		return nil
	}
	resource := tool.Ref{Server: "s", Name: "file:///x", Kind: tool.Resource}
	if _, err := h.client(nil).Call(t.Context(), resource, nil, tool.CallOptions{}); err != nil {
		t.Error(err)
	}
}

// A client that cancels, or is gone, or cannot answer, gives its questions up. A server that withdraws a question ends
// it at the client.
func TestGivenUpQuestions(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.serve(t.Context(), nil)
	gone := make(chan error, 3)
	h.talk = func(ctx context.Context, _ tool.Ref, opt tool.CallOptions) error {
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				_, err := opt.Audience.Elicit(context.WithoutCancel(ctx), tool.Question{Message: "well?"})
				gone <- err
			})
		}
		wg.Wait()
		return fault.New(fault.Interrupted, "given up", "")
	}
	check := func(how string, right func(error) bool) {
		t.Helper()
		for range 3 {
			if err := <-gone; !right(err) {
				t.Errorf("%s: %v", how, err)
			}
		}
	}
	isGone := func(err error) bool { return errors.Is(err, errGone) }
	ctx, cancel := context.WithCancel(t.Context())
	var asked atomic.Int64
	p := &person{elicit: func(ctx context.Context, q tool.Question) (tool.Reply, error) {
		if asked.Add(1) == 3 {
			cancel()
		}
		return untilGone(ctx, q)
	}}
	_, err := h.client(nil).Call(ctx, ref, nil, tool.CallOptions{Audience: p})
	p.leave(t)
	if !fault.Is(err, fault.Interrupted) {
		t.Error(err)
	}
	for range 3 { // the client's word, or the end of its request: whichever comes first
		if err := <-gone; err == nil {
			t.Error("cancelled: no error")
		}
	}

	s := h.connect()
	h.handOver(s)
	for range 3 {
		if k, _, err := s.read(); k != kindQuestion || err != nil {
			t.Errorf("%q, %v", k, err)
		}
	}
	s.close()
	check("vanished", isGone)

	p = &person{elicit: func(context.Context, tool.Question) (tool.Reply, error) {
		return tool.Reply{}, errors.New("the terminal is on fire")
	}}
	_, _ = h.client(nil).Call(t.Context(), ref, nil, tool.CallOptions{Audience: p})
	p.leave(t)
	check("cannot", func(err error) bool { return err != nil && err.Error() == "the terminal is on fire" })

	// The server withdraws its question.
	h.talk = func(ctx context.Context, _ tool.Ref, opt tool.CallOptions) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		opt.Audience.Progress(tool.Progress{Done: 1})
		go func() { <-gone; cancel() }()
		_, err := opt.Audience.Elicit(ctx, tool.Question{})
		if gone <- err; !errors.Is(err, context.Canceled) {
			t.Errorf("withdrawn: %v", err)
		}
		<-gone
		return nil
	}
	p = &person{elicit: func(ctx context.Context, q tool.Question) (tool.Reply, error) {
		gone <- nil
		defer func() { gone <- nil }()
		return untilGone(ctx, q)
	}}
	if _, err := h.client(nil).Call(t.Context(), ref, nil, tool.CallOptions{Audience: p}); err != nil {
		t.Error(err)
	}
	p.leave(t)
}

// A request that ends with questions open, because it ran out of time for example, does not wait for answers.
func TestUnansweredQuestion(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.serve(t.Context(), nil)
	asked, given := make(chan struct{}), make(chan error, 1)
	h.talk = func(ctx context.Context, _ tool.Ref, opt tool.CallOptions) error {
		ctx, cancel := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, err := opt.Audience.Elicit(ctx, tool.Question{})
			given <- err
		}()
		<-asked
		cancel()
		<-done
		return fault.New(fault.Timeout, "too late", "")
	}
	p := &person{elicit: func(ctx context.Context, q tool.Question) (tool.Reply, error) {
		close(asked)
		return untilGone(ctx, q)
	}}
	_, err := h.client(nil).Call(t.Context(), ref, nil, tool.CallOptions{Audience: p})
	p.leave(t)
	if !fault.Is(err, fault.Timeout) || <-given == nil {
		t.Error(err)
	}
}

// A client that does not read holds up no server, and loses no answer.
func TestClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.serve(t.Context(), nil)
	done := make(chan struct{})
	h.talk = func(_ context.Context, _ tool.Ref, opt tool.CallOptions) error {
		defer close(done)
		for i := range 20 * maxSideFrames {
			opt.Audience.Message(tool.Message{Data: json.RawMessage(`"` + strings.Repeat("x", 4096) + `"`)})
			opt.Audience.Progress(tool.Progress{Done: float64(i)})
		}
		return nil
	}
	s := h.connect()
	defer s.close()
	h.handOver(s)
	<-done
	for last := -1.0; ; {
		k, payload, err := s.read()
		if err != nil {
			t.Fatal(err)
		}
		var p tool.Progress
		if k == kindProgress && (unpack(payload, &p, &p.Raw) != nil || p.Done <= last) {
			t.Fatalf("%s after %v", payload, last)
		}
		if k == kindProgress {
			last = p.Done
		}
		if k == kindAnswer {
			break
		}
	}
}

// An unexpected frame ends the request: at the client with a fault, in the daemon by cancelling.
func TestStrangeFrames(t *testing.T) {
	t.Parallel()
	for name, strange := range map[string]struct {
		kind    kind
		payload string
		nobody  bool // without an audience
	}{
		"unknown":             {kind: 'z'},
		"the other way":       {kind: kindQuery, payload: "{}"},
		"broken progress":     {kind: kindProgress, payload: packed("[", "")},
		"broken message":      {kind: kindMessage, payload: packed(`{"level":1}`, "{}", "")},
		"broken question":     {kind: kindQuestion, payload: packed(`{"id":"1"}`, "", "")},
		"broken withdrawal":   {kind: kindWithdrawal},
		"nobody to hear":      {kind: kindProgress, payload: packed("{}", ""), nobody: true},
		"nobody to ask":       {kind: kindQuestion, payload: packed("{}", "", ""), nobody: true},
		"result of a listing": {kind: kindAnswer, payload: packed("{}", "[]", "[]", "[]")},
		"empty result":        {kind: kindAnswer},
		"broken fault":        {kind: kindFailure, payload: "["},
		"fault of no type":    {kind: kindFailure, payload: "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			impostor(t, h, func(s *stream) {
				_ = s.send(pack(kindGreeting, greeting{Version: "v1", PID: 1}))
				_, _, _ = s.read()
				if !strange.nobody { // also with a question open
					_ = s.send(pack(kindQuestion, question{ID: 1}, nil, nil))
				}
				_ = s.send(frame{strange.kind, [][]byte{[]byte(strange.payload)}})
				_, _, _ = s.read()
			})
			p := &person{elicit: untilGone}
			opt := tool.CallOptions{Audience: p}
			if strange.nobody {
				opt.Audience = nil
			}
			_, err := h.client(nil).Call(t.Context(), ref, nil, opt)
			p.leave(t)
			if !fault.Is(err, fault.Internal) {
				t.Error(err)
			}
		})
	}
	h := newHome(t)
	h.serve(t.Context(), nil)
	ended := make(chan error)
	h.talk = func(ctx context.Context, _ tool.Ref, _ tool.CallOptions) error {
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return fault.New(fault.Interrupted, "", "")
	}
	for _, f := range []frame{{kind: 'z'}, {kind: kindQuery}, pack(kindReply, []int{})} {
		s := h.connect()
		h.handOver(s)
		// A reply to a question that is not open does no harm.
		if err := errors.Join(s.send(pack(kindReply, reply{ID: 7})), s.send(f)); err != nil {
			t.Fatal(err)
		}
		if cause := <-ended; !errors.Is(cause, errGone) {
			t.Errorf("%q: %v", f.kind, cause)
		}
		s.close()
	}
}

// A daemon that is lost takes its questions with it.
func TestLostWhileAsking(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	asked := make(chan struct{})
	impostor(t, h, func(s *stream) {
		_ = s.send(pack(kindGreeting, greeting{Version: "v1", PID: 1}))
		_, _, _ = s.read()
		_ = s.send(pack(kindQuestion, question{ID: 1}, nil, nil))
		<-asked
	})
	p := &person{elicit: func(ctx context.Context, q tool.Question) (tool.Reply, error) {
		close(asked)
		return untilGone(ctx, q)
	}}
	_, err := h.client(nil).Call(t.Context(), ref, nil, tool.CallOptions{Audience: p})
	p.leave(t)
	if !fault.Is(err, fault.ServerConnection) {
		t.Error(err)
	}
}

// A daemon that goes away while it cancels a request has got the cancel frame. Waiting for the end of a daemon ends
// with the context.
func TestCancelledAndLost(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	running := make(chan struct{}, 1)
	impostor(t, h, func(s *stream) {
		_ = s.send(pack(kindGreeting, greeting{Version: "v1", PID: 1}))
		_, _, _ = s.read()
		running <- struct{}{}
		if k, _, err := s.read(); err == nil && k != kindCancel {
			t.Errorf("%q", k)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-running; cancel() }()
	_, err := h.client(nil).Call(ctx, ref, nil, tool.CallOptions{})
	if !fault.Is(err, fault.Interrupted) {
		t.Error(err)
	}
	other := newHome(t)
	ctx, cancel = context.WithCancel(t.Context())
	asked := make(chan struct{})
	impostor(t, other, func(s *stream) {
		_ = s.send(pack(kindGreeting, greeting{Version: "v0", PID: 1}))
		_, _, _ = s.read()
		close(asked)
		_, _, _ = s.read()
	})
	go func() { <-asked; cancel() }()
	if err := replace(ctx, other.place, time.Hour); !errors.Is(err, errBusyEnding) {
		t.Error(err)
	}
}

// A limit for one write is not one for the whole request: a person may think for longer.
func TestPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer near.Close()
		defer far.Close()
		s := newStream(near, maxFrame)
		s.patience = time.Minute
		if err := s.send(frame{kind: kindBeat}); err == nil {
			t.Error("nobody reads, and it was written")
		}
		time.Sleep(2 * s.patience) // virtual
		go func() { _, _, _ = readFrame(far, maxFrame) }()
		if err := s.send(frame{kind: kindBeat}); err != nil {
			t.Error(err)
		}
	})
}

// latePipe is a pipe on which a greeting comes just after the time limit.
type latePipe struct {
	writeOnly
	in   *bytes.Reader
	over bool
}

func (p *latePipe) SetReadDeadline(t time.Time) error {
	p.over = time.Until(t) < 0
	return nil
}

func (p *latePipe) Read(data []byte) (int, error) {
	if !p.over {
		return 0, os.ErrDeadlineExceeded
	}
	return p.in.Read(data)
}

// A daemon that greets at the last moment may have begun with the request; one that does not, has not.
func TestLateGreeting(t *testing.T) {
	t.Parallel()
	for text, isLost := range map[string]bool{"g\x00\x00\x00\x02{}": true, "": false, "g\x00\x00": false} {
		_, err := readGreeting(newStream(&latePipe{in: bytes.NewReader([]byte(text))}, maxFrame))
		var lost *lostError
		if !errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &lost) != isLost {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzSides has both sides read the frames that a stranger wrote into the socket.
func FuzzSides(f *testing.F) {
	for _, k := range []kind{kindProgress, kindMessage, kindQuestion, kindWithdrawal, kindReply, kindEvent, kindBeat,
		'z'} {
		for _, payload := range []string{"", "1", packed("1"), packed("{}"), packed("{}", "{}"),
			packed(`{"id":1,"server":"s","message":"m"}`, "{}", "{}"), packed(`{"id":1,"ask":"sample"}`, "", "{}"),
			packed(`{"id":1,"action":"accept"}`, "{}", ""), packed(`{"level":"info"}`, "1", "{}")} {
			var b bytes.Buffer
			_ = (&stream{pipe: writeOnly{w: &b}}).send(frame{k, [][]byte{[]byte(payload)}})
			f.Add(append(b.Bytes(), b.Bytes()...))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := &person{elicit: func(context.Context, tool.Question) (tool.Reply, error) {
			return tool.Reply{Action: tool.Accept, Content: []byte("{}")}, nil
		}}
		var sent bytes.Buffer
		s := &stream{pipe: writeOnly{w: &sent}, in: bufio.NewReader(bytes.NewReader(data))}
		_, _ = (&clientRequest{audience: p}).readAnswer(t.Context(), s)
		p.leave(t)
		for { // its replies are sound
			k, payload, err := readFrame(&sent, maxFrame)
			if err != nil {
				break
			}
			var r reply
			var data json.RawMessage
			if k != kindReply || unpack(payload, &r, &r.Content, &data) != nil ||
				string(r.Content) != "{}" && r.Upstream == nil {
				t.Fatalf("%q %s", k, payload)
			}
		}
		frames := make(chan frame, 1)
		a := newRemoteAudience(tool.Capabilities{}, frames, t.Context().Done())
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = a.Elicit(ctx, tool.Question{}) })
		<-frames
		readReplies(&stream{in: bufio.NewReader(bytes.NewReader(data))}, a, cancel)
		wg.Wait()
	})
}

// writeOnly is a connection that can only be written to.
type writeOnly struct {
	pipe
	w *bytes.Buffer
}

func (w writeOnly) Write(data []byte) (int, error)   { return w.w.Write(data) }
func (w writeOnly) SetReadDeadline(time.Time) error  { return nil }
func (w writeOnly) SetWriteDeadline(time.Time) error { return nil }
