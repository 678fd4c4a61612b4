package verb

import (
	"context"

	"github.com/spf13/pflag"
)

// RefreshName is the name of the hidden verb [Refresh].
const RefreshName = "renew"

// Refresh asks the servers whose turn has come, behind an answer that was given from a list
// older than its TTL. It prints nothing; mcpl itself starts it.
type Refresh struct{}

// Flags implements [Verb].
func (v *Refresh) Flags(*pflag.FlagSet) {}

// Run implements [Verb].
func (v *Refresh) Run(ctx context.Context, s *Session, _ []string) error {
	return s.Engine.RefreshLate(ctx)
}

// refreshCommand returns the arguments that refresh the index of this configuration set.
func (s *Session) refreshCommand() []string {
	return append([]string{RefreshName}, s.files()...)
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
