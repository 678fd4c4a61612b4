package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/hidden"
)

// maxLog is the size in bytes at which a log is rotated. There are two files of at most that size.
const maxLog = 1 << 20

// logName stands for the daemon itself in the place of a server's name.
const logName = "daemon"

// logger writes the daemon's log: a line "TIME<tab>SERVER<tab>EVENT" for each event. Its methods may be called
// concurrently. A line that cannot be written is lost, since no request may fail for its log.
type logger struct {
	path string

	mu   sync.Mutex
	file *os.File // nil if it cannot be written: then its methods fail, as they do once it is closed
}

func openLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
}

// newLogger opens the log, for appending.
func newLogger(path string) *logger {
	file, _ := openLog(path)
	return &logger{path: path, file: file}
}

// maxLine is the largest number of bytes that are written of one event.
const maxLine = 16 << 10

// log writes one event. Its sender has masked secrets. People look at a log with all sorts of programs, so that it
// contains no terminal control characters and nothing hidden.
func (l *logger) log(who, text string) {
	text = strings.TrimRight(fault.Cut(text, maxLine), "\n")
	text = strings.NewReplacer("\n", " | ", "\r", "", "\t", " ").Replace(text)
	line := fmt.Sprintf("%s\t%s\t%s\n", time.Now().Format("2006-01-02T15:04:05.000Z07:00"), who, hidden.Show(text))
	l.mu.Lock()
	defer l.mu.Unlock()
	if info, err := l.file.Stat(); err == nil && info.Size()+int64(len(line)) > maxLog {
		l.file.Close()
		// If renaming fails, it grows on: better too long than lost.
		_ = os.Rename(l.path, l.path+".1")
		l.file, _ = openLog(l.path)
	}
	_, _ = l.file.WriteString(line)
}

func (l *logger) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file.Close()
}

// LogLine is one line of the log.
type LogLine struct {
	Time  string `json:"time"`
	Who   string `json:"server"` // "daemon" is the daemon itself
	Event string `json:"event"`
}

// ReadLog calls line with each line of the log, oldest first: with those of one server, or all if server is "". With
// follow it goes on as lines are written, until ctx ends. A log that does not exist has no lines. The errors are those
// of the file system and of line.
func ReadLog(ctx context.Context, p Place, server string, follow bool, line func(LogLine) error) error {
	r := &logReader{path: p.Log, server: server, line: line}
	// It begins like one that was reading when the log was rotated.
	if err := r.open(p.Log + ".1"); err != nil {
		return err
	}
	defer func() { r.file.Close() }() // a nil file does nothing
	for {
		if err := r.readMore(); err != nil || !follow {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followEvery):
		}
	}
}

// followEvery is how often ReadLog looks at a log that it follows.
const followEvery = 200 * time.Millisecond

type logReader struct {
	path, server string
	line         func(LogLine) error
	file         *os.File // nil until the log exists
	part         string   // a line whose end has not been written yet
}

// open opens the next file to read, if it exists.
func (r *logReader) open(path string) (err error) {
	if r.file, err = os.Open(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// readMore reads what was written since the last time, also to a log that was rotated away.
func (r *logReader) readMore() error {
	for {
		if r.file == nil {
			if err := r.open(r.path); err != nil || r.file == nil {
				return err
			}
		}
		// The check for a rotation comes before the read, so that lines from before the rotation are not lost.
		now, err := os.Stat(r.path)
		data, readErr := io.ReadAll(r.file)
		if readErr != nil {
			return readErr
		}
		if err := r.take(data); err != nil {
			return err
		}
		mine, statErr := r.file.Stat()
		if err == nil && statErr == nil && os.SameFile(mine, now) {
			return nil
		}
		r.file.Close()
		r.file = nil
	}
}

func (r *logReader) take(data []byte) error {
	text := r.part + string(data)
	for {
		line, rest, ok := strings.Cut(text, "\n")
		if !ok {
			r.part = text
			return nil
		}
		text = rest
		parsed := parseLogLine(line)
		if r.server != "" && parsed.Who != r.server {
			continue
		}
		if err := r.line(parsed); err != nil {
			return err
		}
	}
}

// parseLogLine reads one line. Lines in another format, such as a panic trace, are attributed to the daemon.
func parseLogLine(line string) LogLine {
	at, rest, ok := strings.Cut(line, "\t")
	who, text, ok2 := strings.Cut(rest, "\t")
	if !ok || !ok2 {
		return LogLine{Who: logName, Event: line}
	}
	return LogLine{at, who, text}
}
