//go:build unix

package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadOwn: a file counts only if no other user could have written it.
func TestReadOwn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	write(t, path)
	for _, tt := range []struct {
		mode os.FileMode
		gid  int
		why  string
	}{
		{0o600, -1, ""}, {0o644, -1, ""}, {0o664, os.Geteuid(), ""}, {0o602, -1, "it can be written by anybody"},
		{0o620, 4242, "it can be written by the group 4242"},
	} {
		if err := os.Chown(path, -1, tt.gid); err != nil {
			t.Logf("the group %d cannot be given here: %v", tt.gid, err)
			continue
		}
		if err := os.Chmod(path, tt.mode); err != nil {
			t.Fatal(err)
		}
		data, _, err := ReadOwn(path, 1<<20)
		if (err == nil) != (tt.why == "") || err != nil && err.Error() != tt.why || err == nil && string(data) != "content" {
			t.Errorf("%v: %q, %v, want %q", tt.mode, data, err, tt.why)
		}
	}
	if err := os.Chown(path, 4242, 4242); err != nil {
		t.Skip("files cannot be given to another user here")
	}
	if _, _, err := ReadOwn(path, 1<<20); err == nil || err.Error() != "it belongs to another user (uid 4242)" {
		t.Errorf("%v", err)
	}
}

// TestParseJSON: the error and its line tell where to mend a file.
func TestParseJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a": 1}`: "", "": "f:1: it ends too early", "{\n\"a\": 1": "f:2: it ends too early",
		"{\n]": "f:2: invalid character", "[]": "f:1: it is not an object", "{\n\"a\": \"1\"}": `f:2: "a" is of the wrong type`,
		"{}\n{}": "f:1: there is more behind its end", `{"b": 1}`: `f: json: unknown field "b"`,
	} {
		line, err := ParseJSON([]byte(text), new(struct {
			A int `json:"a"`
		}))
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(At("f", line)+": "+err.Error(), want) {
			t.Errorf("%q: line %d, %v, want %q", text, line, err, want)
		}
	}
}
