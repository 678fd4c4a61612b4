package index

import (
	"os"
	"syscall"
)

// cold tells the kernel that a part of the file is hardly read. Linux maps what lies around a
// page that is touched, up to megabytes of it, but not beyond a change of advice; without this a
// search of 10,000 tools has the whole file in its memory. To be ignored is no error.
func (m *mapping) cold(from, to int) {
	page := os.Getpagesize()
	from, to = (from+page-1)/page*page, to/page*page
	if to-from > 16*page {
		_ = syscall.Madvise(m.data[from:to], syscall.MADV_RANDOM)
	}
}
