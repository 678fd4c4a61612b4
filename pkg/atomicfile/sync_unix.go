//go:build unix

package atomicfile

import (
	"errors"
	"os"
	"syscall"
)

// syncFolder writes the names in a folder to disk. Some file systems cannot, and need not.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
