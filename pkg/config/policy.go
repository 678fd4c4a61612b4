package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/policy"
)

// policyTable is one [[policy]] of the settings file.
type policyTable struct {
	Match       string   `toml:"match"`
	Annotations []string `toml:"annotations"`
	Action      string   `toml:"action"`
	By          []string `toml:"by"`
}

// policyKeys returns the keys of a rule.
func policyKeys() []string { return []string{"match", "annotations", "action", "by"} }

// policyExample is a rule as a help shows it.
const policyExample = `Write it as in:
  [[policy]]
  match = "github/*delete*"
  action = "ask"`

// policy returns the rules of the settings file, in its order. One rule that cannot be used is a fault.Config: without
// it the others would allow what it was to stop.
func (f *settingsFile) policy() (policy.Rules, error) {
	if err := f.exactPolicy(); err != nil {
		return nil, err
	}
	var rules policy.Rules
	for i, t := range f.values.Policy {
		where := fmt.Sprintf("%s:%d", f.path, f.policyLine(i))
		r, err := policy.New(t.Match, t.Annotations, t.Action, t.By)
		if err != nil {
			return nil, fault.New(fault.Config, fmt.Sprintf("%s: policy: %v", where, err), policyExample)
		}
		r.Source = where
		rules = append(rules, r)
	}
	return rules, nil
}

// exactPolicy fails for a key of a rule in capitals: the parser takes it for the known one, so that By and by could
// both stand in a rule, and one of them would count.
func (f *settingsFile) exactPolicy() error {
	if len(f.values.Policy) == 0 {
		return nil
	}
	var exact struct {
		Policy []map[string]any `toml:"policy"`
	}
	if err := toml.Unmarshal(f.data, &exact); err != nil {
		return badSetting(f.path, err)
	}
	for i, rule := range exact.Policy {
		for _, key := range slices.Sorted(maps.Keys(rule)) {
			if !slices.Contains(policyKeys(), key) {
				return f.unknownInPolicy(f.policyLine(i), key)
			}
		}
	}
	return nil
}

// policyLine returns the line of a rule: of its heading, or of the key of a list that holds all of them.
func (f *settingsFile) policyLine(at int) int {
	if lines := headings(f.data, "policy"); len(lines) == len(f.values.Policy) {
		return lines[at]
	}
	return max(1, f.line("policy"))
}

// unknownInPolicy is the fault of a key that no rule has.
func (f *settingsFile) unknownInPolicy(line int, key string) *fault.Fault {
	known := policyKeys()
	fix := "A rule has " + strings.Join(known, ", ") + ". " + policyExample
	near := nearest(key, known)
	isSetting := func(s slot) bool { return s.name == key }
	if slices.ContainsFunc(new(Settings).slots(settingValues{}), isSetting) {
		fix = "It is a setting of its own: put it above the first [[policy]]."
	} else if len(near) > 0 {
		fix = fmt.Sprintf("Did you mean %s? %s", near[0], fix)
	}
	unknown := fault.New(fault.Config, fmt.Sprintf("%s:%d: policy: a rule has no %q", f.path, line, key), fix)
	unknown.Suggestions = near
	return unknown
}
