package verb

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/internal/verb/render"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/results"
)

func resultSpec() Spec {
	return Spec{
		Name: "result", Group: Tools, New: func() Verb { return new(resultVerb) },
		Aliases: []Alias{{Words: "results show-result get-result get_result"}},
		Use:     "result ID", Short: "Show a result that was too large to print, or parts of it",
		Long: `Result shows a result that mcpl has kept instead of printing it: the answer to
the call has its ID. It is kept for 7 days.

--jq selects members, then --lines and --grep lines. The lines are those of the
text; a result that is not text is indented first. --grep takes an RE2 pattern
and puts the numbers of the lines in front.`,
		Example: `  mcpl --json result 4466be3b7a0e --lines 21:60
  mcpl result 4466be3b7a0e --grep '(?i)error'
  mcpl result 4466be3b7a0e --jq '.items[].name'`,
	}
}

// resultVerb shows a kept result: mcpl result ID.
type resultVerb struct {
	Lines, Grep string
	Delivery    render.Delivery

	id       string
	selected results.Selection
}

func (v *resultVerb) Flags(fs *pflag.FlagSet) {
	v.Delivery.KeptFlags(fs)
	fs.Var((*render.Filled)(&v.Lines), "lines", "only these lines, `A:B`, A: or :B; -A: for the last A")
	fs.Var((*render.Filled)(&v.Grep), "grep", "only lines that match this pattern, `RE`")
}

func (v *resultVerb) Parse(words []string) (err error) {
	if len(words) != 1 {
		return fault.New(fault.Usage, "result takes one ID", "The answer to a call has it: mcpl result 4466be3b7a0e")
	}
	v.id = words[0]
	if v.selected, err = results.ParseSelection(v.Lines, v.Grep); err != nil {
		return fault.New(fault.Usage, err.Error(), "Lines are counted from 1, as in --lines 10:20. Patterns are RE2.")
	}
	return nil
}

func (v *resultVerb) Run(ctx context.Context, s *Session) error {
	to, err := s.destination(&v.Delivery)
	if err != nil {
		return err
	}
	entry, content, err := to.Store.Get(v.id)
	if err != nil {
		return err
	}
	return v.Delivery.AnswerKept(ctx, to, entry, content, v.selected)
}
