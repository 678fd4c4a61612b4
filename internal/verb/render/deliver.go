package render

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/hidden"
	"github.com/mcp-launchpad/mcpl/pkg/humanize"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/results"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Delivery has the flags that say what becomes of a result. Its zero value prints it.
type Delivery struct {
	Raw       bool
	JQ        string
	OutputDir string
	// MaxBytes is zero if the settings decide, and negative if there is no limit.
	MaxBytes int
}

// Destination is what [Delivery.Answer] prints to and saves in.
type Destination struct {
	Printer *output.Printer
	// Query is the expression of --jq. [Delivery.Prepare] sets it.
	Query Query
	// MaxBytes is the size that results are printed up to as JSON, unless --max-bytes says another. Zero means no limit.
	MaxBytes int
	// Store keeps larger results and binaries, unless --output-dir names a folder.
	Store results.Store
	// Changed is what has changed of what was called since a person last saw it, for the answer. It may be nil.
	Changed json.RawMessage
}

// Query applies a parsed jq expression to a JSON value and returns the results.
type Query = func(ctx context.Context, value json.RawMessage) ([]json.RawMessage, error)

// Flags defines the flags, bound to v.
func (v *Delivery) Flags(fs *pflag.FlagSet) {
	v.KeptFlags(fs)
	fs.BoolVar(&v.Raw, "raw", false, "print the untouched result of the server")
	fs.StringVar(&v.OutputDir, "output-dir", "", "save images, audio and blobs in `DIR`")
}

// KeptFlags defines the flags for a result that is kept already, bound to v.
func (v *Delivery) KeptFlags(fs *pflag.FlagSet) {
	fs.Var((*Filled)(&v.JQ), "jq", "apply this jq `EXPR` to the result")
	fs.Var((*sizeValue)(&v.MaxBytes), "max-bytes", "save a result above `N` bytes (with --json: 24k)")
}

// Check rejects conflicting flags.
func (v *Delivery) Check() error {
	if v.Raw && (v.JQ != "" || v.OutputDir != "") {
		return fault.New(fault.Usage, "--raw leaves the result untouched, --jq and --output-dir change it",
			"Use one or the other; the parts of a raw result can be selected by piping it to jq.")
	}
	return nil
}

// Filled is a flag that takes text. An empty one is a mistake, such as a variable of the shell that is not set.
type Filled string

// Set implements [pflag.Value].
func (s *Filled) Set(text string) error {
	if text == "" {
		return errors.New("it is empty")
	}
	*s = Filled(text)
	return nil
}

// Type implements [pflag.Value].
func (s *Filled) Type() string { return "text" }

// String implements [pflag.Value].
func (s *Filled) String() string { return string(*s) }

// sizeValue is a flag that takes a number of bytes, such as 20000, 20k or 1M. 0 becomes -1: no limit.
type sizeValue int

func (s *sizeValue) Set(text string) error {
	number, unit := strings.ToLower(strings.TrimSpace(text)), 1
	for suffix, size := range map[string]int{"k": 1e3, "m": 1e6} {
		if short, ok := strings.CutSuffix(strings.TrimSuffix(number, "b"), suffix); ok {
			number, unit = strings.TrimSpace(short), size
			break
		}
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n > math.MaxInt32/unit {
		return errors.New("give a number of bytes like 20000 or 20k, or 0 for no limit")
	}
	*s = sizeValue(cmp.Or(n*unit, -1))
	return nil
}

func (s *sizeValue) Type() string { return "size" }

func (s *sizeValue) String() string {
	if *s == 0 {
		return ""
	}
	return strconv.Itoa(max(int(*s), 0))
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
		return 0, v.keep(to, ref, Result{value: res.Raw}, f.Because(err), false)
	}
	if res.IsError {
		return 0, v.toolError(to, ref, value)
	}
	a, err := v.answer(ctx, to, ref, value)
	if err != nil {
		return 0, v.keep(to, ref, a.value, fault.From(err), false)
	}
	a.changed = to.Changed
	if a.hidden = hidden.CountJSON(a.joined()); a.hidden > 0 && !to.Printer.JSON() {
		to.Printer.Notice("the result has %s, which a model reads and you do not see; here they are shown as symbols",
			humanize.Plural(a.hidden, "hidden character"))
	}
	return 0, to.Printer.Answer(a)
}

