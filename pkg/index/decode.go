package index

import (
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/packed"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// readServer reads a server that packServer has written.
func readServer(r *packed.Reader) ServerInfo {
	s := ServerInfo{
		Facts: Facts{Name: r.Text(), State: State(r.Text()), ServerName: r.Text(), Instructions: r.Text(),
			ListedAt: timeOf(r.Varint()), TriedAt: timeOf(r.Varint()), TTL: time.Duration(r.Varint())},
		Tools: int(r.Uvarint()), Resources: int(r.Uvarint()), Templates: int(r.Uvarint()), Prompts: int(r.Uvarint()),
		Tokens: int(r.Uvarint())}
	if known := r.Texts(); len(known) == 2 {
		s.Known = tool.Known{Protocol: known[0], Transport: known[1]}
	}
	s.Known.Asks, s.Off, s.Notes = r.Byte() != 0, r.Byte() != 0, r.Texts()
	s.Error = readFault(r, s.Name)
	return s
}

// readFault reads a server's fault that packFault has written. It is nil if there was no fault.
func readFault(r *packed.Reader, server string) *fault.Fault {
	texts := r.Texts()
	if len(texts) != 4 {
		return nil
	}
	f := &fault.Fault{Type: fault.Type(texts[0]), Message: texts[1], Traceback: texts[2], Help: texts[3], Server: server}
	for range r.Count() {
		why, isStep, words := r.Text(), r.Byte() != 0, r.Texts()
		switch {
		case isStep && len(words) >= 3:
			f.Then(why, fault.Step{Verb: words[0], Server: words[1], Tool: words[2], Args: words[3:]})
		case !isStep && len(words) == 2:
			f.ThenSet(why, fault.Set{Variable: words[0], File: words[1]})
		case !isStep && len(words) == 0:
			f.Next = append(f.Next, fault.Next{Why: why})
		}
	}
	return f
}

func timeOf(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}
