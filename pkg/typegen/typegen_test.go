package typegen

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func TestTypes(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`true`: "any", `{}`: "any", `false`: "never", `[]`: "any", `"x"`: "any", `{"type":"integer"}`: "number", `{"type":"any"}`: "any",
		`{"type":["string","null"]}`: "string | null", `{"type":"string","nullable":true}`: "string | null",
		`{"enum":["a","b",1,true,null]}`: `"a" | "b" | 1 | true | null`, `{"enum":["\u2028*/"]}`: `"\u2028*/"`,
		`{"enum":[{"a":1}],"type":"object"}`: "any", `{"const":"a"}`: `"a"`, `{"enum":[]}`: "any",
		`{"type":"array"}`: "any[]", `{"type":"array","items":{"type":["string","null"]}}`: "(string | null)[]", `{"items":{"enum":["a","b"]}}`: `("a" | "b")[]`,
		`{"type":"array","prefixItems":[{"type":"string"},{}],"items":false}`:              "[string, any]",
		`{"type":"array","items":[{"type":"string"}],"additionalItems":{"type":"number"}}`: "[string, ...number[]]",
		`{"type":"object"}`: "Record<string, any>", `{"type":"object","additionalProperties":false}`: "{}",
		`{"type":"object","additionalProperties":{"type":"string"}}`:                        "{ [key: string]: string }",
		`{"properties":{"a":{"type":"string"},"b-c":{},"new":{}},"required":["b-c"]}`:       `{ "b-c": any; a?: string; "new"?: any }`,
		`{"properties":{"a":{"type":"string"}},"additionalProperties":{"type":"string"}}`:   "{ a?: string; [key: string]: any }",
		`{"properties":{"a":{"type":"string"},"a":{"type":"number"}}}`:                      "{ a?: string }",
		`{"anyOf":[{"type":"string"},{"type":"string"},{"type":"number"}]}`:                 "string | number",
		`{"oneOf":[{"type":"string"},{}]}`:                                                  "any",
		`{"properties":{"a":{}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`:           "{ a?: any }",
		`{"allOf":[{"properties":{"a":{}}},{"anyOf":[{"type":"string"},{"type":"null"}]}]}`: "{ a?: any } & (string | null)",
		`{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}`:                              "string",
		`{"$ref":"#/$defs/a~1b%20c","$defs":{"a/b c":{"type":"string"}}}`:                   "string",
		`{"$ref":"#/oneOf/1","oneOf":[{"type":"string"},{"type":"number"}]}`:                "number & (string | number)",
		`{"properties":{"a":{"$ref":"#"}}}`:                                                 "{ a?: { a?: any } }",
		`{"$ref":"#/$defs/x"}`:                                                              "any", `{"$ref":"https://example.com/a.json"}`: "any", `{"$ref":"#anchor"}`: "any",
	} {
		r := newReader([]byte(schema))
		var b strings.Builder
		w := writer{b: &b}
		if w.typ(r.typ([]byte(schema), 0), 0, 0); b.String() != want {
			t.Errorf("%s\ngot  %s\nwant %s", schema, b.String(), want)
		}
	}
}

const issue = `{"type":"object","properties":{"labels":{"type":"array","items":{"type":"string"},"description":"Their names. More."},` +
	`"title":{"type":"string","description":"What it is */ about"},"page":{"type":"integer","default":1},` +
	`"where":{"type":"object","properties":{"owner":{"type":"string","description":"Who"},"repository":{"type":"string"}},"required":["owner","repository"]}},` +
	`"required":["title","where"]}`

