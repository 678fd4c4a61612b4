package gateway

import (
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// named is a tool of a server with a namespace.
type named struct{ namespace, server, tool string }

// listing returns lists with these tools, every second one off, and checks their names.
func listing(t *testing.T, tools ...named) *lists {
	t.Helper()
	l := &lists{byName: make(map[exposed]tool.Ref), off: make(map[tool.Ref]string)}
	for i, n := range tools {
		ref := tool.Ref{Server: n.server, Name: n.tool}
		l.addNamed(engine.Offered{Ref: ref, Off: i%2 == 1}, l.name(n.namespace, ref))
	}
	if len(l.byName) != len(tools) || len(l.tools)+len(l.off) != len(tools) {
		t.Errorf("%d names for %d tools", len(l.byName), len(tools))
	}
	allowed := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	for _, o := range l.every {
		if !allowed.MatchString(o.name) {
			t.Errorf("%q is not a name", o.name)
		}
		for _, text := range []string{o.name, "mcp__any__" + o.name} {
			if ref, ok := l.find(tool.Tool, text); !ok || ref != o.ref {
				t.Errorf("%s means %v, want %v", text, ref, o.ref)
			}
		}
	}
	return l
}

func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long", 50)
	first := listing(t, named{"a_", "a", "b_c"}, named{"a_b_", "a_b", "c"}, named{"", "bare", "a_b_c"},
		named{"", "bare", ""}, named{"", "bare", "é"}, named{"", "bare", "enable_tools"}, named{"", "bare", "list_all_tools"},
		named{"x_", "x", long}, named{"x_", "x", long + "r"}, named{"y_", "y", long}, named{"日本_", "日本", "道具"},
		named{"a_", "a", "\x00\xff"}, named{"a_", "a", "b c"}, named{"a_", "a", "b.c"})
	// A server cannot take a name from another one, even if it knows how names are made.
	hashed := first.every[1].name
	second := listing(t, named{"a_", "a", "b_c"}, named{"", "bad", hashed}, named{"a_b_", "a_b", "c"})
	if a, b := second.every[0].name, second.every[2].name; a != "a_b_c" || b == hashed {
		t.Errorf("names %s and %s", a, b)
	}
}

// TestFindTool: models put the server into the tool's name, too.
func TestFindTool(t *testing.T) {
	t.Parallel()
	l := listing(t, named{"s_", "s", "odd"}, named{"s_", "s", "s_odd"}, named{"mine_", "t", "x"})
	for text, want := range map[string]string{"s_odd": "s/odd", "s odd": "s/odd", "s s_odd": "s/s_odd", "s s_s_odd": "s/s_odd",
		"t mine_x": "t/x", "t mcp__any__mine_x": "t/x", "s mine_x": "", "t y": "", "y": "", "": "", "s mcp__any__s_odd": "s/odd"} {
		if ref, ok := l.findTool(strings.Fields(text)); ok != (want != "") || ok && ref.String() != want {
			t.Errorf("%q: %s, %v; want %q", text, ref, ok, want)
		}
	}
}

// FuzzNames: whatever servers and tools are called, names are taken by the APIs of models, unique, and mean their tool.
func FuzzNames(f *testing.F) {
	f.Add("a", "b_c", "a_b", "c")
	f.Add("", "", "é", strings.Repeat("x", 200))
	f.Fuzz(func(t *testing.T, server, one, other, two string) {
		seen := make(map[tool.Ref]bool)
		var tools []named
		for _, n := range []named{{server + "_", server, one}, {server + "_", server, two}, {"", other, one}, {"", other, two}} {
			if ref := (tool.Ref{Server: n.server, Name: n.tool}); !seen[ref] {
				seen[ref] = true
				tools = append(tools, n)
			}
		}
		listing(t, tools...)
	})
}
