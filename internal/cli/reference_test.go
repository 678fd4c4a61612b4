package cli

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/internal/verb"
)

var update = flag.Bool("update", false, "rewrite docs/reference.md from the commands")

// TestReference holds docs/reference.md to the commands and flags that there are.
func TestReference(t *testing.T) {
	t.Parallel()
	got := reference(root())
	path := filepath.Join("..", "..", "docs", "reference.md")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("docs/reference.md is out of date, renew it with: go test ./internal/cli -run Reference -update\n-want +got\n%s", diff)
	}
}

func root() *cobra.Command { return (&tree{app: new(verb.App)}).root() }

// reference renders the commands and their flags as Markdown.
func reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# Commands\n\n<!-- Generated from the commands: go test ./internal/cli -run Reference -update -->\n\n")
	fmt.Fprintf(&b, "%s\n\nFlags that every verb has, before or after its name:\n\n%s", paragraph(root.Long), flagTable(root.PersistentFlags()))
	for _, group := range root.Groups() {
		fmt.Fprintf(&b, "\n## %s\n", strings.TrimSuffix(group.Title, ":"))
		for _, cmd := range root.Commands() {
			if cmd.GroupID != group.ID || cmd.Hidden {
				continue
			}
			describe(&b, "###", cmd)
			for _, sub := range cmd.Commands() {
				describe(&b, "####", sub)
			}
		}
	}
	return b.String()
}

// describe writes the section of one command.
func describe(b *strings.Builder, heading string, cmd *cobra.Command) {
	if cmd.Hidden || !cmd.IsAvailableCommand() {
		return
	}
	path := strings.TrimSuffix(cmd.CommandPath(), cmd.Name()) + cmd.Use
	fmt.Fprintf(b, "\n%s %s\n\n", heading, path)
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	fmt.Fprintf(b, "%s\n", paragraph(text))
	if table := flagTable(cmd.LocalNonPersistentFlags()); table != "" {
		fmt.Fprintf(b, "\n%s", table)
	}
	if cmd.Example != "" {
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", dedent(cmd.Example))
	}
}

func flagTable(flags *pflag.FlagSet) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		if b.Len() == 0 {
			b.WriteString("| flag | |\n|---|---|\n")
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if value != "" {
			name += " " + value
		}
		if f.Shorthand != "" {
			name += "`, `-" + f.Shorthand
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" {
			usage += fmt.Sprintf(" (default %s)", f.DefValue)
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, strings.ReplaceAll(usage, "|", "\\|"))
	})
	return b.String()
}

// paragraph keeps indented lines of help as code.
func paragraph(text string) string {
	var parts []string
	for _, part := range strings.Split(text, "\n\n") {
		lines := strings.Split(part, "\n")
		for i, line := range lines {
			if strings.HasPrefix(line, "  ") { // to the end of the part
				code := "```\n" + dedent(strings.Join(lines[i:], "\n")) + "\n```"
				lines = append(lines[:i:i], "\n"+code)
				break
			}
		}
		parts = append(parts, strings.TrimPrefix(strings.Join(lines, "\n"), "\n"))
	}
	return strings.Join(parts, "\n\n")
}

func dedent(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, "  ")
	}
	return strings.Join(lines, "\n")
}

// TestHelp: help fits a terminal of 80 columns, and every verb has all its parts.
func TestHelp(t *testing.T) {
	t.Parallel()
	tree := root()
	commands := append(tree.Commands(), tree)
	for _, cmd := range tree.Commands() {
		commands = append(commands, cmd.Commands()...)
	}
	for _, cmd := range commands {
		if cmd.Hidden {
			continue
		}
		var b bytes.Buffer
		cmd.SetOut(&b)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s: a line of %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
		if cmd.Short == "" || cmd.Parent() == tree && cmd.GroupID == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("mcpl %s: short help %q in group %q", cmd.Name(), cmd.Short, cmd.GroupID)
		}
	}
}
