// Package output is the only writer to stdout and stderr: answers as JSON or text, faults, notices, progress and
// questions to the person at the terminal.
//
// Make a [Printer] with [New]; [Printer.Answer] and [Printer.Fault] end a command. stdout carries the answer and
// nothing else; with --json it is exactly one JSON document, also on failure. Text goes through [Text], and JSON
// through [hidden.Escape]: names, descriptions and results come from strangers' servers. They must not drive the
// terminal, and must not tell a model what a person does not see.
package output

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/hidden"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Document is an answer. Its JSON form is that of encoding/json, unless it is a [RawDocument].
type Document interface {
	WriteText(t *Text)
}

// RawDocument is an answer that renders its own JSON, to keep a server's bytes as they are: encoding/json compacts
// the content of a json.RawMessage.
type RawDocument interface {
	Document
	RawJSON() []byte
}

// Printer writes answers, faults and notices. Its methods may be called concurrently.
type Printer struct {
	opt Options

	mu     sync.Mutex
	status string // the progress line on the terminal now
	asking bool   // a [Dialog] has the terminal
	later  []byte // text that waits for the dialog's end
}

// Terminal describes the terminal behind a stream. Its zero value means that there is none.
type Terminal struct {
	Is    bool
	Color bool
	Width int // columns; zero: unknown
}

// Options configure a [Printer].
type Options struct {
	Out, Err       io.Writer
	JSON, Verbose  bool
	OutTTY, ErrTTY Terminal
	Started        time.Time // --verbose shows times since then
}

// New returns a printer.
func New(o Options) *Printer { return &Printer{opt: o} }

// JSON reports whether answers are JSON.
func (p *Printer) JSON() bool { return p.opt.JSON }

// Answer writes d to stdout. The error is that of the stream, for example that its reader has gone.
func (p *Printer) Answer(d Document) error {
	if !p.opt.JSON {
		t := newText(p.opt.OutTTY)
		d.WriteText(t)
		return p.write(p.opt.Out, t.buf.Bytes())
	}
	if raw, ok := d.(RawDocument); ok {
		return p.write(p.opt.Out, append(hidden.Escape(raw.RawJSON()), '\n'))
	}
	return p.json(d)
}

func (p *Printer) json(v any) error {
	data, err := marshal(v)
	if err != nil {
		return err
	}
	return p.write(p.opt.Out, hidden.Escape(data))
}

// Raw writes a JSON text of a server to stdout, and a newline if it does not end in one. Only hidden characters become
// escapes.
func (p *Printer) Raw(data []byte) error {
	data = hidden.Escape(data)
	if !bytes.HasSuffix(data, []byte("\n")) {
		data = append(bytes.Clone(data), '\n')
	}
	return p.write(p.opt.Out, data)
}

// Fault writes a fault: as the JSON answer on stdout, or as text on stderr.
func (p *Printer) Fault(f *fault.Fault) error {
	f = InWords(f)
	if p.opt.JSON {
		return p.json(struct {
			Success bool         `json:"success"`
			Error   *fault.Fault `json:"error"`
		}{Error: f})
	}
	t := newText(p.opt.ErrTTY)
	// A server may have a part in the message: only the first line begins where mcpl's own lines do.
	message, more, _ := strings.Cut(f.Message, "\n")
	t.Line(Red("error: "), strings.TrimRight(message, "\r"))
	for line := range strings.Lines(more) {
		t.Line("  ", strings.TrimRight(line, "\r\n"))
	}
	for _, a := range f.Arguments {
		t.Line("  ", Bold(cmp.Or(a.Pointer, "(the whole object)")), ": ", a.Problem, Prefixed("; expected ", a.Expected),
			Prefixed("; did you mean ", a.Nearest))
	}
	t.Diff("  ", f.Diff)
	for line := range strings.Lines(f.Traceback) {
		t.Line(Dim("  " + strings.TrimRight(line, "\n")))
	}
	if f.Help != "" {
		lead := Green("hint: ")
		for line := range strings.SplitSeq(f.Help, "\n") {
			t.Line(lead, line)
			lead = Span{text: below}
		}
	}
	return p.aside(t.buf.Bytes())
}

