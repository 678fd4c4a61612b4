package main

import "syscall"

// maxRSS returns ru_maxrss in bytes; Linux counts it in kilobytes (getrusage(2)).
func maxRSS(r *syscall.Rusage) int64 { return r.Maxrss * 1024 }
