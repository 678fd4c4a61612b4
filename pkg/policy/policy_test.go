package policy

import (
	"reflect"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// rule returns a rule that is known to be right.
func rule(t *testing.T, match string, annotations []string, action string, by ...string) Rule {
	t.Helper()
	r, err := New(match, annotations, action, by)
	if err != nil {
		t.Fatalf("%q: %v", match, err)
	}
	return r
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, match     string
		annotations, by []string
		action, says    string
	}{
		{name: "nothing", action: "deny", says: `neither "match" nor "annotations"`},
		{name: "no action", match: "*", says: "no action"},
		{name: "other action", match: "*", action: "block", says: `"block" is not one of allow, ask or deny`},
		{name: "capital action", match: "*", action: "Deny", says: `"Deny" is not one of`},
		{name: "server alone", match: "github", action: "deny", says: `write "github/*"`},
		{name: "no tool", match: "github/", action: "deny", says: `write "github/*"`},
		{name: "no server", match: "/pay", action: "deny", says: `write "*/pay"`},
		{name: "blank at the end", match: "bank/pay ", action: "deny", says: "white space"},
		{name: "blank at the start", match: " bank/pay", action: "deny", says: "white space"},
		{name: "blank before the slash", match: "bank /pay", action: "deny", says: "white space"},
		{name: "question mark", match: "github/get_?", action: "ask", says: `"?"`},
		{name: "class", match: "github/[a-z]*", action: "ask", says: `"["`},
		{name: "braces", match: "{a,b}/*", action: "ask", says: `"{"`},
		{name: "long", match: "*/" + strings.Repeat("a", 2000), action: "deny", says: "2002 bytes"},
		{name: "annotation", annotations: []string{"destructiveHint"}, action: "ask",
			says: `"destructiveHint" is not one of read-only, writes, destructive, open-world or unannotated`},
		{name: "way", match: "*", action: "ask", by: []string{"person"},
			says: `"person" is not one of terminal, elicitation, token or model`},
		{name: "by for deny", match: "*", action: "deny", by: []string{"token"}, says: `only action = "ask"`},
		{name: "by nobody", match: "*", action: "ask", by: []string{}, says: "no one could approve"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if r, err := New(test.match, test.annotations, test.action, test.by); err == nil ||
				!strings.Contains(err.Error(), test.says) {
				t.Errorf("%+v, %v; want %q", r, err, test.says)
			}
		})
	}
}

func TestFirstRuleDecides(t *testing.T) {
	t.Parallel()
	rules := Rules{
		rule(t, "github/get_*", nil, "allow"),
		rule(t, "github/*delete*", nil, "deny"),
		rule(t, "github/*", nil, "ask"),
		rule(t, "*/pay*", nil, "ask", "terminal"),
		rule(t, "github/*", nil, "deny"), // never reached
	}
	for name, want := range map[string]struct {
		action Action
		by     []Way
		at     int // the rule; -1: none
	}{
		"github/get_delete_state": {Allow, nil, 0},
		"github/delete_repo":      {Deny, nil, 1},
		"github/bulkDelete":       {Deny, nil, 1},
		"github/GET_it":           {Allow, nil, 0},
		"github/create":           {Ask, DefaultWays(), 2},
		"bank/pay_now":            {Ask, []Way{Terminal}, 3},
		"bank/list":               {Allow, nil, -1},
		"github2/delete_repo":     {Allow, nil, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, tl, _ := strings.Cut(name, "/")
			got := rules.Decide(tool.Ref{Server: server, Name: tl}, tool.Hints{})
			at := -1
			for i := range rules {
				if got.Rule == &rules[i] {
					at = i
				}
			}
			if got.Action != want.action || !reflect.DeepEqual(got.By, want.by) || at != want.at {
				t.Errorf("%+v by rule %d, want %+v", got, at, want)
			}
		})
	}
}

