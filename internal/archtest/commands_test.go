package archtest

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
)

// command is one that a user would type.
var command = regexp.MustCompile(`\bmcpl (approvals|auth|call|completion|config|daemon|disable|doctor|enable|` +
	`example-server|inspect|instructions|list|prompts?|read|renew|resources|search|version|--[a-z])\b`)

// commandRules keep shell lines out of the packages that readers without a shell use too.
func commandRules() []rule {
	return []rule{{
		name: "commands",
		why: "a text of pkg/ is read by models and pages too, which cannot type: a fault names what to do next " +
			"as a fault.Step, and pkg/output writes the command",
		find: func(s source) []finding {
			if !strings.HasPrefix(s.dir, "pkg/") {
				return nil
			}
			lines := map[int]bool{}
			return inCode(s, func(n ast.Node) []finding {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING || !command.MatchString(lit.Value) || lines[s.set.Position(lit.Pos()).Line] {
					return nil
				}
				lines[s.set.Position(lit.Pos()).Line] = true
				return []finding{{at: s.at(lit.Pos()), text: lit.Value}}
			})
		},
	}}
}