func TestDeclarations(t *testing.T) {
	t.Parallel()
	tools := []Tool{
		{Server: "my-server", Name: "new", Input: []byte(`{"type":"object"}`), Output: []byte(`{"properties":{"a":{"type":"string"}}}`)},
		{Server: "git", Name: "create", Description: "Create an issue.\nThen go on */ and on.", Input: []byte(issue)},
		{Server: "git", Name: "a.b", Input: []byte(`not JSON`)},
	}
	got := Declarations(tools, false)
	if diff := cmp.Diff(`declare const tools: {
  git: {
    "a.b"(args?: any): Promise<any>;
    /** Create an issue. */
    create(args: {
      title: string;
      where: { owner: string; repository: string };
      labels?: string[];
      page?: number;
    }): Promise<any>;
  };
  "my-server": {
    "new"(): Promise<{ a?: string }>;
  };
};
`, got); diff != "" {
		t.Error(diff)
	}
	slices.Reverse(tools)
	if again := Declarations(tools, false); again != got {
		t.Errorf("another order gives\n%s", again)
	}
	if got := Declarations(tools, true); !strings.Contains(got, `    create(args: {
      /** What it is * / about */
      title: string;
      where: {
        /** Who */
        owner: string;
        repository: string;
      };
      /** Their names. */
      labels?: string[];
      /** Default 1 */
      page?: number;
    }): Promise<any>;`) {
		t.Errorf("with docs\n%s", got)
	}
}

func TestOne(t *testing.T) {
	t.Parallel()
	got := One(Tool{Server: "my-git", Name: "create", Description: "Create it.", Input: []byte(issue)})
	if diff := cmp.Diff(`// call is tools["my-git"].create
/** Create it. */
declare function call(args: {
  title: string; // What it is * / about
  where: { owner: string; repository: string };
  labels?: string[]; // Their names.
  page?: number; // Default 1
}): Promise<any>;
`, got); diff != "" {
		t.Error(diff)
	}
	var many strings.Builder
	for i := range 100 {
		fmt.Fprintf(&many, `,"p%d":{"type":"object","properties":{"a":{},"b":{}}}`, i)
	}
	got = One(Tool{Server: "s", Name: "t", Description: "Many", Input: []byte(`{"properties":{` + many.String()[1:] + `}}`)})
	if n := strings.Count(got, "\n"); n > maxOne || !strings.Contains(got, "  // … 86 more parameters\n") {
		t.Errorf("%d lines:\n%s", n, got)
	}
}

// catalogues are the definitions of real servers: those of the evaluation and, if they lie beside the repository, whole
// listings.
func catalogues(t *testing.T) (tools []Tool) {
	t.Helper()
	add := func(server string, raw []byte) {
		def, err := tool.Parse(tool.Tool, raw)
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, Tool{Server: server, Name: def.Name, Description: def.Description,
			Input: def.InputSchema, Output: def.OutputSchema})
	}
	labelled, err := os.ReadFile(filepath.Join("..", "..", "testdata", "eval", "tools.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(labelled)) {
		var about struct {
			Server string `json:"server"`
		}
		if err := json.Unmarshal([]byte(line), &about); err != nil {
			t.Fatal(err)
		}
		add(about.Server, []byte(strings.Replace(line, `"tool":`, `"name":`, 1)))
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "shared", "catalogs", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var listing struct {
			Server string            `json:"server"`
			Tools  []json.RawMessage `json:"tools"`
		}
		if err := json.Unmarshal(data, &listing); err != nil {
			t.Fatal(err)
		}
		for _, raw := range listing.Tools {
			add("listed "+listing.Server, raw)
		}
	}
	return tools
}

