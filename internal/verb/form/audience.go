// Package form answers what a server asks its user in the middle of a request: with the answers that
// the command line brings, or by leading the person at the terminal through the question.
//
// Make an [Audience] with [New] for each request, give it to the call, and hand the call's outcome to
// [Audience.End]: questions that stay unanswered become a fault that shows what to type.
//
// All that a server wrote is shown behind a bar, on lines of its own, and cut to a length: no text of
// a server can pass for one of ours.
package form

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/mcp-launchpad/mcpl/internal/verb/render"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Options make an [Audience].
type Options struct {
	// Ref and Args are the request; a fault repeats them in the command to type.
	Ref  tool.Ref
	Args []byte
	// Answers are those of --elicit; see [CheckAnswers]. The last one serves for all further questions.
	Answers []string
	// Dialog is the terminal with a person at it, for questions without Answers. If nil, they are declined.
	Dialog  *output.Dialog
	Printer *output.Printer
}

// Audience is the user's side of a request, a [tool.Audience]: it shows progress, and answers one question at a time.
type Audience struct {
	tool.Unable
	opt  Options
	bar  *output.Bar
	turn chan struct{} // holds a value while a question is being answered

	mu       sync.Mutex
	asked    int             // questions that were answered from Answers, or declined unanswered
	declined []tool.Question // the first of those that were declined unanswered
	unfit    []unfit         // answers that did not fit their questions
}

// unfit is an answer that does not fit its question.
type unfit struct {
	q      tool.Question
	at     int // the number of the question, from 0
	faults []fault.Argument
	mended string // the nearest answer that fits
}

// New returns the audience of a request that is about to be made, and shows that it is.
func New(o Options) *Audience {
	o.Printer.Status(doing(o.Ref))
	return &Audience{opt: o, bar: o.Printer.Bar(doing(o.Ref)), turn: make(chan struct{}, 1)}
}

// doing says what goes on while a request runs.
func doing(ref tool.Ref) string {
	if ref.Kind == tool.Tool {
		return "calling " + ref.String()
	}
	return "asking for " + ref.String()
}

// CheckAnswers rejects texts that can answer no question: all but JSON objects and the words accept (also with the host
// of a page), decline and cancel.
func CheckAnswers(texts []string) error {
	for _, text := range texts {
		if _, err := tool.SplitObject([]byte(text)); err == nil {
			continue
		}
		if host, ok := strings.CutPrefix(text, string(tool.Accept)+" "); ok && imitable(host) {
			continue
		}
		switch tool.Action(text) {
		case tool.Accept, tool.Decline, tool.Cancel:
		default:
			return fault.New(fault.Usage, fmt.Sprintf("--elicit %s is not an answer to a question", fault.Quote(text)),
				`Give a JSON object, as in --elicit '{"name": "Ada"}', or one of the words accept, decline, cancel.`)
		}
	}
	return nil
}

// Progress implements [tool.Audience].
func (a *Audience) Progress(p tool.Progress) {
	a.bar.Set(p.Done, p.Total, p.Message)
	text := "progress"
	if p.Done != 0 || p.Total > 0 || p.Message == "" { // the state of a task has no number
		text += " " + output.Count(p.Done, p.Total)
	}
	if p.Message != "" {
		text += ": " + p.Message
	}
	a.opt.Printer.Verbose(a.opt.Ref.Server, render.OneLine(text, maxMemberText))
}

// Message implements [tool.Audience]. It shows nothing: with --verbose the log of the connection has
// the message already, with secrets masked.
func (a *Audience) Message(tool.Message) {}

// Elicit implements [tool.Audience].
func (a *Audience) Elicit(ctx context.Context, q tool.Question) (tool.Reply, error) {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
	}
	switch {
	case ctx.Err() != nil: // both may have been ready
		return tool.Reply{}, ctx.Err()
	case len(a.opt.Answers) > 0:
		return a.prepared(q), nil
	case a.opt.Dialog != nil:
		return ask(ctx, a.opt.Dialog, a.opt.Ref.Server, q)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	if len(a.declined) < maxTold {
		a.declined = append(a.declined, q)
	}
	return tool.Reply{Action: tool.Decline}, nil
}

// maxTold is how many questions a fault names.
const maxTold = 10

// End ends the request with its outcome, which it returns. If a question stayed unanswered or an
// answer did not fit, it returns a fault about that instead, whatever the server made of it. An
// interruption, and an error that is not a fault, stay as they are.
func (a *Audience) End(res *tool.Result, err error) (*tool.Result, error) {
	a.bar.End()
	a.mu.Lock()
	defer a.mu.Unlock()
	var f *fault.Fault
	if err != nil && (!errors.As(err, &f) || f.Type == fault.Interrupted) {
		return res, err
	}
	switch {
	case len(a.unfit) > 0:
		f = a.unfitFault()
	case len(a.declined) > 0:
		f = a.unansweredFault()
	default:
		return res, err
	}
	f.On(a.opt.Ref.Server, a.opt.Ref.Tool()).Trace("mcpl declined the question")
	switch {
	case err != nil:
		f.Because(err).Trace(fault.From(err).Traceback)
	case res != nil:
		f.Result = res.Raw
		if value, err := render.Read(a.opt.Ref.Kind, res.Raw); err == nil {
			f.Result = value.JSON()
		}
	}
	return nil, f
}
