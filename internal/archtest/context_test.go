package archtest

import (
	"go/ast"
)

// contextRules are about what contexts are for: the end of work, not its state.
func contextRules() []rule {
	return []rule{{
		name: "context-field",
		why:  "a context in a struct outlives the call that it belongs to; pass it as the first parameter",
		find: func(s source) []finding {
			return inCode(s, func(n ast.Node) (found []finding) {
				if st, ok := n.(*ast.StructType); ok {
					for _, f := range st.Fields.List {
						if qualified(f.Type) == "context.Context" {
							found = append(found, finding{at: s.at(f.Pos()), text: "a context in a struct"})
						}
					}
				}
				return found
			})
		},
	}, {
		name: "context-value",
		why: "a value in a context is a parameter that no signature shows: what a function needs is passed to it. An " +
			"exception is for an interface of others that takes nothing but a context",
		find: func(s source) []finding {
			return inCode(s, func(n ast.Node) (found []finding) {
				if call, ok := n.(*ast.CallExpr); ok && qualified(call.Fun) == "context.WithValue" && len(call.Args) == 3 {
					key := s.dir + " " + keyName(call.Args[1])
					found = append(found, finding{at: s.at(n.Pos()), text: key, key: key})
				}
				return found
			})
		},
		except: map[string]string{
			"internal/example tokenKey":  "mcp-go gives a handler of a tool the request without its progress token",
			"pkg/auth oauth2.HTTPClient": "the oauth2 library takes its client from the context and nowhere else",
		},
	}}
}

// keyName returns the name of the key in context.WithValue(ctx, key, value).
func keyName(key ast.Expr) string {
	switch key := key.(type) {
	case *ast.CompositeLit:
		return keyName(key.Type)
	case *ast.Ident:
		return key.Name
	case *ast.SelectorExpr:
		return qualified(key)
	}
	return "?"
}
