package archtest

import "go/ast"

// sleepRules keep time out of tests.
func sleepRules() []rule {
	return []rule{{
		name: "sleeps",
		why: "a test that sleeps is slow on a fast machine and wrong on a slow one: wait for a channel, use " +
			"mcptest.Eventually for other processes, or virtual time (testing/synctest)",
		find: func(s source) (found []finding) {
			if s.file == nil || !s.test() {
				return nil
			}
			ast.Inspect(s.file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && qualified(call.Fun) == "synctest.Test" {
					return false
				}
				if qualified(n) == "time.Sleep" {
					found = append(found, finding{at: s.at(n.Pos()), text: "time.Sleep"})
				}
				return true
			})
			return found
		},
	}}
}
