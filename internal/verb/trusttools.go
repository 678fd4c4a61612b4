package verb

import (
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/config"
)

// toolsConfig returns the tools.toml that a gateway would take here. It is nil if there is none, or if it is the
// session's own configuration.
func (s *Session) toolsConfig() (*config.Config, error) {
	selection := s.selection()
	if selection.Tools {
		return nil, nil
	}
	selection.Tools = true
	sources, err := s.App.Env.Locate(selection)
	if err != nil || !sources.HasTools() || !sources.Configs[0].Found {
		return nil, err
	}
	return s.App.Env.Load(sources)
}

// chooseTools makes the tools.toml the configuration of the session if there is no other, or if it has the servers that
// are named, with or without a tool, and the other has not.
func (s *Session) chooseTools(names []string) error {
	tools, err := s.toolsConfig()
	if err != nil || tools == nil {
		return err
	}
	named := func(cfg *config.Config) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			server, _, _ := strings.Cut(name, "/")
			return slices.Contains(cfg.Names(), server)
		})
	}
	if _, none := s.catalog().Sources(); none == nil {
		if cfg, err := s.catalog().Config(); err != nil || named(cfg) || !named(tools) {
			return err
		}
	}
	s.spec.Tools = true
	return s.reopen()
}
