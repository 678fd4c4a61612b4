package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/search"
)

var update = flag.Bool("update", false, "store the present figures as the baseline")

// Our own set: hand-written tools of the usual kinds and those of the example server, with the
// nDCG@10 of each query as it was when the baseline was stored.
const (
	ownSet   = "../../testdata/eval"
	baseline = ownSet + "/baseline.json"
	// tolerance is how much of the mean a change may lose.
	tolerance = .005
)

// TestGate fails when the ranking got worse on our own set, and lists the queries that did.
// After a change for the better store the new figures: go test ./internal/eval -update.
func TestGate(t *testing.T) {
	t.Parallel()
	s, err := readSet(ownSet)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.queries) < 60 {
		t.Fatalf("%d queries are too few to judge by", len(s.queries))
	}
	now, err := judgeSet(s, search.DefaultModel())
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		store(t, s, now)
	}
	raw, err := os.ReadFile(baseline)
	if err != nil {
		t.Fatal(err)
	}
	var before map[string]float64
	if err := json.Unmarshal(raw, &before); err != nil {
		t.Fatal(err)
	}
	if worse, ok := compare(s, before, now); !ok {
		t.Errorf("the ranking got worse on our own set:\n%s", worse)
	}
}

// compare lists the queries that fell below their baseline; ok says whether the mean holds.
func compare(s *set, before map[string]float64, now []measures) (worse string, ok bool) {
	var b strings.Builder
	var lost float64
	for i := range s.queries {
		q := &s.queries[i]
		was, known := before[q.id]
		if !known {
			fmt.Fprintf(&b, "  %s has no baseline: run with -update\n", q.id)
			lost += float64(len(s.queries))
			continue
		}
		lost += was - now[i].NDCG
		if now[i].NDCG < was-.0005 {
			fmt.Fprintf(&b, "  %s %.3f -> %.3f  %s\n", q.id, was, now[i].NDCG, q.text)
		}
	}
	return b.String(), lost/float64(len(s.queries)) <= tolerance
}

func store(t *testing.T, s *set, now []measures) {
	t.Helper()
	figures := map[string]float64{}
	for i := range s.queries {
		figures[s.queries[i].id] = float64(int(now[i].NDCG*1000+.5)) / 1000
	}
	raw, err := json.MarshalIndent(figures, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(baseline, append(raw, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestGateNotices proves that the gate closes: a ranking without related words is worse.
func TestGateNotices(t *testing.T) {
	t.Parallel()
	s, err := readSet(ownSet)
	if err != nil {
		t.Fatal(err)
	}
	good, err := judgeSet(s, search.DefaultModel())
	if err != nil {
		t.Fatal(err)
	}
	before := map[string]float64{}
	for i := range s.queries {
		before[s.queries[i].id] = good[i].NDCG
	}
	m := search.DefaultModel()
	m.Related, m.WeakRelated = 0, 0
	bad, err := judgeSet(s, m)
	if err != nil {
		t.Fatal(err)
	}
	if worse, ok := compare(s, before, bad); ok || !strings.Contains(worse, " -> ") {
		t.Errorf("a worse ranking passes the gate; it lists:\n%s", worse)
	}
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	q := &query{groups: []group{{docs: []int{1, 2}, gain: 2}, {docs: []int{3}, gain: 1}}}
	tests := []struct {
		ranked []int
		want   string
	}{
		{nil, "0.000 0.000 0.000 0.000 0.000 0.000"},
		{[]int{1, 3}, "0.500 1.000 1.000 1.000 1.000 1.000"},
		{[]int{2, 1, 3}, "0.500 1.000 1.000 1.000 1.000 0.950"},
		{[]int{0, 4, 5, 3}, "0.000 0.000 0.500 0.500 0.250 0.164"},
		{[]int{0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 1}, "0.000 0.000 0.000 0.000 0.000 0.000"},
	}
	for _, tt := range tests {
		m := measure(tt.ranked, q)
		var got []string
		for _, v := range m.values() {
			got = append(got, fmt.Sprintf("%.3f", *v))
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%v measures %s, want %s", tt.ranked, s, tt.want)
		}
	}
}

// TestRun drives the program as the command line does, in every mode.
func TestRun(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "figures.json")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-data", ownSet, "-json", out}, "plain"},
		{[]string{"-data", filepath.Dir(ownSet), "-set", "eval", "-background", ownSet}, "mcpl"},
		{[]string{"-data", ownSet, "-ablate"}, "without related words"},
		{[]string{"-data", ownSet, "-empty"}, "false alarms"},
		{[]string{"-data", ownSet, "-typos"}, "corrected"},
	} {
		var b strings.Builder
		if err := run(tt.args, &b); err != nil || !strings.Contains(b.String(), tt.want) {
			t.Errorf("%q: %v\n%s", tt.args, err, b.String())
		}
	}
	raw, err := os.ReadFile(out)
	var reports []report
	if err != nil || json.Unmarshal(raw, &reports) != nil || len(reports) != 1 || reports[0].Queries < 60 {
		t.Errorf("-json wrote %s (%v)", raw, err)
	}
	for _, args := range [][]string{nil, {"-data", t.TempDir()}, {"-data", ownSet, "-set", "none"}} {
		if err := run(args, &strings.Builder{}); err == nil {
			t.Errorf("%q is no error", args)
		}
	}
}
