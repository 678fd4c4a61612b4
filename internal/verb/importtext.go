package verb

import (
	"fmt"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/humanize"
	"github.com/mcp-launchpad/mcpl/pkg/output"
)

func (a *importPlan) WriteText(t *output.Text) {
	added, skipped := a.of("add"), a.of("skip")
	if a.Written {
		a.writeWritten(t, added)
		return
	}
	a.writeFiles(t)
	if len(added) > 0 {
		heading(t, "To take", output.Dim(fmt.Sprintf("  into %s (%s)", a.File, a.Why)))
	}
	for _, s := range added {
		s.write(t)
	}
	if len(skipped) > 0 {
		heading(t, "Skipped")
	}
	for _, s := range skipped {
		t.Line("  ", s.Name, " from ", s.Client, ": ", s.Reason)
	}
	a.writeVariables(t)
	a.Choice.writeText(t, false)
	if len(added) == 0 && !a.Choice.takes() {
		t.Line()
		t.Line("There is nothing to take.")
	}
}

// writeWritten says what was written, what came of trying it, and what was left out.
func (a *importPlan) writeWritten(t *output.Text, added []importItem) {
	if len(added) > 0 {
		t.Line(fmt.Sprintf("Wrote %s to ", humanize.Plural(len(added), "server")), output.Cyan(a.File))
	}
	for _, s := range added {
		if s.Tried != nil || len(s.Notes) > 0 {
			t.Line("  ", output.Cyan(s.Name))
		}
		if s.Tried != nil {
			s.Tried.write(t, "    ")
		}
		for _, note := range s.Notes {
			t.Wrap("    ", note)
		}
	}
	a.writeVariables(t)
	if len(added) > 0 {
		t.Line("See what they offer with: mcpl list")
	}
	a.Choice.writeText(t, true)
}

// write writes a server that is to be taken.
func (s importItem) write(t *output.Text) {
	t.Line("  ", output.Cyan(s.Name), " from ", s.Client, output.Dim("  "+place(s.File, s.Line)))
	what := s.Command + s.URL // an added one has a display
	if s.Disabled {
		what += " (disabled)"
	}
	t.Line("    ", what)
	if s.Was != "" {
		t.Line("    called ", fmt.Sprintf("%q", s.Was), " there")
	}
	for _, l := range s.Literals {
		becomes := ": ${" + l.Variable + "} instead"
		if s.Kept {
			becomes = ": copied as it is"
		}
		t.Line("    ", output.Yellow("literal secret"), " in ", l.Where, becomes)
	}
	for _, note := range s.Notes {
		t.Wrap("    ", note)
	}
}

// writeFiles writes the files that exist or, if there are none, all places where files may be.
func (a *importPlan) writeFiles(t *output.Text) {
	if len(a.Files) == 0 {
		return
	}
	t.Line(output.Bold("Files of other clients"))
	var rows, missing [][]any
	for _, f := range a.Files {
		switch {
		case f.Servers > 0:
			rows = append(rows, []any{output.Green(f.Client), humanize.Plural(f.Servers, "server"), output.Dim(f.Path)})
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

func (a *importPlan) writeVariables(t *output.Text) {
	if len(a.Variables) == 0 {
		return
	}
	heading(t, "Variables to set")
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
