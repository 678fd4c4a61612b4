package verb

import (
	"cmp"
	"context"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/internal/verb/form"
	"github.com/mcp-launchpad/mcpl/internal/verb/render"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
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

// Flags implements [Verb].
func (v *request) Flags(fs *pflag.FlagSet) {
	fs.Var((*durationValue)(&v.Timeout), "timeout", "limit for the request once connected (default 30s)")
	fs.Var((*durationValue)(&v.MaxTime), "max-time", "limit whatever progress it makes (default 10m)")
	fs.StringArrayVar(&v.Elicit, "elicit", nil, "give this `ANSWER` to what the server asks; repeatable")
	v.Delivery.Flags(fs)
}

// Parse implements [Verb].
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

// send makes a planned request and writes its result, which parse reads.
func (v *request) send(ctx context.Context, s *Session, plan *engine.Plan, parse render.Parse) error {
	if err := v.ready(s, plan); err != nil {
		return err
	}
	audience := s.audience(v.Elicit, plan, parse)
	o := v.options(s.Settings)
	o.Audience = audience
	res, err := audience.End(s.Engine.Call(ctx, plan, o))
	if err != nil {
		return err
	}
	to := render.Destination{Printer: s.Printer, Query: s.App.Query, MaxBytes: s.Settings.MaxBytes,
		Large: filepath.Join(s.App.Env.CacheDir(), "results"), Now: s.App.Now}
	s.code, err = v.Delivery.Answer(ctx, to, plan.Ref, res, parse)
	return err
}

// ready leaves to main the requests that the early path cannot make, and says so if the arguments are not checked.
func (v *request) ready(s *Session, plan *engine.Plan) error {
	// The early path has no jq, and prints nothing that main may print again.
	if v.Delivery.JQ != "" || plan.Unchecked != nil || !s.App.Warm {
		if err := s.live(); err != nil {
			return err
		}
	}
	if plan.Unchecked != nil {
		s.Printer.Notice("the arguments are sent unchecked: the schema of %s cannot be used: %v", plan.Ref, plan.Unchecked)
	}
	return nil
}

// audience returns the user's side of a request. The person at the terminal answers, if there is one
// and --elicit does not.
func (s *Session) audience(answers []string, plan *engine.Plan, parse render.Parse) *form.Audience {
	o := form.Options{Ref: plan.Ref, Args: plan.Args, Answers: answers, Printer: s.Printer, Parse: parse}
	if s.App.InTTY && s.App.ErrTTY.Is && !s.Globals.JSON {
		o.Dialog = s.Printer.NewDialog(s.App.Stdin)
	}
	return form.New(o)
}
