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
	// Query is the expression of --jq. [Delivery.Prepare] sets it.
	Query Query
	// MaxBytes is the size that results are printed up to, unless --max-bytes says another. Zero means no limit.
	MaxBytes int
	// Large is the folder for larger results, unless --output-dir names another.
	Large string
	// Now is the clock by which old results are removed from Large.
	Now func() time.Time
}

// Query applies a parsed jq expression to a JSON value and returns the results.
type Query = func(ctx context.Context, value json.RawMessage) ([]json.RawMessage, error)

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

// Prepare does what can fail of the flags before anything is asked of a server: it has --jq parsed and makes the folder
// of --output-dir.
func (v *Delivery) Prepare(to *Destination, parse func(expr string) (Query, error)) (err error) {
	if v.JQ != "" {
		if to.Query, err = parse(v.JQ); err != nil {
			return fault.New(fault.Usage, fmt.Sprintf("--jq %s: %v", fault.Quote(v.JQ), err),
				"Nothing was started. Correct the expression; --jq . shows the whole result.")
		}
	}
	if v.OutputDir == "" {
		return nil
	}
	if err = makeFolder(v.OutputDir); err != nil {
		return fault.New(fault.Config, "files cannot be written to "+v.OutputDir,
			"Nothing was started. Give --output-dir a folder that you may write to and that has room.").Because(err)
	}
	return nil
}

// Answer writes a result as the flags say. A result that reports an error is a fault, except with --raw: that prints it
// and returns the fault's exit code. If a step fails, the fault holds the result: the tool has run.
func (v *Delivery) Answer(ctx context.Context, to Destination, ref tool.Ref, res *tool.Result) (exit int, err error) {
	if v.Raw {
		if res.IsError {
			exit = fault.Tool.ExitCode()
		}
		return exit, to.Printer.Raw(res.Raw)
	}
	value, err := Read(ref.Kind, res.Raw)
	if err != nil {
		f := fault.New(fault.Protocol, ref.Server+" answered with a result that is not what the protocol says", "")
		return 0, to.keep(ref, res.Raw, f.Because(err), false)
	}
	if res.IsError {
		return 0, toolError(ref, value)
	}
	a, err := v.answer(ctx, to, ref, value)
	if err != nil {
		return 0, to.keep(ref, valueOf(ref.Kind, res.Raw), fault.From(err), false)
	}
	if a.hidden = hidden.CountJSON(a.joined()); a.hidden > 0 && !to.Printer.JSON() {
		to.Printer.Notice("the result has %s, which a model reads and you do not see; here they are shown as symbols",
			Plural(a.hidden, "hidden character"))
	}
	return 0, to.Printer.Answer(a)
}

// answer makes the answer from a result.
func (v *Delivery) answer(ctx context.Context, to Destination, ref tool.Ref, value Result) (a *answer, err error) {
	if v.OutputDir != "" {
		if value, err = value.saved(v.OutputDir, ref); err != nil {
			return nil, err
		}
	}
	a = &answer{value: value, queried: v.JQ != "", results: []json.RawMessage{value.JSON()}}
	if a.queried {
		if a.results, err = to.Query(ctx, a.results[0]); err != nil {
			return nil, queryFault(ctx, v.JQ, err)
		}
	}
	if limit := cmp.Or(v.MaxBytes, to.MaxBytes); limit > 0 && len(a.joined()) > limit {
		a.spilled, err = v.spill(to, ref, a)
	}
	return a, err
}

// queryFault is the fault of an expression that does not fit the result.
func queryFault(ctx context.Context, expr string, err error) error {
	if ctx.Err() != nil {
		return fault.New(fault.Interrupted, "interrupted while --jq was at work", "")
	}
	return fault.New(fault.Result, fmt.Sprintf("--jq %s does not fit the result: %v", fault.Quote(expr), err),
		"--jq . shows the result's shape.")
}

// Lost returns the fault about a result that stdout did not accept. It keeps the result in a file.
func (to Destination) Lost(ref tool.Ref, res *tool.Result, lost *output.LostError) error {
	f := fault.New(fault.Result, "the answer could not be written to stdout", "").Because(lost.Err)
	return to.keep(ref, valueOf(ref.Kind, res.Raw), f, true)
}

// valueOf returns a result as the JSON value of the contract. If it is not what the protocol says, it stays as it is.
func valueOf(kind tool.Kind, raw json.RawMessage) json.RawMessage {
	value, err := Read(kind, raw)
	if err != nil {
		return raw
	}
	return value.JSON()
}

// keep adds a result to the fault about it, so that the run of a tool is not lost. Readers of JSON find it in the
// fault; for others, and with toFile, it goes to a file.
func (to Destination) keep(ref tool.Ref, result json.RawMessage, f *fault.Fault, toFile bool) error {
	f.On(ref.Server, ref.Tool()).Result = result
	done := ref.Server + " has answered"
	if ref.Kind == tool.Tool {
		done = "The tool has run: look at what it did before you call it again"
	}
	place := "error.result"
	if toFile || !to.Printer.JSON() {
		file, err := saveFile(to.Large, ref, result, ".json")
		if err != nil {
			f.Trace(string(result))
			file = "the lines above"
		}
		place = file
	}
	f.Help = strings.TrimSpace(fmt.Sprintf("%s. Its result is in %s. %s", done, place, f.Help))
	return f
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
