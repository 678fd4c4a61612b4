package verb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/pin"
)

// lockable returns the outcomes of those servers that a lock is for: those that come with the project, or all if none
// does or if they were named.
func lockable(s *Session, probes []engine.Probe, named bool) ([]engine.Probe, error) {
	root, err := s.root()
	if err != nil {
		return nil, err
	}
	ours := slices.DeleteFunc(slices.Clone(probes), func(p engine.Probe) bool {
		rel, err := filepath.Rel(root, p.Server.File)
		return p.Off || !named && (err != nil || !filepath.IsLocal(rel))
	})
	if len(ours) > 0 || named {
		return ours, nil
	}
	return slices.DeleteFunc(slices.Clone(probes), func(p engine.Probe) bool { return p.Off }), nil
}

// lockPath returns the file that the lock of the project is in.
func (s *Session) lockPath() (string, error) {
	root, err := s.root()
	return filepath.Join(root, pin.LockFile), err
}

// readLock reads the lock of the project.
func (s *Session) readLock() (*pin.Lock, error) {
	path, err := s.lockPath()
	if err != nil {
		return nil, err
	}
	return pin.ReadLock(path)
}

// lockToWrite returns the lock that new parts go into: the one in the file if servers were named, since only their
// parts change then, else a new one. The parts of those that are disabled, which are not asked, stay: kept names them.
func lockToWrite(path string, named bool, probes []engine.Probe) (l *pin.Lock, kept []string, err error) {
	l = pin.NewLock()
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return l, nil, nil
	}
	old, err := pin.ReadLock(path)
	switch {
	case err != nil && named:
		return nil, nil, err
	case err != nil:
		return l, nil, nil // it is written anew
	case named:
		l = old
	}
	for _, p := range probes {
		if part, locked := old.Servers[p.Server.Name]; locked && p.Off {
			l.Servers[p.Server.Name] = part
			kept = append(kept, p.Server.Name)
		}
	}
	return l, kept, nil
}

// checkLock compares what servers offer with a lock. A server of the lock that is disabled, or one that did not answer,
// counts as different: it was not compared.
func (s *Session) checkLock(l *pin.Lock, probes []engine.Probe, named bool) ([]pin.Mismatch, error) {
	list := []pin.Mismatch{}
	var names []string
	for _, p := range probes {
		names = append(names, p.Server.Name)
		if _, locked := l.Servers[p.Server.Name]; locked && p.Off {
			list = append(list, notCompared(p))
		}
	}
	if !named {
		list = append(list, l.Missing(names)...)
	}
	probes, err := lockable(s, probes, named)
	if err != nil {
		return nil, err
	}
	for _, p := range probes {
		if p.Failure != nil {
			list = append(list, notCompared(p))
			continue
		}
		found, err := l.Check(p.Server.Name, p.Listing)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

func notCompared(p engine.Probe) pin.Mismatch {
	return pin.Mismatch{Server: p.Server.Name, Of: "server", Problem: pin.Unknown}
}

// mismatchText says a mismatch in words.
func mismatchText(m pin.Mismatch) string {
	what := "server " + m.Server
	switch m.Of {
	case "server":
	case "":
		what = m.Server + "/" + m.Name
	default:
		what = strings.TrimSpace(m.Of + " " + m.Name + " of " + m.Server)
	}
	return map[string]string{pin.Changed: what + " is not as it was locked", pin.New: what + " is not in the lock",
		pin.Missing: what + " is in the lock, but not there", pin.Unknown: what + " was not compared"}[m.Problem]
}

// lockHelp says what to do about mismatches. It is empty if all that differs is what was not compared: the doctor says
// what to do about such a server.
func lockHelp(list []pin.Mismatch) string {
	if !slices.ContainsFunc(list, func(m pin.Mismatch) bool { return m.Problem != pin.Unknown }) {
		return ""
	}
	return fmt.Sprintf("See what you have not seen yet with: %s. If your team agrees, lock what is there now with: %s",
		output.Command(fault.Step{Verb: "trust", Args: []string{"--diff"}}),
		output.Command(fault.Step{Verb: "trust", Args: []string{"--lock"}}))
}
