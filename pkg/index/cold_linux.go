package index

import (
	"os"
	"syscall"
)

// cold tells the kernel that a part of the file is rarely read. Linux maps the surroundings of a page that is
// touched, up to megabytes, but not beyond a change of advice; without this a search of 10,000 tools has the whole
// file in its memory. It is not an error if the kernel ignores the advice.
func (m *mapping) cold(from, to int) {
	page := os.Getpagesize()
	from, to = (from+page-1)/page*page, to/page*page
	if to-from > 16*page {
		_ = syscall.Madvise(m.data[from:to], syscall.MADV_RANDOM)
	}
}
