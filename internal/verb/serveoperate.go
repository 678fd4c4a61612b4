package verb

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/gateway"
	"github.com/mcp-launchpad/mcpl/pkg/gateway/telemetry"
	"github.com/mcp-launchpad/mcpl/pkg/host"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Spans sends a span for each call of a gateway to a collector of traces. Its methods may be called concurrently.
type Spans interface {
	// Start returns the span of a call that is about to begin, below parent, which may be the zero Trace.
	Start(parent tool.Trace) tool.Trace
	// Observe has the span of a call sent. It does not wait for that.
	Observe(gateway.Record)
	// Lost returns how many spans could not be sent.
	Lost() uint64
	// Close sends what waits, for a limited time.
	Close() error
}

// gcPercent is how much the heap of a gateway over HTTP grows before garbage is collected, in percent. Its heap is
// small, and its calls make much garbage: with the usual 100 a call takes an eighth more of the processor.
const gcPercent = 200

// collectLess has garbage collected less often, unless the environment says how often (GOGC). end takes that back.
func (s *Session) collectLess() (end func()) {
	if own, _ := s.App.Env.Lookup("GOGC"); own != "" {
		return func() {}
	}
	before := debug.SetGCPercent(gcPercent)
	return func() { debug.SetGCPercent(before) }
}

// operations are what whoever runs a gateway sees of it. Each part may be nil.
type operations struct {
	audit   *telemetry.Audit
	metrics *telemetry.Metrics
	spans   Spans
}

// operate opens what the command line, the settings and the environment ask for.
func (v *serveVerb) operate(s *Session) (*operations, error) {
	o := new(operations)
	notice := func(text string) { s.Printer.Notice("%s", text) }
	file := s.Settings.Audit
	if v.Audit != "" {
		file = config.AuditFile(v.Audit)
	}
	if file != config.NoAudit {
		opt := telemetry.AuditOptions{Path: string(file), Notice: notice}
		if file == config.AuditToStderr {
			opt.Path, opt.Line = "", s.Printer.Aside
		} else if !filepath.IsAbs(opt.Path) {
			opt.Path = filepath.Join(s.App.Env.Dir, opt.Path)
		}
		var err error
		if o.audit, err = telemetry.NewAudit(opt); err != nil {
			return nil, err
		}
	}
	o.spans = s.App.NewSpans(notice)
	if v.HTTP != "" {
		o.metrics = telemetry.NewMetrics(s.App.Version, runtime.Version(), s.App.Started)
	}
	return o, nil
}

// options sets those of a gateway that is to be seen.
func (o *operations) options(opt *gateway.Options) {
	var observers []func(gateway.Record)
	if o.audit != nil {
		observers = append(observers, o.audit.Observe)
	}
	if o.metrics != nil {
		observers = append(observers, o.metrics.Observe)
	}
	if o.spans != nil {
		observers = append(observers, o.spans.Observe)
		opt.Trace = o.spans.Start
	}
	if len(observers) > 0 {
		opt.Observe = func(r gateway.Record) {
			for _, observe := range observers {
				observe(r)
			}
		}
	}
}

// gauge adds the numbers that the gateway and its host know.
func (o *operations) gauge(g *gateway.Gateway, d *doors) {
	if o.metrics == nil {
		return
	}
	const name, help = "mcpl_servers", "Servers by state."
	o.metrics.Gauge(name, help, `state="down"`, func() float64 { return float64(g.Down()) })
	if d.clients == nil { // else they belong to the daemon
		o.metrics.Gauge(name, help, `state="running"`, func() float64 { return float64(d.running()) })
	}
	if o.spans != nil {
		o.metrics.Gauge("mcpl_spans_lost", "Spans that could not be sent to the collector.", "",
			func() float64 { return float64(o.spans.Lost()) })
	}
}

// running returns how many processes and connections of servers there are.
func (d *doors) running() int {
	list := slices.DeleteFunc(d.host.Status(), func(s host.ServerStatus) bool { return s.State == "crashed" })
	return len(list)
}

// close ends all of it. The gateway has to be closed by then.
func (o *operations) close() error {
	var errs []error
	if o.audit != nil {
		errs = append(errs, o.audit.Close())
	}
	if o.spans != nil {
		errs = append(errs, o.spans.Close())
	}
	return errors.Join(errs...)
}

// followHangups has SIGHUP open the audit file and read the configuration anew, until stop is called. If the terminal
// that mcpl was started at has gone, SIGHUP calls end instead, as programs at a terminal do.
func (o *operations) followHangups(ctx context.Context, s *Session, g *gateway.Gateway, end func()) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-signals:
			case <-ctx.Done():
				return
			}
			if s.App.InTTY && !atTerminal() {
				end()
				return
			}
			if o.audit != nil {
				if err := o.audit.Reopen(ctx); err != nil {
					s.Printer.Notice("%s", err)
				}
			}
			switch err := g.Renew(ctx); {
			case err == nil:
				s.Printer.Notice("the configuration was read again")
			case ctx.Err() == nil:
				s.Printer.Notice("the configuration is left as it was: %s", err)
			}
		}
	})
	return func() {
		signal.Stop(signals)
		cancel()
		wg.Wait()
	}
}
