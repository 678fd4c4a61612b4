package archtest

import (
	"slices"
	"testing"
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

// TestRules holds the sources to the rules.
func TestRules(t *testing.T) {
	t.Parallel()
	all := sources(t)
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			excused, broken := map[string]bool{}, false
			for _, s := range all {
				for _, f := range r.find(s) {
					if r.except[f.key] != "" {
						excused[f.key] = true
						continue
					}
					broken = true
					t.Errorf("%s: %s", f.at, f.text)
				}
			}
			if broken {
				t.Logf("the rule %s: %s", r.name, r.why)
			}
			for key := range r.except {
				if !excused[key] {
					t.Errorf("nothing needs the exception %s of the rule %s any more: take it out", key, r.name)
				}
			}
		})
	}
}
