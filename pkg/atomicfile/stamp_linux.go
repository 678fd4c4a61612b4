package atomicfile

import (
	"io/fs"
	"syscall"
)

// identify adds to a stamp what only the system knows.
func (s *Stamp) identify(info fs.FileInfo) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		s.device, s.node, s.uid, s.gid = uint64(stat.Dev), stat.Ino, stat.Uid, stat.Gid
		s.changed = stat.Ctim.Nano()
	}
}