// answer makes the answer from a result. If it fails, the answer has the result as far as its binaries are saved.
func (v *Delivery) answer(ctx context.Context, to Destination, ref tool.Ref, value Result) (a *answer, err error) {
	a = &answer{value: value, queried: v.JQ != ""}
	switch {
	case v.OutputDir != "":
		saved, broken, err := value.saved(func(content []byte, ext string) (results.Entry, error) {
			return v.save(to, ref, content, ext)
		})
		if err != nil {
			return a, err
		}
		if a.value = saved; broken != nil {
			return a, brokenFault(ref, broken, v.OutputDir)
		}
	case to.Printer.JSON():
		a.value = to.stored(ref, value)
	case v.JQ == "":
		a.value = to.stored(ref, value).inWords()
	}
	a.results = []json.RawMessage{a.value.JSON()}
	if a.queried {
		if a.results, err = v.query(ctx, to, a.results[0]); err != nil {
			return a, err
		}
	}
	a.spilled, err = v.spillOver(to, ref, a.joined())
	return a, err
}

// brokenFault is the fault of a result with binaries that are not base64. The others are in dir.
func brokenFault(ref tool.Ref, broken []string, dir string) *fault.Fault {
	what := "a " + broken[0]
	if strings.HasPrefix(broken[0], "a") || strings.HasPrefix(broken[0], "i") {
		what = "an " + broken[0]
	}
	if len(broken) > 1 {
		what = fmt.Sprintf("%d binaries, the first %s,", len(broken), what)
	}
	return fault.New(fault.Result, fmt.Sprintf("%s sent %s with data that is not base64", ref.Server, what),
		"All other binaries are in "+dir+".")
}

// stored returns a result whose binaries are in the store. If the store cannot be written, they stay in the result,
// with a notice.
func (to Destination) stored(ref tool.Ref, value Result) Result {
	kept, _, err := value.saved(func(content []byte, ext string) (results.Entry, error) {
		return to.Store.Put(ref.Server, ref.Name, content, ext)
	})
	if err != nil {
		to.cannotKeep(err)
		return value
	}
	return kept
}

func (to Destination) cannotKeep(err error) {
	instead := "the answer has all of this one"
	if !to.Printer.JSON() {
		instead = "the answer has what can be printed"
	}
	to.Printer.Notice("results cannot be kept in %s, so that %s: %v", to.Store.Dir, instead, err)
}

// limit returns the size above which a result goes to a file, 0 for none.
func (v *Delivery) limit(to Destination) int {
	switch {
	case v.MaxBytes != 0:
		return max(v.MaxBytes, 0)
	case to.Printer.JSON():
		return to.MaxBytes
	}
	return 0
}

// spillOver writes a JSON value to a file if it is too large to print, and describes it. It returns nil if it is not,
// and also if the store cannot be written: nothing is lost then but the limit.
func (v *Delivery) spillOver(to Destination, ref tool.Ref, value json.RawMessage) (*spilled, error) {
	if limit := v.limit(to); limit == 0 || len(value) <= limit {
		return nil, nil
	}
	content, ext := results.Content(value)
	entry, err := v.save(to, ref, content, ext)
	switch {
	case err != nil && v.OutputDir != "":
		return nil, err
	case err != nil:
		to.cannotKeep(err)
		return nil, nil
	}
	return spill(value, entry), nil
}

