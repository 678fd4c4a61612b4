package archtest

import (
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxFileLines = 500
	maxFuncLines = 80
	maxColumns   = 120
)

// shapeRules are about lengths, and about what a package may do by its mere existence.
func shapeRules() []rule {
	return []rule{{
		name: "file-length",
		why:  "a file of more than 500 lines has two subjects",
		find: func(s source) (found []finding) {
			if s.file == nil || s.test() || s.generated() {
				return nil
			}
			if n := s.set.Position(s.file.FileEnd).Line; n > maxFileLines {
				found = append(found, finding{at: s.path, text: fmt.Sprintf("%d lines", n), key: s.path})
			}
			return found
		},
	}, {
		name: "function-length",
		why:  "a function of more than 80 lines does two things",
		find: func(s source) []finding {
			return inCode(s, func(n ast.Node) (found []finding) {
				if f, ok := n.(*ast.FuncDecl); ok {
					if n := s.set.Position(f.End()).Line - s.set.Position(f.Pos()).Line; n > maxFuncLines {
						found = append(found, finding{at: s.at(f.Pos()), text: fmt.Sprintf("%s has %d lines", f.Name.Name, n)})
					}
				}
				return found
			})
		},
	}, {
		name: "columns",
		why: "lines of more than 120 columns (a tab is one) are not read to their end, nor in a diff. In tests the " +
			"text of string literals is not counted: a row of a table may hold a long one",
		find: longLines,
	}, {
		name: "init",
		why:  "init belongs to internal/early alone: nothing happens because a package is imported",
		find: func(s source) []finding {
			return inCode(s, func(n ast.Node) (found []finding) {
				if f, ok := n.(*ast.FuncDecl); ok && f.Name.Name == "init" && f.Recv == nil && s.dir != "internal/early" {
					found = append(found, finding{at: s.at(f.Pos()), text: "func init"})
				}
				return found
			})
		},
	}, {
		name: "printing",
		why:  "only pkg/output writes to the streams of the process, and only main ends it",
		find: func(s source) []finding {
			return inCode(s, func(n ast.Node) (found []finding) {
				call := qualified(n)
				if slices.Contains(printers, s.dir) || s.dir == "internal/early" && call == "os.Exit" {
					return nil
				}
				if slices.Contains([]string{"fmt.Print", "fmt.Println", "fmt.Printf", "os.Exit"}, call) {
					found = append(found, finding{at: s.at(n.Pos()), text: call})
				}
				return found
			})
		},
	}}
}

// inCode asks look about each node of a Go file that is not a test.
func inCode(s source, look func(ast.Node) []finding) (found []finding) {
	if s.file == nil || s.test() {
		return nil
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		found = append(found, look(n)...)
		return true
	})
	return found
}

// qualified returns a node like context.WithValue as it is written, "" for others.
func qualified(n ast.Node) string {
	if sel, ok := n.(*ast.SelectorExpr); ok {
		if x, ok := sel.X.(*ast.Ident); ok {
			return x.Name + "." + sel.Sel.Name
		}
	}
	return ""
}

// longLines finds the lines of a Go file that have too many columns.
func longLines(s source) (found []finding) {
	if s.file == nil || s.generated() {
		return nil
	}
	var literals map[int]int
	if s.test() {
		literals = literalColumns(s)
	}
	number := 0
	for line := range strings.Lines(s.text) {
		number++
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n-literals[number] > maxColumns {
			found = append(found, finding{at: fmt.Sprintf("%s:%d", s.path, number), text: fmt.Sprintf("%d columns", n)})
		}
	}
	return found
}

// literalColumns returns how many columns of each line are the text of string literals.
func literalColumns(s source) map[int]int {
	columns := map[int]int{}
	var sc scanner.Scanner
	file := token.NewFileSet().AddFile(s.path, -1, len(s.text))
	sc.Init(file, []byte(s.text), nil, 0)
	for {
		pos, tok, text := sc.Scan()
		if tok == token.EOF {
			return columns
		}
		if tok != token.STRING {
			continue
		}
		for i, part := range strings.Split(text, "\n") {
			columns[file.Line(pos)+i] += utf8.RuneCountInString(part)
		}
	}
}
