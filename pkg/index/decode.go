package index

import (
	"cmp"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/packed"
)

// codeMeta codes the meta section.
func (sn *Snapshot) codeMeta(c *packed.Codec) {
	packed.Number(c, &sn.defSize, &sn.defTime)
	packed.List(c, &sn.stamp.Sources, func(c *packed.Codec, src *config.Source) {
		packed.Text(c, &src.Path)
		packed.Number(c, &src.MTime, &src.Size)
	})
	packed.Texts(c, &sn.stamp.EnvNames)
	packed.Number(c, &sn.stamp.EnvDigest)
	packed.Text(c, &sn.stamp.Approvals)
	packed.Texts(c, &sn.warn)
	packed.List(c, &sn.servers, codeServer)
}

func codeServer(c *packed.Codec, s *ServerInfo) {
	packed.Text(c, &s.State)
	packed.Text(c, &s.Name, &s.ServerName, &s.Instructions, &s.Known.Protocol, &s.Known.Transport)
	packed.Text(c, &s.Pin)
	packed.Text(c, &s.Pins)
	packed.Number(c, &s.Changes)
	packed.Texts(c, &s.Notes)
	packed.Number(c, &s.TTL)
	packed.Number(c, &s.Tools, &s.Resources, &s.Templates, &s.Prompts, &s.Tokens)
	for _, t := range []*time.Time{&s.ListedAt, &s.TriedAt} {
		var ns int64 // zero for the zero time
		if !t.IsZero() {
			ns = t.UnixNano()
		}
		if packed.Number(c, &ns); ns != 0 {
			*t = time.Unix(0, ns)
		}
	}
	f := cmp.Or(s.Error, &fault.Fault{Server: s.Name})
	failed := s.Error != nil
	for _, is := range []*bool{&s.Known.Asks, &s.Off, &failed} {
		n := 0
		if *is {
			n = 1
		}
		packed.Number(c, &n)
		*is = n != 0
	}
	if failed {
		packed.Text(c, &f.Type)
		packed.Text(c, &f.Message, &f.Reason)
		packed.List(c, &f.Next, codeNext)
		a := cmp.Or(f.Approval, new(fault.Approval))
		if packed.Text(c, &a.Kind, &a.Why, &a.Command, &a.URL); a.Kind != "" {
			f.Approval = a
		}
		s.Error = f
	}
}

// codeNext codes what can be done next about a server's failure. It changes nothing of what it writes: a fault has
// other readers.
func codeNext(c *packed.Codec, n *fault.Next) {
	step, set := cmp.Or(n.Step, new(fault.Step)), cmp.Or(n.Set, new(fault.Set))
	packed.Text(c, &n.Why, &step.Verb, &step.Server, &step.Tool, &set.Variable, &set.File)
	packed.Texts(c, &step.Args)
	if n.Step == nil && step.Verb != "" {
		n.Step = step
	}
	if n.Set == nil && set.Variable != "" {
		n.Set = set
	}
}

func codeRecord(c *packed.Codec, r *Record) {
	packed.Text(c, &r.Name, &r.Title, &r.Description, &r.Signature, &r.MediaType)
	packed.Texts(c, &r.Required)
}
