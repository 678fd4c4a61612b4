package catalog

import (
	"cmp"
	"fmt"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// reconcile carries over what old knows of each configured server, in the order of the configuration. It drops servers
// that are no longer configured.
func (c *Catalog) reconcile(cfg *config.Config, old *index.Catalog) *index.Catalog {
	cat := &index.Catalog{Servers: make([]index.Server, len(cfg.Servers))}
	for _, p := range cfg.Problems {
		cat.Warnings = append(cat.Warnings, warning(p))
	}
	for i, s := range cfg.Servers {
		entry := &cat.Servers[i]
		if known := old.Find(s.Name); known != nil {
			*entry = *known
		}
		entry.Name, entry.Transport, entry.Off = s.Name, string(s.Transport), s.Disabled
		entry.TTL = cmp.Or(entry.SaidTTL, s.TTL)
		if entry.State == "" {
			entry.State = index.Unknown
		}
		if err := s.Usable(); err != nil {
			entry.State, entry.Error, entry.Fingerprint = index.Failed, fault.From(err), ""
			entry.TriedAt = c.opt.Now()
			continue
		}
		if fp := s.Fingerprint(); fp != entry.Fingerprint {
			entry.State, entry.Fingerprint, entry.Known = index.Unknown, fp, tool.Known{}
		}
	}
	return cat
}

func warning(p config.Problem) string {
	where := p.File
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	text := where + ": " + p.Message
	if p.Fix != "" {
		text += " (" + p.Fix + ")"
	}
	return text
}
