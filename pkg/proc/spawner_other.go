//go:build !linux

package proc

import "syscall"

// dieWithParent does nothing here: the child sees the end of its stdin when our process ends.
func dieWithParent(*syscall.SysProcAttr) {}
