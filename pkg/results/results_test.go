package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

func newStore(t *testing.T) Store {
	t.Helper()
	return Store{Dir: filepath.Join(t.TempDir(), "re[s]ults"), Now: time.Now}
}

func TestPutAndGet(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	first, err := s.Put("my server", "a/b", []byte("one"), ".txt")
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Put("my server", "a/b", []byte("one"), ".txt")
	if err != nil || again != first || len(first.ID) != idLength || !filepath.IsAbs(first.Path) || first.Size != 3 {
		t.Errorf("%+v and %+v, %v", first, again, err)
	}
	if name := filepath.Base(first.Path); name != "my_server-a_b-"+first.ID+".txt" {
		t.Errorf("it is called %s", name)
	}
	if info, err := os.Stat(first.Path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := s.Put("x", "y", []byte("two"), ".json"); err != nil {
		t.Fatal(err)
	}
	got, content, err := s.Get(strings.ToUpper(first.ID))
	if err != nil || got != first || string(content) != "one" {
		t.Errorf("%+v, %q, %v", got, content, err)
	}
	for _, id := range []string{"", "0", "000000000000", "*", "../../etc/pas", first.ID + "0", "????????????"} {
		if got, _, err := s.Get(id); !fault.Is(err, fault.ResultNotFound) {
			t.Errorf("%q: %+v, %v", id, got, err)
		}
	}
	// A file that was changed is not the result any more.
	if err := os.WriteFile(first.Path, []byte("three"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Get(first.ID); !fault.Is(err, fault.ResultNotFound) {
		t.Errorf("a changed file: %v", err)
	}
}

// TestSweep: with each result those of more than a week ago go, and beyond the limits the oldest, but never the one
// that was just put, and nothing that is not a file.
func TestSweep(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	now := time.Now()
	s.Now = func() time.Time { return now }
	put := func(name string, age time.Duration, size int64) {
		t.Helper()
		path := filepath.Join(s.Dir, name)
		err := errors.Join(os.MkdirAll(s.Dir, 0o700), os.WriteFile(path, nil, 0o600), os.Truncate(path, size),
			os.Chtimes(path, now.Add(-age), now.Add(-age)))
		if err != nil {
			t.Fatal(err)
		}
	}
	left := func() (names []string) {
		entries, err := os.ReadDir(s.Dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	put("old", Keep+time.Hour, 1)
	put("new", Keep-time.Hour, 1)
	if err := os.Mkdir(filepath.Join(s.Dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	e, err := s.Put("s", "t", []byte("x"), ".txt")
	if want := fmt.Sprintf("[folder new %s]", filepath.Base(e.Path)); err != nil || fmt.Sprint(left()) != want {
		t.Errorf("left are %q, %v, want %s", left(), err, want)
	}
	put("large", 3*time.Hour, maxBytes/2)
	put("larger", 2*time.Hour, maxBytes/2)
	put("last", time.Hour, maxBytes/2)
	if e, err = s.Put("s", "t", []byte("x"), ".txt"); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("[folder last %s]", filepath.Base(e.Path)); fmt.Sprint(left()) != want {
		t.Errorf("left are %q, want %s", left(), want)
	}
	Store{Dir: filepath.Join(s.Dir, "nosuch"), Now: s.Now}.sweep("") // which is not a failure
}

func TestCannotPut(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if e, err := (Store{Dir: file, Now: time.Now}).Put("s", "t", nil, ".x"); err == nil {
		t.Errorf("a file as the folder: %+v", e)
	}
}

func TestExtension(t *testing.T) {
	t.Parallel()
	for mime, want := range map[string]string{
		"image/jpeg": ".jpg", "IMAGE/PNG": ".png", "image/svg+xml": ".svg", "image/x-icon": ".ico", "audio/mpeg": ".mp3",
		"audio/x-wav": ".wav", "audio/mp4": ".m4a", "text/plain; charset=utf-8": ".txt", "text/markdown": ".md",
		"application/gzip": ".gz", "": ".bin", "application/octet-stream": ".bin", "application/vnd.x+json": ".json",
		"application/vnd.openxmlformats": ".bin", "odd": ".bin", "a/../b": ".___b",
	} {
		t.Run(mime, func(t *testing.T) {
			t.Parallel()
			if got := Extension(mime); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`"a\nb"`:               "a\nb",
		` {"content": "a\nb"}`: "a\nb",
		`{"a":1}`:              "{\n  \"a\": 1\n}",
		`{"a":"x","b":"y"}`:    "{\n  \"a\": \"x\",\n  \"b\": \"y\"\n}",
		`[]`:                   "[]",
		`null`:                 "null",
		`{a}`:                  "{a}",
	} {
		if got := Text(json.RawMessage(value)); got != want {
			t.Errorf("%s: %q", value, got)
		}
	}
}

func TestFirst(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct {
		text        string
		lines, size int
		want        string
	}{
		"all":          {"a\r\nb\n", 5, 100, "a\nb"},
		"some":         {"a\nb\nc", 2, 100, "a\nb"},
		"little room":  {"aaa\nbbb\nc", 5, 7, "aaa\nbbb"},
		"no more room": {"aaa\nbbbb", 5, 7, "aaa"},
		"a long line":  {"aaaä", 5, 4, "aaa…"},
		"nothing":      {"", 5, 7, ""},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			if got := First(tc.text, tc.lines, tc.size); got != tc.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestSelection(t *testing.T) {
	t.Parallel()
	const text = "one\ntwo\nthree\nfour\nfive\n"
	for title, tc := range map[string]struct {
		lines, grep string
		want        string
		fails       bool
	}{
		"all":                   {want: "one\ntwo\nthree\nfour\nfive"},
		"a range":               {lines: "2:3", want: "two\nthree"},
		"one line":              {lines: "2", want: "two"},
		"from":                  {lines: "4:", want: "four\nfive"},
		"to":                    {lines: ":2", want: "one\ntwo"},
		"the last":              {lines: "-2:", want: "four\nfive"},
		"beyond the end":        {lines: "5:900", want: "five"},
		"behind the end":        {lines: "6:7"},
		"a line behind the end": {lines: "6"},
		"before the beginning":  {lines: "-900:1", want: "one"},
		"matching":              {grep: "^t", want: "2:two\n3:three"},
		"matching in a range":   {lines: "3:", grep: "t|f", want: "3:three\n4:four\n5:five"},
		"nothing matches":       {grep: "x"},
		"not a number":          {lines: "a:b", fails: true},
		"line 0":                {lines: "0:5", fails: true},
		"not a range":           {lines: "1:2:3", fails: true},
		"not a pattern":         {grep: "(", fails: true},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			sel, err := ParseSelection(tc.lines, tc.grep)
			if got := sel.Apply(text); (err != nil) != tc.fails || err == nil && got != tc.want {
				t.Errorf("got %q, %v", got, err)
			}
			if got := sel.Apply(""); err == nil && got != "" {
				t.Errorf("of nothing %q", got)
			}
		})
	}
}

// FuzzSelection: whatever range and pattern are typed, lines of the text are selected, or it is an error.
func FuzzSelection(f *testing.F) {
	f.Add("1:2", "a", "a\nb")
	f.Add("-1:", "", "\r\n\n")
	f.Add(":", "(?i)x", "")
	f.Fuzz(func(t *testing.T, lines, pattern, text string) {
		sel, err := ParseSelection(lines, pattern)
		if err != nil {
			return
		}
		if got := sel.Apply(text); pattern == "" && !strings.Contains(strings.ReplaceAll(text, "\r\n", "\n"), got) {
			t.Errorf("lines %q of %q are %q", lines, text, got)
		}
	})
}
