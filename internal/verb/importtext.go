package verb

import (
	"fmt"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/clients"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/output"
)

type importAnswer struct {
	File    string `json:"file"`
	Why     string `json:"why"`
	Created bool   `json:"created"`
	Written bool   `json:"written"`
	// Files are the places of other clients that were looked at.
	Files   []clients.Looked `json:"files"`
	Servers []importItem     `json:"servers"`
	// Variables are the ones that took the place of literal secrets.
	Variables []importVariable `json:"variables"`
}

// importItem is what happens to one server of another client.
type importItem struct {
	Name string `json:"name"`
	// Was is its name there, where that is another one.
	Was    string `json:"was,omitempty"`
	Client string `json:"client"`
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	// Action is "add" or "skip"; Reason is why it is skipped.
	Action string `json:"action"`
	Reason string `json:"reason,omitempty"`
	*config.Display
	Disabled bool             `json:"disabled,omitempty"`
	Literals []config.Literal `json:"literal_secrets,omitempty"`
	// Kept says that the literal secrets are copied as they are.
	Kept  bool     `json:"secrets_kept,omitempty"`
	Notes []string `json:"notes,omitempty"`
}

// importVariable is a variable that has to be set for an imported server.
type importVariable struct {
	Name   string `json:"name"`
	Set    bool   `json:"set"` // to that value, already
	Server string `json:"server"`
	Where  string `json:"where"`
	// ValueIn is the other client's file that has its value, Put the environment file for it, Get
	// a page to get a new one from.
	ValueIn string `json:"value_in"`
	Put     string `json:"put"`
	Get     string `json:"get,omitempty"`
}

// WriteText implements [output.Document].
func (a *importAnswer) WriteText(t *output.Text) {
	added, skipped := a.split()
	if a.Written {
		t.Line(fmt.Sprintf("Wrote %s to ", plural(len(added), "server")), output.Cyan(a.File))
		a.writeVariables(t)
		t.Line("Ask them for their tools with: mcpl list --refresh")
		return
	}
	a.writeFiles(t)
	if len(added) > 0 {
		t.Line()
		t.Line(output.Bold("To take"), output.Dim(fmt.Sprintf("  into %s (%s)", a.File, a.Why)))
	}
	for _, s := range added {
		t.Line("  ", output.Cyan(s.Name), " from ", s.Client, output.Dim("  "+s.place()))
		what := s.Command + s.URL // an added one has a display
		if s.Disabled {
			what += " (disabled)"
		}
		t.Line("    ", what)
		if s.Was != "" {
			t.Line("    called ", fmt.Sprintf("%q", s.Was), " there")
		}
		for _, l := range s.Literals {
			t.Line("    ", output.Yellow("literal secret"), " in ", l.Where, instead(s.Kept, l.Variable))
		}
		for _, note := range s.Notes {
			t.Wrap("    ", note)
		}
	}
	if len(skipped) > 0 {
		t.Line()
		t.Line(output.Bold("Skipped"))
	}
	for _, s := range skipped {
		t.Line("  ", s.Name, " from ", s.Client, ": ", s.Reason)
	}
	a.writeVariables(t)
	if len(added) == 0 {
		t.Line()
		t.Line("There is nothing to take.")
	}
}

// place returns where the entry stands.
func (i importItem) place() string {
	if i.Line == 0 {
		return i.File
	}
	return fmt.Sprintf("%s:%d", i.File, i.Line)
}

// instead says what happens to a literal secret.
func instead(kept bool, variable string) string {
	if kept {
		return ": copied as it is"
	}
	return ": ${" + variable + "} instead"
}

func (a *importAnswer) split() (added, skipped []importItem) {
	for _, s := range a.Servers {
		if s.Action == "add" {
			added = append(added, s)
		} else {
			skipped = append(skipped, s)
		}
	}
	return added, skipped
}

// writeFiles shows the files that are there, or all places where there is none.
func (a *importAnswer) writeFiles(t *output.Text) {
	t.Line(output.Bold("Files of other clients"))
	var rows, missing [][]any
	for _, f := range a.Files {
		switch {
		case f.Servers > 0:
			rows = append(rows, []any{output.Green(f.Client), plural(f.Servers, "server"), output.Dim(f.Path)})
		case f.Note == "not there":
			missing = append(missing, []any{output.Dim(f.Client), f.Note, output.Dim(f.Path)})
		case strings.Contains(f.Note, f.Path):
			rows = append(rows, []any{f.Client, output.Yellow("not read"), f.Note})
		default:
			rows = append(rows, []any{f.Client, f.Note, output.Dim(f.Path)})
		}
	}
	if rows == nil {
		rows = missing
	}
	t.Table("  ", rows)
}

func (a *importAnswer) writeVariables(t *output.Text) {
	if len(a.Variables) == 0 {
		return
	}
	t.Line()
	t.Line(output.Bold("Variables to set"))
	for _, v := range a.Variables {
		if v.Set {
			t.Line("  ", v.Name, output.Dim(": has that value already"))
			continue
		}
		t.Line("  Add ", output.Cyan(v.Name+"=..."), " to ", v.Put, ". Its value is in ", v.ValueIn,
			output.Dim(fmt.Sprintf(" (%s)", v.Where)))
		if v.Get != "" {
			t.Line("    or get a new one at ", v.Get)
		}
	}
}
