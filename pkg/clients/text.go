package clients

import (
	"path/filepath"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/config"
)

// asItIs is for Claude Code, whose ${NAME} and ${NAME:-default} mean the same as in mcpl
// (https://code.claude.com/docs/en/mcp).
func asItIs(_ *reader, text string) string { return text }

// escaped is for clients that fill nothing in: their "${" stays one.
func escaped(_ *reader, text string) string { return strings.ReplaceAll(text, "${", "$${") }

// editorVariables replaces ${env:NAME}, ${input:ID} and the names of folders by their meaning in mcpl
// (https://code.visualstudio.com/docs/reference/variables-reference, which Cursor and Windsurf follow).
func editorVariables(r *reader, text string) string {
	return references(text, "${", func(name string) (string, bool) {
		if variable, ok := strings.CutPrefix(name, "env:"); ok {
			return reference(variable)
		}
		if id, ok := strings.CutPrefix(name, "input:"); ok {
			variable := config.VariableName(id, "INPUT_")
			r.note("%s asks for %q when it starts the server; here set the variable %s", r.client.name, id, variable)
			return reference(variable)
		}
		folder := r.place.project
		if folder == "" {
			folder = r.env.Dir
		}
		switch name {
		case "userHome":
			return r.env.Home, true
		case "workspaceFolder":
			r.note("${workspaceFolder} is now %s", folder)
			return folder, true
		case "workspaceFolderBasename":
			return filepath.Base(folder), true
		case "pathSeparator", "/":
			return string(filepath.Separator), true
		}
		if _, ok := reference(name); !ok {
			r.note("${%s} is unknown in mcpl and stays as it is", name)
		}
		return "", false
	})
}

// shellVariables turns $NAME into ${NAME}, which means the same in Gemini CLI
// (https://geminicli.com/docs/tools/mcp-server).
func shellVariables(_ *reader, text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		n := config.NameLength(text[i+1:])
		if text[i] != '$' || n == 0 || i > 0 && text[i-1] == '$' {
			b.WriteByte(text[i])
			continue
		}
		b.WriteString("${" + text[i+1:i+1+n] + "}")
		i += n
	}
	return b.String()
}

// braceVariables turns {env:NAME} of OpenCode into ${NAME}. A "${" has no meaning there
// (https://opencode.ai/docs/config).
func braceVariables(r *reader, text string) string {
	return references(escaped(r, text), "{", func(name string) (string, bool) {
		if variable, ok := strings.CutPrefix(name, "env:"); ok {
			return reference(variable)
		}
		if file, ok := strings.CutPrefix(name, "file:"); ok {
			variable := config.VariableName(filepath.Base(file), "INPUT_")
			r.note("opencode reads %s; here set the variable %s to its content", file, variable)
			return reference(variable)
		}
		return "", false
	})
}

// references replaces each text between open and "}" by f's result. If f reports false, the text stays.
func references(text, open string, f func(name string) (string, bool)) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, open)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, closed := strings.Cut(rest, "}")
		value, ok := "", false
		if closed {
			value, ok = f(name)
		}
		if !ok {
			b.WriteString(open)
			text = rest
			continue
		}
		b.WriteString(value)
		text = after
	}
}

// reference returns a reference to a variable. ok is false if name is not a variable's name.
func reference(name string) (string, bool) {
	return "${" + name + "}", name != "" && config.NameLength(name) == len(name)
}
