package verb

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
)

// waitingServer is a server that a person has to approve first, in an answer.
type waitingServer struct {
	Server string `json:"server"`
	Why    string `json:"why"`
	// One of Command and URL is set.
	Command string `json:"command,omitempty"`
	URL     string `json:"url,omitempty"`
	// Approve is the command that a person types.
	Approve string `json:"approve"`
}

// approveWritten approves servers whose entries a person has just had written to the file at path. If that fails, the
// error says that the entries are there.
func (s *Session) approveWritten(ctx context.Context, path string, names ...string) error {
	err := s.approveEntries(ctx, path, names)
	if err == nil {
		return nil
	}
	f := *fault.From(err) // which may be shared
	f.Next = slices.Clip(f.Next)
	f.Message = fmt.Sprintf("%s written to %s, but not approved: %s", strings.Join(names, ", "), path, f.Message)
	return f.Then("Then a person types", fault.Step{Verb: "trust", Args: names})
}

func (s *Session) approveEntries(ctx context.Context, path string, names []string) error {
	sources, err := s.App.Env.Locate(s.selection())
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(sources.Configs, func(f config.Source) bool { return f.Path == path && f.Found }) {
		return nil
	}
	cfg, err := s.App.Env.Load(sources)
	if err != nil {
		return err
	}
	var list []*trustStatus
	for _, server := range cfg.Servers {
		if server.File != path || !slices.Contains(names, server.Name) {
			continue
		}
		l, err := s.trustStatusOf(server)
		if err != nil {
			return err
		}
		if l.Waits() && l.Hash != "" {
			list = append(list, l)
		}
	}
	return s.record(ctx, list)
}

// waiting returns what an answer says of servers that wait for an approval. In text it says so on stderr.
func (s *Session) waiting(faults []*fault.Fault) []waitingServer {
	var list []waitingServer
	for _, f := range faults {
		a := cmp.Or(f.Approval, &fault.Approval{Why: f.Message})
		w := waitingServer{Server: f.Server, Why: a.Why, Command: a.Command, URL: a.URL,
			Approve: output.Command(fault.Step{Verb: "trust", Server: f.Server})}
		list = append(list, w)
		if !s.Globals.JSON {
			s.Printer.Notice("%s is not searched (%s). A person approves it with: %s", w.Server, w.Why, w.Approve)
		}
	}
	return list
}
