package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/policy"
)

// Profile is a choice of servers and tools that clients of a gateway can ask for by its name.
type Profile struct {
	// Servers are globs of the names of servers, and Tools of "server/tool". What any of them fits belongs to the profile.
	// If Servers is empty, the servers are those that Tools names. If Tools is empty, all tools of the servers belong to
	// the profile.
	Servers, Tools []policy.Glob
	// Mode is the exposure: "search", "activate" or "all".
	Mode string
}

// Shows reports whether a server, or a tool of it unless name is empty, belongs to the profile.
func (p Profile) Shows(server, name string) bool {
	fitsServer := func(g policy.Glob) bool { return g.Match(server) }
	ofServer := func(g policy.Glob) bool { return serverPart(g).Match(server) }
	if len(p.Servers) > 0 && !slices.ContainsFunc(p.Servers, fitsServer) {
		return false
	}
	if len(p.Tools) == 0 {
		return true
	}
	if name == "" {
		return len(p.Servers) > 0 || slices.ContainsFunc(p.Tools, ofServer)
	}
	return slices.ContainsFunc(p.Tools, func(g policy.Glob) bool { return g.Match(server + "/" + name) })
}

// serverPart returns the glob of the servers whose tools a glob may fit.
func serverPart(g policy.Glob) policy.Glob {
	server, _, slash := strings.Cut(string(g), "/")
	if !slash {
		server += "*" // a * in it fits a / too
	}
	if i := strings.Index(server, "*"); i >= 0 {
		server = server[:i+1]
	}
	return policy.Glob(server)
}

// profileTable is one [profiles.NAME] of the settings file.
type profileTable struct {
	Servers []string `toml:"servers"`
	Tools   []string `toml:"tools"`
	Mode    string   `toml:"mode"`
}

// profileExample is a profile as a help shows it.
const profileExample = `Write it as in:
  [profiles.review]
  servers = ["github"]
  tools = ["github/*pull*"]
  mode = "all"`

// maxProfileName bounds the name of a profile, in bytes.
const maxProfileName = 64

// isProfileName reports whether a profile may be called so: its name stands in a URL.
func isProfileName(name string) bool {
	odd := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-'
	}
	return name != "" && len(name) <= maxProfileName && !strings.ContainsFunc(name, odd)
}

// profiles returns the profiles of the settings file. A fault.Config names a profile that cannot be used.
func (f *settingsFile) profiles() (map[string]Profile, error) {
	if len(f.values.Profiles) == 0 {
		return nil, nil
	}
	profiles := make(map[string]Profile)
	for _, name := range slices.Sorted(maps.Keys(f.values.Profiles)) {
		p, err := newProfile(name, f.values.Profiles[name])
		if err != nil {
			return nil, fault.New(fault.Config, fmt.Sprintf("%s: the profile %q: %v", f.path, name, err), profileExample)
		}
		profiles[name] = p
	}
	return profiles, nil
}

func newProfile(name string, t profileTable) (p Profile, err error) {
	if !isProfileName(name) {
		return p, errors.New("a name has 1 to 64 letters, digits, _ and -")
	}
	if p.Mode = t.Mode; p.Mode == "" {
		p.Mode = "search"
	}
	if err := oneOf(p.Mode, "search", "activate", "all"); err != nil {
		return p, fmt.Errorf("mode: %w", err)
	}
	for _, text := range t.Servers {
		g, err := ParseServerGlob(text)
		if err != nil {
			return p, fmt.Errorf("servers: %w", err)
		}
		p.Servers = append(p.Servers, g)
	}
	for _, text := range t.Tools {
		g, err := policy.ParseGlob(text)
		if err != nil {
			return p, fmt.Errorf("tools: %w", err)
		}
		p.Tools = append(p.Tools, g)
	}
	return p, nil
}

// ParseServerGlob checks a pattern for the names of servers, in which a * stands for any text.
func ParseServerGlob(text string) (policy.Glob, error) {
	switch i := strings.IndexAny(text, `/?[]{}\`); {
	case text == "" || text != strings.TrimSpace(text):
		return "", fmt.Errorf("%q is the name of no server", text)
	case i >= 0:
		return "", fmt.Errorf("%q has %q, but it names servers, and the only special character is *", text, text[i:i+1])
	}
	return policy.Glob(text), nil
}
