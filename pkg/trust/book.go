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
	"runtime"
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

// stamp identifies the file by its mode, time and size: whether it counts depends on its mode.
func (b Book) stamp() string {
	info, err := os.Stat(b.Path)
	if err != nil {
		return "none"
	}
	return fmt.Sprintf("%o %d %d", info.Mode(), info.ModTime().UnixNano(), info.Size())
}

// Read returns the approvals. A missing file has none. A file that cannot be read, or is damaged, is a fault.Config: it
// approves nothing, and stays where it is.
func (b Book) Read() ([]Approval, error) {
	info, err := os.Stat(b.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && !info.Mode().IsRegular():
		err = errors.New("it is not a regular file")
	case err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0:
		err = errors.New("others may write it")
	case err == nil && info.Size() > maxBook:
		err = fmt.Errorf("it has more than %d MB", maxBook>>20)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(b.Path)
	}
	var list []Approval
	if err == nil {
		list, err = parse(data)
	}
	if err != nil {
		return nil, fault.New(fault.Config, fmt.Sprintf("the approvals in %s cannot be read, so none counts", b.Path),
			"Mend the file, or move it away and approve the servers again.").Because(err)
	}
	return list, nil
}

// parse reads the file's JSON. Unknown members are an error: an approval is not to be read without its conditions.
func parse(data []byte) ([]Approval, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var l layout
	if err := d.Decode(&l); err != nil {
		return nil, err
	}
	switch {
	case d.More():
		return nil, errors.New("there is more behind its end")
	case l.Version != version:
		return nil, fmt.Errorf("its version is %d, and this mcpl knows version %d", l.Version, version)
	}
	for i, a := range l.Approvals {
		if a.Project == "" || a.Server == "" || !isHash(a.Hash) && !isHash(a.Declined) ||
			a.Hash != "" && !isHash(a.Hash) {
			return nil, fmt.Errorf("approval %d has no project, no server or no hash", i)
		}
	}
	return l.Approvals, nil
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