// Prefixed returns prefix and s, or "" if s is empty.
func Prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// Notice writes a note beside the answer, on stderr.
func (p *Printer) Notice(format string, args ...any) {
	p.asideLine(Yellow("note: "), fmt.Sprintf(format, args...))
}

func (p *Printer) asideLine(parts ...any) {
	t := newText(p.opt.ErrTTY)
	t.Line(parts...)
	_ = p.aside(t.buf.Bytes()) // nowhere to report it
}

// Aside prints a line by itself on stderr, never broken: an address to be opened or copied.
func (p *Printer) Aside(line string) {
	t := newText(p.opt.ErrTTY)
	t.Line(line)
	_ = p.write(p.opt.Err, t.buf.Bytes()) // nowhere to report it
}

// Verbose writes what happens and when, on stderr, with --verbose.
func (p *Printer) Verbose(who, event string) {
	if p.opt.Verbose {
		p.asideLine(Dim(fmt.Sprintf("%8.3fs ", time.Since(p.opt.Started).Seconds())), Bold(who), " ", event)
	}
}

// Status shows a line of progress on a terminal, in place of the last one; an empty one removes it. It does nothing
// if stderr is not a terminal, and while a person answers a question.
func (p *Printer) Status(status string) {
	if !p.opt.ErrTTY.Is || p.opt.Verbose {
		return
	}
	status = clip(strings.NewReplacer("\n", " ", "\t", " ").Replace(hidden.Show(status)), p.statusWidth())
	t := newText(p.opt.ErrTTY)
	t.Print(Dim(status))
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.asking || status == p.status:
	case status == "":
		p.clearStatus()
	default:
		// In one write, with the old line's rest removed last: a line that is removed first flickers.
		_, _ = fmt.Fprintf(p.opt.Err, "\r%s\x1b[K", t.buf.Bytes())
		p.status = status
	}
}

// statusWidth returns the width of the progress line in columns. The last column stays free, since a character there
// moves the cursor on some terminals.
func (p *Printer) statusWidth() int {
	return cmp.Or(max(0, p.opt.ErrTTY.Width-1), defaultWidth)
}

func (p *Printer) clearStatus() {
	if p.status != "" {
		_, _ = io.WriteString(p.opt.Err, "\r\x1b[K")
		p.status = ""
	}
}

// aside writes to stderr, or keeps data until the dialog ends.
func (p *Printer) aside(data []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asking {
		p.later = append(p.later, data...)
		return nil
	}
	return p.put(p.opt.Err, data)
}

func (p *Printer) write(w io.Writer, data []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.put(w, data)
}

// put writes. The caller holds the lock.
func (p *Printer) put(w io.Writer, data []byte) error {
	p.clearStatus()
	if _, err := w.Write(data); err != nil {
		return &LostError{err}
	}
	return nil
}

// LostError says that a stream did not accept a write.
type LostError struct{ Err error }

func (e *LostError) Error() string { return e.Err.Error() }

// Unwrap returns the stream's error.
func (e *LostError) Unwrap() error { return e.Err }

// marshal renders v as one line of JSON. Unlike json.Marshal it keeps <, > and & as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// Object is a JSON answer that keeps the values of its members byte for byte.
type Object []tool.Field

// Add appends a member with the value v, encoded unless it is a json.RawMessage. Add encodes the common types itself,
// since the first use of encoding/json costs as much as a whole search.
func (o *Object) Add(key string, v any) {
	var raw json.RawMessage
	switch v := v.(type) {
	case json.RawMessage:
		raw = v
	case string:
		raw = tool.Quote(v)
	case []string:
		raw = append(raw, '[')
		for i, s := range v {
			if i > 0 {
				raw = append(raw, ',')
			}
			raw = append(raw, tool.Quote(s)...)
		}
		raw = append(raw, ']')
	case bool, int:
		raw = fmt.Append(nil, v)
	default:
		data, err := marshal(v)
		if err != nil {
			panic(err) // our own types always encode
		}
		raw = bytes.TrimSuffix(data, []byte("\n"))
	}
	*o = append(*o, tool.Field{Key: key, Value: raw})
}

// Bytes renders the object.
func (o Object) Bytes() []byte { return tool.JoinObject(o) }
