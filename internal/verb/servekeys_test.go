package verb

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/gateway"
)

// TestSessionKeys reads keys from a variable or a file, and tells of bad ones without showing them.
func TestSessionKeys(t *testing.T) {
	t.Parallel()
	one := strings.Repeat("\xfb", gateway.KeySize)
	std, url := base64.StdEncoding.EncodeToString([]byte(one)), base64.RawURLEncoding.EncodeToString([]byte(one))
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte(std+"\n"+url+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	short := base64.StdEncoding.EncodeToString([]byte(one[1:]))
	for _, c := range []struct {
		title, text, file string
		want              int
		wrong             string
	}{
		{title: "none"},
		{title: "one", text: std, want: 1},
		{title: "two, of both alphabets", text: " " + std + ", " + url, want: 2},
		{title: "file", file: file, want: 2},
		{title: "both", text: std, file: file, wrong: "both set"},
		{title: "no file", file: file + "x", wrong: "cannot be read"},
		{title: "empty file", file: empty, wrong: "has no key"},
		{title: "short", text: std + "," + short, wrong: "key 2 of MCPL_SESSION_KEYS is not 32 bytes in base64"},
		{title: "not base64", text: "secret!", wrong: "key 1 of MCPL_SESSION_KEYS is not"},
	} {
		env := config.Env{Lookup: func(name string) (string, bool) {
			value := map[string]string{"MCPL_SESSION_KEYS": c.text, "MCPL_SESSION_KEYS_FILE": c.file}[name]
			return value, value != ""
		}}
		keys, err := sessionKeys(env)
		for _, key := range keys {
			if string(key) != one {
				t.Errorf("%s: %x", c.title, key)
			}
		}
		switch {
		case c.wrong == "" && (err != nil || len(keys) != c.want):
			t.Errorf("%s: %d keys, %v", c.title, len(keys), err)
		case c.wrong != "" && (!fault.Is(err, fault.Config) || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s: %v", c.title, err)
		case err != nil && (strings.Contains(err.Error(), short) || strings.Contains(err.Error(), "secret!")):
			t.Errorf("%s: the error shows a key: %v", c.title, err)
		}
	}
}
