package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/pin"
	"github.com/mcp-launchpad/mcpl/pkg/policy"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// shortHash is how many digits of a hash a person is shown.
const shortHash = 12

// unseen returns what has changed of a server since a person last saw it, as the mode of the server treats it.
func (e *Engine) unseen(f index.Facts) ([]pin.Change, error) {
	mode := e.catalog.PinMode(f)
	if mode == pin.Off || f.Pins == "" {
		return nil, nil
	}
	changes, err := e.catalog.Pins().Changes(f.Pins)
	for i := range changes {
		changes[i].Held = changes[i].HeldUnder(mode)
	}
	return changes, err
}

// changeOf returns the change of what ref names, nil if there is none.
func changeOf(changes []pin.Change, ref tool.Ref) *pin.Change {
	i := slices.IndexFunc(changes, func(c pin.Change) bool { return c.Of == ref.Kind && c.Name == ref.Name })
	if i < 0 {
		return nil
	}
	return &changes[i]
}

// change returns what has changed of what ref names, as the index knows its server. It is nil if nothing has.
func (e *Engine) change(ref tool.Ref) (change *pin.Change, err error) {
	err = e.withServers(func(c configured) error {
		if c.view == nil {
			return nil
		}
		info, _ := c.view.Server(ref.Server)
		changes, err := e.unseen(info.Facts)
		change = changeOf(changes, ref)
		return err
	})
	return change, err
}

// changesOf returns the changes of a server that had some when it was listed, without those of tools that are off. It
// reads nothing of the others, so that a search costs no more. Answers that only show do not fail if they cannot be
// read; calls do.
func (e *Engine) changesOf(f index.Facts) []pin.Change {
	if f.Changes == 0 {
		return nil
	}
	changes, err := e.unseen(f)
	if err != nil {
		e.events.Notice("what has changed of %s is not known: %v", f.Name, err)
	}
	return slices.DeleteFunc(changes, func(c pin.Change) bool {
		return !e.allows(tool.Ref{Server: f.Name, Name: c.Name, Kind: c.Of})
	})
}

// markChanged notes on hits what has changed of them.
func (e *Engine) markChanged(found []Found, server func(name string) (index.ServerInfo, bool)) {
	known := make(map[string][]pin.Change)
	for i := range found {
		f := &found[i]
		changes, ok := known[f.Server]
		if !ok {
			info, _ := server(f.Server)
			changes = e.changesOf(info.Facts)
			known[f.Server] = changes
		}
		f.Changed = changeOf(changes, tool.Ref{Kind: f.Kind, Name: f.Name})
	}
}

// pinGate fails for a call of something that is held: what the server offers now is less safe than what a person has
// seen, or a person wants to see every change.
func (e *Engine) pinGate(p *Plan) error {
	changes, err := e.unseen(p.server)
	if err != nil {
		return err
	}
	return e.useChanged(p, changeOf(changes, p.Ref))
}

// useChanged fails for a change that is held, and says another one to whoever makes the call. change may be nil.
func (e *Engine) useChanged(p *Plan, change *pin.Change) error {
	switch {
	case change == nil:
		return nil
	case change.Held:
		return e.held(p.server, p.Ref, *change)
	}
	if p.Changed != nil {
		p.Changed(*change)
	}
	return nil
}

// heldNew returns the fault of something that a server offers only since a person last saw it, if that is why it was
// not found. Else it returns missing.
func (e *Engine) heldNew(f index.Facts, ref tool.Ref, missing error) error {
	if f.Changes == 0 || !fault.Is(missing, fault.ToolNotFound) || !e.allows(ref) {
		return missing
	}
	return cmp.Or(e.heldNow(f, ref), missing)
}

// heldNow fails if what ref names is held.
func (e *Engine) heldNow(f index.Facts, ref tool.Ref) error {
	changes, err := e.unseen(f)
	if err != nil {
		return err
	}
	if c := changeOf(changes, ref); c != nil && c.Held {
		return e.held(f, ref, *c)
	}
	return nil
}

// held returns the fault of something whose change a person has to approve.
func (e *Engine) held(server index.Facts, ref tool.Ref, c pin.Change) error {
	pins, err := e.catalog.Pins().Read(server.Pins)
	if err != nil {
		return err
	}
	why := "changed since " + c.Since.Format("2006-01-02") + ": " + strings.Join(c.Kinds, ", ")
	f := fault.New(fault.ApprovalRequired, ref.String()+" has "+why,
		"Do not approve it yourself: show your user what has changed.").On(ref.Server, ref.Name).
		Then("A person reads it with", fault.Step{Verb: "trust", Args: []string{"--diff", ref.String()}}).
		Then("A person approves it with",
			fault.Step{Verb: "trust", Args: []string{ref.String(), "--yes", c.Hash[:shortHash]}})
	f.Approval = &fault.Approval{Kind: fault.PinApproval, Why: why, Tool: ref.String()}
	if known := pins.Of(c); known != nil {
		f.Diff = pin.Diff(known.Seen, known.New)
	}
	return f
}

// maxRedefined is how often a call is made anew because the server has another definition by then.
const maxRedefined = 3

