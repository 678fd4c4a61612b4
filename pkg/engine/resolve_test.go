package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/fixture"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "git", "git.hub", "a/b", "off", "dark")
	w.configure("git.hub", "git", "git.hu", "a/b", "off", `dark: {"command": "run", "disabled": true}`, `odd: {"args": 1}`)
	w.servers["git"] = fixture.Listing(t, "clone", "hub.star", "create_issue")
	w.switches.Disabled = []string{"off", "git/clone"}

	type want struct {
		ref  tool.Ref
		rest string
		kind fault.Type // of the fault
		says string     // in its message or help
	}
	for args, want := range map[string]want{
		"git clone":           {ref: tool.Ref{Server: "git", Name: "clone"}},
		"git/clone":           {ref: tool.Ref{Server: "git", Name: "clone"}},
		"git.clone":           {ref: tool.Ref{Server: "git", Name: "clone"}},
		"git clone a=b c":     {ref: tool.Ref{Server: "git", Name: "clone"}, rest: "a=b c"},
		"git/clone a=b":       {ref: tool.Ref{Server: "git", Name: "clone"}, rest: "a=b"},
		"git.hub star":        {ref: tool.Ref{Server: "git.hub", Name: "star"}},
		"git.hub.star":        {ref: tool.Ref{Server: "git.hub", Name: "star"}}, // the longest server
		"git/hub.star":        {ref: tool.Ref{Server: "git", Name: "hub.star"}},
		"a/b c":               {kind: fault.Config, says: "/"}, // no name for a server
		"":                    {kind: fault.Usage, says: "mcpl search"},
		"git":                 {kind: fault.Usage, says: "mcpl list git"},
		"git/":                {kind: fault.ServerNotFound},
		"gti clone":           {kind: fault.ServerNotFound, says: "Did you mean git"},
		"create_issue":        {kind: fault.ServerNotFound, says: "git create_issue"},
		"clone":               {kind: fault.ServerNotFound, says: "mcpl list"}, // off, so not told
		"off x":               {kind: fault.ServerNotFound, says: "mcpl enable off"},
		"dark x":              {kind: fault.ServerNotFound, says: `Remove "disabled": true from its entry. See which file has it with: mcpl config`},
		"odd x":               {kind: fault.Config, says: "odd"},
		"odd/x":               {kind: fault.Config, says: "odd"},
		"nothing-like-it x":   {kind: fault.ServerNotFound, says: "mcpl list"},
		"git__create_issue x": {kind: fault.ServerNotFound, says: "mcpl list"},
	} {
		// Both on a cold and on a filled index, except for what only the index can know.
		for _, cold := range []bool{true, false} {
			if cold && args == "create_issue" {
				continue
			}
			w.with(func(e *Engine) error {
				if !cold {
					if _, err := e.List(t.Context(), false); err != nil {
						return err
					}
				}
				ref, rest, err := e.Resolve(strings.Fields(args), tool.Tool)
				if want.kind == "" {
					if err != nil || ref != want.ref || strings.Join(rest, " ") != want.rest {
						t.Errorf("%q (cold %v): %v, %q, %v", args, cold, ref, rest, err)
					}
					return nil
				}
				f := output.InWords(fault.From(err))
				if f == nil || f.Type != want.kind || !strings.Contains(f.Message+f.Help, want.says) {
					t.Errorf("%q (cold %v): %+v", args, cold, f)
				}
				return nil
			})
		}
	}
}

func TestToolNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "git")
	w.servers["git"] = fixture.Listing(t, "create_issue", "list_issues", "delete_repository", "fork")
	w.switches.Disabled = []string{"git/delete_repository"}
	for name, want := range map[string]string{
		"createIssue":       "create_issue",
		"crate_isue":        "create_issue",
		"create":            "create_issue",
		"frok":              "fork",
		"issues_all":        "list_issues",
		"delete_repositori": "", // what is off is not told of
		"zebra":             "",
	} {
		w.with(func(e *Engine) error {
			_, _, err := e.Inspect(t.Context(), tool.Ref{Server: "git", Name: name})
			f := output.InWords(fault.From(err))
			if f == nil || f.Type != fault.ToolNotFound || f.Server != "git" || f.Tool != name || !strings.Contains(f.Help, "mcpl list git --refresh") {
				t.Errorf("%s: %+v", name, f)
				return nil
			}
			first := ""
			if len(f.Suggestions) > 0 {
				first = f.Suggestions[0]
			}
			if want == "" && slices.Contains(f.Suggestions, "delete_repository") || want != "" && first != want {
				t.Errorf("%s: suggests %q, want %q first", name, f.Suggestions, want)
			}
			return nil
		})
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "git", "down")
	w.down["down"] = fault.New(fault.Timeout, "down", "")
	check := func(text, want string, ok bool) {
		t.Helper()
		w.with(func(e *Engine) error {
			name, got, err := e.Name(text)
			if err != nil || got != ok || ok && name != want {
				t.Errorf("%s: %q, %v, %v", text, name, got, err)
			}
			return nil
		})
	}
	check("git", "git", true)
	check("git.any", "git/any", true) // nothing is known yet
	check("gut", "", false)
	w.search("down git", "git/git_tool")
	check("git/git_tool", "git/git_tool", true)
	check("git.git_tool", "git/git_tool", true)
	check("git/any", "", false)
	check("down/any", "down/any", true)
	check("mcp__syntropy__git_git_tool", "git/git_tool", true)
	check("mcp__my__own__git_git_tool", "git/git_tool", true)
	check("mcp__syntropy__git_any", "", false)
	check("mcp__syntropy__down_any", "down/any", true)
	check("mcp__syntropy__gut_any", "", false)
	check("mcp__git_git_tool", "", false)
}

// TestNamesOfClients: a name as clients show it is split where a server has such a tool, else at the longest server.
func TestNamesOfClients(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a", "a_b", "a_b_c")
	w.servers["a"] = fixture.Listing(t, "b_x", "b_c_y")
	w.servers["a_b"] = fixture.Listing(t, "x", "c_y")
	w.with(func(e *Engine) error {
		_, err := e.List(t.Context(), true)
		return err
	})
	for text, want := range map[string]string{"mcp__n__a_b_x": "a_b/x", "mcp__n__a_b_c_y": "a_b/c_y", "mcp__n__a_b_c_z": ""} {
		w.with(func(e *Engine) error {
			ref, _, err := e.Resolve([]string{text}, tool.Tool)
			if want == "" && fault.Is(err, fault.ServerNotFound) {
				return nil
			}
			if err != nil || ref.String() != want {
				t.Errorf("%s: %s, %v; want %s", text, ref, err, want)
			}
			return nil
		})
	}
}
