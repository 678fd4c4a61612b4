package archtest

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	update = flag.Bool("update", false, "lower the counts of testdata/left.txt to what is left")
	show   = flag.String("show", "", "a folder: list all that still breaks a rule there, allowed or not")
)

// rule is something that no file may do.
type rule struct {
	name string
	// why is shown beside what breaks the rule.
	why string
	// find returns what breaks the rule in a file.
	find func(source) []finding
	// except names what may break it, with the reason: finding.key -> reason. An exception that nothing uses
	// any more fails the test, so that the list only shrinks.
	except map[string]string
}

// finding is a place that breaks a rule.
type finding struct {
	at   string
	text string
	key  string // by which an exception names it
}

// rules are all of them; each stands beside what it needs.
func rules() []rule {
	return slices.Concat(shapeRules(), contextRules(), denseRules(), sleepRules(), proseRules(), commandRules())
}

// TestRules holds the sources to the rules. testdata/left.txt counts what a folder may still break; a count may only
// fall.
func TestRules(t *testing.T) {
	t.Parallel()
	all := sources(t)
	allowed := readLeft(t)
	found := map[string]map[string]int{}
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			byDir, excused := map[string][]finding{}, map[string]bool{}
			for _, s := range all {
				for _, f := range r.find(s) {
					if r.except[f.key] != "" {
						excused[f.key] = true
						continue
					}
					byDir[s.dir] = append(byDir[s.dir], f)
				}
			}
			for key := range r.except {
				if !excused[key] {
					t.Errorf("nothing needs the exception %s of the rule %s any more: take it out", key, r.name)
				}
			}
			for _, f := range byDir[*show] {
				fmt.Printf("%s %s: %s\n", r.name, f.at, f.text)
			}
			found[r.name] = map[string]int{}
			for dir, list := range byDir {
				found[r.name][dir] = len(list)
			}
			if !*update {
				judge(t, r, byDir, allowed[r.name])
			}
		})
	}
	for name := range allowed {
		if found[name] == nil {
			t.Errorf("testdata/left.txt has a rule %q that the house does not have", name)
		}
	}
	if *update {
		writeLeft(t, allowed, found)
	}
}

// judge compares what a rule has found with what is allowed.
func judge(t *testing.T, r rule, found map[string][]finding, allowed map[string]int) {
	t.Helper()
	for _, dir := range slices.Sorted(maps.Keys(found)) {
		list := found[dir]
		if len(list) <= allowed[dir] {
			continue
		}
		t.Errorf("%s breaks the rule %s in %d places, %d are allowed: %s", dir, r.name, len(list), allowed[dir], r.why)
		for _, f := range list {
			t.Logf("%s: %s", f.at, f.text)
		}
	}
	for dir, n := range allowed {
		if left := len(found[dir]); left < n {
			t.Errorf("%s breaks the rule %s in %d places and is allowed %d: lower the count with "+
				"`go test ./internal/archtest -run TestRules -update`", dir, r.name, left, n)
		}
	}
}

// leftFile holds, a line each, a rule, a folder and how many places of it may break the rule.
var leftFile = filepath.Join("testdata", "left.txt")

// readLeft reads the counts. Where branches that were merged left two lines for a folder, the higher one counts
// until -update sets the count right.
func readLeft(t *testing.T) map[string]map[string]int {
	t.Helper()
	left := map[string]map[string]int{}
	data, err := os.ReadFile(leftFile)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var name, dir string
		var n int
		if _, err := fmt.Sscan(line, &name, &dir, &n); err != nil {
			t.Fatalf("%s: %q: %v", leftFile, line, err)
		}
		if left[name] == nil {
			left[name] = map[string]int{}
		}
		left[name][dir] = max(left[name][dir], n)
	}
	return left
}

// writeLeft writes what is left. A count may move with code to another folder; the sum of a rule never grows.
func writeLeft(t *testing.T, before, now map[string]map[string]int) {
	t.Helper()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if was, is := sum(before[name]), sum(now[name]); is > was {
			t.Errorf("%s would grow from %d to %d places", name, was, is)
			return
		}
		for _, dir := range slices.Sorted(maps.Keys(now[name])) {
			fmt.Fprintf(&b, "%s %s %d\n", name, dir, now[name][dir])
		}
	}
	if err := os.WriteFile(leftFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}
