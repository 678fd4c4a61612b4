package gateway

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// FuzzGlob holds globs to what they mean: a star matches every character, and no other character is special.
func FuzzGlob(f *testing.F) {
	for _, seed := range [][2]string{{"pjpd*", "pjpd_list"}, {"*", ""}, {"", ""}, {"a*b*c", "aXbYbZc"}, {"*a*a*", "a"}, {"d://*", "d://a/b/c"},
		{"a*a", "a"}, {"**", "x"}, {"[a]?", "[a]?"}, {"*ab", "aab"}, {"a\n*", "a\n\n"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, glob, text string) {
		parts := strings.Split(glob, "*")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		want, err := regexp.Compile(`(?s)\A` + strings.Join(parts, `.*`) + `\z`)
		if err != nil {
			t.Skip() // not UTF-8
		}
		if got := matches(glob, text); got != want.MatchString(text) {
			t.Errorf("%q matches %q: %t", glob, text, got)
		}
	})
}

// oddCatalogue is a catalogue of names that are too long or equal.
func oddCatalogue(t testing.TB) *catalogue {
	t.Helper()
	long := strings.Repeat("x", 70)
	var all []engine.Offered
	for _, name := range []tool.Ref{{Server: "a", Name: long + "1"}, {Server: "a", Name: long + "2"}, {Server: "a", Name: "b_c"},
		{Server: "b", Name: "c"}, {Server: "n", Name: "a_b_c"}, {Server: "n", Name: "mcpl"}} {
		def, err := tool.Parse(tool.Tool, []byte(`{"inputSchema":{"type":"object"},"name":"`+name.Name+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, engine.Offered{Ref: name, Definition: def})
	}
	return newCatalogue("mcpl", all, map[string]string{"a": "a_", "b": "a_b_", "n": ""}, nil)
}

// TestCatalogueNames gives every tool a name of its own that the APIs of models take, and leaves the second of two
// equal names out.
func TestCatalogueNames(t *testing.T) {
	t.Parallel()
	c := oddCatalogue(t)
	if len(c.equal) != 2 || !strings.Contains(c.equal[0], "a_b_c of b is left out: a has") || len(c.entries) != 4 {
		t.Errorf("%q of %d", c.equal, len(c.entries))
	}
	names := make(map[string]bool)
	for _, e := range c.entries {
		if !regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`).MatchString(e.name) || names[e.name] || e.name == "mcpl" {
			t.Errorf("%q", e.name)
		}
		names[e.name] = true
		if back, ok := c.called(e.full); !ok || back.ref != e.ref || c.byName[exposed{tool.Tool, e.name}] != e.ref {
			t.Errorf("%q is %v", e.name, back.ref)
		}
	}
}

// FuzzWords: whatever a client names is known, or told as unknown, and costs little.
func FuzzWords(f *testing.F) {
	for _, seed := range []string{`["a*","b"]`, `"a b"`, `null`, `[""]`, `["mcp__a__a_b_c","mcp__"]`, `[1]`, `["mcp____________________________x"]`, `"*"`} {
		f.Add([]byte(seed))
	}
	c := oddCatalogue(f)
	x := activating{gateway: &Gateway{}, active: newActiveSet()}
	f.Fuzz(func(t *testing.T, data []byte) {
		var words wordList
		if json.Unmarshal(data, &words) != nil {
			return
		}
		found, unknown := c.allNamed(words)
		if len(words) > 0 && len(found)+len(unknown) == 0 || len(found) > len(c.entries) {
			t.Errorf("%q: %d and %q", words, len(found), unknown)
		}
		if said := x.unknown(c, unknown); len(said) > 8*maxUnknown*fault.MaxName {
			t.Errorf("%d bytes", len(said))
		}
	})
}
