package fault

import (
	"errors"
	"syscall"
)

// NoMoreFiles returns the fault of a process that may open no more files, if err says so: nothing is wrong with what it
// was about to open then. For other errors it returns nil.
func NoMoreFiles(err error) *Fault {
	if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
		return nil
	}
	return New(Config, "mcpl may open no more files",
		"Raise the limit of open files (ulimit -n), and type the command again.").Because(err)
}
