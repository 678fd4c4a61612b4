//go:build unix

package pin

import (
	"os"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// TestFileOfOthers: pins that another user could have written say nothing of what a person has seen.
func TestFileOfOthers(t *testing.T) {
	t.Parallel()
	s := Store{Dir: t.TempDir()}
	update(t, s, Warn, 0, listing(t, "a"))
	if err := os.Chmod(s.path(id), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := s.Read(id)
	_, head := s.Changes(id)
	for _, err := range []error{err, head} {
		if !fault.Is(err, fault.Config) || !strings.HasSuffix(err.Error(), "it can be written by anybody") {
			t.Errorf("%v", err)
		}
	}
}
