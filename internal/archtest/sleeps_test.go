package archtest

import (
	"go/ast"
	"strings"
)

// sleepRules keep real time out of tests.
func sleepRules() []rule {
	return []rule{{
		name: "sleeps",
		why: "a test that sleeps is slow on a fast machine and wrong on a slow one: wait for a channel, use " +
			"mcptest.Eventually for other processes, or virtual time. A sleep is virtual within synctest.Test and " +
			"inBubble; a helper that is called there says so in a comment on the line: // virtual",
		find: func(s source) (found []finding) {
			if s.file == nil || !s.test() {
				return nil
			}
			lines := strings.Split(s.text, "\n")
			ast.Inspect(s.file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && startsBubble(call) {
					return false
				}
				if qualified(n) == "time.Sleep" && !strings.Contains(lines[s.set.Position(n.Pos()).Line-1], "// virtual") {
					found = append(found, finding{at: s.at(n.Pos()), text: "time.Sleep"})
				}
				return true
			})
			return found
		},
	}}
}

// startsBubble says that a call runs its arguments in virtual time.
func startsBubble(call *ast.CallExpr) bool {
	name, ok := call.Fun.(*ast.Ident)
	return qualified(call.Fun) == "synctest.Test" || ok && name.Name == "inBubble"
}
