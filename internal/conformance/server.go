package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

// How mcpl serve reaches the everything-server.
const (
	stdio     = "stdio"
	sessions  = "http"      // over HTTP, with sessions
	stateless = "stateless" // over HTTP, without
	bridged   = "bridged"   // over HTTP, with sessions, in an older revision than the client's
)

// has reports whether clients of a revision are served in a mode. The newest one has no sessions.
func has(mode, revision string) bool {
	switch mode {
	case sessions:
		return revision != newest
	case bridged:
		return revision == newest
	}
	return true
}

const (
	// serverLimit bounds one scenario, as the suite takes it, startLimit the start of a server.
	serverLimit = 30 * time.Second
	startLimit  = 20 * time.Second
)

// tryServer runs all server scenarios of a revision, or the one that is asked for, against mcpl serve in front of the
// everything-server. mcpl adds nothing to the names of its tools, since the suite calls them by their own.
func (s *suite) tryServer(ctx context.Context, at trial) ([]outcome, error) {
	ctx, cancel := context.WithCancel(ctx) // ends what an error leaves running
	defer cancel()
	dir, err := os.MkdirTemp("", "mcpl-conformance-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	entry, stopServer, err := s.startEverything(ctx, at.mode)
	if err != nil {
		return nil, err
	}
	defer stopServer()
	entry["namespace"] = ""
	if at.revision == newest && at.mode != bridged {
		entry["protocol"] = newest
	}
	u, err := newUser(s.mcpl, dir, entry)
	if err != nil {
		return nil, err
	}
	url, stop, err := u.serve(ctx)
	if err != nil {
		return nil, err
	}
	results := filepath.Join(dir, "results")
	args := []string{program, "server", "--url", url, "--spec-version", at.revision,
		"--timeout", fmt.Sprint(serverLimit.Milliseconds()), "--output-dir", results}
	if s.only != "" {
		args = append(args, "--scenario", s.only)
	} else {
		args = append(args, "--suite", "all")
	}
	said, _ := s.node(ctx, args...).CombinedOutput() // its exit code says that a check failed, as the results do
	log, err := stop()
	if err != nil {
		return nil, err
	}
	outcomes, err := readOutcomes(results, at)
	if err == nil && len(outcomes) == 0 {
		err = errors.New("the suite left no verdict")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", at.place(), err, said)
	}
	outcomes[0].transcript = string(said) + log
	return outcomes, nil
}

// readOutcomes reads the results of a run of many scenarios, each in a folder server-SCENARIO-TIME.
func readOutcomes(dir string, at trial) ([]outcome, error) {
	found, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil {
		return nil, err
	}
	folder := regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)
	outcomes := make([]outcome, 0, len(found))
	for _, path := range found {
		name := folder.FindStringSubmatch(filepath.Base(filepath.Dir(path)))
		if name == nil {
			return nil, fmt.Errorf("the results in %s are of no known scenario", path)
		}
		o := outcome{trial: at}
		o.scenario = name[1]
		if o.checks, err = readChecks(path); err != nil {
			return nil, err
		}
		outcomes = append(outcomes, o)
	}
	return outcomes, nil
}

// startEverything returns the everything-server's entry in the configuration, and starts it if it is to be reached over
// HTTP.
func (s *suite) startEverything(ctx context.Context, mode string) (entry map[string]any, stop func(), err error) {
	if mode == stdio {
		return map[string]any{"command": s.everything}, func() {}, nil
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, nil, err
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, s.everything, "-http", address, fmt.Sprintf("-stateless=%t", mode == stateless))
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill() // it ends by nothing else
		_ = cmd.Wait()         // it says that it was killed
	}
	if err := listens(ctx, address); err != nil {
		stop()
		return nil, nil, fmt.Errorf("the everything-server does not listen: %w\n%s", err, said.String())
	}
	return map[string]any{"type": "http", "url": "http://" + address + "/"}, stop, nil
}

// freeAddress returns an address of this machine at which nothing listens.
func freeAddress(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// listens waits until something listens at an address.
func listens(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// serve starts mcpl serve and returns its URL once it listens. stop ends it and returns what it has said.
func (u *user) serve(ctx context.Context) (url string, stop func() (log string, err error), err error) {
	cmd := exec.CommandContext(ctx, u.mcpl, "--verbose", "--config", u.config, "serve", "--http", "127.0.0.1:0",
		"--no-auth", "--expose", "all")
	cmd.Dir, cmd.Env = filepath.Dir(u.config), u.env
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	lines, first := bufio.NewReader(stderr), ""
	address := regexp.MustCompile(`listening on (http://\S+/mcp)`)
	for err == nil && !address.MatchString(first) {
		var line string
		line, err = lines.ReadString('\n')
		first += line
	}
	rest := make(chan string, 1)
	go func() { // it ends with the process
		more, _ := io.ReadAll(lines)
		rest <- first + string(more)
	}()
	stop = func() (string, error) {
		_ = cmd.Process.Signal(syscall.SIGTERM) // if it has gone, Wait says so
		log := <-rest
		if err := cmd.Wait(); err != nil {
			return log, fmt.Errorf("mcpl serve: %w\n%s", err, log)
		}
		return log, nil
	}
	if err != nil {
		log, ended := stop()
		return "", nil, fmt.Errorf("mcpl serve does not listen: %w\n%s", errors.Join(err, ended), log)
	}
	return address.FindStringSubmatch(first)[1], stop, nil
}
