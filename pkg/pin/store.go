package pin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// version is that of the files of pins. A file of another version is refused.
//
//	1: the first
const version = 1

// maxFile bounds each file, in bytes. It is beyond what a listing may have, twice, since what was seen is kept beside
// what is new.
const maxFile = 1 << 30

// lockWait bounds how long an update waits for another mcpl.
const lockWait = 10 * time.Second

// Store is the folder of the pins: a file for each server, by the digest that identifies its entry. It lies outside the
// cache, so that an empty cache approves nothing. The folder need not exist.
type Store struct {
	Dir string

	changes *atomicfile.Memo[[]Change] // of each server, as its file has them
}

// StoreIn returns the store in mcpl's state directory. It remembers changes that it has read, as long as their file
// stays as it is.
func StoreIn(dir string) Store {
	return Store{Dir: filepath.Join(dir, "pins"), changes: new(atomicfile.Memo[[]Change])}
}

func (s Store) path(id string) string { return filepath.Join(s.Dir, id+".json") }

// Read returns the pins of a server. Without a file they are empty. A file that cannot be read or has another version
// is a fault.Config, which names the line to mend; it stays where it is.
func (s Store) Read(id string) (*Pins, error) {
	p, _, err := s.read(id)
	return p, err
}

// read returns the pins of a server and the content of its file, nil if there is none.
func (s Store) read(id string) (*Pins, []byte, error) {
	data, _, err := atomicfile.ReadOwn(s.path(id), maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return new(Pins), nil, nil
	case err != nil:
		return nil, nil, s.unreadable(id, err)
	}
	p, line, err := parseFile(data)
	if err != nil {
		return nil, nil, s.damaged(id, line, err)
	}
	return p, data, nil
}

// Changes returns what has not been seen yet of a server. It reads the beginning of its file only, whatever the server
// offers. Errors are those of Read.
func (s Store) Changes(id string) ([]Change, error) {
	changes, err := s.changes.Get(s.path(id), func() ([]Change, error) { return s.readChanges(id) })
	return slices.Clone(changes), err
}

func (s Store) readChanges(id string) ([]Change, error) {
	f, _, err := atomicfile.OpenOwn(s.path(id), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, s.unreadable(id, err)
	}
	defer f.Close()
	changes, err := parseHead(json.NewDecoder(f))
	if err == nil {
		return changes, nil
	}
	if _, _, err := s.read(id); err != nil { // which knows the line
		return nil, err
	}
	return nil, s.damaged(id, 0, err)
}

// Update changes the pins of a server: one locked read, edit and atomic replacement. An edit that fails, or that
// changes nothing, writes nothing. If the file cannot be locked or written, the error is also an [ErrUnwritable].
func (s Store) Update(ctx context.Context, id string, edit func(*Pins) error) error {
	err := atomicfile.Edit(ctx, s.path(id), lockWait, func() ([]byte, error) {
		// Each of these takes a second for a hundred thousand tools.
		p, data, err := s.read(id)
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
		if err = cmp.Or(edit(p), ctx.Err()); err != nil {
			return nil, err
		}
		next, err := p.render()
		if bytes.Equal(next, data) {
			return nil, err
		}
		return next, cmp.Or(err, ctx.Err())
	})
	// An edit may write files of others, whose failures are not those of the pins.
	if failed, ok := errors.AsType[*atomicfile.WriteError](err); ok && failed.Path == s.path(id) {
		return fmt.Errorf("%w: %w", ErrUnwritable, err)
	}
	return err
}

func (s Store) unreadable(id string, err error) *fault.Fault {
	return fault.New(fault.Config, fmt.Sprintf("cannot read %s: %s", s.path(id), atomicfile.Reason(err)),
		"Make it a file of yours that no one else may write. It holds what the server's tools were when you last saw them.").
		Because(err)
}

// ErrUnwritable is the cause of faults of a store that cannot be written.
var ErrUnwritable = errors.New("the pins cannot be written")

// damaged returns the fault of a file that is not what it should be, from a line on, which is 0 if it is not known.
func (s Store) damaged(id string, line int, err error) *fault.Fault {
	return fault.New(fault.Config, fmt.Sprintf("%s is damaged: %v", atomicfile.At(s.path(id), line), err),
		"Mend it there, or delete the file: then what mcpl last showed of the server counts as seen.").Because(err)
}

