package web

import (
	"net/http"
	"testing"
)

// TestPlainAnswersAreForgotten: no client can resume a stream that was answered alone, so a session keeps none of it.
func TestPlainAnswersAreForgotten(t *testing.T) {
	t.Parallel()
	s, url, _ := start(t)
	_, id := post(t, url, "", initialize)
	for range 5 {
		if status, _ := post(t, url, id, ping); status != http.StatusOK {
			t.Fatal(status)
		}
	}
	s.mu.Lock()
	began := s.sessions[inside(t, s, id)]
	s.mu.Unlock()
	if err := s.Close(); err != nil { // the last request may still be leaving
		t.Fatal(err)
	}
	if len(began.streams) != 0 {
		t.Errorf("%d streams are kept", len(began.streams))
	}
}

// TestFinishedStreams: what streams that have ended keep is bounded for all of a session, and the newest stay.
func TestFinishedStreams(t *testing.T) {
	t.Parallel()
	s := &session{share: new(holding), streams: make(map[string]*stream), own: newStream("0")}
	add := func(number string, size int) *stream {
		s.last++
		out := newStream(number)
		out.finished = s.trim
		s.streams[number] = out
		if size > 0 {
			out.Answer(make([]byte, size))
		}
		return out
	}
	running := add("1", 0)
	running.Send(make([]byte, maxKept/2))
	add("2", maxKept/2)
	add("3", maxKept/2)
	add("4", maxKept/2)
	add("5", maxKept+1)
	for number, want := range map[string]bool{"1": true, "2": false, "3": true, "4": true, "5": false} {
		if got := s.stream(number) != nil; got != want {
			t.Errorf("stream %s is kept: %v", number, got)
		}
	}
}