func TestReason(t *testing.T) {
	t.Parallel()
	capital, err := New("A/B", nil, "deny", nil)
	if err != nil {
		t.Fatal(err)
	}
	for want, rules := range map[string]Rules{
		"": nil,
		`the rule with match "a/*" in x.toml:3 says "deny"`: {{Match: "a/*", Action: Deny, Source: "x.toml:3"}},
		`the rule with match "A/B" in  says "deny"`:         {capital}, // as written
		`the rule with match "*" and annotations writes or unannotated in x.toml:3 says "ask"`: {
			{Match: "*", Annotations: []Annotation{Writes, Unannotated}, Action: Ask, Source: "x.toml:3"}},
	} {
		if got := rules.Decide(tool.Ref{Server: "a", Name: "b"}, tool.Hints{}).Reason(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestNoRulesAllow(t *testing.T) {
	t.Parallel()
	d := Rules(nil).Decide(tool.Ref{Server: "a", Name: "b"}, tool.Hints{})
	if d.Action != Allow || d.Rule != nil || d.By != nil {
		t.Errorf("%+v", d)
	}
}

func TestModelIsNeverADefault(t *testing.T) {
	t.Parallel()
	for _, way := range DefaultWays() {
		if way == Model {
			t.Error("the caller may approve its own calls unless a rule says otherwise")
		}
	}
}

func TestAnnotations(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	all := []Annotation{ReadOnly, Writes, Destructive, OpenWorld, Unannotated}
	for name, test := range map[string]struct {
		kind  tool.Kind
		hints tool.Hints
		want  []Annotation
	}{
		"nothing said":            {hints: tool.Hints{}, want: []Annotation{Writes, Unannotated}},
		"a title is not a hint":   {hints: tool.Hints{Title: "x"}, want: []Annotation{Writes, Unannotated}},
		"reads":                   {hints: tool.Hints{ReadOnly: &yes}, want: []Annotation{ReadOnly}},
		"reads outside":           {hints: tool.Hints{ReadOnly: &yes, OpenWorld: &yes}, want: []Annotation{ReadOnly, OpenWorld}},
		"reads and destroys":      {hints: tool.Hints{ReadOnly: &yes, Destructive: &yes}, want: []Annotation{Writes, Destructive}},
		"writes":                  {hints: tool.Hints{ReadOnly: &no}, want: []Annotation{Writes, Destructive}},
		"adds":                    {hints: tool.Hints{ReadOnly: &no, Destructive: &no}, want: []Annotation{Writes}},
		"only not destructive":    {hints: tool.Hints{Destructive: &no}, want: []Annotation{Writes}},
		"destroys":                {hints: tool.Hints{Destructive: &yes}, want: []Annotation{Writes, Destructive}},
		"open world alone":        {hints: tool.Hints{OpenWorld: &yes}, want: []Annotation{Writes, OpenWorld, Unannotated}},
		"a prompt":                {kind: tool.Prompt, want: []Annotation{ReadOnly}},
		"a resource":              {kind: tool.Resource, want: []Annotation{ReadOnly}},
		"closed world":            {hints: tool.Hints{ReadOnly: &yes, OpenWorld: &no}, want: []Annotation{ReadOnly}},
		"idempotent means little": {hints: tool.Hints{Idempotent: &yes}, want: []Annotation{Writes, Unannotated}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ref := tool.Ref{Server: "a", Name: "b", Kind: test.kind}
			var got []Annotation
			for _, a := range all {
				if (Rules{{Annotations: []Annotation{a}, Action: Deny}}).Decide(ref, test.hints).Action == Deny {
					got = append(got, a)
				}
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

func TestMatchAndAnnotationsBothCount(t *testing.T) {
	t.Parallel()
	yes := true
	rules := Rules{rule(t, "github/*", []string{"destructive", "unannotated"}, "deny")}
	for _, test := range []struct {
		name   string
		server string
		hints  tool.Hints
		want   Action
	}{
		{"one of two", "github", tool.Hints{Destructive: &yes}, Deny},
		{"the other", "github", tool.Hints{}, Deny},
		{"neither", "github", tool.Hints{ReadOnly: &yes}, Allow},
		{"other server", "bank", tool.Hints{Destructive: &yes}, Allow},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := rules.Decide(tool.Ref{Server: test.server, Name: "x"}, test.hints).Action; got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}
