package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// verdict compares what failed with what was expected to.
type verdict struct {
	// failures are the checks that failed, each once per trial.
	failures []failure
	// stale are the expected failures of which none happened, in no revision.
	stale []string
}

// failure is a check that failed in a trial.
type failure struct {
	trial
	check
	expected bool
}

// judge compares outcomes with the entries SCENARIO and SCENARIO:CHECK of expected. An entry holds in
// every revision and mode. It is stale when nothing that it excuses has failed; where only one scenario
// ran, the entries of others are not judged.
func judge(outcomes []outcome, expected []string, only string) verdict {
	var v verdict
	used := make(map[string]bool)
	for _, o := range outcomes {
		seen := make(map[string]bool) // the suite repeats a check where it looks more than once
		for _, c := range o.checks {
			if !c.failed() || seen[c.ID] {
				continue
			}
			seen[c.ID] = true
			f := failure{trial: o.trial, check: c}
			for _, entry := range []string{o.scenario, o.scenario + ":" + c.ID} {
				if slices.Contains(expected, entry) {
					used[entry], f.expected = true, true
				}
			}
			v.failures = append(v.failures, f)
		}
	}
	for _, entry := range expected {
		scenario, _, _ := strings.Cut(entry, ":")
		if !used[entry] && (only == "" || scenario == only) {
			v.stale = append(v.stale, entry)
		}
	}
	return v
}

// good reports whether exactly what was expected has failed.
func (v verdict) good() bool {
	return len(v.stale) == 0 && !slices.ContainsFunc(v.failures, func(f failure) bool { return !f.expected })
}

// row is a line of the table: a trial, or with a mode all trials of its place.
type row struct {
	trial
	scenarios               int
	passed, failed, skipped int
	note                    string
}

// rows counts the checks of each trial, or of each place.
func (v verdict) rows(outcomes []outcome) []row {
	var rows []row
	for _, o := range outcomes {
		if last := len(rows) - 1; o.mode == "" || last < 0 || rows[last].place() != o.place() {
			rows = append(rows, row{trial: o.trial})
		}
		r := &rows[len(rows)-1]
		r.scenarios++
		for _, c := range o.checks {
			switch {
			case c.failed():
				r.failed++
			case c.Status == "SUCCESS":
				r.passed++
			case c.Status == "SKIPPED":
				r.skipped++
			}
		}
	}
	for i, r := range rows {
		switch {
		case r.failed > 0:
			rows[i].note = v.note(r.trial)
		case r.passed == 0:
			rows[i].note = idle
		}
	}
	return rows
}

// idle is the note of a trial without a check that passed or failed.
const idle = "nothing to check"

// print writes the table of all trials, then each failure with its reason.
func (v verdict) print(w io.Writer, outcomes []outcome) {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	what := "scenario"
	if len(outcomes) > 0 && outcomes[0].mode != "" {
		what = "server\tscenarios"
	}
	fmt.Fprintf(tab, "revision\t%s\tpassed\tfailed\tskipped\t\n", what)
	rows := v.rows(outcomes)
	failed, nothing := 0, 0
	for _, r := range rows {
		what := r.scenario
		if r.mode != "" {
			what = fmt.Sprintf("%s\t%d", r.mode, r.scenarios)
		}
		fmt.Fprintf(tab, "%s\t%s\t%d\t%d\t%d\t%s\n", r.revision, what, r.passed, r.failed, r.skipped, r.note)
		switch {
		case r.failed > 0:
			failed++
		case r.note == idle:
			nothing++
		}
	}
	tab.Flush()
	v.printFailures(w)
	fmt.Fprintf(w, "\n%d runs: %d passed, %d failed, and %d had nothing to check.\n",
		len(rows), len(rows)-failed-nothing, failed, nothing)
}

// printFailures writes each failure with its reason.
func (v verdict) printFailures(w io.Writer) {
	for i, f := range v.failures {
		if i == 0 {
			fmt.Fprintln(w, "\nWhat failed:")
		}
		word := "UNEXPECTED"
		if f.expected {
			word = "expected"
		}
		reason := f.ErrorMessage
		if reason == "" {
			reason = f.Description
		}
		fmt.Fprintf(w, "%s %s %s:%s: %s\n", word, f.place(), f.scenario, f.ID, reason)
	}
	for _, entry := range v.stale {
		fmt.Fprintf(w, "STALE %s passes: remove it from expected-failures.yaml\n", entry)
	}
}

// note says of a trial with failures, or of a place, whether they were expected.
func (v verdict) note(t trial) string {
	unexpected := slices.ContainsFunc(v.failures, func(f failure) bool {
		return !f.expected && (f.trial == t || t.mode != "" && f.place() == t.place())
	})
	if unexpected {
		return "UNEXPECTED"
	}
	return "expected"
}
