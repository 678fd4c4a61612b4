package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// source is a Go file of the repository, of any operating system, or a document.
type source struct {
	path string // relative to the root, with slashes
	dir  string // its folder: a room, "docs" or "."
	text string
	set  *token.FileSet
	file *ast.File // nil: a document
}

// test says that the file is compiled only for tests.
func (s source) test() bool { return strings.HasSuffix(s.path, "_test.go") }

// generated says that a program wrote the file.
func (s source) generated() bool {
	return s.file != nil && ast.IsGenerated(s.file) || s.path == "docs/reference.md"
}

// at returns the position of a node, relative to the root.
func (s source) at(pos token.Pos) string {
	p := s.set.Position(pos)
	p.Filename = s.path
	return p.String()
}

// sources reads every Go file of the module and every document of ours.
func sources(t *testing.T) []source {
	t.Helper()
	root := filepath.Join("..", "..")
	var found []source
	for _, dir := range []string{"cmd", "internal", "pkg"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") {
				return err
			}
			rel, err := filepath.Rel(root, name)
			if err != nil {
				return err
			}
			s := source{path: filepath.ToSlash(rel), set: token.NewFileSet()}
			s.dir = path.Dir(s.path)
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			s.text = string(text)
			s.file, err = parser.ParseFile(s.set, s.path, text, parser.SkipObjectResolution|parser.ParseComments)
			found = append(found, s)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range documents(t) {
		if dir := path.Dir(name); dir == "docs" || dir == "." {
			found = append(found, source{path: name, dir: dir, text: read(t, name)})
		}
	}
	if len(found) < 100 {
		t.Fatalf("found only %d sources", len(found))
	}
	return found
}
