package verb

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Asking are the flags of verbs that make one request of a server, which may take long and ask
// something back.
type Asking struct {
	Timeout, MaxTime time.Duration
	Elicit           []string
}

func (f *Asking) flags(fs *pflag.FlagSet) {
	fs.Var((*durationValue)(&f.Timeout), "timeout", "limit for the request once connected (default 30s)")
	fs.Var((*durationValue)(&f.MaxTime), "max-time", "limit whatever progress it makes (default 10m)")
	fs.StringArrayVar(&f.Elicit, "elicit", nil, "give this `ANSWER` to what the server asks; repeatable")
}

// check refuses answers of no form, before anything is started.
func (f *Asking) check() error {
	for _, text := range f.Elicit {
		if _, err := tool.SplitObject([]byte(text)); err == nil {
			continue
		}
		switch tool.Action(text) {
		case tool.Accept, tool.Decline, tool.Cancel:
		default:
			return fault.New(fault.Usage, fmt.Sprintf("--elicit %s is no answer to a question", fault.Quote(text)),
				`Give a JSON object, as in --elicit '{"name": "Ada"}', or one of the words accept, decline, cancel.`)
		}
	}
	return nil
}

// options are what these flags and the settings ask of a request.
func (f *Asking) options(settings config.Settings) tool.CallOptions {
	o := tool.CallOptions{Timeout: f.Timeout, MaxTime: f.MaxTime}
	if o.MaxTime == 0 && settings.MaxTime != config.DefaultMaxTime {
		o.MaxTime = max(settings.MaxTime, f.Timeout)
	}
	return o
}

// request makes a planned request whose user's side these flags are. parse reduces a result to what a
// caller wants.
func (f *Asking) request(ctx context.Context, s *Session, plan *engine.Plan, parse func(json.RawMessage) (result, error)) (*tool.Result, error) {
	s.Printer.Status(doing(plan.Ref))
	a := newAudience(s, f, plan, parse)
	o := f.options(s.Settings)
	o.Audience = a
	return a.end(s.Engine.Call(ctx, plan, o))
}

// doing says what is going on while a request runs.
func doing(ref tool.Ref) string {
	if ref.Kind == tool.Tool {
		return "calling " + ref.String()
	}
	return "asking for " + ref.String()
}

// audience is the user's side of a running request: it shows how far it has come, and answers what the
// server asks: by --elicit, or by asking the person at the terminal. Where nobody answers it
// declines, and [audience.end] tells how to answer.
type audience struct {
	tool.Unable
	s      *Session
	flags  *Asking
	plan   *engine.Plan
	parse  func(json.RawMessage) (result, error)
	bar    *output.Bar
	dialog *output.Dialog // nil: nobody is there
	turn   chan struct{}  // holds a value while a question is being answered: one at a time

	mu       sync.Mutex
	asked    int             // questions that were answered from the flags, or by nobody
	declined []tool.Question // for want of somebody to answer
	unfit    []unfit         // answers of --elicit that did not fit
}

// newAudience returns the user's side of a request, with the person at the terminal where there is one and
// the flags do not answer.
func newAudience(s *Session, flags *Asking, plan *engine.Plan, parse func(json.RawMessage) (result, error)) *audience {
	a := &audience{s: s, flags: flags, plan: plan, parse: parse, bar: s.Printer.Bar(doing(plan.Ref)), turn: make(chan struct{}, 1)}
	if s.App.InTTY && s.App.ErrTTY.Is && !s.Globals.JSON && len(flags.Elicit) == 0 {
		a.dialog = s.Printer.NewDialog(s.App.Stdin)
	}
	return a
}

// unfit is an answer that does not fit its question.
type unfit struct {
	q      tool.Question
	at     int // which question it was, from 0
	faults []fault.Argument
	mended string // the nearest answer that fits
}

// Progress implements [tool.Audience].
func (a *audience) Progress(p tool.Progress) {
	a.bar.Set(p.Done, p.Total, p.Message)
	text := "progress"
	if p.Done != 0 || p.Total > 0 || p.Message == "" { // the state of a task has no number
		text += " " + output.Count(p.Done, p.Total)
	}
	if p.Message != "" {
		text += ": " + p.Message
	}
	a.s.Printer.Verbose(a.plan.Ref.Server, oneLine(text, maxMemberText))
}

// Message implements [tool.Audience]. With --verbose the log of the connection has told it already,
// secrets masked; without, nobody wants to know.
func (a *audience) Message(tool.Message) {}

// plainText returns a JSON string's text, and anything else as compact JSON.
func plainText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil && bytes.HasPrefix(bytes.TrimSpace(raw), []byte(`"`)) {
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// cutText cuts a text to n bytes, with an ellipsis.
func cutText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

// Elicit implements [tool.Audience].
func (a *audience) Elicit(ctx context.Context, q tool.Question) (tool.Reply, error) {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
	}
	switch {
	case ctx.Err() != nil: // perhaps both were ready
		return tool.Reply{}, ctx.Err()
	case len(a.flags.Elicit) > 0:
		return a.fromFlags(q), nil
	case a.dialog != nil:
		return a.ask(ctx, q)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	if len(a.declined) < maxTold {
		a.declined = append(a.declined, q)
	}
	return tool.Reply{Action: tool.Decline}, nil
}

// maxTold is how many questions an error tells of.
const maxTold = 10

// end ends the request with what came of it. Questions that nobody has answered as they have to be
// are a fault, whatever the tool made of that.
func (a *audience) end(res *tool.Result, err error) (*tool.Result, error) {
	a.bar.End()
	a.mu.Lock()
	defer a.mu.Unlock()
	if errors.Is(err, engine.ErrNotFresh) || fault.Is(err, fault.Interrupted) {
		return res, err
	}
	var f *fault.Fault
	switch {
	case len(a.unfit) > 0:
		f = a.unfitFault()
	case len(a.declined) > 0:
		f = a.unansweredFault()
	default:
		return res, err
	}
	f.On(a.plan.Ref.Server, a.plan.Ref.Tool())
	switch {
	case err != nil:
		f.Because(err).Trace(fault.From(err).Traceback)
	case res != nil:
		f.Result = res.Raw
		if value, err := a.parse(res.Raw); err == nil {
			f.Result = value.json()
		}
	}
	return nil, f
}
