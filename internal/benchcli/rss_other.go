//go:build !linux && !windows

package main

import "syscall"

// maxRSS returns ru_maxrss, in bytes on macOS (getrusage(2)).
func maxRSS(r *syscall.Rusage) int64 { return r.Maxrss }
