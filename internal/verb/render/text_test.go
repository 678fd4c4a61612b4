package render

import (
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/humanize"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func TestNumbers(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct{ got, want string }{
		"none":              {humanize.Plural(0, "tool"), "0 tools"},
		"one":               {humanize.Plural(1, "tool"), "1 tool"},
		"many":              {humanize.Plural(1234567, "tool"), "1,234,567 tools"},
		"three digits":      {humanize.Count(999), "999"},
		"four digits":       {humanize.Count(1000), "1,000"},
		"bytes":             {humanize.Size(999), "999 B"},
		"kilobytes":         {humanize.Size(1000), "1.0 kB"},
		"nearly a megabyte": {humanize.Size(999_949), "999.9 kB"},
		"megabytes":         {humanize.Size(12_345_678), "12.3 MB"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			if tc.got != tc.want {
				t.Errorf("got %s, want %s", tc.got, tc.want)
			}
		})
	}
}

func TestAgo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for want, before := range map[string]time.Duration{
		"just now": 4 * time.Second, "5 s ago": 5 * time.Second, "1 min ago": time.Minute, "59 min ago": time.Hour - 1,
		"1 h ago": time.Hour, "47 h ago": 48*time.Hour - 1, "2 days ago": 48 * time.Hour,
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			if got := humanize.Ago(now, now.Add(-before)); got != want {
				t.Errorf("got %s", got)
			}
		})
	}
	if got := humanize.Ago(now, time.Time{}); got != "never" {
		t.Errorf("got %s", got)
	}
}

func TestTexts(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct{ got, want string }{
		"one line":          {OneLine(" a\n\tb ", 10), "a b"},
		"a cut line":        {OneLine("a\nbcd", 3), "a b…"},
		"prefixed":          {output.Prefixed("; ", "a"), "; a"},
		"nothing to prefix": {output.Prefixed("; ", ""), ""},
		"a JSON text":       {Plain([]byte(` "a\nb"`)), "a\nb"},
		"null":              {Plain([]byte(`null`)), "null"},
		"an object":         {Plain([]byte(`{"a" : [1, 2]}`)), `{"a":[1,2]}`},
		"not JSON":          {Plain([]byte(`{a}`)), `{a}`},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			if tc.got != tc.want {
				t.Errorf("got %q, want %q", tc.got, tc.want)
			}
		})
	}
}

func TestUse(t *testing.T) {
	t.Parallel()
	for kind, want := range map[tool.Kind]string{
		tool.Tool:     "Read one: mcpl inspect 'my server' n",
		tool.Resource: "Read it: mcpl read 'my server' n",
		tool.Template: "Read one, with the braces filled in: mcpl read 'my server' n",
		tool.Prompt:   "Get it, with key=value for each argument: mcpl prompt 'my server' n",
	} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			lead, command := Use(tool.Ref{Server: "my server", Name: "n", Kind: kind})
			if got := lead + command; got != want {
				t.Errorf("got %s", got)
			}
		})
	}
}