// pinFile is the layout of a file. The changes stand before the definitions, so that they are read alone.
type pinFile struct {
	Version int       `json:"version"`
	Server  string    `json:"server"`
	Changes []Change  `json:"changes"`
	Pins    []pinLine `json:"pins"`
}

type pinLine struct {
	Kind  tool.Kind       `json:"kind"`
	Name  string          `json:"name"`
	Since time.Time       `json:"since"`
	Gone  time.Time       `json:"gone"`
	Seen  json.RawMessage `json:"seen"`
	New   json.RawMessage `json:"new"`
}

func checkVersion(v int) error {
	if v != version {
		return fmt.Errorf("it has version %d, this mcpl reads version %d", v, version)
	}
	return nil
}

// parseFile returns the pins in a file. If there is a mistake, line is its line, or 0 if it has none.
func parseFile(data []byte) (p *Pins, line int, err error) {
	var file pinFile
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, lineOf(data, err), err
	}
	if err := checkVersion(file.Version); err != nil {
		return nil, 0, err
	}
	p = &Pins{Server: file.Server, changes: file.Changes}
	for _, l := range file.Pins {
		pin := &Pin{Kind: l.Kind, Name: l.Name, Since: l.Since, Gone: l.Gone, Seen: l.Seen, New: l.New}
		for _, raw := range []json.RawMessage{l.Seen, l.New} {
			if err := readable(l, raw); err != nil {
				return nil, 1 + bytes.Count(data[:bytes.Index(data, raw)], []byte("\n")), err
			}
		}
		p.pins = append(p.pins, pin)
	}
	return p, 0, nil
}

// lineOf returns the line that an error of package json is about, 0 if there is none.
func lineOf(data []byte, err error) int {
	var offset int64
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &typed):
		offset = typed.Offset
	default:
		return 0
	}
	return 1 + bytes.Count(data[:min(max(int(offset), 0), len(data))], []byte("\n"))
}

// readable fails for a definition that is none of its kind, or has another name. That of an earlier name has.
func readable(l pinLine, raw json.RawMessage) (err error) {
	switch {
	case raw == nil:
	case l.Kind == instructions:
		var s string
		err = json.Unmarshal(raw, &s)
	default:
		_, err = tool.Parse(l.Kind, raw)
	}
	if err != nil {
		return fmt.Errorf("the pin of %q is not a definition: %w", l.Name, err)
	}
	return nil
}

// parseHead reads the members of a file up to its changes.
func parseHead(d *json.Decoder) ([]Change, error) {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.Join(errors.New("it does not begin with an object"), err)
	}
	known := false
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		switch name {
		case "version":
			var v int
			if err := errors.Join(d.Decode(&v), checkVersion(v)); err != nil {
				return nil, err
			}
			known = true
		case "changes":
			var changes []Change
			if !known {
				return nil, checkVersion(0)
			}
			return changes, d.Decode(&changes)
		default:
			var other json.RawMessage
			if err := d.Decode(&other); err != nil {
				return nil, err
			}
		}
	}
	return nil, errors.New("it has no changes")
}

// render writes the file, a definition a line, each byte for byte.
func (p *Pins) render() ([]byte, error) {
	var b bytes.Buffer
	changes := p.changes
	if changes == nil {
		changes = []Change{}
	}
	list, err := json.Marshal(changes)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&b, "{\"version\":%d,\"server\":%s,\n\"changes\":%s,\n\"pins\":[", version, tool.Quote(p.Server), list)
	for i, pin := range p.pins {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		b.Write(pin.render())
	}
	b.WriteString("\n]}\n")
	return b.Bytes(), nil
}

func (p *Pin) render() []byte {
	var fields []tool.Field
	add := func(key string, value []byte) {
		if value != nil {
			fields = append(fields, tool.Field{Key: key, Value: value})
		}
	}
	if p.Kind != tool.Tool {
		add("kind", tool.Quote(string(p.Kind)))
	}
	if p.Name != "" {
		add("name", tool.Quote(p.Name))
	}
	add("since", tool.Quote(p.Since.UTC().Format(time.RFC3339)))
	if !p.Gone.IsZero() {
		add("gone", tool.Quote(p.Gone.UTC().Format(time.RFC3339)))
	}
	add("seen", p.Seen)
	add("new", p.New)
	return tool.JoinObject(fields)
}
