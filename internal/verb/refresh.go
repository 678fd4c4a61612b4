package verb

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcp-launchpad/mcpl/pkg/catalog"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/daemon"
)

// RefreshName is the name of the hidden verb [refreshVerb].
const RefreshName = "renew"

func refreshSpec() Spec {
	return Spec{
		Name: RefreshName, Group: Setup, Hidden: true, New: func() Verb { return new(refreshVerb) },
		Daemon: UseDaemon,
		Use:    RefreshName, Short: "Renew the index behind an answer",
	}
}

// refreshVerb asks the servers whose lists have expired, behind an answer that relied on such a list. mcpl
// itself starts it, and it prints nothing.
type refreshVerb struct{ plain }

func (v *refreshVerb) Run(ctx context.Context, s *Session) error {
	err := s.catalog().Read(ctx, catalog.Need{List: catalog.ListDue}, nil)
	if errors.Is(err, catalog.ErrBusy) {
		return nil // the other process does it
	}
	return err
}

// refreshBehind has the daemon renew the index, if it runs, or else a process of its own.
func (s *Session) refreshBehind(sources *config.Sources) error {
	if s.usesDaemon() {
		err := daemon.NewClient(sources, s.daemonClient(s.callerOptions())).Refresh(context.Background())
		if err == nil {
			return nil
		}
		s.Printer.Verbose("mcpl", fmt.Sprintf("the daemon does not refresh the index: %v", err))
	}
	return s.App.Detach(append([]string{RefreshName}, s.files()...))
}

// files returns the flags that name this configuration set to another mcpl.
func (s *Session) files() []string {
	var args []string
	for _, file := range s.Globals.Configs {
		args = append(args, "--config", file)
	}
	for _, file := range s.Globals.EnvFiles {
		args = append(args, "--env-file", file)
	}
	return args
}
