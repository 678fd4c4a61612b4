package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// served is a mcpl serve that runs.
type served struct {
	cmd *exec.Cmd
	url string // empty over stdio
	in  io.WriteCloser
	out *bufio.Reader
}

// serve starts mcpl serve.
func (b *bench) serve(ctx context.Context, p place, args ...string) (*served, error) {
	s := &served{cmd: exec.CommandContext(ctx, b.mcpl, append([]string{"serve"}, args...)...)}
	s.cmd.Dir, s.cmd.Env = p.dir, p.environ
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if !slices.Contains(args, "--http") {
		return s, s.ask(hello, `"id":1`)
	}
	line, err := bufio.NewReader(stderr).ReadString('\n')
	_, rest, ok := strings.Cut(line, "listening on ")
	if s.url, _, _ = strings.Cut(rest, ";"); !ok {
		return nil, errors.Join(fmt.Errorf("mcpl serve said %q", line), err, s.end())
	}
	return s, nil
}

// ask sends a message over stdio and waits for the one with this text.
func (s *served) ask(message, text string) error {
	if _, err := io.WriteString(s.in, message+"\n"); err != nil {
		return err
	}
	for {
		line, err := s.out.ReadString('\n')
		if err != nil || strings.Contains(line, text) {
			return err
		}
	}
}

// end ends it.
func (s *served) end() error {
	_ = s.in.Close()                          // over HTTP it does not read
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	return s.cmd.Wait()
}

// What start measures.
const (
	startServers = 45
	idleFor      = 10 * time.Second
)

// start measures the first list after a start with a warm index, the memory then, and what a gateway without clients
// costs.
func (b *bench) start(ctx context.Context) (err error) {
	p, err := b.scripted("start", startServers,
		mcptest.Script{Generate: &mcptest.Generate{Count: 20, DescriptionBytes: 400, Depth: 3}})
	if err != nil {
		return err
	}
	list := exec.CommandContext(ctx, b.mcpl, "list", "--refresh")
	list.Dir, list.Env = p.dir, p.environ
	if out, err := list.CombinedOutput(); err != nil {
		return fmt.Errorf("mcpl list: %w: %s", err, out)
	}
	before, err := os.ReadFile(p.starts)
	if err != nil {
		return err
	}
	version := func() error { return exec.CommandContext(ctx, b.mcpl, "--version").Run() }
	times := make(map[string]*sample)
	const runs = 20
	for range runs {
		if err := timed(times, "mcpl --version", version); err != nil {
			return err
		}
		for _, expose := range []string{"search", "activate", "all"} {
			var s *served
			err := timed(times, expose, func() (err error) {
				if s, err = b.serve(ctx, p, "--daemon", "off", "--expose", expose); err != nil {
					return err
				}
				return s.ask(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, `"id":2`)
			})
			if err != nil {
				return err
			}
			if err := s.end(); err != nil {
				return err
			}
		}
	}
	fmt.Printf("\nfirst tools/list after the start of a process, %d servers with 20 tools in a warm index, %d runs\n",
		startServers, runs)
	for _, name := range []string{"mcpl --version", "search", "activate", "all"} {
		s := times[name]
		fmt.Printf("  %-15s p50 %6.1f ms  p99 %6.1f ms\n", name, s.percentile(50), s.percentile(99))
	}
	if err := b.idle(ctx, p); err != nil {
		return err
	}
	after, err := os.ReadFile(p.starts)
	if err == nil && len(after) != len(before) {
		err = fmt.Errorf("servers were started: %s", after[len(before):])
	}
	return err
}

// timed times f.
func timed(times map[string]*sample, name string, f func() error) error {
	if times[name] == nil {
		times[name] = new(sample)
	}
	began := time.Now()
	err := f()
	times[name].took = append(times[name].took, time.Since(began))
	return err
}

// idle measures the memory of a gateway over HTTP after each exposure was listed, and what it uses of the processor
// without clients.
func (b *bench) idle(ctx context.Context, p place) (err error) {
	s, err := b.serve(ctx, p, "--http", "127.0.0.1:0", "--no-auth", "--expose", "all")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	for _, path := range []string{"/search", "/activate", "/all"} {
		c, err := connect(ctx, way{url: s.url + path, hasSession: true}, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		if err != nil {
			return err
		}
		_, err = c.do()
		if err = errors.Join(err, c.Close()); err != nil {
			return err
		}
	}
	memory, used, err := state(s.cmd.Process.Pid)
	if err != nil {
		return err
	}
	select {
	case <-time.After(idleFor):
	case <-ctx.Done():
		return ctx.Err()
	}
	_, now, err := state(s.cmd.Process.Pid)
	fmt.Printf("\nmcpl serve --http, %d servers listed by three clients: RSS %.1f MB\n"+
		"without clients for %s: %d ms of the processor\n", startServers, float64(memory)/1e6, idleFor,
		(now - used).Milliseconds())
	return err
}

// tick is the unit of times in /proc/PID/stat on every Linux that Go runs on: a hundredth of a second (proc(5)).
const tick = 10 * time.Millisecond

// state returns the resident set of a process in bytes, and the time of the processor that it has used.
func state(pid int) (rss int64, used time.Duration, err error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0, err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	at := func(n int) int64 { // counted as in proc(5), where the name is the second field
		v, wrong := strconv.ParseInt(fields[n-3], 10, 64)
		err = errors.Join(err, wrong)
		return v
	}
	return at(24) * int64(os.Getpagesize()), time.Duration(at(14)+at(15)) * tick, err
}
