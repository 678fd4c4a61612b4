package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/mcp-launchpad/mcpl/"

// rooms is the table of docs/architecture.md: what each package may import of ours.
var rooms = map[string][]string{
	"cmd/mcpl":              {"internal/cli", "internal/early", "internal/example", "internal/verb", "pkg/auth", "pkg/config", "pkg/conn", "pkg/daemon", "pkg/engine", "pkg/fault", "pkg/output"},
	"internal/archtest":     {},
	"internal/authtest":     {},
	"internal/benchcli":     {"internal/mcptest"},
	"internal/cli":          {"internal/verb", "pkg/clients", "pkg/fault", "pkg/index", "pkg/output"},
	"internal/conformance":  {},
	"internal/early":        {"internal/verb"},
	"internal/eval":         {"pkg/search", "pkg/tool"},
	"internal/eval/related": {"pkg/search"},
	"internal/example":      {},
	"internal/mcptest":      {},
	"internal/verb":         {"pkg/clients", "pkg/config", "pkg/daemon", "pkg/engine", "pkg/fault", "pkg/index", "pkg/output", "pkg/schema", "pkg/search", "pkg/state", "pkg/tool"},
	"pkg/auth":              {"pkg/config", "pkg/fault"},
	"pkg/clients":           {"pkg/config", "pkg/fault"},
	"pkg/config":            {"pkg/fault"},
	"pkg/conn":              {"pkg/config", "pkg/fault", "pkg/tool"},
	"pkg/daemon":            {"pkg/config", "pkg/engine", "pkg/fault", "pkg/tool"},
	"pkg/engine":            {"pkg/config", "pkg/fault", "pkg/index", "pkg/schema", "pkg/search", "pkg/tool"},
	"pkg/fault":             {},
	"pkg/index":             {"pkg/config", "pkg/fault", "pkg/schema", "pkg/search", "pkg/tool"},
	"pkg/output":            {"pkg/fault", "pkg/tool"},
	"pkg/schema":            {"pkg/fault", "pkg/tool"},
	"pkg/search":            {"pkg/tool"},
	"pkg/state":             {"pkg/fault", "pkg/tool"},
	"pkg/tool":              {},
}

// owners says which rooms may import a library; of a path the longest prefix counts.
var owners = map[string][]string{
	"github.com/mark3labs/mcp-go/client": {"pkg/conn"},
	"github.com/mark3labs/mcp-go/server": {"internal/example"},
	"github.com/mark3labs/mcp-go/":       {"pkg/conn", "internal/example"},
	"github.com/spf13/cobra":             {"internal/cli"},
	"github.com/santhosh-tekuri/":        {},
	"github.com/itchyny/gojq":            {"internal/cli"},
	"golang.org/x/oauth2":                {"pkg/auth"},
	"github.com/golang-jwt/jwt/v5":       {"internal/authtest", "pkg/auth"},
	"github.com/zalando/go-keyring":      {"pkg/auth"},
	"github.com/cli/browser":             {"cmd/mcpl"},
}

// late are the packages that cost a process its start time, or come late in initialisation.
// internal/early must not reach them.
var late = []string{"net/http", "text/template", "html/template", "crypto/tls", "github.com/spf13/cobra",
	"github.com/mark3labs/mcp-go/mcp", "github.com/mark3labs/mcp-go/client", "github.com/santhosh-tekuri/jsonschema/v6"}

// printers may write to the process's streams themselves.
var printers = []string{"cmd/mcpl", "internal/benchcli", "internal/conformance", "internal/eval", "internal/eval/related", "internal/mcptest"}

// maxLines is the length of the longest file.
const maxLines = 500

type pkg struct {
	ImportPath string
	Dir        string
	Doc        string
	GoFiles    []string
	Imports    []string
	Deps       []string
}

func TestHouse(t *testing.T) {
	t.Parallel()
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		allowed, ok := rooms[name]
		if !ok {
			t.Errorf("%s is not in the table of rooms; add it here and in docs/architecture.md", name)
			continue
		}
		if p.Doc == "" {
			t.Errorf("%s has no doc comment", name)
		}
		for _, imp := range p.Imports {
			if ours, isOurs := strings.CutPrefix(imp, module); isOurs && !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s, which the table of rooms does not allow", name, ours)
			}
			if rooms, owned := ownersOf(imp); owned && !slices.Contains(rooms, name) {
				t.Errorf("%s imports %s, which only %v may", name, imp, rooms)
			}
		}
		if name == "internal/early" {
			for _, dep := range p.Deps {
				if slices.Contains(late, dep) {
					t.Errorf("internal/early reaches %s: it can no longer run before the SDK", dep)
				}
			}
		}
		for _, file := range p.GoFiles {
			checkFile(t, name, filepath.Join(p.Dir, file))
		}
	}
}

func ownersOf(path string) (rooms []string, owned bool) {
	longest := ""
	for prefix, list := range owners {
		if strings.HasPrefix(path, prefix) && len(prefix) > len(longest) {
			longest, rooms, owned = prefix, list, true
		}
	}
	return rooms, owned
}

// checkFile holds a source file to the rules that its syntax tree shows.
func checkFile(t *testing.T, room, path string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if n := set.Position(file.FileEnd).Line; n > maxLines && !ast.IsGenerated(file) {
		t.Errorf("%s has %d lines, more than %d", path, n, maxLines)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Name.Name == "init" && n.Recv == nil && room != "internal/early" {
				t.Errorf("%s: init belongs to internal/early alone", set.Position(n.Pos()))
			}
			if lines := set.Position(n.End()).Line - set.Position(n.Pos()).Line; lines > 80 {
				t.Errorf("%s: %s has %d lines, more than 80", set.Position(n.Pos()), n.Name.Name, lines)
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && !slices.Contains(printers, room) {
				call := x.Name + "." + n.Sel.Name
				if call == "fmt.Print" || call == "fmt.Println" || call == "fmt.Printf" || (call == "os.Exit" && room != "internal/early") {
					t.Errorf("%s: %s outside its room", set.Position(n.Pos()), call)
				}
			}
		case *ast.StructType:
			for _, f := range n.Fields.List {
				if sel, ok := f.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Context" {
					if x, ok := sel.X.(*ast.Ident); ok && x.Name == "context" {
						t.Errorf("%s: a context in a struct", set.Position(f.Pos()))
					}
				}
			}
		}
		return true
	})
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
