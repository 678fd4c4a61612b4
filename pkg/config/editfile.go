package config

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// editWait bounds how long an edit waits for another mcpl. Each holds the lock for milliseconds.
const editWait = 5 * time.Second

// editTries bounds how often an edit starts anew because a program that does not know the lock, such as the client
// that owns the file, has written to the file meanwhile.
const editTries = 5

// Edit replaces a file's bytes by what change returns for them; change gets nil if the file does not exist. Two edits
// by mcpl follow each other: the lock is in mcpl's state folder, so that nothing is left beside the file. The
// replacement is atomic, the file keeps its mode, and a link to it stays a link. A new file has mode 0644, or 0600 if
// private. Edit does not write bytes that did not change. It removes what killed edits have left beside the file.
func (e Env) Edit(ctx context.Context, path string, private bool,
	change func(data []byte) ([]byte, error)) (created bool, err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	unlock, err := e.lockEdit(ctx, path)
	if err != nil {
		return false, err
	}
	defer unlock()
	_ = atomicfile.Sweep(path) // a leftover that stays costs only its room, and the next edit tries again
	for range editTries {
		before, mode, err := readForEdit(path)
		if err != nil {
			return false, err
		}
		if mode == 0 {
			if mode = 0o644; private {
				mode = 0o600
			}
		}
		after, err := change(before)
		if err != nil || before != nil && bytes.Equal(before, after) {
			return false, err
		}
		done, err := replaceFile(path, mode, before, after)
		if err != nil {
			return false, unwritable(path, err)
		}
		if done {
			return before == nil, nil
		}
	}
	return false, fault.New(fault.Config, fmt.Sprintf("cannot change %s: another program keeps writing to it", path),
		"Quit the program that the file belongs to, and try again.")
}

func (e Env) lockEdit(ctx context.Context, path string) (unlock func(), err error) {
	name := filepath.Join(e.StateDir(), "locks", digest([]string{"mcpl edit 1", path})[:16])
	unlock, err = atomicfile.Lock(ctx, name, editWait)
	switch held, ok := errors.AsType[*atomicfile.HeldError](err); {
	case ctx.Err() != nil:
		return nil, fault.New(fault.Interrupted, "interrupted", "").Because(ctx.Err())
	case ok:
		return nil, fault.New(fault.Timeout, fmt.Sprintf("%s was not changed: %v", path, held),
			"Wait for the other mcpl or end it, and try again.")
	case err != nil:
		return nil, unwritable(name, err)
	}
	return unlock, nil
}

// readForEdit returns a file's bytes and mode. They are nil and zero if it does not exist.
func readForEdit(path string) ([]byte, fs.FileMode, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	var data []byte
	if err == nil {
		data, err = readBytes(path)
	}
	if err != nil {
		return nil, 0, unreadable(path, err, "Make it a readable text file, or name another one with --to FILE.").Because(err)
	}
	if data == nil {
		data = []byte{}
	}
	return data, info.Mode().Perm(), nil
}

// replaceFile writes a file beside path and moves it there, unless path has changed since before was read: then done
// is false.
func replaceFile(path string, mode fs.FileMode, before, after []byte) (done bool, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return false, err
	}
	return atomicfile.WriteIf(path, after, mode, func() (bool, error) {
		now, _, err := readForEdit(path)
		return (now == nil) == (before == nil) && bytes.Equal(now, before), err
	})
}

func unwritable(path string, err error) *fault.Fault {
	help := fmt.Sprintf("Make the folder %s writable for you, or name another file with --to FILE.", filepath.Dir(path))
	return fault.New(fault.Config, "cannot write "+path, cmp.Or(atomicfile.Remedy(path, err), help)).Because(err)
}

// ReadToEdit returns the bytes that [Env.Edit] would give to change: those of a text file as it is, or nil if there is
// no file at path.
func ReadToEdit(path string) ([]byte, error) {
	data, _, err := readForEdit(path)
	return data, err
}
