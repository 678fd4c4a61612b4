package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/mcp-launchpad/mcpl/"

type pkg struct {
	ImportPath string
	Dir        string
	Doc        string
	GoFiles    []string
	Imports    []string
	Deps       []string
}

// TestRooms holds every package to its row of the table of rooms.
func TestRooms(t *testing.T) {
	t.Parallel()
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		row, ok := rooms[name]
		if !ok {
			t.Errorf("%s is not in the table of rooms; add it here, with a why, and in docs/architecture.md", name)
			continue
		}
		if p.Doc == "" {
			t.Errorf("%s has no doc comment", name)
		}
		for _, imp := range p.Imports {
			if ours, isOurs := strings.CutPrefix(imp, module); isOurs && !slices.Contains(row.imports, ours) {
				t.Errorf("%s imports %s, which the table of rooms does not allow: %s", name, ours, row.why)
			}
			if lib, owned := libraryOf(imp); owned && !slices.Contains(lib.rooms, name) {
				t.Errorf("%s imports %s, which only %v may: %s", name, imp, lib.rooms, lib.why)
			}
		}
		if name == "internal/early" {
			for _, dep := range p.Deps {
				if slices.Contains(late, dep) {
					t.Errorf("internal/early reaches %s: it can no longer run before the SDK", dep)
				}
			}
		}
	}
}

// TestRoomsSayWhy checks that every row of the tables has a reason, and that every import in it exists: an arrow
// that no package uses any more is taken out, so that it does not come back unseen.
func TestRoomsSayWhy(t *testing.T) {
	t.Parallel()
	used := map[string][]string{}
	for _, p := range list(t) {
		used[strings.TrimPrefix(p.ImportPath, module)] = p.Imports
	}
	for name, row := range rooms {
		if len(row.why) < 20 {
			t.Errorf("the row of %s does not say why", name)
		}
		for _, imp := range row.imports {
			if !slices.Contains(used[name], module+imp) {
				t.Errorf("%s may import %s and does not: take the arrow out, here and in docs/architecture.md", name, imp)
			}
		}
	}
	for path, lib := range libraries {
		if len(lib.why) < 20 {
			t.Errorf("the rule for %s does not say why", path)
		}
	}
}

// libraryOf returns the room rule of an imported library, if it has one.
func libraryOf(path string) (lib library, owned bool) {
	longest := ""
	for prefix, l := range libraries {
		if strings.HasPrefix(path, prefix) && len(prefix) > len(longest) {
			longest, lib, owned = prefix, l, true
		}
	}
	return lib, owned
}

// list asks the go command for every package of the module.
func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Doc,GoFiles,Imports,Deps", "./...")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
	if len(pkgs) < 10 {
		t.Fatalf("go list found only %d packages", len(pkgs))
	}
	return pkgs
}
