package tokens_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/gateway/tokens"
)

func open(t *testing.T) tokens.Store {
	t.Helper()
	return tokens.Store{Path: filepath.Join(t.TempDir(), "state", "tokens.json"), Now: time.Now}
}

// TestVersion1 reads a file as the first version wrote it.
func TestVersion1(t *testing.T) {
	t.Parallel()
	s := open(t)
	data, err := os.ReadFile("testdata/tokens.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	write(t, s, data, 0o600)
	if name, err := s.Owner("SECRET-OF-A-TEST-234567"); err != nil || name != "laptop" {
		t.Errorf("%q, %v", name, err)
	}
	for _, wrong := range []string{"", "secret-of-a-test-234567", "SECRET-OF-A-TEST-23456"} {
		if name, err := s.Owner(wrong); err != nil || name != "" {
			t.Errorf("%q: %q, %v", wrong, name, err)
		}
	}
}

func write(t *testing.T, s tokens.Store, data []byte, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.Path, data, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.Path, mode); err != nil { // whatever the umask is
		t.Fatal(err)
	}
}

// TestManyAtOnce has many tokens added and revoked at once: none is lost, and none is in the file, which is private.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	const many = 20
	made := make([]string, many)
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			token, err := s.Add(t.Context(), fmt.Sprint(i))
			if err != nil {
				t.Error(err)
			}
			if made[i] = token; i%2 == 1 {
				if revoked, err := s.Revoke(t.Context(), fmt.Sprint(i)); err != nil || !revoked {
					t.Errorf("%v, %v", revoked, err)
				}
			}
		})
	}
	wg.Wait()
	data, err := os.ReadFile(s.Path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(s.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	for i, token := range made {
		want := fmt.Sprint(i)
		if i%2 == 1 {
			want = ""
		}
		if name, err := s.Owner(token); err != nil || name != want {
			t.Errorf("token %d is %q's, %v", i, name, err)
		}
		if strings.Contains(string(data), token) {
			t.Errorf("token %d is in the file", i)
		}
	}
}

// TestFailsClosed: no token of a file that is damaged, or that others may write, counts, and the file stays.
func TestFailsClosed(t *testing.T) {
	t.Parallel()
	good, err := os.ReadFile("testdata/tokens.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data string
		mode os.FileMode
		want string
	}{
		"damaged":      {string(good[:60]), 0o600, "no token in this file counts"},
		"newer":        {strings.Replace(string(good), `"version": 1`, `"version": 2`, 1), 0o600, "its version is 2"},
		"of all":       {string(good), 0o666, "no token in this file counts"},
		"without list": {"[]", 0o600, "no token in this file counts"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			write(t, s, []byte(c.data), c.mode)
			if name, err := s.Owner("SECRET-OF-A-TEST-234567"); name != "" || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q, %v", name, err)
			}
			if _, err := s.Add(t.Context(), "new"); err == nil {
				t.Error("one was added")
			}
			if left, err := os.ReadFile(s.Path); err != nil || string(left) != c.data {
				t.Errorf("%q, %v", left, err)
			}
		})
	}
}

// FuzzOwner reads any file without a crash, and finds no owner of a token that has no hash in it.
func FuzzOwner(f *testing.F) {
	good, err := os.ReadFile("testdata/tokens.v1.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"version":1,"tokens":[{"name":"a","hash":""}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := open(t)
		write(t, s, data, 0o600)
		if name, err := s.Owner("another"); name != "" {
			t.Errorf("%q, %v", name, err)
		}
	})
}
