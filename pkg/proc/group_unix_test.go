//go:build unix

package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// However stubborn a process and its descendants are, all of them are dead once Close returns.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	stubborn := &mcptest.Grandchild{IgnoreTerm: true}
	for _, tt := range []struct {
		name    string
		script  mcptest.Script
		state   string // of the process, as Wait's error
		atLeast time.Duration
	}{
		{"well-behaved", mcptest.Script{}, "", 0},
		{"ignores the end of stdin", mcptest.Script{IgnoreEOF: true}, "signal: terminated", ExitGrace},
		{"ignores SIGTERM too", mcptest.Script{IgnoreEOF: true, IgnoreTerm: true},
			"signal: killed", ExitGrace + TermGrace},
		{"leaves a grandchild", mcptest.Script{Grandchild: &mcptest.Grandchild{}}, "", 0},
		{"leaves a stubborn grandchild", mcptest.Script{Grandchild: stubborn}, "", 0},
		{"all of it", mcptest.Script{IgnoreEOF: true, IgnoreTerm: true, Grandchild: stubborn},
			"signal: killed", ExitGrace + TermGrace},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			tt.script.Starts = filepath.Join(dir, "starts")
			files := []string{tt.script.Starts}
			if tt.script.Grandchild != nil {
				own := *tt.script.Grandchild
				own.PID = filepath.Join(dir, "grandchild")
				tt.script.Grandchild = &own
				files = append(files, tt.script.Grandchild.PID)
			}
			tt.script.Start.Noise = []string{"x"}
			p := started(t, tt.script, Options{})
			// Once it writes, it ignores what it is to ignore and has its descendants.
			if _, err := p.Stdout.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			before := time.Now()
			p.Close(CloseOptions{})
			if took := time.Since(before); took < tt.atLeast || took > tt.atLeast+10*time.Second {
				t.Errorf("Close took %v", took)
			}
			got := ""
			if err := p.State().Err; err != nil {
				got = err.Error()
			}
			if got != tt.state {
				t.Errorf("it ended with %q, want %q", got, tt.state)
			}
			for _, file := range files {
				if pid := mcptest.WaitPID(t, file); mcptest.Alive(pid) {
					t.Errorf("process %d of %s runs on", pid, filepath.Base(file))
				}
			}
		})
	}
}

// Descendants of a process that ends by itself end too, without a Close.
func TestOrphansEnd(t *testing.T) {
	t.Parallel()
	for name, stubborn := range map[string]bool{"mild": false, "stubborn": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "grandchild")
			p := started(t, mcptest.Script{Grandchild: &mcptest.Grandchild{PID: file, IgnoreTerm: stubborn}}, Options{})
			pid := mcptest.WaitPID(t, file)
			p.Stdin.Close()
			<-p.Ended()
			if mcptest.Alive(pid) {
				t.Errorf("process %d runs on", pid)
			}
		})
	}
}

// CloseOptions.Grace is the wait for the exit, and CloseOptions.Hurry replaces it, in both directions.
func TestHurry(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		grace    time.Duration
		hurry    time.Duration // below zero: none
		min, max time.Duration
	}{
		{"hurry, shorter", 0, 0, 0, ExitGrace},
		{"hurry, longer", 0, ExitGrace + 200*time.Millisecond, ExitGrace + 200*time.Millisecond, time.Minute},
		{"grace, shorter", 50 * time.Millisecond, -1, 50 * time.Millisecond, ExitGrace},
		{"grace, longer", 2 * ExitGrace, -1, 2 * ExitGrace, time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			best := time.Hour
			for range 5 { // on a busy machine signals take their time
				p := started(t, mcptest.Script{IgnoreEOF: true}, Options{})
				hurry := make(chan time.Duration, 1)
				if tt.hurry >= 0 {
					hurry <- tt.hurry
				}
				before := time.Now()
				p.Close(CloseOptions{Grace: tt.grace, Hurry: hurry})
				if best = min(best, time.Since(before)); best < tt.min {
					t.Errorf("Close took %v", best)
				}
				if best <= tt.max {
					return
				}
			}
			t.Errorf("Close took %v or more", best)
		})
	}
}

// A zombie whose parent never reaps it, as in a container without an init, counts as gone.
func TestZombiesDoNotCount(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("zombies are told apart by /proc, which this system lacks: ", err)
	}
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = new(syscall.SysProcAttr)
	ownGroup(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !groupAlive(cmd) {
		t.Error("a process that runs does not count")
	}
	killGroup(cmd)
	if !groupEnds(cmd, 10*time.Second) || signalGroup(cmd, 0) != nil {
		t.Error("the zombie counts, or there is none")
	}
	_ = cmd.Wait() // it was killed
	if groupAlive(cmd) {
		t.Error("nothing counts")
	}
}
