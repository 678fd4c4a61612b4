//go:build linux || darwin

package host

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A pipe in the place of a file, as password managers put for .env, is not read: its client reads it.
func TestPipeForFile(t *testing.T) {
	t.Parallel()
	h := newHome(t, func(o *Options) { o.watchEvery = time.Millisecond })
	h.mustAsk(h.here(), "s")
	if err := syscall.Mkfifo(filepath.Join(h.dir, ".env"), 0o600); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() { answered <- h.ask(h.here(), "b") }()
	select {
	case err := <-answered:
		if !errors.Is(err, ErrDeclined) || !strings.Contains(err.Error(), ".env is not a regular file") {
			t.Errorf("error %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for the pipe")
	}
	e := h.env(h.here(), new(h.here()).key())
	if _, complaint := e.look(); complaint != "" && !strings.Contains(complaint, ".env is not a regular file") {
		t.Errorf("complaint %q", complaint)
	}
}
