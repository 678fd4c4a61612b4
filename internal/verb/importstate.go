package verb

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/state"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// syntropy is the client whose choice of tools config import takes over. It has no servers to take.
const syntropy = "syntropy"

// importedChoice is what config import takes over from the file of Syntropy: names that are on and off there, and not
// yet in mcpl's file.
type importedChoice struct {
	From     string   `json:"from"`
	File     string   `json:"file"`
	Enabled  []string `json:"enabled"`
	Disabled []string `json:"disabled"`
	// Skipped are names that cannot be those of a server or tool.
	Skipped []string `json:"skipped,omitempty"`
	// Note is why nothing can be taken.
	Note string `json:"note,omitempty"`
}

// wantsChoice reports whether the verb was asked for the choice of Syntropy.
func (v *configImportVerb) wantsChoice() bool {
	return slices.Contains(v.From, syntropy) || len(v.From) == 0 && len(v.words) == 0
}

// importChoice returns what there is to take from the file of Syntropy; nil if there is nothing.
func (s *Session) importChoice() (*importedChoice, error) {
	theirs := state.File{Path: filepath.Join(s.App.Env.Home, ".syntropy", "tool-state.json")}
	c := &importedChoice{From: theirs.Path, File: s.States.Path, Enabled: []string{}, Disabled: []string{}}
	found, _, err := theirs.Read()
	if err != nil {
		c.Note = fault.From(err).Message
		return c, nil
	}
	before, _, err := s.States.Read()
	if err != nil {
		return nil, err
	}
	after := before
	after.Merge(state.Tools{Enabled: c.names(s, found.Enabled), Disabled: c.names(s, found.Disabled)})
	c.Enabled = append(c.Enabled, after.Enabled[len(before.Enabled):]...)
	c.Disabled = append(c.Disabled, after.Disabled[len(before.Disabled):]...)
	if !c.takes() && len(c.Skipped) == 0 {
		return nil, nil
	}
	return c, nil
}

// names returns names of Syntropy as SERVER/TOOL if mcpl knows the tool. Others stay as they are: they mean a tool as
// soon as its server is configured.
func (c *importedChoice) names(s *Session, theirs []string) (names []string) {
	for _, name := range theirs {
		known, ok, err := s.Engine.Name(name)
		switch {
		case ok && err == nil:
			names = append(names, known)
		case len(tool.Unprefixed(name)) > 0:
			names = append(names, name)
		default:
			c.Skipped = append(c.Skipped, name)
		}
	}
	return names
}

// takes reports whether there is something to take.
func (c *importedChoice) takes() bool { return c != nil && len(c.Enabled)+len(c.Disabled) > 0 }

// write puts the choice into mcpl's file.
func (c *importedChoice) write(ctx context.Context, file state.File) error {
	return file.Update(ctx, func(t *state.Tools) { t.Merge(state.Tools{Enabled: c.Enabled, Disabled: c.Disabled}) })
}

func (c *importedChoice) writeText(t *output.Text, written bool) {
	if c == nil {
		return
	}
	if written && c.takes() {
		t.Line("Wrote what is on and off in Syntropy to ", output.Cyan(c.File))
	} else {
		heading(t, "On and off in Syntropy", output.Dim("  "+c.From))
	}
	if c.Note != "" {
		t.Wrap("  ", "not read: "+c.Note)
	}
	if len(c.Enabled) > 0 {
		t.Wrap("  ", "On: "+strings.Join(c.Enabled, ", ")+". All that is not on by name is off then.")
	}
	if len(c.Disabled) > 0 {
		t.Wrap("  ", "Off: "+strings.Join(c.Disabled, ", ")+".")
	}
	if len(c.Skipped) > 0 {
		t.Wrap("  ", "Skipped, since these are not names of tools: "+strings.Join(c.Skipped, ", ")+".")
	}
}
