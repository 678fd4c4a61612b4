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
// every revision. It is stale when nothing that it excuses has failed; where only one scenario
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

// print writes the table of all trials, then each failure with its reason.
func (v verdict) print(w io.Writer, outcomes []outcome) {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "revision\tscenario\tpassed\tfailed\tskipped\t")
	passed, idle := 0, 0
	for _, o := range outcomes {
		n := make(map[string]int)
		for _, c := range o.checks {
			n[c.Status]++
		}
		failed := n["FAILURE"] + n["WARNING"]
		note := ""
		switch {
		case failed > 0:
			note = v.note(o.trial)
		case n["SUCCESS"] == 0:
			note = "nothing to check"
			idle++
		default:
			passed++
		}
		fmt.Fprintf(tab, "%s\t%s\t%d\t%d\t%d\t%s\n", o.revision, o.scenario, n["SUCCESS"], failed, n["SKIPPED"], note)
	}
	tab.Flush()
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
		fmt.Fprintf(w, "%s %s %s:%s: %s\n", word, f.revision, f.scenario, f.ID, reason)
	}
	for _, entry := range v.stale {
		fmt.Fprintf(w, "STALE %s passes: remove it from expected-failures.yaml\n", entry)
	}
	fmt.Fprintf(w, "\n%d runs: %d passed, %d failed, and %d had nothing to check.\n",
		len(outcomes), passed, len(outcomes)-passed-idle, idle)
}

// note says of a trial with failures whether they were expected.
func (v verdict) note(t trial) string {
	unexpected := slices.ContainsFunc(v.failures, func(f failure) bool { return f.trial == t && !f.expected })
	if unexpected {
		return "UNEXPECTED"
	}
	return "expected"
}
