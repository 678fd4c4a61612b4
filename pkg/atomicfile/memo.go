package atomicfile

import (
	"io/fs"
	"os"
	"sync"
	"time"
)

// settleTime is the age from which a file's times tell a later change: file systems keep times no finer than some
// milliseconds.
const settleTime = time.Second

// Stamp tells one state of a file from others: which file it is, its size, its times, its permissions and its owner.
// Stamps are compared with ==.
type Stamp struct {
	device, node    uint64
	size            int64
	changed, edited int64 // nanoseconds since 1970; changed is of the content, the permissions, the owner or the name
	mode            fs.FileMode
	uid, gid        uint32
}

// StampOf returns the stamp of the file that path leads to, without opening it.
func StampOf(path string) (Stamp, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Stamp{}, err
	}
	s := Stamp{size: info.Size(), edited: info.ModTime().UnixNano(), changed: info.ModTime().UnixNano(), mode: info.Mode()}
	s.identify(info)
	return s, nil
}

// Settled reports whether every later change of the file gives it another stamp. A file that has changed within the
// last second may change once more without that showing in its times.
func (s Stamp) Settled() bool {
	return time.Since(time.Unix(0, max(s.changed, s.edited))) > settleTime
}

// maxMade bounds the files of a [Memo].
const maxMade = 1000

// Memo remembers what was made of the content of files, until they change. The zero value is ready for use, and safe
// for concurrent use. A nil Memo remembers nothing.
type Memo[T any] struct {
	mu   sync.Mutex
	made map[string]made[T]
}

type made[T any] struct {
	of    Stamp
	value T
}

// Get returns what read makes of the file at path. It calls read only if the file is another than when it last did, or
// was not [Stamp.Settled] then. Errors are not remembered. What read returns is shared by all callers.
func (m *Memo[T]) Get(path string, read func() (T, error)) (T, error) {
	if m == nil {
		return read()
	}
	// The stamp is older than what is read, so that a change between the two makes the next call read again.
	now, err := StampOf(path)
	if err != nil {
		return read()
	}
	m.mu.Lock()
	known, ok := m.made[path]
	m.mu.Unlock()
	if ok && known.of == now {
		return known.value, nil
	}
	value, err := read()
	if err != nil || !now.Settled() {
		return value, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.made == nil || len(m.made) >= maxMade {
		m.made = make(map[string]made[T])
	}
	m.made[path] = made[T]{now, value}
	return value, nil
}
