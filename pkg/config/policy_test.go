package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/policy"
)

func TestPolicy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, content string
		want          policy.Rules // Source: the line
	}{
		{"none", "limit = 3\n", nil},
		{"rules in order", `# mine
limit = 3

[[policy]]
match = "github/*delete*"  # all of them
action = "deny"

[[ policy ]] # asked
annotations = ["destructive", "unannotated"]
action = 'ask'
by = ["terminal"]
[[policy]]
match = "Bank/*"
annotations = ["read-only"]
action = "allow"
`, policy.Rules{
			{Match: "github/*delete*", Action: policy.Deny, Source: "4"},
			{Annotations: []policy.Annotation{policy.Destructive, policy.Unannotated}, Action: policy.Ask,
				By: []policy.Way{policy.Terminal}, Source: "8"},
			{Match: "Bank/*", Annotations: []policy.Annotation{policy.ReadOnly}, Action: policy.Allow, Source: "12"},
		}},
		{"in one line", `
policy = [{match = "*", action = "deny"}, {match = "a/*", action = "ask"}]
`, policy.Rules{{Match: "*", Action: policy.Deny, Source: "2"}, {Match: "a/*", Action: policy.Ask, Source: "2"}}},
		{"one table", "limit = 3\n[policy]\nmatch = '*'\naction = 'ask'\n", policy.Rules{{Match: "*", Action: policy.Ask, Source: "2"}}},
		{"quoted key", "[[\"policy\"]]\nmatch = '*'\naction = 'ask'\n", policy.Rules{{Match: "*", Action: policy.Ask, Source: "1"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write(w.SettingsFile(), test.content)
			s, shown, err := w.LoadSettings()
			if err != nil {
				t.Fatal(err)
			}
			for i := range s.Policy {
				s.Policy[i].Source = strings.TrimPrefix(s.Policy[i].Source, w.SettingsFile()+":")
			}
			if diff := cmp.Diff(test.want, s.Policy); diff != "" {
				t.Error(diff)
			}
			if len(shown) != 14 {
				t.Errorf("rules are shown as settings: %+v", shown)
			}
		})
	}
}

// TestBadPolicy: a rule that cannot be used stops everything. Without it, what it was to stop would be allowed.
func TestBadPolicy(t *testing.T) {
	t.Parallel()
	const good = "[[policy]]\nmatch = '*'\naction = 'allow'\n"
	for name, test := range map[string]struct {
		content string
		says    []string
	}{
		"no action":      {"[[policy]]\nmatch = '*'", []string{"config.toml:1: policy: it has no action"}},
		"second rule":    {good + "\n[[policy]]\nmatch = 'github'\naction = 'deny'\n", []string{"config.toml:5: policy: match:", `"github/*"`}},
		"glob":           {"[[policy]]\nmatch = 'a/?'\naction = 'deny'", []string{"config.toml:1", "only special character"}},
		"way":            {"[[policy]]\nmatch = '*'\naction = 'ask'\nby = ['me']", []string{"config.toml:1", `"me"`, "elicitation"}},
		"no way":         {"[[policy]]\nmatch = '*'\naction = 'ask'\nby = []", []string{"config.toml:1", "no one could approve"}},
		"no list":        {"[[policy]]\nmatch = '*'\naction = 'ask'\nby = 'token'", []string{"config.toml:4", "policy.by"}},
		"table twice":    {"[policy]\nmatch = '*'\naction = 'ask'\n[policy]\naction = 'deny'", []string{"config.toml:4"}},
		"unknown key":    {good + "[[policy]]\nmach = '*'\naction = 'deny'\n", []string{"config.toml:5: policy", `no "mach"`, "Did you mean match?"}},
		"capital key":    {good + "[[policy]]\nmatch = '*'\naction = 'ask'\nBy = ['model']\n", []string{"config.toml:4: policy", `no "By"`, "Did you mean by?"}},
		"capital":        {"[[policy]]\nmatch = '*'\naction = 'DENY'\n", []string{"config.toml:1", `"DENY"`}},
		"a setting":      {good + "limit = 3\n", []string{"config.toml:4: policy", `no "limit"`, "above the first [[policy]]"}},
		"near policy":    {"[[polcy]]\nmatch = '*'\n", []string{"config.toml:1", "Did you mean policy?"}},
		"nothing at all": {"[[policy]]\n", []string{"config.toml:1", `match = "*"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write(w.SettingsFile(), test.content)
			_, _, err := w.LoadSettings()
			if err == nil {
				t.Fatal("it is taken")
			}
			wantFault(t, err, fault.Config, test.says...)
		})
	}
}
