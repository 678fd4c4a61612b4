package trust

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
			return nil, 0, fmt.Errorf("approval %d has no project, no server or no hash", i)
		}
	}
	return l.Approvals, 0, nil
}

func isHash(text string) bool { return len(text) == 64 && strings.Trim(text, "0123456789abcdef") == "" }

// Decline notes that a person has seen a subject and not approved it. An earlier approval stays.
func (b Book) Decline(ctx context.Context, s Subject, at time.Time) error {
	return b.update(ctx, func(list []Approval) []Approval {
		if i := find(list, s.Project, s.Server); i >= 0 {
			list[i].Declined = s.Hash
			return list
		}
		return append(list, Approval{Project: s.Project, Server: s.Server, Declined: s.Hash, Folder: s.Folder, Approved: at})
	})
}

// Approve adds approvals. An older one of the same server is replaced.
func (b Book) Approve(ctx context.Context, add ...Approval) error {
	return b.update(ctx, func(list []Approval) []Approval {
		for _, a := range add {
			if i := find(list, a.Project, a.Server); i >= 0 {
				list[i] = a
			} else {
				list = append(list, a)
			}
		}
		return list
	})
}

// Adopt adds the approval of a server of which the book says nothing yet.
func (b Book) Adopt(ctx context.Context, a Approval) error {
	return b.update(ctx, func(list []Approval) []Approval {
		if find(list, a.Project, a.Server) < 0 {
			list = append(list, a)
		}
		return list
	})
}

// Revoke takes the approvals that match back, and returns them as they were. The book keeps that they were declined, so
// that no old index adopts their servers again.
func (b Book) Revoke(ctx context.Context, match func(Approval) bool) (gone []Approval, err error) {
	err = b.update(ctx, func(list []Approval) []Approval {
		for i, a := range list {
			if a.Hash == "" || !match(a) {
				continue
			}
			gone = append(gone, a)
			list[i] = Approval{Project: a.Project, Server: a.Server, Declined: cmp.Or(a.Declined, a.Hash), Folder: a.Folder,
				Approved: a.Approved}
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
