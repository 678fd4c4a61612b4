package verb

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/internal/verb/form"
	"github.com/mcp-launchpad/mcpl/internal/verb/render"
	"github.com/mcp-launchpad/mcpl/pkg/approval"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/pin"
	"github.com/mcp-launchpad/mcpl/pkg/schema"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// request is what calling a tool, reading a resource and getting a prompt have in common: one request
// to a server, which may take long, may ask something back, and has a result.
type request struct {
	Timeout, MaxTime time.Duration
	Elicit           []string
	Delivery         render.Delivery

	words []string
}

func (v *request) Flags(fs *pflag.FlagSet) {
	fs.Var((*durationValue)(&v.Timeout), "timeout", "limit for the request once connected (default 30s)")
	fs.Var((*durationValue)(&v.MaxTime), "max-time", "limit whatever progress it makes (default 10m)")
	fs.StringArrayVar(&v.Elicit, "elicit", nil, "give this `ANSWER` to what the server asks; repeatable")
	v.Delivery.Flags(fs)
}

func (v *request) Parse(words []string) error {
	v.words = words
	return cmp.Or(v.Delivery.Check(), form.CheckAnswers(v.Elicit))
}

// options returns what the flags and the settings say about a request.
func (v *request) options(settings config.Settings) tool.CallOptions {
	o := tool.CallOptions{Timeout: v.Timeout, MaxTime: v.MaxTime}
	if o.MaxTime == 0 && settings.MaxTime != config.DefaultMaxTime {
		o.MaxTime = max(settings.MaxTime, v.Timeout)
	}
	return o
}

// destination says where the result goes. Verbs call it before anything starts: a mistake in --jq or --output-dir must
// not show after the tool has run.
func (s *Session) destination(d *render.Delivery) (render.Destination, error) {
	if d.JQ != "" { // the early path has no jq
		if err := s.live(); err != nil {
			return render.Destination{}, err
		}
	}
	to := render.Destination{Printer: s.Printer, MaxBytes: s.Settings.MaxBytes, Store: s.App.results()}
	err := d.Prepare(&to, s.App.Query)
	return to, err
}

// send makes a planned request and writes its result.
func (v *request) send(ctx context.Context, s *Session, plan *engine.Plan, to render.Destination) error {
	// The early path prints nothing that main may print again.
	if plan.Unchecked != nil || !s.App.Warm {
		if err := s.live(); err != nil {
			return err
		}
	}
	if plan.Unchecked != nil {
		s.Printer.Notice("the arguments are sent unchecked: the schema of %s cannot be used: %v", plan.Ref, plan.Unchecked)
	}
	// The dialog is for what --elicit does not answer, and for the approval of the call, which --elicit never gives.
	ask := form.Options{Ref: plan.Ref, Args: plan.Args, Answers: v.Elicit, Printer: s.Printer, Dialog: s.dialog()}
	if ask.Dialog != nil {
		plan.Approve = func(ctx context.Context, about approval.About) (bool, error) {
			return askFor(ctx, ask.Dialog, plan.Ref, about, makeThisCall)
		}
	}
	audience := form.New(ask)
	o := v.options(s.Settings)
	o.Audience = audience
	var change *pin.Change
	plan.Changed = func(c pin.Change) { change = &c }
	res, err := audience.End(s.Engine.Call(ctx, plan, o))
	if err != nil {
		return v.reduced(to, plan.Ref, err)
	}
	s.noteChanged(plan.Ref, change)
	to.Changed = changedOf(change).JSON()
	s.code, err = v.Delivery.Answer(ctx, to, plan.Ref, res)
	if lost := new(output.LostError); errors.As(err, &lost) && !isClosedPipe(err) {
		return v.Delivery.Lost(to, plan.Ref, res, lost)
	}
	return s.allowedFolders(err, plan.Ref)
}

// reduced returns an error whose result, if it has one, is reduced as that of an answer.
func (v *request) reduced(to render.Destination, ref tool.Ref, err error) error {
	f, ok := errors.AsType[*fault.Fault](err)
	if !ok {
		return err
	}
	if raw, ok := f.Result.(json.RawMessage); ok {
		f.Result = v.Delivery.Reduce(to, ref, raw)
	}
	return err
}

// argued is a request with arguments.
type argued struct {
	request
	Stdin    bool
	ArgsFile string
}

func (v *argued) Flags(fs *pflag.FlagSet) {
	v.request.Flags(fs)
	fs.BoolVar(&v.Stdin, "stdin", false, "read the arguments as JSON from stdin (or -)")
	fs.StringVar(&v.ArgsFile, "args-file", "", "read the arguments as JSON from `FILE`")
}

// do makes a request with the arguments in rest. It leaves arguments from stdin and files to main: a pipe
// can be read only once, and the early path may have to give up after it.
func (v *argued) do(ctx context.Context, s *Session, ref tool.Ref, rest []string, validate bool) error {
	fromFile := func(arg string) bool { return arg == "-" || strings.Contains(arg, "=@") }
	if v.Stdin || v.ArgsFile != "" || slices.ContainsFunc(rest, fromFile) {
		if err := s.live(); err != nil {
			return err
		}
	}
	to, err := s.destination(&v.Delivery)
	if err != nil {
		return err
	}
	build := func(inputSchema []byte) (json.RawMessage, error) { return v.arguments(s, inputSchema, rest) }
	plan, err := s.Engine.Plan(ctx, ref, build, validate)
	if err != nil {
		return err
	}
	return v.send(ctx, s, plan, to)
}

// arguments builds the arguments object from the words behind the tool or prompt on the command line.
func (v *argued) arguments(s *Session, inputSchema []byte, rest []string) (json.RawMessage, error) {
	isObject := len(rest) > 0 && (rest[0] == "-" || looksLikeJSON(rest[0]))
	if v.Stdin && v.ArgsFile != "" || isObject && (v.Stdin || v.ArgsFile != "") {
		return nil, fault.New(fault.Usage, "the arguments come from more than one place", "Give the JSON object once: "+
			"on the command line, with --stdin (or -), or with --args-file. key=value pairs may follow it.")
	}
	object := "" // or a word that stands for it
	if isObject {
		object, rest = rest[0], rest[1:]
	}
	base := []byte(object)
	var err error
	switch {
	case v.Stdin || object == "-":
		if base, err = io.ReadAll(s.App.Stdin); err != nil {
			return nil, fault.New(fault.Usage, "stdin cannot be read",
				"Pipe a JSON object into mcpl, or give the arguments on the command line.").Because(err)
		}
	case v.ArgsFile != "":
		if base, err = os.ReadFile(v.ArgsFile); err != nil {
			return nil, fault.New(fault.Usage, "the arguments in "+v.ArgsFile+" cannot be read",
				"Check the path given to --args-file.").Because(err)
		}
	}
	if base = bytes.TrimSpace(bytes.TrimPrefix(base, []byte("\ufeff"))); len(base) == 0 {
		base = nil
	}
	return schema.Arguments(inputSchema, base, rest, os.ReadFile)
}

// looksLikeJSON tells a JSON argument from a key=value pair, which begins with its key.
func looksLikeJSON(arg string) bool {
	arg = strings.TrimSpace(arg)
	return arg == "" || strings.ContainsRune(`{["`, rune(arg[0])) || !strings.Contains(arg, "=")
}
