package trust

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// Book is the file of approvals. It belongs to the user and lies outside of every project.
type Book struct{ Path string }

// BookIn returns the book in mcpl's state folder.
func BookIn(dir string) Book { return Book{Path: filepath.Join(dir, "trust.json")} }

// version is that of the file's layout.
const version = 1

// layout is the layout of the file.
type layout struct {
	Version   int        `json:"version"`
	Approvals []Approval `json:"approvals"`
}

// maxBook bounds the file, in bytes: some ten thousand approvals.
const maxBook = 64 << 20

// lockWait bounds how long an update waits for another mcpl. Each holds the lock for milliseconds.
const lockWait = 5 * time.Second

// stamp identifies the file by its mode, time and size, and by who could have written it: whether it counts depends on
// that.
func (b Book) stamp() string {
	info, err := os.Stat(b.Path)
	if err != nil {
		return "none"
	}
	return fmt.Sprintf("%o %d %d%s", info.Mode(), info.ModTime().UnixNano(), info.Size(), atomicfile.Exposed(info))
}

// Read returns the approvals. A missing file has none. A file that cannot be read, or is damaged, or that another user
// could have written, is a fault.Config: it approves nothing, and stays where it is.
func (b Book) Read() ([]Approval, error) {
	data, _, err := atomicfile.ReadOwn(b.Path, maxBook)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []Approval
	var line int
	if err == nil {
		list, line, err = parse(data)
	}
	if err != nil {
		return nil, fault.New(fault.Config, fmt.Sprintf("%s: no approval in this file counts: %s",
			atomicfile.At(b.Path, line), atomicfile.Reason(err)),
			"Mend the file, or delete it and approve the servers again. No one else may be able to write it.")
	}
	return list, nil
}

// parse reads the file's JSON. line is that of a mistake in the JSON itself, else 0.
func parse(data []byte) (list []Approval, line int, err error) {
	var l layout
	if line, err = atomicfile.ParseJSON(data, &l); err != nil {
		return nil, line, err
	}
	if l.Version != version {
		return nil, 0, fmt.Errorf("its version is %d, and this mcpl knows version %d", l.Version, version)
	}
	for i, a := range l.Approvals {
		if a.Project == "" || a.Server == "" || !isHash(a.Hash) && !isHash(a.Declined) ||
			a.Hash != "" && !isHash(a.Hash) {
			return nil, 0, fmt.Errorf("approval %d has no project, no server or no hash", i+1)
		}
		if a.Hash != "" && a.Declined != "" { // as mcpl once wrote them, in one
			decline := a
			decline.Hash, decline.Terms, decline.WholeEnv = "", nil, false
			list, a.Declined = append(list, decline), ""
		}
		list = append(list, a)
	}
	return list, 0, nil
}

func isHash(text string) bool { return len(text) == 64 && strings.Trim(text, "0123456789abcdef") == "" }

// maxKept is how many approvals of different entries of one server are kept, and how many that were declined: the
// worktrees and branches of a project have entries of their own, and each is approved once.
const maxKept = 8

// Decline notes that a person has seen a subject and not approved it. Earlier approvals stay.
func (b Book) Decline(ctx context.Context, s Subject, at time.Time) error {
	a := Approval{Project: s.Project, Server: s.Server, Declined: s.Hash, Folder: s.Folder, Approved: at}
	return b.update(ctx, func(list []Approval) []Approval { return add(list, a) })
}

// Approve adds approvals. The newest of each server are kept.
func (b Book) Approve(ctx context.Context, approvals ...Approval) error {
	return b.update(ctx, func(list []Approval) []Approval {
		for _, a := range approvals {
			list = add(list, a)
		}
		return list
	})
}

// Adopt adds the approval of a server of which the book says nothing yet.
func (b Book) Adopt(ctx context.Context, a Approval) error {
	return b.update(ctx, func(list []Approval) []Approval {
		if slices.ContainsFunc(list, func(other Approval) bool { return other.isOf(a.Project, a.Server) }) {
			return list
		}
		return append(list, a)
	})
}

// add appends an approval, or a decline. It removes an earlier one of the same entry, and the oldest of its kind if
// there are too many.
func add(list []Approval, a Approval) []Approval {
	list = slices.Clone(list)
	kept := 1
	for i := len(list) - 1; i >= 0; i-- { // the newest first
		old := list[i]
		if !old.isOf(a.Project, a.Server) {
			continue
		}
		if old.isDecline() == a.isDecline() {
			kept++
		}
		if old.entry() == a.entry() || old.isDecline() == a.isDecline() && kept > maxKept {
			list = slices.Delete(list, i, i+1)
		}
	}
	return append(list, a)
}

// Revoke takes the approvals that match back, and returns them as they were. The book keeps that they were declined, so
// that no old index adopts their servers again.
func (b Book) Revoke(ctx context.Context, match func(Approval) bool) (gone []Approval, err error) {
	err = b.update(ctx, func(list []Approval) []Approval {
		gone = nil
		list = slices.DeleteFunc(slices.Clone(list), func(a Approval) bool {
			takes := !a.isDecline() && match(a)
			if takes {
				gone = append(gone, a)
			}
			return takes
		})
		for _, a := range gone {
			list = add(list, Approval{Project: a.Project, Server: a.Server, Declined: a.Hash, Folder: a.Folder,
				Approved: a.Approved})
		}
		return list
	})
	return gone, err
}

// update changes the file by edit: one locked read, edit and replacement, so that concurrent updates lose nothing. A
// file that cannot be read is not changed.
func (b Book) update(ctx context.Context, edit func([]Approval) []Approval) error {
	return atomicfile.Edit(ctx, b.Path, lockWait, func() ([]byte, error) {
		list, err := b.Read()
		if err != nil {
			return nil, err
		}
		var data bytes.Buffer
		encoder := json.NewEncoder(&data)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(layout{version, edit(list)})
		return data.Bytes(), err
	})
}
