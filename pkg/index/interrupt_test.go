package index

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
)

// TestSaveInterrupted: a context that ends while the index is made or written leaves every file as it was.
func TestSaveInterrupted(t *testing.T) {
	t.Parallel()
	s := Store{Dir: t.TempDir()}
	of := func(tools int) *Catalog {
		server := Server{Meta: Meta{Facts: Facts{Name: "s"}}}
		for i := range tools {
			server.Tools = append(server.Tools, def(t, fmt.Sprintf(`{"name":"t%d","description":"Words %d"}`, i, i)))
		}
		return &Catalog{Servers: []Server{server}}
	}
	first, err := s.Save(t.Context(), of(1), Stamp{})
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	before := content(t, s.Dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if sn, err := s.Save(ctx, of(2000), Stamp{}); !errors.Is(err, context.Canceled) || sn != nil {
		t.Errorf("%v, %v", sn, err)
	}
	if after := content(t, s.Dir); after != before {
		t.Errorf("the files changed from %.100s to %.100s", before, after)
	}
}

// TestWithin: a computation that does not look at the context does not hold up its caller, and what it made is not
// lost from sight.
func TestWithin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		release, late := make(chan int), make(chan int, 1)
		cancel()
		_, err := within(ctx, func() int { return <-release }, func(n int) { late <- n })
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		release <- 5
		if n := <-late; n != 5 {
			t.Error(n)
		}
		if n, err := within(t.Context(), func() int { return 6 }, func(int) {}); n != 6 || err != nil {
			t.Error(n, err)
		}
	})
}

// content returns names and contents of the files in a folder.
func content(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".mcpl-tmp") { // of a write that was given up, and goes away with its end
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s: %s\n", entry.Name(), data)
	}
	return b.String()
}
