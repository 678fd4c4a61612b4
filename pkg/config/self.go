package config

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Behind is the variable that every server started by mcpl finds in its environment. mcpl serve, which finds it there
// too if an entry runs it by way of another program, does not start: it would start itself without end.
const Behind = "MCPL_BEHIND"

// runsServe reports whether an entry runs this program's serve, as the files do that other clients share with mcpl: a
// gateway cannot be a server behind itself.
func (l *loader) runsServe(s *Server) bool {
	if s.Transport != Stdio || !slices.Contains(s.Args, "serve") {
		return false
	}
	self, err := os.Executable()
	if err != nil {
		return false
	}
	command := s.Command
	if !strings.ContainsRune(command, filepath.Separator) {
		if command, err = exec.LookPath(command); err != nil {
			return false
		}
	}
	a, err := os.Stat(self)
	if err != nil {
		return false
	}
	b, err := os.Stat(command)
	return err == nil && os.SameFile(a, b)
}
