package verb

import (
	"context"
	"runtime"

	"github.com/mcp-launchpad/mcpl/pkg/output"
)

func versionSpec() Spec {
	return Spec{
		Name: "version", Group: Setup, New: func() Verb { return new(versionVerb) },
		Use: "version", Short: "Print the version",
	}
}

// versionVerb prints the version of mcpl: mcpl version.
type versionVerb struct{ plain }

func (v *versionVerb) Run(_ context.Context, s *Session) error {
	return s.Printer.Answer(&versionAnswer{s.App.Version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH})
}

type versionAnswer struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (a *versionAnswer) WriteText(t *output.Text) {
	t.Line("mcpl ", a.Version, " (", a.Go, ", ", a.Platform, ")")
}
