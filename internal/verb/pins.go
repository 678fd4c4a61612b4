package verb

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/mcp-launchpad/mcpl/pkg/catalog"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/pin"
	"github.com/mcp-launchpad/mcpl/pkg/state"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
	"github.com/mcp-launchpad/mcpl/pkg/trust"
)

// choice is what a person has switched on and off. It follows what is switched off while a verb runs, because a server
// lists a tool under another name. It is safe for concurrent use.
type choice struct {
	dir, folder string // of the state, and the working directory

	mu    sync.RWMutex
	tools state.All
}

// Allows implements [engine.Switches].
func (c *choice) Allows(server, name string) bool { return c.now().Allows(server, name) }

// AllowsServer implements [engine.Switches].
func (c *choice) AllowsServer(server string) bool { return c.now().AllowsServer(server) }

// Whole implements [engine.Switches].
func (c *choice) Whole(server string) bool { return c.now().Whole(server) }

// InProject implements [engine.Switches].
func (c *choice) InProject(server, name string) bool { return c.now().InProject(server, name) }

func (c *choice) now() state.All {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.tools
}

// inherit switches a tool off wherever it was off under its earlier name.
func (c *choice) inherit(ctx context.Context, server, before, after string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	files, err := state.InForce(c.dir, c.folder)
	if err != nil {
		return err
	}
	for _, file := range files {
		tools, _, err := file.Read()
		if err != nil {
			return err
		}
		if tools.Allows(server, before) || !tools.Allows(server, after) {
			continue
		}
		off := func(t *state.Tools) { t.Disable(tool.Ref{Server: server, Name: after}.String()) }
		if err := file.Update(ctx, off); err != nil {
			return err
		}
	}
	c.tools, _, err = state.Read(c.dir, c.folder)
	return err
}

// pinsIn returns how a catalog remembers what servers offered, in a state folder.
func pinsIn(stateDir string, c *choice) catalog.Pins {
	return catalog.Pins{Store: pin.StoreIn(stateDir), Place: trust.Project, Allows: c.Allows, Inherit: c.inherit}
}

// changed is what has changed of a definition since a person last saw it, in an answer.
type changed struct {
	Since string   `json:"since"` // a day
	Kind  []string `json:"kind"`
	// Held says that the old definition counts until a person has approved the new one.
	Held bool `json:"held,omitempty"`
}

// changedOf returns c for an answer, nil for nil.
func changedOf(c *pin.Change) *changed {
	if c == nil {
		return nil
	}
	return &changed{Since: day(*c), Kind: c.Kinds, Held: c.Held}
}

func day(c pin.Change) string { return c.Since.Format("2006-01-02") }

// JSON returns it for an answer that is put together by hand, nil for nil.
func (c *changed) JSON() json.RawMessage {
	if c == nil {
		return nil
	}
	data, _ := json.Marshal(c) // texts always encode
	return data
}

// String says it in words.
func (c *changed) String() string {
	text := fmt.Sprintf("changed since %s: %s", c.Since, strings.Join(c.Kind, ", "))
	if c.Held {
		text += " (held: the old definition counts)"
	}
	return text
}

// span returns it behind a name, "" for nil.
func (c *changed) span() any {
	if c == nil {
		return ""
	}
	return output.Yellow("  " + c.String())
}

// noteChanged says on stderr that something that was called has changed since a person last saw it.
func (s *Session) noteChanged(ref tool.Ref, c *pin.Change) {
	if c != nil {
		s.Printer.Notice("%s has %s. A person reads the difference with: mcpl trust --diff %s", ref, changedOf(c),
			fault.Quote(ref.String()))
	}
}

// personReads reports whether a person reads the answer at a terminal.
func (s *Session) personReads() bool { return s.App.OutTTY.Is && !s.Globals.JSON }

// seen notes that the person at the terminal has seen a change. A held one still has to be approved.
func (s *Session) seen(ctx context.Context, server string, change *pin.Change) error {
	if change == nil || change.Held || !s.personReads() {
		return nil
	}
	_, err := s.Engine.See(ctx, server, func(c pin.Change) bool {
		return c.Of == change.Of && c.Name == change.Name && c.Hash == change.Hash
	})
	return err
}
