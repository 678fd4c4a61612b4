package verb

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcp-launchpad/mcpl/internal/verb/render"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
)

// trial says what came of trying a server that was just written to a configuration file.
type trial struct {
	Verdict   string           `json:"verdict"` // as of doctor
	Transport config.Transport `json:"transport"`
	Identity  string           `json:"identity,omitempty"`
	Tools     int              `json:"tools"`
	Resources int              `json:"resources,omitempty"` // with templates
	Prompts   int              `json:"prompts,omitempty"`
	Error     *fault.Fault     `json:"error,omitempty"`
	offers    string
}

// try tries servers that were just written to the file at path, all at once. If named says that the file was named on
// the command line, it may not be in force, and is read by itself.
func (s *Session) try(ctx context.Context, path string, named bool, names []string) (map[string]*trial, error) {
	selection := s.selection()
	if named {
		selection.Configs = []string{path}
	}
	e := s.newEngine(selection)
	probes, err := e.Probe(ctx, names)
	if closeErr := e.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	tried := make(map[string]*trial, len(probes))
	for _, p := range probes {
		d := diagnose(p)
		tried[d.Name] = &trial{d.Verdict, d.Transport, d.Identity, d.Tools, d.Resources, d.Prompts, d.Error, d.offers()}
	}
	return tried, nil
}

// write writes what came of it, behind indent.
func (r *trial) write(t *output.Text, indent string) {
	switch {
	case r.Verdict == "ok":
		t.Line(indent, stateSpan(r.Verdict), fmt.Sprintf(": %s over %s", r.offers, r.Transport))
	case r.Error == nil:
		t.Line(indent, stateSpan(r.Verdict))
	default:
		t.Line(indent, stateSpan(r.Verdict), ": ", render.OneLine(r.Error.Message, maxTrialText))
	}
	if r.Error == nil || r.Error.Type == fault.MissingVariable { // what to set stands beside it
		return
	}
	for line := range strings.Lines(r.Error.Help) {
		t.Wrap(indent+"  ", line)
	}
}

// maxTrialText is how many bytes of a failure are shown. doctor shows all of it.
const maxTrialText = 400
