// Package otlp sends a span for each call of a gateway to a collector of traces: OTLP over HTTP, as JSON, in batches.
// The standard variables OTEL_... say where to and which; without an endpoint nothing is sent.
//
// Make an [Exporter] with [New], give its Start and Observe to a gateway, and close it when that has ended.
package otlp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/gateway"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

const (
	// maxWaiting bounds the spans that wait. Further ones are lost.
	maxWaiting = 2048
	// maxBatch bounds the spans of one request.
	maxBatch = 512
	// gather is how long the first span of a batch waits for others.
	gather = time.Second
	// attempts is how often a batch is sent to a collector that is busy. The wait between them doubles, from firstWait
	// on, unless the collector says how long; then it is at most maxWait.
	attempts  = 4
	firstWait = time.Second
	maxWait   = 30 * time.Second
	// lastFlush bounds the time that the end waits for the collector.
	lastFlush = 5 * time.Second
)

// Options make an [Exporter]. All are needed.
type Options struct {
	// Lookup returns a variable of the environment.
	Lookup func(name string) (value string, set bool)
	// Version is that of mcpl.
	Version string
	// Notice takes what a person should mend. Several goroutines may call it at the same time.
	Notice func(text string)
}

// Exporter sends spans. Its methods may be called concurrently.
type Exporter struct {
	settings settings
	opt      Options
	client   *http.Client
	queue    chan gateway.Record
	ended    chan struct{} // closed when nothing is sent any more
	cancel   context.CancelFunc
	lost     atomic.Uint64

	mu     sync.Mutex
	closed bool // queue is closed; nothing is sent to it then
}

// New returns an exporter, or nil if the environment does not ask for one, or asks for one that mcpl does not have. A
// notice says the latter; it is not an error, since the variables are often those of a whole machine. An exporter runs
// one goroutine until [Exporter.Close].
func New(opt Options) *Exporter {
	s, err := environment(opt.Lookup).read(opt.Version)
	if err != nil {
		opt.Notice("no traces are exported: " + err.Error())
		return nil
	}
	if s.endpoint == "" {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &Exporter{settings: s, opt: opt, cancel: cancel, queue: make(chan gateway.Record, maxWaiting),
		ended: make(chan struct{}),
		client: &http.Client{Timeout: s.timeout, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment},
			// Headers may hold secrets, which are for the endpoint alone.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	go e.run(ctx)
	return e
}

// Start returns the span of a call that is about to begin, below parent, which may be the zero Trace.
func (e *Exporter) Start(parent tool.Trace) tool.Trace {
	var random [24]byte
	_, _ = rand.Read(random[:]) // it does not fail
	id := random[:16]
	t := tool.Trace{ID: hex.EncodeToString(id), Span: hex.EncodeToString(random[16:])}
	if parent.ID != "" {
		t.ID, t.State = parent.ID, parent.State
		id, _ = hex.DecodeString(parent.ID) // it was checked when it was read
	}
	if t.Sampled = e.settings.sampler.picks(id); parent.ID != "" && e.settings.sampler.parentBased {
		t.Sampled = parent.Sampled
	}
	return t
}

// picks reports whether the trace with an id is among those that are recorded: the same at every place that it passes
// (OpenTelemetry, TraceIdRatioBased).
func (s sampler) picks(id []byte) bool {
	return binary.BigEndian.Uint64(id[8:])>>1 < uint64(s.ratio*(1<<63))
}

// Observe has the span of a call sent, if it is recorded and there is room for it.
func (e *Exporter) Observe(r gateway.Record) {
	if !r.Trace.Sampled {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	select {
	case e.queue <- r:
	default:
		e.lost.Add(1)
	}
}

// Lost returns how many spans were lost: they found no room, or no collector took them.
func (e *Exporter) Lost() uint64 { return e.lost.Load() }

// Close sends what waits, for at most 5 s.
func (e *Exporter) Close() error {
	e.mu.Lock()
	if !e.closed {
		e.closed = true
		close(e.queue)
	}
	e.mu.Unlock()
	late := time.AfterFunc(lastFlush, e.cancel)
	defer late.Stop()
	<-e.ended
	e.cancel()
	e.client.CloseIdleConnections()
	return nil
}

// run sends batches until the queue is closed and empty.
func (e *Exporter) run(ctx context.Context) {
	defer close(e.ended)
	failing := false
	for {
		batch, more := e.batch()
		if len(batch) > 0 {
			err := e.export(ctx, batch)
			if err != nil {
				e.lost.Add(uint64(len(batch)))
			}
			if err != nil && !failing {
				e.opt.Notice("spans are lost, and calls go on: " + err.Error())
			}
			failing = err != nil
		}
		if !more {
			return
		}
	}
}

// batch waits for a span, and then for others that follow soon. more is false if no more come.
func (e *Exporter) batch() (batch []gateway.Record, more bool) {
	first, more := <-e.queue
	if !more {
		return nil, false
	}
	batch = append(batch, first)
	soon := time.NewTimer(gather)
	defer soon.Stop()
	for len(batch) < maxBatch {
		select {
		case r, more := <-e.queue:
			if !more {
				return batch, false
			}
			batch = append(batch, r)
		case <-soon.C:
			return batch, true
		}
	}
	return batch, true
}

// export sends a batch, again if the collector is busy.
func (e *Exporter) export(ctx context.Context, batch []gateway.Record) error {
	body, err := encode(e.settings.resource, e.opt.Version, batch)
	if err != nil {
		return err
	}
	wait := firstWait
	for attempt := 1; ; attempt++ {
		again, after, err := e.post(ctx, body)
		if err == nil || !again || attempt == attempts {
			return err
		}
		if after == 0 {
			after = wait
		}
		wait *= 2
		timer := time.NewTimer(min(after, maxWait))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// post sends one request. again says that the collector may take it later, after that time if it is not zero.
func (e *Exporter) post(ctx context.Context, body []byte) (again bool, after time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.settings.endpoint, bytes.NewReader(body))
	if err != nil {
		return false, 0, err
	}
	req.Header = e.settings.headers.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "mcpl/"+e.opt.Version)
	resp, err := e.client.Do(req)
	if failed := new(url.Error); errors.As(err, &failed) {
		// The URL may hold a key.
		return true, 0, fmt.Errorf("the collector at %s does not answer: %w", req.URL.Host, failed.Err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return false, 0, nil
	}
	err = fmt.Errorf("the collector at %s answers with %s", req.URL.Host, resp.Status)
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 31) // a date counts as no time
		return true, time.Duration(seconds) * time.Second, err
	}
	return false, 0, err
}
