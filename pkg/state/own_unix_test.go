//go:build unix

package state

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// TestFileOfOthers: choices that another user could have written are not taken: they switch on what was off.
func TestFileOfOthers(t *testing.T) {
	t.Parallel()
	f := File{Path: filepath.Join(t.TempDir(), "tool-state.json")}
	if err := os.WriteFile(f.Path, []byte(`{"disabled": ["a"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(f.Path, 0o666); err != nil {
		t.Fatal(err)
	}
	_, _, err := f.Read()
	if !fault.Is(err, fault.Config) || !strings.HasSuffix(err.Error(), "it can be written by anybody") {
		t.Errorf("%v", err)
	}
}
