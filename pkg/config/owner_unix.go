//go:build unix

package config

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// distrust says why a file or folder that was found, and not named, is not used: another user could have written it. It
// is empty if only this user and root can.
func distrust(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return ""
	case stat.Uid != 0 && int(stat.Uid) != os.Geteuid():
		return fmt.Sprintf("belongs to another user (uid %d)", stat.Uid)
	case info.Mode().Perm()&0o002 != 0:
		return "can be written by anybody"
	case info.Mode().Perm()&0o020 != 0 && !isOwnGroup(stat.Gid):
		return fmt.Sprintf("can be written by the group %d", stat.Gid)
	}
	return ""
}

// isOwnGroup reports whether a group is that of this user alone: systems that give each user a group of the same number
// or name let it write (umask 002).
func isOwnGroup(gid uint32) bool {
	switch {
	case int(gid) == os.Geteuid():
		return true
	case int(gid) != os.Getegid():
		return false
	}
	id := strconv.Itoa(int(gid))
	group, err := user.LookupGroupId(id)
	if err != nil {
		return false
	}
	self, err := user.Current()
	return err == nil && self.Gid == id && self.Username == group.Name
}
