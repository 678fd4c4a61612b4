// Package telemetry is what whoever runs a gateway sees of its calls: a line for each in a file ([Audit]), and numbers
// of all of them ([Metrics]). Both take the records of pkg/gateway, which hold neither arguments nor results, and
// neither makes a call wait.
package telemetry

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/gateway"
	"github.com/mcp-launchpad/mcpl/pkg/hidden"
)

const (
	// maxWaiting bounds the lines that wait for a file that takes its time.
	maxWaiting = 10_000
	// lastWrite bounds the time that the end of an audit waits for its file.
	lastWrite = 5 * time.Second
)

// AuditOptions make an [Audit]. Either Path or Line is needed.
type AuditOptions struct {
	// Path is the file that lines are appended to. If it is new, it is private (0600).
	Path string
	// Line takes each line, without its end, in place of a file.
	Line func(line string)
	// Notice takes what a person should mend. It is called from one goroutine.
	Notice func(text string)
}

// Audit writes a line for each call. Its methods may be called concurrently.
type Audit struct {
	opt     AuditOptions
	waiting chan []byte
	reopen  chan chan error
	ended   chan struct{} // closed when the last line is written

	mu     sync.Mutex
	lost   int  // lines since the last that was written
	closed bool // waiting is closed; nothing is sent to it then
}

// NewAudit opens an audit. It runs one goroutine until [Audit.Close]. A file that cannot be opened is a fault.
func NewAudit(opt AuditOptions) (*Audit, error) {
	a := &Audit{opt: opt, waiting: make(chan []byte, maxWaiting), reopen: make(chan chan error),
		ended: make(chan struct{})}
	w := &writer{opt: opt}
	if err := w.open(); err != nil {
		return nil, err
	}
	go a.write(w)
	return a, nil
}

// Observe has a line written for a call. If too many lines wait, it is lost, and a later line says how many are.
func (a *Audit) Observe(r gateway.Record) {
	line, err := json.Marshal(lineOf(r))
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || err != nil { // it always encodes
		return
	}
	select {
	case a.waiting <- hidden.Escape(line):
	default:
		a.lost++
	}
}

// Reopen opens the file anew, which another program has moved away. If that fails, lines go to the old one. It waits
// until ctx ends.
func (a *Audit) Reopen(ctx context.Context) error {
	done := make(chan error, 1) // the writer does not wait for who asked
	select {
	case a.reopen <- done:
	case <-a.ended:
		return nil
	case <-ctx.Done():
		return nil
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return nil
	}
}

// Close writes what waits, for at most 5 s, and closes the file.
func (a *Audit) Close() error {
	a.mu.Lock()
	if !a.closed {
		a.closed = true
		close(a.waiting)
	}
	a.mu.Unlock()
	limit := time.NewTimer(lastWrite)
	defer limit.Stop()
	select {
	case <-a.ended:
		return nil
	case <-limit.C:
		return fmt.Errorf("the last audit lines could not be written to %s within %s", a.opt.Path, lastWrite)
	}
}

// write writes lines until the audit is closed.
func (a *Audit) write(w *writer) {
	defer close(a.ended)
	defer w.close()
	for {
		select {
		case line, more := <-a.waiting:
			if !more {
				return
			}
			a.put(w, line)
		case done := <-a.reopen:
			done <- w.open()
		}
	}
}

// put writes a line, and before it how many were lost.
func (a *Audit) put(w *writer, line []byte) {
	a.mu.Lock()
	lost := a.lost
	a.lost = 0
	a.mu.Unlock()
	written := true
	if lost > 0 {
		note := fmt.Appendf(nil, `{"time":%q,"lost":%d}`, stamp(time.Now()), lost)
		written = w.line(note)
	}
	if written && w.line(line) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lost++; !written {
		a.lost += lost
	}
}

// auditLine is one line, which docs/contracts.md describes.
type auditLine struct {
	Time      string          `json:"time"`
	Principal string          `json:"principal"`
	Method    string          `json:"method"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool,omitempty"`
	Prompt    string          `json:"prompt,omitempty"`
	URI       string          `json:"uri,omitempty"`
	Outcome   gateway.Outcome `json:"outcome"`
	Ms        float64         `json:"ms"`
	Bytes     int             `json:"bytes"`
	Trace     string          `json:"trace,omitempty"`
}

func lineOf(r gateway.Record) auditLine {
	line := auditLine{Time: stamp(r.Began), Principal: r.Principal, Method: r.Method, Server: r.Server, Outcome: r.Outcome,
		Ms: float64(r.Took.Microseconds()) / 1000, Bytes: r.Bytes, Trace: r.Trace.ID}
	switch r.Method {
	case "resources/read":
		line.URI = r.Name
	case "prompts/get":
		line.Prompt = r.Name
	default:
		line.Tool = r.Name
	}
	return line
}

// stamp writes a time as lines have it: RFC 3339 in UTC, with milliseconds.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// writer writes lines. It belongs to one goroutine.
type writer struct {
	opt   AuditOptions
	file  *os.File
	torn  bool // the last line was written in part
	fails bool // the last line could not be written
}

// open opens the file, or opens it anew.
func (w *writer) open() error {
	if w.opt.Path == "" {
		return nil
	}
	file, err := os.OpenFile(w.opt.Path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fault.New(fault.Config, fmt.Sprintf("the audit file %s cannot be opened: %s", w.opt.Path,
			atomicfile.Reason(err)), fmt.Sprintf("Make the folder %s, and see that you may write the file, or name another.",
			filepath.Dir(w.opt.Path)))
	}
	w.close()
	w.file, w.torn = file, false
	return nil
}

func (w *writer) close() {
	if w.file != nil {
		_ = w.file.Close() // each line was written at once
	}
}

// line writes a line and reports whether all of it was written. A person hears of the first that was not.
func (w *writer) line(line []byte) bool {
	if w.opt.Path == "" {
		w.opt.Line(string(line))
		return true
	}
	text := append(line, '\n')
	if w.torn {
		text = append([]byte("\n"), text...)
	}
	n, err := w.file.Write(text)
	if err == nil {
		w.torn, w.fails = false, false
		return true
	}
	w.torn = w.torn || n > 0
	if !w.fails {
		w.opt.Notice(fmt.Sprintf("audit lines are lost, and calls go on: %s cannot be written: %s", w.opt.Path,
			atomicfile.Reason(err)))
	}
	w.fails = true
	return false
}
