package output

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
)

// redraw is the least time between two drawings of a [Bar]: faster changes cannot be read.
const redraw = 100 * time.Millisecond

// Bar is the status line of a running operation. Its methods may be called concurrently.
type Bar struct {
	p    *Printer
	what string

	mu    sync.Mutex
	line  string
	drawn time.Time
	timer *time.Timer // draws an update that came too soon after the last drawing; nil: none waits
	ended bool
}

// Bar returns a bar for an operation, like "calling demo/add". It shows nothing until the first [Bar.Set], and never
// shows anything if stderr is not a terminal or --json or --verbose are on.
func (p *Printer) Bar(what string) *Bar {
	return &Bar{p: p, what: what, ended: !p.opt.ErrTTY.Is || p.opt.Verbose || p.opt.JSON}
}

// Set shows that done of total is done. A total that is not positive is unknown. message is shown as one line, as far
// as it fits.
func (b *Bar) Set(done, total float64, message string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return
	}
	b.line = barLine(b.what, done, total, message, b.p.statusWidth())
	if b.timer != nil {
		return
	}
	if wait := redraw - time.Since(b.drawn); wait > 0 {
		b.timer = time.AfterFunc(wait, b.late)
		return
	}
	b.draw()
}

// late draws the last update that came too soon.
func (b *Bar) late() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timer = nil
	if !b.ended {
		b.draw()
	}
}

func (b *Bar) draw() {
	b.p.Status(b.line)
	b.drawn = time.Now()
}

// End removes the line. The bar shows nothing any more.
func (b *Bar) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
	b.p.Status("")
}

// barLine writes progress into at most width columns. On a narrow terminal it drops the bar first, then the message,
// and cuts what at last.
func barLine(what string, done, total float64, message string, width int) string {
	count := number(done)
	switch {
	case total <= 0 && done == 0 && message != "":
		count = "" // words alone, such as the state of a task
	case total > 0:
		part := max(0, min(1, done/total))
		count = fmt.Sprintf("%3d%%", int(part*100))
		if cells := min(20, width/4); cells >= 10 {
			full := int(part * float64(cells))
			count = "[" + strings.Repeat("#", full) + strings.Repeat("-", cells-full) + "] " + count
		}
	}
	rest := width - columns(count) - 1
	if rest < 8 {
		return clip(cmp.Or(count, line(message)), width)
	}
	message = line(message)
	room := rest
	if message != "" {
		room = max(8, rest/2)
	}
	text := clip(line(what), room)
	if count != "" {
		text += " " + count
	}
	if left := width - columns(text) - 2; message != "" && left >= 8 {
		text += "  " + clip(message, left)
	}
	return text
}

// Count writes progress, like "3/10", or "3" if the total is unknown.
func Count(done, total float64) string {
	text := number(done)
	if total > 0 {
		text += "/" + number(total)
	}
	return text
}

// number writes a number of a readable size without an exponent, with at most two digits behind the point.
func number(f float64) string {
	if math.Abs(f) >= 1e12 {
		return strconv.FormatFloat(f, 'g', 4, 64)
	}
	return strconv.FormatFloat(math.Round(f*100)/100, 'f', -1, 64)
}
