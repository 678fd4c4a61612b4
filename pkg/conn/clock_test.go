package conn

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Each step happens so many seconds after the one before.
func TestClock(t *testing.T) {
	t.Parallel()
	const sec = time.Second
	renew, pause, resume, stop := (*clock).renew, (*clock).pause, (*clock).resume, (*clock).pause
	type step struct {
		after time.Duration
		do    func(*clock)
	}
	for _, tt := range []struct {
		name        string
		limit, most time.Duration
		steps       []step
		ends        time.Duration
		cause       error
	}{
		{"silence", 10 * sec, 60 * sec, nil, 10 * sec, errTimeout},
		{"progress", 10 * sec, 60 * sec, []step{{9 * sec, renew}, {9 * sec, renew}}, 28 * sec, errTimeout},
		{"progress without end", 10 * sec, 25 * sec, []step{{9 * sec, renew}, {9 * sec, renew}, {6 * sec, renew}}, 25 * sec, errMaxTime},
		{"a limit above the most", 10 * sec, 5 * sec, nil, 5 * sec, errMaxTime},
		{"a limit as the most", 10 * sec, 10 * sec, nil, 10 * sec, errTimeout},
		{"a question", 10 * sec, 20 * sec, []step{{9 * sec, pause}, {90 * sec, resume}}, 109 * sec, errTimeout},
		{"time left after a question", 10 * sec, 20 * sec, []step{{9 * sec, pause}, {90 * sec, resume}, {9 * sec, renew}}, 110 * sec, errMaxTime},
		{"two questions", 10 * sec, 20 * sec, []step{{1 * sec, pause}, {1 * sec, pause}, {90 * sec, resume}, {sec, renew},
			{90 * sec, resume}}, 193 * sec, errTimeout},
		{"stopped", 10 * sec, 20 * sec, []step{{sec, pause}, {sec, stop}, {sec, resume}, {sec, renew}}, 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began, ended := time.Now(), time.Duration(0)
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				c := newClock(tt.limit, tt.most, func(cause error) {
					if cancel(cause); ended == 0 {
						ended = time.Since(began)
					}
				})
				c.start()
				for _, s := range tt.steps {
					time.Sleep(s.after)
					s.do(c)
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if ended != tt.ends || tt.cause != nil && !errors.Is(context.Cause(ctx), tt.cause) ||
					errors.Is(context.Cause(ctx), errMaxTime) != errors.Is(tt.cause, errMaxTime) {
					t.Errorf("ended after %v by %v", ended, context.Cause(ctx))
				}
			})
		})
	}
}

// A question may come before the clock starts: the router knows the call by then.
func TestClockAskedBeforeItStarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		c := newClock(time.Second, time.Minute, cancel)
		c.pause()
		c.start()
		time.Sleep(time.Hour)
		if ctx.Err() != nil {
			t.Error("it ran while a question was open")
		}
		c.resume()
		began := time.Now()
		<-ctx.Done()
		if took := time.Since(began); took != time.Second {
			t.Errorf("ended after %v", took)
		}
		c.pause()
		newClock(time.Second, time.Minute, cancel).pause() // never started
	})
}
