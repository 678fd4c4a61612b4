package index

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// TestReplaced: an open snapshot tells files that were replaced from files that are damaged.
func TestReplaced(t *testing.T) {
	t.Parallel()
	cat, stamp := sample(t)
	s := save(t, cat, stamp)
	old, err := s.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	rec, _, err := old.Find(tool.Ref{Server: "books", Name: "book://{isbn}", Kind: tool.Template})
	if err != nil {
		t.Fatal(err)
	}
	if !s.Holds(old) {
		t.Error("the file that was opened is another one")
	}
	cat.Servers[0].Tools = slices.Insert(cat.Servers[0].Tools, 0, def(t, `{"name":"new","description":"moves all others"}`))
	saved, err := s.Save(t.Context(), cat, stamp)
	if err != nil {
		t.Fatal(err)
	}
	if s.Holds(old) || !s.Holds(saved) {
		t.Error("the file that was written is not told from the one before")
	}
	if _, err := old.Definition(rec); !errors.Is(err, ErrReplaced) || errors.Is(err, ErrDamaged) {
		t.Errorf("of a file that was replaced: %v", err)
	}
	check(t, old) // all else can be read
	if err := os.Remove(s.toolsFile()); err != nil {
		t.Fatal(err)
	}
	if _, err := old.Definition(rec); !errors.Is(err, ErrReplaced) {
		t.Errorf("of a file that is gone: %v", err)
	}
	if err := os.Truncate(s.packedFile(), 10); err != nil {
		t.Fatal(err)
	}
	if s.Holds(saved) {
		t.Error("half a header is what was saved")
	}
}
