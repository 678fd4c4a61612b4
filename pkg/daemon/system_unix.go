//go:build linux || darwin

package daemon

import (
	"fmt"
	"os"
	"syscall"
)

// Supported says whether this system can have a daemon.
const Supported = true

// private makes dir for this user alone. It fails if others can use dir.
func private(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(stat.Uid) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s is not a folder of yours alone (mode 0700)", dir)
	}
	return nil
}
