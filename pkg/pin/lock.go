package pin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/canonical"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// LockFile is the name of a lock in a project's folder.
const LockFile = "mcpl.lock"

// lockVersion is the version of lock files.
//
//	1: the first
const lockVersion = 1

// Lock holds the hashes of what servers offered when a team agreed on it. It is written into a file that is committed
// and compared in reviews, so its order is fixed.
type Lock struct {
	Version int                     `json:"version"`
	Servers map[string]LockedServer `json:"servers"`
}

// LockedServer holds the hashes of one server's definitions, by their names: hex SHA-256 of the canonical JSON.
type LockedServer struct {
	Instructions string            `json:"instructions"`
	Tools        map[string]string `json:"tools"`
	Prompts      map[string]string `json:"prompts,omitempty"`
}

// NewLock returns a lock without servers.
func NewLock() *Lock { return &Lock{Version: lockVersion, Servers: make(map[string]LockedServer)} }

// Add locks what a server offers.
func (l *Lock) Add(server string, listing tool.Listing) error {
	locked, err := lockOf(listing)
	if err == nil {
		l.Servers[server] = locked
	}
	return err
}

func lockOf(listing tool.Listing) (LockedServer, error) {
	s := LockedServer{Tools: make(map[string]string), Prompts: make(map[string]string)}
	for _, def := range slices.Concat(listing.Tools, listing.Prompts) {
		hash, err := canonical.Hash(def.Whole())
		if err != nil {
			return s, err
		}
		if def.Kind == tool.Prompt {
			s.Prompts[def.Name] = hash
		} else {
			s.Tools[def.Name] = hash
		}
	}
	var err error
	s.Instructions, err = canonical.Hash(tool.Quote(listing.Instructions))
	return s, err
}

// Mismatch is one thing that is not as a lock says.
type Mismatch struct {
	Server string `json:"server"`
	// Of is the kind: "" for a tool, "prompt", "instructions" or "server". The last two have no name.
	Of   string `json:"of,omitempty"`
	Name string `json:"name,omitempty"`
	// Problem is one of the problems below.
	Problem string `json:"problem"`
}

// The problems of a [Mismatch].
const (
	Changed = "changed"
	New     = "new"
	Missing = "missing"
	// Unknown is that of a server that could not be compared.
	Unknown = "not compared"
)

// Check compares what a server offers with the lock.
func (l *Lock) Check(server string, listing tool.Listing) ([]Mismatch, error) {
	locked, ok := l.Servers[server]
	if !ok {
		return []Mismatch{{Server: server, Of: "server", Problem: New}}, nil
	}
	now, err := lockOf(listing)
	if err != nil {
		return nil, err
	}
	list := mismatches(server, "", locked.Tools, now.Tools)
	list = append(list, mismatches(server, string(tool.Prompt), locked.Prompts, now.Prompts)...)
	if now.Instructions != locked.Instructions {
		list = append(list, Mismatch{Server: server, Of: string(instructions), Problem: Changed})
	}
	return list, nil
}

// Missing returns the servers of the lock that are not among those names.
func (l *Lock) Missing(servers []string) []Mismatch {
	var list []Mismatch
	for _, name := range slices.Sorted(maps.Keys(l.Servers)) {
		if !slices.Contains(servers, name) {
			list = append(list, Mismatch{Server: name, Of: "server", Problem: Missing})
		}
	}
	return list
}

func mismatches(server, of string, locked, now map[string]string) []Mismatch {
	var list []Mismatch
	for _, name := range slices.Sorted(maps.Keys(locked)) {
		switch hash, ok := now[name]; {
		case !ok:
			list = append(list, Mismatch{server, of, name, Missing})
		case hash != locked[name]:
			list = append(list, Mismatch{server, of, name, Changed})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, ok := locked[name]; !ok {
			list = append(list, Mismatch{server, of, name, New})
		}
	}
	return list
}

// ReadLock reads a lock file. Errors are faults.
func ReadLock(path string) (*Lock, error) {
	data, err := atomicfile.Read(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.Config, "there is no "+path, "").
			Then("Write one with", fault.Step{Verb: "trust", Args: []string{"--lock"}})
	}
	if err != nil {
		help := "Make it readable for you."
		if info, gone := os.Stat(path); gone == nil && !info.Mode().IsRegular() {
			help = "The lock is a file: move away what lies in its place."
		}
		return nil, fault.New(fault.Config, "cannot read "+path+": "+atomicfile.Reason(err), help).Because(err)
	}
	l, err := parseLock(data)
	if err == nil {
		return l, nil
	}
	f := fault.New(fault.Config, fmt.Sprintf("%s is not a lock: %v", path, err), "").Because(err)
	if errors.Is(err, errNewer) {
		f.Help = "A newer mcpl wrote it: update this one."
		return nil, f
	}
	return nil, f.Then("Write it anew with", fault.Step{Verb: "trust", Args: []string{"--lock"}})
}

// errNewer is the error of a lock that a later mcpl wrote.
var errNewer = errors.New("this mcpl does not know its version")

func parseLock(data []byte) (*Lock, error) {
	l := NewLock()
	l.Version = 0
	if err := json.Unmarshal(data, l); err != nil {
		return nil, err
	}
	switch {
	case l.Version > lockVersion:
		return nil, fmt.Errorf("%w, %d", errNewer, l.Version)
	case l.Version != lockVersion:
		return nil, errors.New("it has no version")
	}
	return l, nil
}

// Write writes the lock into a file. Errors are faults.
func (l *Lock) Write(path string) error {
	data, err := l.render()
	if err == nil {
		err = atomicfile.Write(path, data, 0o644)
	}
	if err != nil {
		help := cmp.Or(atomicfile.Remedy(path, err), "Make its folder writable for you.")
		return fault.New(fault.Config, "cannot write "+path, help).Because(err)
	}
	return nil
}

// render writes the lock in JSON, a definition a line, in the order of the names.
func (l *Lock) render() ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(l)
	return b.Bytes(), err
}
