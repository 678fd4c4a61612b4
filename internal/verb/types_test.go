package verb

import (
	"strings"
	"testing"
)

func TestTypesOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "types", map[string]options{
		"all":                 {want: &typesVerb{words: []string{}}},
		"a server and a tool": {args: []string{"--docs", "a", "b/c"}, want: &typesVerb{Docs: true, words: []string{"a", "b/c"}}},
	})
}

func TestTypesAnswers(t *testing.T) {
	t.Parallel()
	checkAnswers(t, fixture, map[string]answer{
		"a server, and a tool of it": {args: strings.Fields("types demo demo/add"), text: `declare const tools: {
  demo: {
    /** Add two numbers. */
    add(args: { a: number; b?: number }): Promise<{ sum?: number }>;
    /** Deprecated: drop a table */
    drop(args?: { table?: "users" | "orders" }): Promise<any>;
  };
};
`,
			json: `{"tools":2,"types":"declare const tools: {\n  demo: {\n    /** Add two numbers. */\n    add(args: { a: number; b?: number }): Promise<{ sum?: number }>;\n    /** Deprecated: drop a table */\n    drop(args?: { table?: \"users\" | \"orders\" }): Promise<any>;\n  };\n};\n"}`},
		"a tool, with docs": {args: strings.Fields("types demo.add --docs"), text: `declare const tools: {
  demo: {
    /** Add two numbers. */
    add(args: {
      /** The first. */
      a: number;
      /** Default 1.0 */
      b?: number;
    }): Promise<{ sum?: number }>;
  };
};
`},
		"all":               {args: strings.Fields("types"), says: []string{"declare const tools: {", "  demo: {"}},
		"an unknown tool":   {args: strings.Fields("types demo/ad"), code: 3, says: []string{`error: demo has no tool "ad"`}},
		"an unknown server": {args: strings.Fields("types dem"), code: 3, says: []string{`error: there is no server "dem"`}},
	})
}
