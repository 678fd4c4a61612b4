// Package state keeps which servers and tools a person has switched on or off, in files that the person may edit:
// {"version": 1, "enabled": [...], "disabled": [...]}. One file holds everywhere, others in one project each.
//
// Call [Read] for the choices that apply in a folder, [All.Allows] to ask whether a tool is on, and [File.Update] to
// change one of the files. A name is a server ("github") or one of its tools: "github/delete_repo", or
// "mcp__NAME__github_delete_repo" with any NAME, as in a file of Syntropy. Where such a name could mean tools of two
// servers it means both. A name in disabled is off. If enabled is empty, everything else is on; if not, only its names
// are. A tool is on if every file that applies has it on. The package does not know what the names refer to.
package state

import (
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Tools is the choice of a person. Its zero value has everything on.
type Tools struct {
	Enabled  []string
	Disabled []string
}

// Allows reports whether a tool is on.
func (t Tools) Allows(server, name string) bool {
	means := tool.Ref{Server: server, Name: name}.Means
	if slices.Contains(t.Disabled, server) || slices.ContainsFunc(t.Disabled, means) {
		return false
	}
	return len(t.Enabled) == 0 || slices.Contains(t.Enabled, server) || slices.ContainsFunc(t.Enabled, means)
}

// AllowsServer reports whether a server may be asked at all: it is not off as a whole, and if only some names are on,
// it or one of its tools is among them.
func (t Tools) AllowsServer(server string) bool {
	if slices.Contains(t.Disabled, server) {
		return false
	}
	return len(t.Enabled) == 0 || slices.Contains(t.Enabled, server) || slices.ContainsFunc(t.Enabled, toolOf(server))
}

// Whole reports whether every tool of a server is on.
func (t Tools) Whole(server string) bool {
	return t.AllowsServer(server) && !slices.ContainsFunc(t.Disabled, toolOf(server)) &&
		(len(t.Enabled) == 0 || slices.Contains(t.Enabled, server))
}

// toolOf returns a function that reports whether a name may be that of a tool of the server.
func toolOf(server string) func(name string) bool {
	return func(name string) bool {
		of := func(rest string) bool { return strings.HasPrefix(rest, server+"_") }
		return strings.HasPrefix(name, server+"/") || slices.ContainsFunc(tool.Unprefixed(name), of)
	}
}

// Enable switches names on: it takes them out of disabled, and adds them to enabled unless that is empty. If it
// switches a tool on, it also takes the tool's server out of disabled, since no tool of it could be called otherwise.
func (t *Tools) Enable(names ...string) {
	for _, name := range names {
		t.Disabled = without(t.Disabled, name)
		if server, _, isTool := strings.Cut(name, "/"); isTool {
			t.Disabled = without(t.Disabled, server)
		}
		if len(t.Enabled) > 0 {
			t.Enabled = with(t.Enabled, name)
		}
	}
}

// Only switches names on and everything else off.
func (t *Tools) Only(names ...string) {
	t.Enabled = nil
	t.Switch(names, nil)
}

// Disable switches names off. They stay in enabled: disabled is the stronger list, and a later Enable finds the
// choice as it was.
func (t *Tools) Disable(names ...string) {
	for _, name := range names {
		t.Disabled = with(t.Disabled, name)
	}
}

// Switch switches names on and others off, as the tool enable_tools of Syntropy does. Names that it switches on go into
// Enabled even if that is empty, so that only these are on from then on. Names that it switches off leave Enabled, but
// for the last ones: an empty Enabled would have everything else on. A name in both lists is off.
func (t *Tools) Switch(on, off []string) {
	t.Enable(on...)
	t.Merge(Tools{Enabled: on, Disabled: off})
	left := t.Enabled
	for _, name := range off {
		left = without(left, name)
	}
	if len(left) > 0 {
		t.Enabled = left
	}
}

// Merge adds the names of another choice behind those of this one.
func (t *Tools) Merge(other Tools) {
	for _, name := range other.Enabled {
		t.Enabled = with(t.Enabled, name)
	}
	t.Disable(other.Disabled...)
}

// with returns the list with a name, in whatever form.
func with(list []string, name string) []string {
	if slices.ContainsFunc(list, same(name)) {
		return list
	}
	return append(list, name)
}

// without returns the list without a name, in whatever form.
func without(list []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(list), same(name))
}

// same returns a function that reports whether another name means the same as this one, SERVER or SERVER/TOOL.
func same(name string) func(other string) bool {
	server, of, isTool := strings.Cut(name, "/")
	ref := tool.Ref{Server: server, Name: of}
	return func(other string) bool { return other == name || isTool && ref.Means(other) }
}

// Nothing has nothing on.
func Nothing() All { return All{{Enabled: []string{""}}} }

// All are the choices that apply together: something is on if each of them has it on. The first is the one that holds
// everywhere, as in [InForce].
type All []Tools

// Allows reports whether a tool is on.
func (a All) Allows(server, name string) bool {
	return !slices.ContainsFunc(a, func(t Tools) bool { return !t.Allows(server, name) })
}

// AllowsServer reports whether a server may be asked at all.
func (a All) AllowsServer(server string) bool {
	return !slices.ContainsFunc(a, func(t Tools) bool { return !t.AllowsServer(server) })
}

// Whole reports whether every tool of a server is on.
func (a All) Whole(server string) bool {
	return !slices.ContainsFunc(a, func(t Tools) bool { return !t.Whole(server) })
}

// InProject reports whether a server, or a tool of it unless name is empty, is off for a project and not everywhere.
func (a All) InProject(server, name string) bool {
	if name == "" {
		return !a.AllowsServer(server) && a[0].AllowsServer(server)
	}
	return !a.Allows(server, name) && a[0].Allows(server, name)
}
