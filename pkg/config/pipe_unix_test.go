//go:build unix

package config

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// TestPipeWithoutEnd: a pipe that gives nothing, or no end, is given up in virtual time, with what to do about it.
func TestPipeWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		written bool
		within  time.Duration
		message string
	}{
		"without a writer": {false, 6 * time.Second, "it is a pipe, and no program has written into it within 5s"},
		"without an end": {true, 31 * time.Second,
			"it is a pipe, and what writes into it has not finished within 30s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				for _, name := range []string{".env", "named.json"} {
					if err := syscall.Mkfifo(w.path(name), 0o600); err != nil {
						t.Fatal(err)
					}
					if test.written {
						defer openBoth(t, w.path(name), "{").Close()
					}
				}
				w.write(".mcp.json", `{"mcpServers": {}}`)
				began := time.Now()
				cfg, err := w.Load(w.locate(Selection{}))
				if err != nil || len(cfg.Problems) != 1 || cfg.Problems[0].File != w.path(".env") ||
					cfg.Problems[0].Message != "the environment file cannot be read: "+test.message {
					t.Errorf("%+v, %v", cfg, err)
				}
				if took := time.Since(began); took > test.within {
					t.Errorf("waited %s", took)
				}
				if err := os.Remove(w.path(".env")); err != nil {
					t.Fatal(err)
				}
				_, err = w.Load(w.locate(Selection{Configs: []string{"named.json"}}))
				wantFault(t, err, fault.Config, test.message)
			})
		})
	}
}

// TestPipeWithWriter: what a program writes into a pipe counts, also if it comes later and in parts.
func TestPipeWithWriter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.write(".mcp.json", `{"mcpServers": {"s": {"command": "${TOOL}"}}}`)
		if err := syscall.Mkfifo(w.path(".env"), 0o600); err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(2 * time.Second) // virtual
			f := openBoth(t, w.path(".env"), "TOOL=")
			defer f.Close()
			time.Sleep(10 * time.Second) // virtual
			if _, err := f.WriteString("mine\n"); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second) // virtual
		}()
		cfg, err := w.Load(w.locate(Selection{}))
		if err != nil || len(cfg.Problems) != 0 || cfg.Servers[0].Command != "mine" {
			t.Errorf("%+v, %v", cfg, err)
		}
		synctest.Wait()
	})
}

// TestPipeOfShell: the pipe of a shell, whose program has ended without a word, is an empty file at once.
func TestPipeOfShell(t *testing.T) {
	t.Parallel()
	r, wr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := wr.Close(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		data, err := readNamed(fmt.Sprintf("/dev/fd/%d", r.Fd()))
		if err != nil || len(data) != 0 || time.Since(began) != 0 {
			t.Errorf("%q, %v, %s", data, err, time.Since(began))
		}
	})
}

// openBoth opens a pipe for reading and writing, without waiting for another process, and writes a text into it.
func openBoth(t *testing.T, path, text string) *os.File {
	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Error(err)
		return nil
	}
	f := os.NewFile(uintptr(fd), path)
	if _, err := f.WriteString(text); err != nil {
		t.Error(err)
	}
	return f
}
