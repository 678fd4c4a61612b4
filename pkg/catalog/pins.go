package catalog

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/pin"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Pins are how a catalog remembers what servers offered. The zero value remembers nothing.
type Pins struct {
	Store pin.Store
	// Place returns what tells the projects apart that lie in different folders. If nil, a folder stands for itself.
	Place func(folder string) string
	// Allows reports whether a person lets a tool be used.
	Allows func(server, name string) bool
	// Inherit switches a tool off under its new name, since a person has switched it off under the one before.
	Inherit func(ctx context.Context, server, before, after string) error
}

// PinMode returns what becomes of changed definitions of a server in the index.
func (c *Catalog) PinMode(f index.Facts) pin.Mode {
	if c.opt.Pins.Store.Dir == "" {
		return pin.Off
	}
	return pin.Mode(cmp.Or(f.Pin, c.opt.Settings.Pins, config.WarnPins))
}

// Pins returns the store of pins. [index.Facts] have the key of a server in it.
func (c *Catalog) Pins() pin.Store { return c.opt.Pins.Store }

// pinOf returns what an entry says of changed definitions. That of a project can be stricter than the setting, but not
// less strict: a repository must not switch off what guards against it.
func pinOf(s *config.Server) config.Pins {
	if s.Project != "" && s.Pin != config.HoldPins {
		return ""
	}
	return s.Pin
}

// pinned is what the pins say of a listing.
type pinned struct {
	key     string // empty if nothing is pinned
	changes int    // that no one has seen yet
}

// enterPins compares a listing with the pins of its server, and returns it as it may be used. old is what the index
// knows of the server.
func (c *Catalog) enterPins(ctx context.Context, s *config.Server, old index.Server, l tool.Listing) (
	tool.Listing, pinned, error) {
	old.Pin = pinOf(s)
	mode := c.PinMode(old.Facts)
	if mode == pin.Off {
		return l, pinned{}, nil
	}
	known := pinned{key: s.PinKey(c.opt.Pins.Place)}
	entry := c.entry(s.Name, mode)
	used := l
	err := c.opt.Pins.Store.Update(ctx, known.key, func(p *pin.Pins) (err error) {
		p.Server = s.Name
		var renames []pin.Rename
		if p.Empty() && len(old.Tools) > 0 && old.State != index.Unknown {
			// The server was listed before there were pins: what it offered then is what a person has seen.
			before := tool.Listing{Tools: old.Tools, Prompts: old.Prompts, Instructions: old.Instructions}
			if _, _, err := p.Enter(before, entry); err != nil {
				return err
			}
		}
		if used, renames, err = p.Enter(l, entry); err != nil {
			return err
		}
		known.changes = len(p.Changes())
		return c.inherit(ctx, s.Name, renames)
	})
	if errors.Is(err, pin.ErrUnwritable) && mode != pin.Hold && ctx.Err() == nil {
		c.opt.Events.Notice("what %s offers cannot be remembered, so a change of it will not be noticed: %v", s.Name, err)
		return l, pinned{}, nil
	}
	if err != nil {
		return tool.Listing{}, pinned{}, err
	}
	return used, known, nil
}

// pinsReadable fails if there are pins of a server that cannot be read.
func (c *Catalog) pinsReadable(s *config.Server) error {
	if c.PinMode(index.Facts{Pin: pinOf(s)}) == pin.Off {
		return nil
	}
	_, err := c.opt.Pins.Store.Read(s.PinKey(c.opt.Pins.Place))
	return err
}

// MeetPin compares one definition that a server has now with its pin. It returns the change that no one has seen yet,
// nil if there is none. The server is listed once more behind the answer then, so that the index knows of it too.
func (c *Catalog) MeetPin(ctx context.Context, f index.Facts, def tool.Def) (change *pin.Change, err error) {
	err = c.opt.Pins.Store.Update(ctx, f.Pins, func(p *pin.Pins) (err error) {
		if p.Empty() {
			return nil
		}
		var renames []pin.Rename
		if change, renames, err = p.Meet(def, c.entry(f.Name, c.PinMode(f))); err != nil {
			return err
		}
		return c.inherit(ctx, f.Name, renames)
	})
	if change != nil && f.Changes == 0 {
		c.Changed(f.Name)
	}
	return change, err
}

// entry says how what a server offers is entered.
func (c *Catalog) entry(server string, mode pin.Mode) pin.Entry {
	return pin.Entry{Mode: mode, Now: c.opt.Now(), Off: func(name string) bool { return !c.opt.Pins.Allows(server, name) }}
}

// inherit switches off what a person has switched off under another name.
func (c *Catalog) inherit(ctx context.Context, server string, renames []pin.Rename) error {
	for _, r := range renames {
		if c.opt.Pins.Allows(server, r.Before) || !c.opt.Pins.Allows(server, r.After) {
			continue
		}
		if err := c.opt.Pins.Inherit(ctx, server, r.Before, r.After); err != nil {
			return err
		}
		c.opt.Events.Notice("%s/%s is %s under another name, so it is disabled too", server, r.After, r.Before)
	}
	return nil
}

// knownOf returns what the index knows of a server.
func (c *Catalog) knownOf(u *update, server string) index.Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := *u.cat.Find(server)
	s.Tools, s.Prompts = slices.Clone(s.Tools), slices.Clone(s.Prompts)
	return s
}
