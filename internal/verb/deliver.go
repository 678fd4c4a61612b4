package verb

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Delivery are the flags that say what becomes of a result.
type Delivery struct {
	Raw       bool
	JQ        string
	OutputDir string
	MaxBytes  int
}

func (v *Delivery) flags(fs *pflag.FlagSet) {
	fs.BoolVar(&v.Raw, "raw", false, "print the untouched result of the server")
	fs.StringVar(&v.JQ, "jq", "", "apply this jq `EXPR` to the result")
	fs.StringVar(&v.OutputDir, "output-dir", "", "save images, audio and blobs in `DIR`")
	fs.IntVar(&v.MaxBytes, "max-bytes", 0, "save a result of more than `N` bytes to a file")
}

// check refuses flags that do not go together.
func (v *Delivery) check() error {
	if v.Raw && (v.JQ != "" || v.OutputDir != "") {
		return fault.New(fault.Usage, "--raw leaves the result untouched, --jq and --output-dir change it",
			"Use one or the other; the parts of a raw result can be selected by piping it to jq.")
	}
	if v.MaxBytes < 0 {
		return fault.New(fault.Usage, fmt.Sprintf("--max-bytes %d is not a size", v.MaxBytes), "Give a number of bytes, like --max-bytes 20000.")
	}
	return nil
}

// ready is to be called before a planned request is made: it leaves to main what the early path
// cannot answer, and tells of arguments that were not checked.
func (v *Delivery) ready(s *Session, plan *engine.Plan) error {
	// jq comes later than the early path, and that prints nothing that main might print again.
	if v.JQ != "" || plan.Unchecked != nil || !s.App.Warm {
		if err := s.live(); err != nil {
			return err
		}
	}
	if plan.Unchecked != nil {
		s.Printer.Notice("the arguments are sent unchecked: the schema of %s cannot be used: %v", plan.Ref, plan.Unchecked)
	}
	return nil
}

// answer writes a result, which parse reduces to what a caller wants, as the flags say. One that
// reports an error is a fault.
func (v *Delivery) answer(ctx context.Context, s *Session, ref tool.Ref, res *tool.Result, parse func(json.RawMessage) (result, error)) error {
	if v.Raw {
		if res.IsError {
			s.code = fault.Tool.ExitCode()
		}
		return s.Printer.Raw(res.Raw)
	}
	value, err := parse(res.Raw)
	if err != nil {
		return fault.New(fault.Protocol, ref.Server+" answered with a result that is not what the protocol says",
			"See it as it came with --raw.").On(ref.Server, ref.Tool()).Because(err)
	}
	if res.IsError {
		return toolError(ref, value)
	}
	if v.OutputDir != "" {
		if value, err = saveFiles(value, v.OutputDir, ref); err != nil {
			return err
		}
	}
	values := []json.RawMessage{value.json()}
	if v.JQ != "" {
		if values, err = s.App.Query(ctx, v.JQ, values[0]); err != nil {
			return fault.New(fault.Usage, fmt.Sprintf("--jq %s: %v", fault.Quote(v.JQ), err),
				"The expression is applied to the result. See its shape with --jq . or with --raw.").On(ref.Server, ref.Tool())
		}
	}
	a := &callAnswer{ref: ref, value: value, queried: v.JQ != "", results: values}
	limit := cmp.Or(v.MaxBytes, s.Settings.MaxBytes)
	if limit > 0 && a.size() > limit {
		if a.spilled, err = spill(s, v.OutputDir, ref, a); err != nil {
			return err
		}
	}
	return s.Printer.Answer(a)
}

// maxErrorText is how many bytes of a tool's report become the message of its fault; the whole of
// it is in the result.
const maxErrorText = 2000

// toolError is the fault of a result that reports an error.
func toolError(ref tool.Ref, value result) error {
	message := strings.TrimSpace(value.text())
	if message == "" {
		message = ref.String() + " reported an error without saying which"
	}
	whole := message
	message = cutText(whole, maxErrorText)
	f := fault.New(fault.Tool, message,
		fmt.Sprintf("The tool ran and reported this itself. Check the arguments against: mcpl inspect %s %s",
			fault.Quote(ref.Server), fault.Quote(ref.Name))).On(ref.Server, ref.Name)
	if f.Result = value.json(); whole != message {
		f.Help += "\nIts whole report is the member error.result of the JSON answer (--json), or printed by --raw."
	}
	return f
}
