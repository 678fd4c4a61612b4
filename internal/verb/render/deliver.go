package render

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/hidden"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Delivery has the flags that say what becomes of a result. Its zero value prints it.
type Delivery struct {
	Raw       bool
	JQ        string
	OutputDir string
	MaxBytes  int
}

// Destination is what [Delivery.Answer] prints to and saves in.
type Destination struct {
	Printer *output.Printer
	// Query applies the expression of --jq.
	Query func(ctx context.Context, expr string, value json.RawMessage) ([]json.RawMessage, error)
	// MaxBytes is the size that results are printed up to, unless --max-bytes says another. Zero means no limit.
	MaxBytes int
	// Large is the folder for larger results, unless --output-dir names another.
	Large string
	// Now is the clock by which old results are removed from Large.
	Now func() time.Time
}

// Flags defines the flags, bound to v.
func (v *Delivery) Flags(fs *pflag.FlagSet) {
	fs.BoolVar(&v.Raw, "raw", false, "print the untouched result of the server")
	fs.StringVar(&v.JQ, "jq", "", "apply this jq `EXPR` to the result")
	fs.StringVar(&v.OutputDir, "output-dir", "", "save images, audio and blobs in `DIR`")
	fs.IntVar(&v.MaxBytes, "max-bytes", 0, "save a result of more than `N` bytes to a file")
}

// Check rejects conflicting flags.
func (v *Delivery) Check() error {
	if v.Raw && (v.JQ != "" || v.OutputDir != "") {
		return fault.New(fault.Usage, "--raw leaves the result untouched, --jq and --output-dir change it",
			"Use one or the other; the parts of a raw result can be selected by piping it to jq.")
	}
	if v.MaxBytes < 0 {
		return fault.New(fault.Usage, fmt.Sprintf("--max-bytes %d is not a size", v.MaxBytes),
			"Give a number of bytes, like --max-bytes 20000.")
	}
	return nil
}

// Answer writes a result as the flags say. A result that reports an error is a fault, except with --raw: that prints it
// and returns the fault's exit code.
func (v *Delivery) Answer(ctx context.Context, to Destination, ref tool.Ref, res *tool.Result) (exit int, err error) {
	if v.Raw {
		if res.IsError {
			exit = fault.Tool.ExitCode()
		}
		return exit, to.Printer.Raw(res.Raw)
	}
	value, err := Read(ref.Kind, res.Raw)
	if err != nil {
		return 0, fault.New(fault.Protocol, ref.Server+" answered with a result that is not what the protocol says",
			"See it as it came with --raw.").On(ref.Server, ref.Tool()).Because(err)
	}
	if res.IsError {
		return 0, toolError(ref, value)
	}
	if v.OutputDir != "" {
		if value, err = value.saved(v.OutputDir, ref); err != nil {
			return 0, err
		}
	}
	values := []json.RawMessage{value.JSON()}
	if v.JQ != "" {
		if values, err = to.Query(ctx, v.JQ, values[0]); err != nil {
			return 0, fault.New(fault.Usage, fmt.Sprintf("--jq %s: %v", fault.Quote(v.JQ), err),
				"The expression is applied to the result. See its shape with --jq . or with --raw.").On(ref.Server, ref.Tool())
		}
	}
	a := &answer{value: value, queried: v.JQ != "", results: values}
	if limit := cmp.Or(v.MaxBytes, to.MaxBytes); limit > 0 && len(a.joined()) > limit {
		if a.spilled, err = v.spill(to, ref, a); err != nil {
			return 0, err
		}
	}
	if a.hidden = hidden.CountJSON(a.joined()); a.hidden > 0 && !to.Printer.JSON() {
		to.Printer.Notice("the result has %s, which a model reads and you do not see; here they are shown as symbols",
			Plural(a.hidden, "hidden character"))
	}
	return 0, to.Printer.Answer(a)
}

// maxErrorText is how many bytes of a tool's report become the message of its fault. The result holds it whole.
const maxErrorText = 2000

// toolError is the fault of a result that reports an error.
func toolError(ref tool.Ref, value Result) error {
	whole := cmp.Or(strings.TrimSpace(value.Text()), ref.String()+" reported an error without saying which")
	message := Cut(whole, maxErrorText)
	f := fault.New(fault.Tool, message, "The tool ran and reported this itself.").On(ref.Server, ref.Name).
		Then("Check the arguments against", fault.Step{Verb: "inspect", Server: ref.Server, Tool: ref.Name})
	if f.Result = value.JSON(); whole != message {
		f.Help += " Its whole report is the member error.result of the JSON answer (--json), or printed by --raw."
	}
	return f
}
