// Package atomicfile replaces files as a whole: a reader finds the old content or the new one, never a part, also after
// a crash of the process or of the machine.
//
// Call [Write], or [WriteIf] to look at the old file once more right before it is replaced, or [Prepare] to replace
// several files together. They write a temporary file beside the old one and rename it. A process that is killed
// meanwhile leaves the temporary file behind; [Sweep] removes such leftovers. Callers hold whatever lock keeps other
// writers of the file away: [Edit] does all of it for a file in mcpl's state folder, [Lock] takes the lock alone.
//
// [Read] reads only what is a regular file, [ReadOwn] only what no other user could have written, [ReadNamed] also a
// pipe. [ParseJSON] parses such a file. A [Memo] spares reading one again that has not changed.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// suffix ends the names of temporary files.
const suffix = ".mcpl-tmp"

// Write replaces the content of the file at path, which need not exist, and gives it these permissions. Its folder must
// exist. On return without an error content and name are on disk. If path is a link to a file, the link is replaced.
// Anything else that is there, such as a device or a link to nowhere, stays: the error is an [ErrUnfit].
func Write(path string, data []byte, mode fs.FileMode) error {
	_, err := WriteIf(path, data, mode, func() (bool, error) { return true, nil })
	return err
}

// WriteIf is [Write] with a last question: once the new content is on disk, under another name, it calls wanted. The
// file at path is replaced only if that returns true; done says whether it was.
func WriteIf(path string, data []byte, mode fs.FileMode, wanted func() (bool, error)) (done bool, err error) {
	p, err := Prepare(path, data, mode)
	if err != nil {
		return false, err
	}
	if ok, err := wanted(); err != nil || !ok {
		p.Discard()
		return false, err
	}
	return p.Commit()
}

// Pending is new content for a file, which is on disk under another name.
type Pending struct{ Temp, path string }

// Prepare does all of [Write] that takes time and changes nothing yet. Call Commit or Discard on the result.
func Prepare(path string, data []byte, mode fs.FileMode) (*Pending, error) {
	if err := replaceable(path); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*"+suffix)
	if err != nil {
		return nil, err
	}
	p := &Pending{Temp: f.Name(), path: path}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		p.Discard()
		return nil, err
	}
	return p, nil
}

// Commit replaces the file; done says whether it did, also if its folder could not be brought to disk then.
func (p *Pending) Commit() (done bool, err error) {
	if err = os.Rename(p.Temp, p.path); err != nil {
		p.Discard()
		return false, err
	}
	return true, syncFolder(filepath.Dir(p.path))
}

// Discard leaves the file as it is.
func (p *Pending) Discard() { _ = os.Remove(p.Temp) } // what is left of it, Sweep removes

// replaceable fails unless path is a regular file, leads to one, or is free. A rename would put a file in place of
// anything but a folder, of /dev/null too.
func replaceable(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%w, but a link to nowhere", ErrUnfit)
		}
		return nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = ErrUnfit
	}
	return err
}

// Sweep removes what killed calls of [Write] have left beside the file at path.
func Sweep(path string) error {
	dir := filepath.Dir(path)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if !isLeftover(entry.Name(), filepath.Base(path)) {
			continue
		}
		if gone := os.Remove(filepath.Join(dir, entry.Name())); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// isLeftover reports whether name is one that os.CreateTemp makes for the file called base.
func isLeftover(name, base string) bool {
	name, begins := strings.CutPrefix(name, "."+base+".")
	digits, ends := strings.CutSuffix(name, suffix)
	return begins && ends && digits != "" && strings.Trim(digits, "0123456789") == ""
}
