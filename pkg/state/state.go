// Package state keeps which servers and tools a person has switched on or off, in files that the person may edit:
// {"version": 1, "enabled": [...], "disabled": [...]}. One file holds everywhere, others in one project each.
//
// Call [Read] for the choices that apply in a folder, [All.Allows] to ask whether a tool is on, and [File.Update] to
// change one of the files. A name is a server ("github") or one of its tools ("github/delete_repo"). A name in disabled
// is off. If enabled is empty, everything else is on; if not, only its names are. A tool is on if every file that
// applies has it on. The package does not know what the names refer to.
package state

import (
	"slices"
	"strings"
)

// Tools is the choice of a person. Its zero value has everything on.
type Tools struct {
	Enabled  []string
	Disabled []string
}

// Allows reports whether a tool is on.
func (t Tools) Allows(server, name string) bool {
	ref := server + "/" + name
	if slices.Contains(t.Disabled, server) || slices.Contains(t.Disabled, ref) {
		return false
	}
	return len(t.Enabled) == 0 || slices.Contains(t.Enabled, server) || slices.Contains(t.Enabled, ref)
}

// AllowsServer reports whether a server may be asked at all: it is not off as a whole, and if only some names are on,
// it or one of its tools is among them.
func (t Tools) AllowsServer(server string) bool {
	if slices.Contains(t.Disabled, server) {
		return false
	}
	return len(t.Enabled) == 0 || slices.ContainsFunc(t.Enabled, func(name string) bool {
		return name == server || strings.HasPrefix(name, server+"/")
	})
}

// Whole reports whether every tool of a server is on.
func (t Tools) Whole(server string) bool {
	single := func(name string) bool { return strings.HasPrefix(name, server+"/") }
	return t.AllowsServer(server) && !slices.ContainsFunc(t.Disabled, single) &&
		(len(t.Enabled) == 0 || slices.Contains(t.Enabled, server))
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
	t.Enable(names...)
	for _, name := range names {
		t.Enabled = with(t.Enabled, name)
	}
}

// Disable switches names off. They stay in enabled: disabled is the stronger list, and a later Enable finds the
// choice as it was.
func (t *Tools) Disable(names ...string) {
	for _, name := range names {
		t.Disabled = with(t.Disabled, name)
	}
}

func with(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

func without(list []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(n string) bool { return n == name })
}

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
