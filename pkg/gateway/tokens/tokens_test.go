package tokens_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
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
	if found, err := s.Find("SECRET-OF-A-TEST-234567"); err != nil || found == nil || found.Name != "laptop" {
		t.Errorf("%v, %v", found, err)
	}
	for _, wrong := range []string{"", "secret-of-a-test-234567", "SECRET-OF-A-TEST-23456"} {
		if found, err := s.Find(wrong); err != nil || found != nil {
			t.Errorf("%q: %v, %v", wrong, found, err)
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
			token, err := s.Add(t.Context(), tokens.Token{Name: fmt.Sprint(i)})
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
		found, err := s.Find(token)
		if err != nil || (found == nil) != (i%2 == 1) || found != nil && found.Name != fmt.Sprint(i) {
			t.Errorf("token %d is %v, %v", i, found, err)
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
		"newer":        {strings.Replace(string(good), `"version": 1`, `"version": 3`, 1), 0o600, "its version is 3"},
		"other tier":   {strings.Replace(string(good), `"name"`, `"tier": "all", "name"`, 1), 0o600, `the tier "all"`},
		"with more":    {strings.Replace(string(good), `"name"`, `"only": "x", "name"`, 1), 0o600, "no token in this file counts"},
		"less than 0":  {strings.Replace(string(good), `"name"`, `"at_once": -1, "name"`, 1), 0o600, "less than 0"},
		"of all":       {string(good), 0o666, "no token in this file counts"},
		"without list": {"[]", 0o600, "no token in this file counts"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			write(t, s, []byte(c.data), c.mode)
			if found, err := s.Find("SECRET-OF-A-TEST-234567"); found != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, %v", found, err)
			}
			if _, err := s.Add(t.Context(), tokens.Token{Name: "new"}); err == nil {
				t.Error("one was added")
			}
			if left, err := os.ReadFile(s.Path); err != nil || string(left) != c.data {
				t.Errorf("%q, %v", left, err)
			}
		})
	}
}

// TestLimitsOfAToken: what a token is limited to is kept, and it counts until it expires.
func TestLimitsOfAToken(t *testing.T) {
	t.Parallel()
	s, now := open(t), time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	s.Now = func() time.Time { return now }
	want := tokens.Token{Name: "ci", Servers: []string{"git*"}, Tier: "read", Profile: "build", PerMinute: 60, AtOnce: 2,
		Expires: now.Add(time.Hour)}
	token, err := s.Add(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Find(token)
	if err != nil || found == nil {
		t.Fatalf("%v, %v", found, err)
	}
	want.Hash, want.Created = found.Hash, now
	if !reflect.DeepEqual(*found, want) {
		t.Errorf("it is %+v, not %+v", *found, want)
	}
	now = now.Add(time.Hour)
	if found, err := s.Find(token); err != nil || found != nil {
		t.Errorf("expired, it is %v, %v", found, err)
	}
	if _, err := s.Add(t.Context(), tokens.Token{Name: "x", Tier: "all"}); err == nil {
		t.Error("a tier that is none was taken")
	}
}

// TestFixed: a file that somebody else provides is not changed, and one that is not there is no empty one.
func TestFixed(t *testing.T) {
	t.Parallel()
	s := open(t)
	token, err := s.Add(t.Context(), tokens.Token{Name: "ci"})
	if err != nil {
		t.Fatal(err)
	}
	s.Fixed = true
	if found, err := s.Find(token); err != nil || found == nil {
		t.Errorf("%v, %v", found, err)
	}
	if _, err := s.Add(t.Context(), tokens.Token{Name: "more"}); err == nil || !strings.Contains(err.Error(), "cannot be changed") {
		t.Errorf("%v", err)
	}
	if _, err := s.Revoke(t.Context(), "ci"); err == nil {
		t.Error("it was revoked")
	}
	s.Path += ".gone"
	if list, err := s.List(); err == nil {
		t.Errorf("a missing file is %v", list)
	}
}

// FuzzFind reads any file without a crash, and finds no token that has no hash in it.
func FuzzFind(f *testing.F) {
	good, err := os.ReadFile("testdata/tokens.v1.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"version":1,"tokens":[{"name":"a","hash":""}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := open(t)
		write(t, s, data, 0o600)
		if found, err := s.Find("another"); found != nil {
			t.Errorf("%v, %v", found, err)
		}
	})
}

// TestRemembered: a token that is revoked, added or edited holds for the next request, though the file is read only
// when it has changed.
func TestRemembered(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.Read = new(tokens.Memo)
	now := time.Now()
	s.Now = func() time.Time { return now }
	ada, err := s.Add(t.Context(), tokens.Token{Name: "ada", Expires: now.Add(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	// settled returns when what Find has found is remembered.
	settled := func() {
		t.Helper()
		mcptest.Wait(t, s.Path+" to settle", func() bool {
			state, err := atomicfile.StampOf(s.Path)
			return err == nil && state.Settled()
		})
		if found, err := s.Find(ada); err != nil || found == nil {
			t.Fatal(found, err)
		}
	}
	settled()
	found, err := s.Find(ada)
	if err != nil {
		t.Fatal(err)
	}
	found.Name, found.Tier = "eve", "destructive" // a copy
	if found, err = s.Find(ada); err != nil || found.Name != "ada" {
		t.Errorf("%+v, %v", found, err)
	}
	bob, err := s.Add(t.Context(), tokens.Token{Name: "bob"})
	if err != nil {
		t.Fatal(err)
	}
	if found, err := s.Find(bob); err != nil || found == nil {
		t.Errorf("a new token: %v, %v", found, err)
	}
	settled()
	// In place, of the same size, and with the time that the file had.
	info, err := os.Stat(s.Path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(s.Path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, s, []byte(strings.Replace(string(data), `"ada"`, `"eva"`, 1)), 0o600)
	if err := os.Chtimes(s.Path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if found, err := s.Find(ada); err != nil || found == nil || found.Name != "eva" {
		t.Errorf("%+v, %v", found, err)
	}
	settled()
	if err := os.Chmod(s.Path, 0o666); err != nil {
		t.Fatal(err)
	}
	if found, err := s.Find(ada); err == nil {
		t.Errorf("from a file that anybody can write: %+v", found)
	}
	if err := os.Chmod(s.Path, 0o600); err != nil {
		t.Fatal(err)
	}
	settled()
	if revoked, err := s.Revoke(t.Context(), "bob"); err != nil || !revoked {
		t.Fatal(revoked, err)
	}
	if found, err := s.Find(bob); err != nil || found != nil {
		t.Errorf("after it was revoked: %+v, %v", found, err)
	}
	now = now.Add(time.Minute)
	if found, err := s.Find(ada); err != nil || found != nil {
		t.Errorf("after it has expired: %+v, %v", found, err)
	}
}
