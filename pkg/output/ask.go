package output

import (
	"bufio"
	"context"
	"io"
	"strings"
)

// Ask puts a question to the person at the terminal, on stderr, and returns whether the line
// that comes back begins with a y. The end of the input is a no. It fails only where ctx ends
// first.
func (p *Printer) Ask(ctx context.Context, in io.Reader, question string) (bool, error) {
	t := newText(p.errTTY)
	t.Print(Bold(question), " [y/N] ")
	_ = p.write(p.err, t.buf.Bytes()) // nowhere to report it
	answer := make(chan string, 1)
	// Reading a terminal cannot be cut short. After an interrupt the program ends, and this with it.
	go func() {
		line, _ := bufio.NewReader(in).ReadString('\n')
		answer <- line
	}()
	select {
	case line := <-answer:
		return strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "y"), nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}