// pinned has a call made by send, on condition that the server still has the definition that was checked. If the server
// has listed another one meanwhile, that is compared with what a person has seen, and the call is made if it may be
// used.
func pinned[T any](ctx context.Context, e *Engine, p *Plan, opt tool.CallOptions,
	send func(tool.CallOptions) (T, error)) (res T, err error) {
	mode := e.catalog.PinMode(p.server)
	if mode == pin.Off || p.server.Pins == "" || p.definition == nil {
		return send(optionsFor(p.Ref, p.definition, opt))
	}
	def := p.definition
	for tries := 1; ; tries++ {
		hash, err := def.hash()
		if err != nil {
			return res, err
		}
		opt.Pin, opt.PinNow = hash, mode == pin.Hold
		res, err := send(optionsFor(p.Ref, def, opt))
		again, ok := redefined(err, p.Ref)
		if !ok || tries == maxRedefined {
			return res, err
		}
		if err := e.meet(ctx, p, again, mode); err != nil {
			return res, err
		}
		if err := e.decideAnew(ctx, p, again, opt.Principal); err != nil {
			return res, err
		}
		def = newDefinition(again)
	}
}

// redefined returns the definition that the server has now, if err says that it is another one than was checked.
func redefined(err error, ref tool.Ref) (tool.Def, bool) {
	var f *fault.Fault
	if !errors.As(err, &f) || f.Approval == nil || f.Approval.Kind != fault.PinApproval {
		return tool.Def{}, false
	}
	raw, ok := f.Result.(json.RawMessage)
	if !ok {
		return tool.Def{}, false
	}
	def, err := tool.Parse(ref.Kind, raw)
	return def, err == nil
}

// meet compares a definition with its pin. It fails if the definition is held, or is one that a person has switched off
// under another name.
func (e *Engine) meet(ctx context.Context, p *Plan, def tool.Def, mode pin.Mode) error {
	change, err := e.catalog.MeetPin(ctx, p.server, def)
	if err != nil && (mode == pin.Hold || !errors.Is(err, pin.ErrUnwritable)) {
		return err
	}
	if err := e.switchedOff(p.Ref); err != nil {
		return err
	}
	return e.useChanged(p, change)
}

// decideAnew asks the gate once more if the annotations of a new definition lead to another decision than those that
// the call has passed with.
func (e *Engine) decideAnew(ctx context.Context, p *Plan, def tool.Def, who tool.Principal) error {
	before := e.policy.Decide(p.Ref, p.Hints).Action
	if after := e.policy.Decide(p.Ref, def.Hints()).Action; after == policy.Allow || after == before {
		return nil
	}
	again := *p
	again.Hints = def.Hints()
	return e.gate(ctx, &again, who)
}

// Unseen returns what has changed of servers since a person last saw it, in the order of the configuration. If servers
// is empty, of all of them. It lists no server. Only servers with changes are in it.
func (e *Engine) Unseen(ctx context.Context, servers []string) ([]ServerChanges, error) {
	var list []ServerChanges
	err := e.withServers(func(c configured) error {
		if c.view == nil {
			return nil
		}
		for _, info := range e.servers(c.view) {
			if len(servers) > 0 && !slices.Contains(servers, info.Name) {
				continue
			}
			changes, err := e.unseen(info.Facts)
			if err != nil {
				return err
			}
			if len(changes) > 0 {
				list = append(list, ServerChanges{Server: info.Name, Changes: changes})
			}
		}
		return ctx.Err()
	})
	return list, err
}

// ServerChanges are the changes of one server that a person has not seen.
type ServerChanges struct {
	Server  string
	Changes []pin.Change
}

// pinsOf returns the key of a server's pins, "" if there are none.
func (e *Engine) pinsOf(server string) (key string, err error) {
	err = e.withServers(func(c configured) error {
		if c.view != nil {
			info, _ := c.view.Server(server)
			key = info.Pins
		}
		return nil
	})
	return key, err
}

// Diff returns a function that says how a change of a server differs from what a person has seen: in at most 20 lines,
// or in full. whole is true if that is all of it, for which a full diff is needed.
func (e *Engine) Diff(server string) (func(c pin.Change, full bool) (lines []string, whole bool), error) {
	key, err := e.pinsOf(server)
	if err != nil {
		return nil, err
	}
	pins := new(pin.Pins)
	if key != "" {
		if pins, err = e.catalog.Pins().Read(key); err != nil {
			return nil, err
		}
	}
	known := pins.ByChange()
	return func(c pin.Change, full bool) (lines []string, whole bool) {
		switch p := known(c); {
		case p == nil || p.New == nil:
			return nil, false
		case full:
			return pin.FullDiff(p.Seen, p.New)
		default:
			return pin.Diff(p.Seen, p.New), false
		}
	}, nil
}

// See marks those changes of a server as seen for which which is true. It returns how many there were.
func (e *Engine) See(ctx context.Context, server string, which func(pin.Change) bool) (seen int, err error) {
	key, err := e.pinsOf(server)
	if err != nil || key == "" {
		return 0, err
	}
	err = e.catalog.Pins().Update(ctx, key, func(p *pin.Pins) error {
		seen = p.See(which)
		return nil
	})
	return seen, err
}

// HasSeen reports whether a definition of a server that has not changed since a person saw it has a hash that begins
// so. An empty name stands for any.
func (e *Engine) HasSeen(server, name, hash string) (bool, error) {
	key, err := e.pinsOf(server)
	if err != nil || key == "" {
		return false, err
	}
	pins, err := e.catalog.Pins().Read(key)
	if err != nil {
		return false, err
	}
	return pins.HasSeen(name, hash)
}
