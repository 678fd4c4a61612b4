//go:build linux || darwin

package daemon

import "syscall"

func makePipe(path string) error { return syscall.Mkfifo(path, 0o600) }
