package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// What many measures.
const (
	manyServers = 45
	manyLoad    = 20          // processes that compute all the time
	manyNeed    = time.Second // of the processor, for a server to start
	manyLimit   = 30 * time.Second
)

// envBurn makes this program compute until its stdin ends.
const envBurn = "BENCHCLI_BURN"

// maybeBurn computes until stdin ends and exits, if this process was started for that.
func maybeBurn() {
	if os.Getenv(envBurn) == "" {
		return
	}
	go func() { // ends with the process
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for n := 0; ; n++ {
		_ = n * n
	}
}

// load starts processes that compute all the time. stop ends them.
func load(self string, n int) (stop func(), err error) {
	var pipes []io.Closer
	var burners []*exec.Cmd
	stop = func() {
		for _, p := range pipes {
			_ = p.Close() // which ends its process
		}
		for _, cmd := range burners {
			_ = cmd.Wait()
		}
	}
	for range n {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), envBurn+"=1", "GOMAXPROCS=2")
		stdin, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			stop()
			return nil, err
		}
		pipes, burners = append(pipes, stdin), append(burners, cmd)
	}
	return stop, nil
}

// needing returns the work of a server that needs the processor for so long to start.
func needing(self string, need time.Duration) (megabytes int, err error) {
	const sample = 256
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf(`MCPTEST_SCRIPT={"start": {"work": %d, "exit": {}}}`, sample))
	if err := cmd.Run(); err != nil {
		return 0, err
	}
	took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return int(sample * need / took), nil
}

// many lists many servers beside much other work, with mcpl and by hand: all at once, each with mcpl's own limit.
func (b *bench) many(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	megabytes, err := needing(self, manyNeed)
	if err != nil {
		return err
	}
	path := filepath.Join(b.dir, "script.json")
	raw, err := json.Marshal(mcptest.Script{Start: mcptest.Behaviour{Work: megabytes}, Tools: []mcptest.Tool{{Name: "t"}}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		return err
	}
	var entries []string
	for i := range manyServers {
		entries = append(entries, fmt.Sprintf(`"server%d": {"command": %q, "env": {"MCPTEST_SCRIPT": %q}}`, i, self, path))
	}
	c, err := b.configured("many", strings.Join(entries, ", "))
	if err != nil {
		return err
	}
	stop, err := load(self, manyLoad)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Printf("%d servers that need the processor for %s each, on %d cores, beside %d processes that always compute\n",
		manyServers, manyNeed, runtime.NumCPU(), manyLoad)
	started := time.Now()
	up, err := c.with("--json", "list", "--refresh").connected(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("  mcpl list --refresh    %2d of %d up, %5.1f s\n", up, manyServers, time.Since(started).Seconds())
	started = time.Now()
	up = byHand(ctx, self, path)
	fmt.Printf("  all at once, by hand   %2d of %d up, %5.1f s\n", up, manyServers, time.Since(started).Seconds())
	return ctx.Err()
}

// connected runs mcpl list and returns how many servers it shows as connected.
func (c command) connected(ctx context.Context) (n int, err error) {
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Env = c.dir, append(os.Environ(), c.env...)
	out, err := cmd.Output()
	var answer struct{ Servers []struct{ Status string } }
	if err = errors.Join(err, json.Unmarshal(out, &answer)); err != nil {
		return 0, err
	}
	for _, s := range answer.Servers {
		if s.Status == "connected" {
			n++
		}
	}
	return n, nil
}

// byHand asks all servers at once for their tools, and returns how many answer within manyLimit.
func byHand(ctx context.Context, self, script string) (up int) {
	ctx, cancel := context.WithTimeout(ctx, manyLimit)
	defer cancel()
	var wg sync.WaitGroup
	answered := make(chan bool, manyServers)
	for range manyServers {
		wg.Go(func() {
			argv := []string{"env", "MCPTEST_SCRIPT=" + script, self}
			answered <- exchange(ctx, `"method":"tools/list"`, argv...) == nil
		})
	}
	wg.Wait()
	for range manyServers {
		if <-answered {
			up++
		}
	}
	return up
}