// save writes content to a file: in --output-dir, else in the store.
func (v *Delivery) save(to Destination, ref tool.Ref, content []byte, ext string) (results.Entry, error) {
	if v.OutputDir == "" {
		return to.Store.Put(ref.Server, ref.Name, content, ext)
	}
	e, err := results.Save(v.OutputDir, ref.Server, ref.Name, content, ext)
	if err != nil {
		return e, fault.New(fault.Result, fmt.Sprintf("the result of %s cannot be written to %s", ref, v.OutputDir),
			"Give --output-dir a folder that you may write to and that has room.").Because(err)
	}
	return e, nil
}

// Reduce returns a result as a fault holds it: as with the result of an answer, the store has its binaries, and all of
// it if it is too large.
func (v *Delivery) Reduce(to Destination, ref tool.Ref, result json.RawMessage) any {
	return v.reduce(to, ref, Result{value: result})
}

func (v *Delivery) reduce(to Destination, ref tool.Ref, value Result) any {
	if !to.Printer.JSON() {
		return value.JSON()
	}
	result := to.stored(ref, value).JSON()
	inner := Delivery{MaxBytes: v.MaxBytes} // without a folder, which may be what failed
	if over, err := inner.spillOver(to, ref, result); err == nil && over != nil {
		return map[string]any{"spilled": over}
	}
	return result
}

// query applies --jq to a value.
func (v *Delivery) query(ctx context.Context, to Destination, value json.RawMessage) ([]json.RawMessage, error) {
	return orGiveUp(ctx, "--jq", func() ([]json.RawMessage, error) {
		values, err := to.Query(ctx, value)
		if err != nil {
			return nil, fault.New(fault.Result, fmt.Sprintf("--jq %s does not fit the result: %v", fault.Quote(v.JQ), err),
				"--jq . shows the result's shape.")
		}
		return values, nil
	})
}

// Lost returns the fault about a result that stdout did not accept. It keeps the result in a file.
func (v *Delivery) Lost(to Destination, ref tool.Ref, res *tool.Result, lost *output.LostError) error {
	f := fault.New(fault.Result, "the answer could not be written to stdout", "").Because(lost.Err)
	value, err := Read(ref.Kind, res.Raw)
	if err != nil { // it stays as it is
		value = Result{value: res.Raw}
	}
	return v.keep(to, ref, value, f, true)
}

// keep adds a result to the fault about it, so that the run of a tool is not lost. Readers of JSON find it in the
// fault; for others, and with toFile, it goes to a file.
func (v *Delivery) keep(to Destination, ref tool.Ref, value Result, f *fault.Fault, toFile bool) error {
	f.On(ref.Server, ref.Tool()).Result = v.reduce(to, ref, value)
	done := ref.Server + " has answered"
	if ref.Kind == tool.Tool {
		done = "The tool has run: look at what it did before you call it again"
	}
	place := "error.result"
	if toFile || !to.Printer.JSON() {
		result := value.JSON()
		e, err := to.Store.Put(ref.Server, ref.Name, result, ".json")
		if err != nil {
			f.Trace(string(result))
			e.Path = "the lines above"
		}
		place = e.Path
	}
	f.Help = strings.TrimSpace(fmt.Sprintf("%s. Its result is in %s. %s", done, place, f.Help))
	return f
}

// maxErrorText is how many bytes of a tool's report become the message of its fault. The result holds it whole.
const maxErrorText = 2000

// toolError is the fault of a result that reports an error.
func (v *Delivery) toolError(to Destination, ref tool.Ref, value Result) error {
	whole := cmp.Or(strings.TrimSpace(value.Text()), ref.String()+" reported an error without saying which")
	message := fault.Cut(whole, maxErrorText)
	f := fault.New(fault.Tool, message, "The tool ran and reported this itself.").On(ref.Server, ref.Name).
		Then("Check the arguments against", fault.Step{Verb: "inspect", Server: ref.Server, Tool: ref.Name})
	if f.Result = v.reduce(to, ref, value); whole != message {
		f.Help += " Its whole report is the member error.result of the JSON answer (--json), or printed by --raw."
	}
	return f
}
