package output

import (
	"bufio"
	"context"
	"io"
	"strings"
)

// Dialog is a conversation with the person at the terminal: texts and prompts on stderr, lines from
// stdin. It is for one goroutine at a time.
type Dialog struct {
	p  *Printer
	in *bufio.Reader
	// typed brings the line that is being read. It is nil if no line is.
	typed chan typed
}

type typed struct {
	line string
	err  error
}

// NewDialog returns a dialog that reads from in. It may read ahead, so that an input has only one dialog.
func (p *Printer) NewDialog(in io.Reader) *Dialog {
	return &Dialog{p: p, in: bufio.NewReader(in)}
}

// Open begins a question. Until [Dialog.Close], notices, faults and progress wait, so that nothing comes between a
// prompt and the person's input.
func (d *Dialog) Open() {
	d.p.mu.Lock()
	defer d.p.mu.Unlock()
	d.p.clearStatus()
	d.p.asking = true
	select {
	case <-d.typed: // for a question that was withdrawn
		d.typed = nil
	default:
	}
}

// Close ends a question, and writes the text that has waited for it.
func (d *Dialog) Close() {
	d.p.mu.Lock()
	defer d.p.mu.Unlock()
	d.p.asking = false
	_, _ = d.p.opt.Err.Write(d.p.later) // nowhere to report it
	d.p.later = nil
}

// Show writes text.
func (d *Dialog) Show(render func(*Text)) {
	t := newText(d.p.opt.ErrTTY)
	render(t)
	_ = d.p.write(d.p.opt.Err, t.buf.Bytes()) // nowhere to report it
}

// Line writes a prompt, made of strings and [Span]s, and returns the typed line without its end. The end of the input
// (Ctrl-D) is io.EOF. If ctx ends, the error is that of ctx.
func (d *Dialog) Line(ctx context.Context, prompt ...any) (string, error) {
	d.Show(func(t *Text) { t.Print(prompt...) })
	if d.typed == nil {
		answer := make(chan typed, 1)
		d.typed = answer
		// A read of a terminal cannot be interrupted. If the question is withdrawn meanwhile, the next one waits for this
		// read; without a next one it ends with the program.
		go func() {
			line, err := d.in.ReadString('\n')
			answer <- typed{line, err}
		}()
	}
	select {
	case got := <-d.typed:
		d.typed = nil
		if !strings.HasSuffix(got.line, "\n") {
			_ = d.p.write(d.p.opt.Err, []byte("\n")) // the cursor is still behind the prompt
		}
		if got.err != nil && got.line == "" {
			return "", got.err
		}
		return strings.TrimRight(got.line, "\r\n"), nil
	case <-ctx.Done():
		_ = d.p.write(d.p.opt.Err, []byte("\n"))
		return "", ctx.Err()
	}
}

// Ask puts a question to the person at the terminal, on stderr, and reports whether the answer begins with a y. The
// end of the input is a no. It fails only if ctx ends first.
func (p *Printer) Ask(ctx context.Context, in io.Reader, question string) (bool, error) {
	d := p.NewDialog(in)
	d.Open()
	defer d.Close()
	line, err := d.Line(ctx, Bold(question), " [y/N] ")
	if err != nil && ctx.Err() != nil {
		return false, ctx.Err()
	}
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "y"), nil
}
