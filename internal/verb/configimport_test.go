package verb

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/output"
)

// TestImportAsks holds what happens at a terminal, which scripts do not have.
func TestImportAsks(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		typed   string
		end     bool // before anything is typed
		code    int
		written bool
		says    string
	}{
		"yes":         {typed: "y\n", written: true, says: "Wrote 1 server to "},
		"yes, again":  {typed: " YES \n", written: true, says: "Wrote 1 server to "},
		"no":          {typed: "n\n", says: "note: nothing was written"},
		"nothing":     {typed: "\n", says: "note: nothing was written"},
		"end":         {typed: "", says: "note: nothing was written"},
		"interrupted": {end: true, code: 130, says: "interrupted"},
	} {
		root := t.TempDir()
		home, dir := filepath.Join(root, "home"), filepath.Join(root, "dir")
		for _, d := range []string{filepath.Join(home, ".cursor"), filepath.Join(dir, ".git")} {
			if err := os.MkdirAll(d, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(home, ".cursor", "mcp.json"), []byte(`{"mcpServers": {"notes": {"command": "notes"}}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		stdin, typing, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if tc.end {
			cancel()
		} else if _, err := typing.WriteString(tc.typed); err != nil {
			t.Fatal(err)
		} else if err := typing.Close(); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		app := &App{Env: config.Env{Dir: dir, Home: home, GOOS: "linux", Lookup: func(string) (string, bool) { return "", false }},
			Stdin: stdin, Stdout: &out, Stderr: &errs, InTTY: true, ErrTTY: output.Terminal{Is: true, Width: 200}, Now: time.Now,
			NewCaller: func(*config.Config, CallerOptions) engine.Caller { return nil }}
		code, err := app.Run(ctx, configImportSpec(), new(ConfigImport), Globals{}, nil)
		if text := out.String() + errs.String(); err != nil || code != tc.code || !strings.Contains(text, tc.says) || !strings.Contains(text, "Write 1 server to ") {
			t.Errorf("%s: %d, %v\n%s", name, code, err, text)
		}
		if _, err := os.Stat(filepath.Join(dir, ".mcp.json")); (err == nil) != tc.written {
			t.Errorf("%s: written: %v", name, err == nil)
		}
		cancel()
		_, _ = typing.Close(), stdin.Close() // closed already, but where the reader was left behind
	}
}

func TestPairs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		flag, text string
		want       config.KeyValue
	}{
		{"--env", "A=b=c", config.KeyValue{Name: "A", Value: "b=c"}},
		{"--env", "A=", config.KeyValue{Name: "A"}},
		{"--env", "A=x: y", config.KeyValue{Name: "A", Value: "x: y"}},
		{"--header", "A: b=c", config.KeyValue{Name: "A", Value: "b=c"}},
		{"--header", "A=Bearer: c", config.KeyValue{Name: "A", Value: "Bearer: c"}},
	} {
		got, err := pairs(tc.flag, []string{tc.text})
		if err != nil || len(got) != 1 || got[0] != tc.want {
			t.Errorf("%s %s: %v, %v", tc.flag, tc.text, got, err)
		}
	}
	if got, err := pairs("--env", []string{"A=1", "B=2", "A=3"}); err != nil || len(got) != 2 || got[0].Value != "3" {
		t.Errorf("twice: %v, %v", got, err)
	}
	if _, err := pairs("--env", []string{"=x"}); err == nil {
		t.Error("a pair without a name")
	}
}
