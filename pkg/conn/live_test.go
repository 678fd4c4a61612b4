package conn

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// TestLiveServers starts the packages that pkg/cause/testdata/failures.json was recorded from, without tokens, and
// wants the causes of the records: `make servers`. It installs them from npm into the folder MCPL_LIVE_SERVERS, without
// running their install scripts.
func TestLiveServers(t *testing.T) {
	folder := os.Getenv("MCPL_LIVE_SERVERS")
	if folder == "" {
		t.Skip("it installs 21 packages from npm: make servers")
	}
	want := serversTable()
	for _, r := range readRecords(t) {
		if r.Source != "recorded" || strings.HasSuffix(r.Name, "-with-token") {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			program := installed(t, filepath.Join(folder, r.Name), r.Package)
			args, err := json.Marshal(append([]string{program}, r.Args...))
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), ".mcp.json")
			write(t, path, `{"mcpServers": {"s": {"command": "node", "args": `+string(args)+`}}}`)
			p := poolOver(t, path, func(o *Options) {
				o.Environ = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LANG=C.UTF-8"}
				o.Limits.Connect = 15 * time.Second
			})
			_, err = p.List(t.Context(), "s", tool.CallOptions{})
			f := fault.From(err)
			if f == nil {
				t.Fatal("it works")
			}
			if reason := want[r.Name].reason; f.Reason != string(reason) {
				t.Errorf("%q, want %q: %s\n%s\n%s", f.Reason, reason, f.Message, f.Traceback, f.Help)
			}
			t.Log(f.Message)
		})
	}
}

// installed installs a package, name@version, from npm if it is not in the folder yet. It returns its program.
func installed(t *testing.T, folder, spec string) string {
	t.Helper()
	at := strings.LastIndexByte(spec, '@')
	name, version := spec[:at], spec[at+1:]
	var manifest struct {
		Version string `json:"version"`
		Bin     any    `json:"bin"`
	}
	read := func() {
		text, err := os.ReadFile(filepath.Join(folder, "node_modules", name, "package.json"))
		if err == nil {
			err = json.Unmarshal(text, &manifest)
		}
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if read(); manifest.Version != version {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, "package.json"), `{"private": true}`)
		npm := exec.Command("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", spec)
		npm.Dir = folder
		if out, err := npm.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		read()
	}
	switch bin := manifest.Bin.(type) {
	case string:
		return filepath.Join(folder, "node_modules", name, bin)
	case map[string]any:
		for _, program := range bin { // there is one
			return filepath.Join(folder, "node_modules", name, fmt.Sprint(program))
		}
	}
	t.Fatalf("%s has no program", spec)
	return ""
}
