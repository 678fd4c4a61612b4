package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/internal/verb"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// read returns a file of the repository.
func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// cells returns the cells of a row of a Markdown table, nil for other lines.
func cells(line string) []string {
	if !strings.HasPrefix(line, "| ") {
		return nil
	}
	row := strings.Split(strings.Trim(line, "| "), "|")
	for i := range row {
		row[i] = strings.TrimSpace(row[i])
	}
	return row
}

// codes returns what stands in `backquotes`, in order.
func codes(text string) []string {
	found := []string{}
	for i, part := range strings.Split(text, "`") {
		if i%2 == 1 {
			found = append(found, part)
		}
	}
	return found
}

// TestTableOfRooms holds the table of docs/architecture.md to the one of rooms_test.go.
func TestTableOfRooms(t *testing.T) {
	t.Parallel()
	written := map[string][]string{}
	for line := range strings.Lines(read(t, "docs/architecture.md")) {
		row := cells(strings.TrimSpace(line))
		if len(row) != 3 || !strings.HasPrefix(row[0], "`") {
			continue
		}
		room := codes(row[0])[0]
		if row[1] == "" {
			t.Errorf("docs/architecture.md does not say what %s is for", room)
		}
		written[room] = codes(row[2])
	}
	for room, row := range rooms {
		switch got, ok := written[room]; {
		case !ok:
			t.Errorf("%s is not in the table of docs/architecture.md", room)
		case !slices.Equal(got, row.imports):
			t.Errorf("docs/architecture.md lets %s import %v, the table of rooms %v", room, got, row.imports)
		}
	}
	for room := range written {
		if _, ok := rooms[room]; !ok {
			t.Errorf("docs/architecture.md has a room %s, the table of rooms does not", room)
		}
	}
}

// faultTypes returns the types that pkg/fault declares.
func faultTypes(t *testing.T) []fault.Type {
	t.Helper()
	path := filepath.Join("..", "..", "pkg", "fault", "fault.go")
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var types []fault.Type
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) == 0 {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); !ok || typ.Name != "Type" {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, fault.Type(text))
		return true
	})
	if len(types) < 10 {
		t.Fatalf("found only the types %v", types)
	}
	return types
}

// TestFaultsAreDocumented holds the contract and the page of errors to pkg/fault.
func TestFaultsAreDocumented(t *testing.T) {
	t.Parallel()
	contracts, errorsPage := read(t, "docs/contracts.md"), read(t, "docs/errors.md")
	for _, typ := range faultTypes(t) {
		exit := strconv.Itoa(typ.ExitCode())
		listed := false
		for line := range strings.Lines(contracts) {
			row := cells(strings.TrimSpace(line))
			listed = listed || len(row) > 1 && row[0] == exit && slices.Contains(codes(line), string(typ))
		}
		if !listed {
			t.Errorf("docs/contracts.md has no row with exit code %s and `%s`", exit, typ)
		}
		if heading := "## " + string(typ) + " (exit code " + exit + ")"; !strings.Contains(errorsPage, "\n"+heading+"\n") {
			t.Errorf("docs/errors.md has no heading %q", heading)
		}
	}
}

// TestSettingsAreDocumented holds docs/configuration.md to the settings there are.
func TestSettingsAreDocumented(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/configuration.md")
	env := config.Env{Dir: t.TempDir(), Home: t.TempDir(), GOOS: "linux", Lookup: func(string) (string, bool) { return "", false }}
	_, settings, err := env.LoadSettings()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range settings {
		for _, name := range []string{s.Name, "MCPL_" + strings.ToUpper(s.Name)} {
			if !slices.Contains(codes(page), name) {
				t.Errorf("docs/configuration.md does not name `%s`", name)
			}
		}
	}
}

// documents returns the Markdown files of the repository, relative to its root.
func documents(t *testing.T) []string {
	t.Helper()
	root := filepath.Join("..", "..")
	var paths []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			rel, err := filepath.Rel(root, path)
			paths = append(paths, filepath.ToSlash(rel))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(paths, "README.md") || !slices.Contains(paths, "docs/contracts.md") {
		t.Fatalf("found only the documents %v", paths)
	}
	return paths
}

// prose returns a document without its blocks of code.
func prose(text string) string {
	var b strings.Builder
	inCode := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			inCode = !inCode
		} else if !inCode {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestLinks checks that what documents link to within the repository is there: files, and
// headings in them.
func TestLinks(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, path := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(prose(read(t, path)), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := path
			if file != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(path), file))
			}
			if _, err := os.Stat(filepath.Join("..", "..", target)); err != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
			} else if anchor != "" && !slices.Contains(anchors(read(t, target)), anchor) {
				t.Errorf("%s links to %s, and there is no such heading", path, m[1])
			}
		}
	}
}

// anchors returns the anchors that GitHub makes of a document's headings.
func anchors(text string) []string {
	var found []string
	for line := range strings.Lines(prose(text)) {
		heading := strings.TrimLeft(line, "#")
		if heading == line || !strings.HasPrefix(heading, " ") {
			continue
		}
		found = append(found, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(heading)))
	}
	return found
}

// TestMakeTargets checks that the documents name only targets that the Makefile has.
func TestMakeTargets(t *testing.T) {
	t.Parallel()
	makefile := read(t, "Makefile")
	command := regexp.MustCompile("(?m)(?:`|^ *\\$? ?)make ([a-z-]+)")
	for _, path := range documents(t) {
		for _, m := range command.FindAllStringSubmatch(read(t, path), -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s speaks of make %s, which the Makefile does not have", path, m[1])
			}
		}
	}
}

// TestFlags checks that the documents name only flags that some verb has.
func TestFlags(t *testing.T) {
	t.Parallel()
	fs := pflag.NewFlagSet("all", pflag.ContinueOnError)
	new(verb.Globals).Flags(fs)
	for _, spec := range verb.Table() {
		own := pflag.NewFlagSet("own", pflag.ContinueOnError)
		spec.New().Flags(own)
		fs.AddFlagSet(own) // flags of the same name stay the first one's
	}
	fs.Bool("help", false, "")
	fs.String("path", "", "") // the wrong one of an example
	flag := regexp.MustCompile(`(?:^|[ (])--([a-z][a-z-]*)`)
	for _, path := range []string{"README.md", "CHANGELOG.md", "docs/architecture.md", "docs/auth.md", "docs/configuration.md",
		"docs/connections.md", "docs/contracts.md", "docs/daemon.md", "docs/errors.md"} {
		text := read(t, path)
		said := codes(prose(text))
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "$ mcpl ") {
				said = append(said, line)
			}
		}
		for _, words := range said {
			for _, m := range flag.FindAllStringSubmatch(words, -1) {
				if fs.Lookup(m[1]) == nil {
					t.Errorf("%s names --%s, which no verb has", path, m[1])
				}
			}
		}
	}
}
