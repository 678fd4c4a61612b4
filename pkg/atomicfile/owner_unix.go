//go:build unix

package atomicfile

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// Foreign names the owner of a file, folder or link. It is empty for this user and root.
func Foreign(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Uid == 0 || int(stat.Uid) == os.Geteuid() {
		return ""
	}
	return fmt.Sprintf("belongs to another user (uid %d)", stat.Uid)
}

// Exposed says how another user could have written a file or folder. It is empty if only this user and root can.
func Exposed(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	why := Foreign(info)
	switch {
	case !ok || why != "":
		return why
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
