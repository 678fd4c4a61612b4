// Package results keeps results that are too large for the context of their reader, and binaries, in files: one store,
// and one kind of ID, for every face of mcpl.
//
// Make a [Store], keep a result with [Store.Put], show its reader the [Entry]'s ID and path, and find it again with
// [Store.Get]. [Text] and [Selection.Apply] show parts of it. Equal results have equal IDs. A result stays for a week,
// unless newer ones need its room.
package results

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// The limits of a store. The newest result is kept whatever its size.
const (
	// Keep is how long a result is kept after it was last put.
	Keep     = 7 * 24 * time.Hour
	maxBytes = 512 << 20
	maxFiles = 10_000
)

// Store is a folder of results, which need not exist. Several processes may use it at once.
type Store struct {
	Dir string
	// Now is the clock by which old results are removed.
	Now func() time.Time
}

// Entry is a result in a store, or in a folder of the user's.
type Entry struct {
	// ID names the result to a reader. It is empty outside of a store.
	ID   string
	Path string // absolute
	Size int    // bytes
}

// idLength is the length of an ID: the first 48 bits of the content's SHA-256 in hexadecimal digits.
const idLength = 12

// Put keeps a result of a server's tool (or prompt, or resource) and removes what is too old or too much. ext is the
// extension of its file.
func (s Store) Put(server, name string, content []byte, ext string) (Entry, error) {
	e, err := Save(s.Dir, server, name, content, ext)
	if err == nil {
		e.ID = idOf(content)
		s.sweep(e.Path)
	}
	return e, err
}

// Save writes a result to a folder, which it makes if there is none, with mode 0600. The file is named after the tool
// and the content, so that equal results get the same name and others never do.
func Save(dir, server, name string, content []byte, ext string) (Entry, error) {
	path, err := filepath.Abs(filepath.Join(dir, fmt.Sprintf("%s-%s-%s%s", word(server), word(name), idOf(content), ext)))
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = atomicfile.Write(path, content, 0o600)
	}
	return Entry{Path: path, Size: len(content)}, err
}

func idOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])[:idLength]
}

// Get returns the result with an ID, and its content. If there is none, the error is a fault.ResultNotFound.
func (s Store) Get(id string) (Entry, []byte, error) {
	id = strings.ToLower(strings.TrimSpace(id))
	if _, err := hex.DecodeString(id); err == nil && len(id) == idLength {
		paths, err := filepath.Glob(filepath.Join(escapeGlob(s.Dir), "*-"+id+".*"))
		if err != nil {
			return Entry{}, nil, err
		}
		for _, path := range paths {
			if content, err := atomicfile.Read(path, math.MaxInt64); err == nil && idOf(content) == id {
				return Entry{id, path, len(content)}, content, nil
			}
		}
	}
	return Entry{}, nil, fault.New(fault.ResultNotFound, fmt.Sprintf("there is no result %q", id),
		"Results are kept for 7 days, and less if newer ones need the room. The answer to a call has the ID of its result.")
}

// escapeGlob returns a path as a pattern that matches it alone.
func escapeGlob(path string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(path)
}

// kept is a file of the store.
type kept struct {
	path    string
	size    int64
	written time.Time
}

// sweep removes results that are too old and, beginning with the oldest, those that are too many or too large together.
// It spares the one just written. A file that cannot be removed stays.
func (s Store) sweep(spared string) {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return
	}
	var files []kept
	var total int64
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || info.Mode()&fs.ModeType != 0 {
			continue
		}
		files = append(files, kept{filepath.Join(s.Dir, e.Name()), info.Size(), info.ModTime()})
		total += info.Size()
	}
	slices.SortFunc(files, func(a, b kept) int {
		return cmp.Or(a.written.Compare(b.written), strings.Compare(a.path, b.path))
	})
	left, limit := len(files), s.Now().Add(-Keep)
	for _, f := range files {
		if !f.written.Before(limit) && total <= maxBytes && left <= maxFiles {
			return
		}
		if filepath.Base(f.path) == filepath.Base(spared) {
			continue
		}
		if err := os.Remove(f.path); err == nil || errors.Is(err, fs.ErrNotExist) {
			total -= f.size
			left--
		}
	}
}

// word makes a name fit for a file name on every system.
func word(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
	return s[:min(len(s), 60)]
}

// Extension returns the usual file extension of a media type. The common ones are listed here, since the system's table
// differs from machine to machine; the rest get their subtype.
func Extension(mime string) string {
	mime, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(mime)), ";")
	common := map[string]string{
		"image/jpeg": ".jpg", "image/jpg": ".jpg", "image/svg+xml": ".svg",
		"image/x-icon": ".ico", "image/vnd.microsoft.icon": ".ico",
		"audio/mpeg": ".mp3", "audio/mp3": ".mp3", "audio/mp4": ".m4a", "audio/x-m4a": ".m4a",
		"audio/x-wav": ".wav", "audio/wave": ".wav", "audio/vnd.wave": ".wav",
		"text/plain": ".txt", "text/markdown": ".md",
		"application/gzip": ".gz", "application/x-gzip": ".gz", "application/octet-stream": ".bin",
	}
	if ext := common[mime]; ext != "" {
		return ext
	}
	_, sub, _ := strings.Cut(mime, "/")
	if i := strings.LastIndexByte(sub, '+'); i >= 0 {
		sub = sub[i+1:]
	}
	if sub = word(sub); sub == "" || len(sub) > 12 {
		return ".bin"
	}
	return "." + sub
}
