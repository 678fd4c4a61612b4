package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// command is something to be timed: a process, or a function.
type command struct {
	argv []string
	dir  string
	env  []string
	do   func(context.Context) error
}

func (c command) with(args ...string) command {
	c.argv = slices.Concat(c.argv, args)
	return c
}

// usage is what one run cost.
type usage struct {
	wall time.Duration
	rss  int64 // peak resident set in bytes; 0 where the system does not say
}

// run runs the command to its end. A process has to succeed.
func (c command) run(ctx context.Context) (usage, error) {
	if c.do != nil {
		start := time.Now()
		err := c.do(ctx)
		return usage{wall: time.Since(start)}, err
	}
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "MCPL_DAEMON=off") // nothing may be left running
	cmd.Env = append(cmd.Env, c.env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	if err != nil {
		return usage{}, fmt.Errorf("%s: %w\n%s", strings.Join(c.argv, " "), err, stderr.String())
	}
	return usage{wall: wall, rss: peak(cmd.ProcessState)}, nil
}

// peak returns the largest resident set of an ended process.
func peak(state *os.ProcessState) int64 {
	r, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return maxRSS(r)
}

// alternate runs the commands in turn, runs times, after one turn to warm up, so that whatever
// else the machine does falls on all of them.
func alternate(ctx context.Context, runs int, commands ...command) ([][]usage, error) {
	times := make([][]usage, len(commands))
	for turn := range runs + 1 {
		for i, c := range commands {
			u, err := c.run(ctx)
			if err != nil {
				return nil, err
			}
			if turn > 0 {
				times[i] = append(times[i], u)
			}
		}
	}
	return times, nil
}

func median(list []usage) time.Duration {
	walls := make([]time.Duration, len(list))
	for i, u := range list {
		walls[i] = u.wall
	}
	slices.Sort(walls)
	return walls[len(walls)/2]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// exchange is one request with nothing around it: start the server, initialize, ask, read the answer. It does not wait
// for the server to end by itself: some take longer for that than for the answer.
func exchange(ctx context.Context, request string, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		_ = cmd.Process.Kill() // it has answered, or will not
		_ = cmd.Wait()         // reports the kill
	}()
	lines := bufio.NewReader(stdout)
	for _, step := range []struct{ send, id string }{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
			`"clientInfo":{"name":"bench","version":"1"}}}`, `"id":1`},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""},
		{`{"jsonrpc":"2.0","id":2,` + request + `}`, `"id":2`},
	} {
		if _, err := io.WriteString(stdin, step.send+"\n"); err != nil {
			return err
		}
		for step.id != "" {
			line, err := lines.ReadString('\n')
			if err != nil {
				return err
			}
			if strings.Contains(line, step.id) {
				break
			}
		}
	}
	return nil
}