// TestCompiles has the TypeScript compiler check what is made of real definitions and of odd ones.
func TestCompiles(t *testing.T) {
	t.Parallel()
	compiler, err := filepath.Abs(filepath.Join("..", "..", "testdata", "npm", "node_modules", "typescript", "lib", "tsc.js"))
	if err != nil {
		t.Fatal(err)
	}
	node, err := exec.LookPath("node")
	if _, missing := os.Stat(compiler); err != nil || missing != nil {
		if os.Getenv("MCPL_REQUIRE_REAL_SERVERS") != "" {
			t.Fatalf("the TypeScript compiler is not installed: %v, %v", err, missing)
		}
		t.Skip("the TypeScript compiler is not installed (make node installs it where Node is)")
	}
	tools := catalogues(t)
	t.Logf("%d real tools", len(tools))
	odd := []string{issue, `{"type":"string"}`,
		`{"properties":{"a":{"$ref":"#"},"b":{"items":[{"enum":["*/","\n"]}]},"":{},"__proto__":{},"constructor":{}}}`,
		`{"anyOf":[{"properties":{"a":{}}},{"properties":{"b":{"type":["array","null"]}}}]}`}
	for i, schema := range odd {
		tools = append(tools, Tool{Server: "odd", Name: fmt.Sprint("t\n*/", i), Description: "a */ b\u2028",
			Input: []byte(schema), Output: []byte(schema)})
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("plain.d.ts", Declarations(tools, false))
	write("docs.d.ts", strings.Replace(Declarations(tools, true), "const tools", "const documented", 1))
	var ones strings.Builder
	for i, tool := range tools {
		one := One(tool)
		if n := strings.Count(one, "\n"); n > maxOne {
			t.Errorf("%s/%s has %d lines", tool.Server, tool.Name, n)
		}
		ones.WriteString(strings.Replace(one, "function call(", fmt.Sprintf("function call%d(", i), 1))
	}
	write("ones.d.ts", ones.String())
	cmd := exec.CommandContext(t.Context(), node, compiler, "--noEmit", "--strict", "--target", "es2023",
		"plain.d.ts", "docs.d.ts", "ones.d.ts")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%.3000s", err, out)
	}
}

// TestHostile: a small schema that is large when it is followed has a small type.
func TestHostile(t *testing.T) {
	t.Parallel()
	var fans strings.Builder
	for i := range 50 {
		fmt.Fprintf(&fans, `,"d%d":{"properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}},"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`,
			i, i+1, i+1, i+1, i+1)
	}
	for _, schema := range []string{
		`{"$ref":"#/$defs/d0","$defs":{"x":{}` + fans.String() + `}}`,
		strings.Repeat(`{"items":`, 9000) + `{}` + strings.Repeat(`}`, 9000),
		`{"enum":["` + strings.Repeat(`a","`, 100_000) + `"]}`,
		`{"properties":{"` + strings.Repeat(`p":{},"p`, 100_000) + `":{}}}`,
		`{"anyOf":[{` + strings.Repeat(`"type":"string"},{`, 100_000) + `}]}`,
	} {
		got := Declarations([]Tool{{Server: "s", Name: "t", Input: []byte(schema), Output: []byte(schema)}}, true)
		if len(got) > 20*maxRoom {
			t.Errorf("%.60s…: %d bytes", schema, len(got))
		}
	}
}

func FuzzDeclarations(f *testing.F) {
	for _, seed := range []string{issue, `{"$ref":"#"}`, `{"items":[{}],"enum":[1]}`, `{"anyOf":[true,false],"nullable":true}`, ` [`} {
		f.Add("s", "t", "d", []byte(seed))
	}
	f.Fuzz(func(t *testing.T, server, name, description string, schema []byte) {
		one := Tool{Server: server, Name: name, Description: description, Input: schema, Output: schema}
		if n := strings.Count(One(one), "\n"); n > maxOne {
			t.Fatalf("%d lines", n)
		}
		got := Declarations([]Tool{one}, true)
		if limit := 20*len(schema) + 10*(len(server)+len(name)) + 20_000; len(got) > limit {
			t.Fatalf("%d bytes of %d", len(got), len(schema))
		}
		if strings.Count(got, "/*") > strings.Count(got, "*/") {
			t.Fatal(got)
		}
	})
}

func BenchmarkDeclarations(b *testing.B) {
	tools := make([]Tool, 300)
	for i := range tools {
		tools[i] = Tool{Server: "s", Name: fmt.Sprint("t", i), Description: "Create an issue.", Input: []byte(issue)}
	}
	for b.Loop() {
		Declarations(tools, false)
	}
}
