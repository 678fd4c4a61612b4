package conn

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/mcp-launchpad/mcpl/pkg/canonical"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// offer remembers what a server listed last in a session, as hashes, to compare calls with. A server may describe a
// tool otherwise while it runs.
type offer struct {
	mu     sync.Mutex
	hashes map[tool.Kind]map[string]string // by kind and name; nil for a kind that was not listed
	stale  map[tool.Kind]bool              // the server says that this list has changed
}

// begin notes that a list is asked for: it covers all changes that the server has announced.
func (o *offer) begin(kind tool.Kind) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.stale, kind)
}

// changed notes that the server says that a list has changed.
func (o *offer) changed(kind tool.Kind) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stale == nil {
		o.stale = make(map[tool.Kind]bool)
	}
	o.stale[kind] = true
}

// listed remembers a list.
func (o *offer) listed(kind tool.Kind, defs []tool.Def) {
	hashes := make(map[string]string, len(defs))
	for _, def := range defs {
		hashes[def.Name], _ = canonical.Hash(def.Raw()) // a definition is JSON
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.hashes == nil {
		o.hashes = make(map[tool.Kind]map[string]string)
	}
	o.hashes[kind] = hashes
}

// doubtful reports whether the server may have another definition than the one with this hash. now says that a list
// that the session does not know is doubtful too.
func (o *offer) doubtful(ref tool.Ref, hash string, now bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	known, ok := o.hashes[ref.Kind]
	return o.stale[ref.Kind] || ok && known[ref.Name] != hash || !ok && now
}

// redefined says that a server has another definition of what is called than the one that was checked.
type redefined struct{ raw json.RawMessage }

// Error implements error.
func (e *redefined) Error() string { return "the server has another definition now" }

// checkPin fails with [redefined] if the server has another definition than the one that the call was checked with. It
// lists the server again if that is in doubt. A definition that the server lists no more is the server's to refuse.
func (s *session) checkPin(ctx context.Context, c *call, ref tool.Ref, opt tool.CallOptions) error {
	if opt.Pin == "" || ref.Kind != tool.Tool && ref.Kind != tool.Prompt || !s.offer.doubtful(ref, opt.Pin, opt.PinNow) {
		return nil
	}
	list := toolList()
	if ref.Kind == tool.Prompt {
		list = promptList()
	}
	var found collector
	s.offer.begin(ref.Kind)
	if err := s.pages(ctx, c, list, &found); err != nil {
		s.offer.changed(ref.Kind)
		return err
	}
	s.offer.listed(ref.Kind, found.defs)
	for _, def := range found.defs {
		if def.Name != ref.Name {
			continue
		}
		if hash, err := canonical.Hash(def.Raw()); err != nil || hash != opt.Pin {
			return &redefined{def.Whole()}
		}
	}
	return nil
}

// redefined returns the fault of a call that was not made for that reason. It holds the definition.
func (s *session) redefined(e *redefined, ref tool.Ref) *fault.Fault {
	f := fault.New(fault.ApprovalRequired, fmt.Sprintf("%s keeps changing the definition of %s", s.server.Name, ref.Name),
		"The call was not made. Make it again once the server is at rest.").On(ref.Server, ref.Name)
	f.Approval = &fault.Approval{Kind: fault.PinApproval, Why: e.Error(), Tool: ref.String()}
	f.Result = e.raw
	return f
}
