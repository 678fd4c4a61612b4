package verb

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/engine"
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

// lockToWrite returns the lock that new parts go into: the one in the file if servers were named, since only their parts
// change then, else a new one.
func lockToWrite(path string, named bool) (*pin.Lock, error) {
	if _, err := os.Lstat(path); !named || errors.Is(err, fs.ErrNotExist) {
		return pin.NewLock(), nil
	}
	return pin.ReadLock(path)
}

// checkLock compares what servers offer with a lock.
func (s *Session) checkLock(l *pin.Lock, probes []engine.Probe, named bool) ([]pin.Mismatch, error) {
	var names []string
	for _, p := range probes {
		names = append(names, p.Server.Name)
	}
	list := []pin.Mismatch{}
	if !named {
		list = append(list, l.Missing(names)...)
	}
	probes, err := lockable(s, probes, named)
	if err != nil {
		return nil, err
	}
	for _, p := range probes {
		if p.Failure != nil {
			continue // which is a failure of the doctor by itself
		}
		found, err := l.Check(p.Server.Name, p.Listing)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
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
	return map[string]string{"changed": what + " is not as it was locked", "new": what + " is not in the lock",
		"missing": what + " is in the lock, but not there"}[m.Problem]
}
