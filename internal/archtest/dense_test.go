package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
)

// maxBranches is the cyclomatic complexity that a function may have.
const maxBranches = 15

// denseRules are about how much a reader has to hold in mind.
func denseRules() []rule {
	return []rule{{
		name: "branches",
		why: "nobody holds more than 15 ways through a function in mind. It counts 1, and 1 for each if, for, case " +
			"(but default), && and ||, those of function literals in it too. A switch over one value counts 1 if each " +
			"of its cases is one simple statement: it is read as a table",
		find: func(s source) (found []finding) {
			return inCode(s, func(n ast.Node) []finding {
				f, ok := n.(*ast.FuncDecl)
				if !ok || f.Body == nil || s.generated() {
					return nil
				}
				if n := 1 + branches(f.Body); n > maxBranches {
					return []finding{{at: s.at(f.Pos()), text: fmt.Sprintf("%s has %d branches", f.Name.Name, n), key: s.dir + " " + f.Name.Name}}
				}
				return nil
			})
		},
	}}
}

// branches counts the branches below a node.
func branches(root ast.Node) (n int) {
	ast.Inspect(root, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if node.List != nil {
				n++
			}
		case *ast.CommClause:
			if node.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if node.Op == token.LAND || node.Op == token.LOR {
				n++
			}
		case *ast.SwitchStmt:
			if node.Tag != nil && flat(node.Body) {
				n++
				return false
			}
		case *ast.TypeSwitchStmt:
			if flat(node.Body) {
				n++
				return false
			}
		}
		return true
	})
	return n
}

// flat says that every case of a switch is at most one statement without branches of its own.
func flat(body *ast.BlockStmt) bool {
	for _, stmt := range body.List {
		clause := stmt.(*ast.CaseClause)
		if len(clause.Body) > 1 {
			return false
		}
		for _, s := range clause.Body {
			if branches(s) > 0 {
				return false
			}
		}
	}
	return true
}
