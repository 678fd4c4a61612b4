package verb

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/schema"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Call calls one tool: mcpl call SERVER TOOL [ARGS].
type Call struct {
	Stdin      bool
	ArgsFile   string
	NoValidate bool
	DryRun     bool
	Asking     Asking
	Raw        bool
	JQ         string
	OutputDir  string
	MaxBytes   int
}

// Flags implements [Verb].
func (v *Call) Flags(fs *pflag.FlagSet) {
	fs.BoolVar(&v.Stdin, "stdin", false, "read the arguments as JSON from stdin (or -)")
	fs.StringVar(&v.ArgsFile, "args-file", "", "read the arguments as JSON from `FILE`")
	fs.BoolVar(&v.NoValidate, "no-validate", false, "send the arguments even if they do not fit")
	fs.BoolVar(&v.DryRun, "dry-run", false, "show what would be sent, and start nothing")
	v.Asking.Flags(fs)
	fs.BoolVar(&v.Raw, "raw", false, "print the untouched tools/call result")
	fs.StringVar(&v.JQ, "jq", "", "apply this jq `EXPR` to the result")
	fs.StringVar(&v.OutputDir, "output-dir", "", "save images, audio and blobs in `DIR`")
	fs.IntVar(&v.MaxBytes, "max-bytes", 0, "save a result of more than `N` bytes to a file")
}

// Run implements [Verb].
func (v *Call) Run(ctx context.Context, s *Session, args []string) error {
	ref, rest, err := s.Engine.Resolve(args)
	if err != nil {
		return err
	}
	if err := v.checkFlags(); err != nil {
		return err
	}
	if v.readsFiles(rest) {
		if err := s.live(); err != nil {
			return err // stdin and pipes can be read only once, and not by the early path
		}
	}
	build := func(inputSchema []byte) (json.RawMessage, error) { return v.arguments(s, inputSchema, rest) }
	if v.DryRun {
		return v.dryRun(ctx, s, ref, build)
	}
	plan, err := s.Engine.Plan(ctx, ref, build, !v.NoValidate)
	if err != nil {
		return err
	}
	// jq comes later than the early path, and that prints nothing that main might print again.
	if v.JQ != "" || plan.Unchecked != nil || !s.App.Warm {
		if err := s.live(); err != nil {
			return err
		}
	}
	if plan.Unchecked != nil {
		s.Printer.Notice("the arguments are sent unchecked: the schema of %s cannot be used: %v", ref, plan.Unchecked)
	}
	s.Printer.Status("calling " + ref.String())
	a := s.audience(&v.Asking, ref, callCommand(ref, plan.Args))
	res, err := a.end(s.Engine.Call(ctx, plan, a.options()))
	if err != nil {
		return err
	}
	return v.answer(ctx, s, ref, res)
}

func (v *Call) checkFlags() error {
	if v.Raw && (v.JQ != "" || v.OutputDir != "") {
		return fault.New(fault.Usage, "--raw leaves the result untouched, --jq and --output-dir change it",
			"Use one or the other; the parts of a raw result can be selected by piping it to jq.")
	}
	if v.MaxBytes < 0 {
		return fault.New(fault.Usage, fmt.Sprintf("--max-bytes %d is not a size", v.MaxBytes), "Give a number of bytes, like --max-bytes 20000.")
	}
	return v.Asking.check()
}

// readsFiles reports whether the arguments come from stdin or files.
func (v *Call) readsFiles(rest []string) bool {
	return v.Stdin || v.ArgsFile != "" || slices.ContainsFunc(rest, func(arg string) bool {
		return arg == "-" || strings.Contains(arg, "=@")
	})
}

// arguments builds the arguments object from what follows the tool on the command line.
func (v *Call) arguments(s *Session, inputSchema []byte, rest []string) (json.RawMessage, error) {
	var base []byte
	sources := 0
	if len(rest) > 0 && (rest[0] == "-" || looksLikeJSON(rest[0])) {
		sources++
		if rest[0] != "-" {
			base = []byte(rest[0])
		}
	}
	fromStdin := v.Stdin || (len(rest) > 0 && rest[0] == "-")
	if v.Stdin {
		sources++
	}
	if v.ArgsFile != "" {
		sources++
	}
	if sources > 1 {
		return nil, fault.New(fault.Usage, "the arguments come from more than one place",
			"Give the JSON object once: on the command line, with --stdin (or -), or with --args-file. key=value pairs may follow it.")
	}
	if sources == 1 && !v.Stdin && v.ArgsFile == "" {
		rest = rest[1:]
	}
	var err error
	switch {
	case fromStdin:
		if base, err = io.ReadAll(s.App.Stdin); err != nil {
			return nil, fault.New(fault.Usage, "stdin cannot be read", "Pipe a JSON object into mcpl, or give the arguments on the command line.").Because(err)
		}
	case v.ArgsFile != "":
		if base, err = os.ReadFile(v.ArgsFile); err != nil {
			return nil, fault.New(fault.Usage, "the arguments in "+v.ArgsFile+" cannot be read", "Check the path given to --args-file.").Because(err)
		}
	}
	base = bytes.TrimSpace(bytes.TrimPrefix(base, []byte("\ufeff")))
	if len(base) == 0 {
		base = nil
	}
	return schema.Arguments(inputSchema, base, rest, os.ReadFile)
}

// looksLikeJSON tells a JSON argument from a key=value pair: pairs begin with a key.
func looksLikeJSON(arg string) bool {
	arg = strings.TrimSpace(arg)
	return arg == "" || strings.ContainsRune(`{["`, rune(arg[0])) || !strings.Contains(arg, "=")
}

// answer writes a result as the flags say. A result that reports an error is a fault.
func (v *Call) answer(ctx context.Context, s *Session, ref tool.Ref, res *tool.Result) error {
	if v.Raw {
		if res.IsError {
			s.code = fault.Tool.ExitCode()
		}
		return s.Printer.Raw(res.Raw)
	}
	value, err := resultOf(res.Raw)
	if err != nil {
		return fault.New(fault.Protocol, ref.Server+" answered with a result that is not what the protocol says",
			"See it as it came with --raw.").On(ref.Server, ref.Name).Because(err)
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
				"The expression is applied to the result. See its shape with --jq . or with --raw.").On(ref.Server, ref.Name)
		}
	}
	a := &callAnswer{ref: ref, value: value, queried: v.JQ != "", results: values}
	limit := v.MaxBytes
	if limit == 0 {
		limit = s.Settings.MaxBytes
	}
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
	if len(message) > maxErrorText {
		message = strings.ToValidUTF8(message[:maxErrorText], "") + "…"
	}
	f := fault.New(fault.Tool, message,
		fmt.Sprintf("The tool ran and reported this itself. Check the arguments against: mcpl inspect %s %s",
			fault.Quote(ref.Server), fault.Quote(ref.Name))).On(ref.Server, ref.Name)
	if f.Result = value.json(); whole != message {
		f.Help += "\nIts whole report is the member error.result of the JSON answer (--json), or printed by --raw."
	}
	return f
}
