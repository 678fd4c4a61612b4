//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// held is what a process holds.
type held struct {
	files, threads, rss int
}

// holds returns what a process holds.
func holds(t *testing.T, pid int) (h held) {
	t.Helper()
	dir := "/proc/" + strconv.Itoa(pid)
	files, err := os.ReadDir(dir + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	h.files = len(files)
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		key, value, _ := strings.Cut(line, ":")
		n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
		switch key {
		case "Threads":
			h.threads = n
		case "VmRSS":
			h.rss = n << 10
		}
	}
	return h
}

// TestServeAbandoned: clients that open as many sessions as there may be, and streams and calls, and are killed, leave
// no process, thread or descriptor behind, and little memory until their sessions expire.
func TestServeAbandoned(t *testing.T) {
	t.Parallel()
	clients, each := 4, 2500
	if raced {
		each = 100
	}
	h := newHome(t, servedScript())
	s := h.serveHTTP(t, "--expose", "all")
	call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"s_odd","arguments":{"a":1}}}`
	s.is(s.ask("POST", call), 200, oddResult)
	starts, before := len(mcptest.Lines(t, h.starts)), holds(t, s.pid)
	for range 2 {
		var hoards []*exec.Cmd
		var said []*bufio.Reader
		for range clients {
			cmd := exec.Command("hoard", s.url, strconv.Itoa(each/2))
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := cmd.StdinPipe(); err != nil { // open until it is killed
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = cmd.Process.Kill() // it was killed, unless the test failed
				_ = cmd.Wait()
			})
			hoards, said = append(hoards, cmd), append(said, bufio.NewReader(out))
		}
		for _, out := range said {
			if line, err := out.ReadString('\n'); line != "ready\n" {
				t.Fatalf("a client said %q, %v", line, err)
			}
		}
		if now := holds(t, s.pid); now.files < before.files+clients*each/200 {
			t.Errorf("the streams are not open: %+v, before %+v", now, before)
		}
		s.is(s.ask("POST", call), 200, oddResult)
		for _, cmd := range hoards {
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	// A connection of this client may be kept open. A session costs 1.4 kB (pkg/gateway/web), its request more for a
	// moment, and the collector lets the heap grow to twice of what is in use.
	const own, heap = 4, 48 << 20
	mcptest.Eventually(t, func() (string, bool) {
		now := holds(t, s.pid)
		return fmt.Sprintf("%+v, before %+v", now, before), now.files <= before.files+own && now.threads <= before.threads+20 &&
			now.rss <= before.rss+heap
	})
	s.is(s.ask("POST", call), 200, oddResult)
	if now := len(mcptest.Lines(t, h.starts)); now != starts {
		t.Errorf("%d servers were started, %d before", now, starts)
	}
}

// TestServeKilled: a gateway over stdio that is killed leaves no server behind.
func TestServeKilled(t *testing.T) {
	t.Parallel()
	h := newHome(t, servedScript())
	cmd, _, _ := h.mcpl(t, "serve", "--expose", "all", "--daemon", "off")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, hello+"\n"+`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"s_hang"}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	mcptest.Wait(t, "the call reaches its server", func() bool {
		return strings.Contains(strings.Join(mcptest.Lines(t, h.received), "\n"), `"tools/call"`)
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for _, line := range mcptest.Lines(t, h.starts) {
		word, _, _ := strings.Cut(line, " ")
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		mcptest.WaitGone(t, pid)
	}
}
