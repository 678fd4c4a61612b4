package verb

import (
	"errors"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// allowedFolders says, in the fault of a tool that refuses a path outside the folders of its server, where those
// folders come from. The words are those of the reference file server and of many that were made after it, whose
// folders are their arguments unless their client offers roots. Other errors stay as they are.
func (s *Session) allowedFolders(err error, ref tool.Ref) error {
	f, ok := errors.AsType[*fault.Fault](err)
	if !ok || f.Type != fault.Tool || !strings.Contains(f.Message, "outside allowed directories") {
		return err
	}
	server := s.entry(ref.Server)
	if server == nil {
		return err
	}
	entry := "its entry in " + server.Place()
	switch {
	case len(server.Roots) > 0:
		f.Help += ` mcpl offers it the folders in "roots" of ` + entry +
			`, which replace those in "args": add the folder there.`
	case server.Roots == nil && s.Settings.Roots:
		f.Help += ` By the setting roots mcpl offers it the project's folder, which replaces those in "args": write ` +
			`"roots": [] or a list of folders into ` + entry + "."
	default:
		f.Help += ` The folders that it may use are in "args" of ` + entry + `: add the folder there, or to its "roots".`
	}
	return f
}

// entry returns the entry of a server, or nil. It reads the configuration, on the early path too, where the catalog
// does not have it and the call must not be made once more by main.
func (s *Session) entry(name string) *config.Server {
	sources, err := s.App.Env.Locate(s.selection())
	if err != nil {
		return nil
	}
	cfg, err := s.App.Env.Load(sources)
	if err != nil {
		return nil
	}
	server, err := cfg.Server(name)
	if err != nil {
		return nil
	}
	return server
}
