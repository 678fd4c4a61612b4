//go:build unix

package proc

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// ownGroup makes a process that is started with attr the leader of a new process group.
func ownGroup(attr *syscall.SysProcAttr) {
	attr.Setpgid = true
}

func terminateGroup(cmd *exec.Cmd) { signalGroup(cmd, syscall.SIGTERM) }
func killGroup(cmd *exec.Cmd)      { signalGroup(cmd, syscall.SIGKILL) }

// groupAlive reports whether a process of the group runs. Signal 0 only asks (POSIX kill) and takes a
// zombie for alive; in a container whose process 1 reaps nothing, zombies stay for ever. If there is a
// /proc, groupAlive tells them apart by it.
func groupAlive(cmd *exec.Cmd) bool {
	if signalGroup(cmd, 0) != nil {
		return false
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		return true
	}
	group := []byte(strconv.Itoa(cmd.Process.Pid))
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		// "pid (name) state ppid pgrp ..."; the name may hold anything (proc_pid_stat(5)).
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 2 && bytes.Equal(fields[2], group) && fields[0][0] != 'Z' && fields[0][0] != 'X' {
			return true
		}
	}
	return false
}

func signalGroup(cmd *exec.Cmd, sig syscall.Signal) error { return syscall.Kill(-cmd.Process.Pid, sig) }
