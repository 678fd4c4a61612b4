package example

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
)

const noteSchema = `{
	"type": "object",
	"properties": {
		"id": {"type": "integer"},
		"title": {"type": "string"},
		"text": {"type": "string"},
		"tags": {"type": "array", "items": {"type": "string"}},
		"created": {"type": "string", "format": "date-time"}
	},
	"required": ["id", "title", "text", "tags", "created"]
}`

const notesSchema = `{"type": "object", "properties": {"notes": {"type": "array", "items": ` + noteSchema + `}},
	"required": ["notes"]}`

// note is one note, in the file as in answers.
type note struct {
	ID      int       `json:"id"`
	Title   string    `json:"title"`
	Text    string    `json:"text"`
	Tags    []string  `json:"tags"`
	Created time.Time `json:"created"`
}

func noteTools(file noteFile) []server.ServerTool {
	return []server.ServerTool{addNoteTool(file), listNotesTool(file), searchNotesTool(file), deleteNoteTool(file)}
}

func addNoteTool(file noteFile) server.ServerTool {
	return define(spec{
		name:        "add_note",
		title:       "Add a note",
		description: "Write down a new note with a title, a text and tags. Notes are kept in a file on this machine.",
		hints:       hints{writes: true},
		input: `{
				"type": "object",
				"properties": {
					"title": {"type": "string", "minLength": 1, "maxLength": 200, "description": "What the note is about"},
					"text": {"type": "string", "default": "", "description": "The note itself"},
					"tags": {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 20,
						"description": "Words to find it by"}
				},
				"required": ["title"],
				"additionalProperties": false
			}`,
		output: noteSchema,
	}, func(ctx context.Context, in struct {
		Title, Text string
		Tags        []string
	}) (answer, error) {
		n, err := file.add(ctx, note{Title: in.Title, Text: in.Text, Tags: in.Tags})
		if err != nil {
			return answer{}, err
		}
		return answer{data: n}, nil
	})
}

func listNotesTool(file noteFile) server.ServerTool {
	return define(spec{
		name:        "list_notes",
		title:       "List notes",
		description: "List the notes that were written down, newest first, all of them or those with a tag.",
		input: `{
				"type": "object",
				"properties": {
					"tag": {"type": "string", "description": "Only notes with this tag"},
					"limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 20, "description": "How many at most"}
				},
				"additionalProperties": false
			}`,
		output: notesSchema,
	}, func(_ context.Context, in struct {
		Tag   *string
		Limit *int
	}) (answer, error) {
		return file.find(or(in.Limit, 20), func(n note) bool { return in.Tag == nil || slices.Contains(n.Tags, *in.Tag) })
	})
}

func searchNotesTool(file noteFile) server.ServerTool {
	return define(spec{
		name:        "search_notes",
		title:       "Search notes",
		description: "Find notes whose title, text or tags contain every word of a query, newest first.",
		input: `{
				"type": "object",
				"properties": {
					"query": {"type": "string", "minLength": 1, "description": "Words to look for; upper and lower case are the same"},
					"limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 20, "description": "How many at most"}
				},
				"required": ["query"],
				"additionalProperties": false
			}`,
		output: notesSchema,
	}, func(_ context.Context, in struct {
		Query string
		Limit *int
	}) (answer, error) {
		words := strings.Fields(strings.ToLower(in.Query))
		return file.find(or(in.Limit, 20), func(n note) bool { return n.contains(words) })
	})
}

func deleteNoteTool(file noteFile) server.ServerTool {
	return define(spec{
		name:        "delete_note",
		title:       "Delete a note",
		description: "Delete one of the notes for good, by its id. There is no way to get it back.",
		hints:       hints{writes: true, destroys: true, repeatable: true},
		input: `{
				"type": "object",
				"properties": {"id": {"type": "integer", "minimum": 1, "description": "The note's id, as list_notes shows it"}},
				"required": ["id"],
				"additionalProperties": false
			}`,
	}, func(ctx context.Context, in struct{ ID int }) (answer, error) {
		n, err := file.remove(ctx, in.ID)
		if err != nil {
			return answer{}, err
		}
		return answer{text: fmt.Sprintf("Deleted note %d, %q.", n.ID, n.Title)}, nil
	})
}

func (n note) contains(words []string) bool {
	all := strings.ToLower(n.Title + "\n" + n.Text + "\n" + strings.Join(n.Tags, "\n"))
	for _, w := range words {
		if !strings.Contains(all, w) {
			return false
		}
	}
	return true
}

// noteFile is the place of the notes. Every change is one locked read, edit and atomic
// replacement, since each call may come from a process of its own.
type noteFile struct {
	path string // empty for the default
	now  func() time.Time
}

// noteDocument is the file's JSON. LastID only grows, so that an id never means another note.
type noteDocument struct {
	LastID int    `json:"lastId"`
	Notes  []note `json:"notes"`
}

// lockWait bounds how long a change waits for another process; each takes milliseconds.
const lockWait = 5 * time.Second

func (f noteFile) place() (string, error) {
	if f.path != "" {
		return f.path, nil
	}
	dir := os.Getenv("XDG_STATE_HOME")
	// The specification says to ignore a relative path.
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no place for the notes: set XDG_STATE_HOME to a folder's absolute path (%w)", err)
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "mcpl", "example-notes.json"), nil
}

func (f noteFile) read(path string) (noteDocument, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return noteDocument{}, nil
	}
	if err != nil {
		return noteDocument{}, fmt.Errorf("cannot read the notes: %w", err)
	}
	var d noteDocument
	if err := json.Unmarshal(raw, &d); err != nil {
		return noteDocument{}, fmt.Errorf("the notes in %s are damaged (%w): mend the file, or move it away to begin anew",
			path, err)
	}
	for i := range d.Notes {
		if d.Notes[i].Tags == nil {
			d.Notes[i].Tags = []string{} // the schema promises an array
		}
	}
	return d, nil
}

// change edits the document under the lock. The file is left alone where edit fails.
func (f noteFile) change(ctx context.Context, edit func(*noteDocument) error) error {
	path, err := f.place()
	if err != nil {
		return err
	}
	unlock, err := atomicfile.Lock(ctx, path+".lock", lockWait)
	if err != nil {
		return fmt.Errorf("cannot lock the notes (%s): %w", path+".lock", err)
	}
	defer unlock()
	d, err := f.read(path)
	if err != nil {
		return err
	}
	if err := edit(&d); err != nil {
		return err
	}
	raw, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	if err := errors.Join(atomicfile.Sweep(path), atomicfile.Write(path, append(raw, '\n'), 0o600)); err != nil {
		return fmt.Errorf("cannot write the notes: %w", err)
	}
	return nil
}

func (f noteFile) add(ctx context.Context, n note) (note, error) {
	n.Created = f.now().UTC().Truncate(time.Second)
	if n.Tags == nil {
		n.Tags = []string{}
	}
	err := f.change(ctx, func(d *noteDocument) error {
		d.LastID++
		n.ID = d.LastID
		d.Notes = append(d.Notes, n)
		return nil
	})
	return n, err
}

func (f noteFile) remove(ctx context.Context, id int) (removed note, err error) {
	err = f.change(ctx, func(d *noteDocument) error {
		i := slices.IndexFunc(d.Notes, func(n note) bool { return n.ID == id })
		if i < 0 {
			return fmt.Errorf("there is no note %d: call list_notes for the ids", id)
		}
		removed = d.Notes[i]
		d.Notes = slices.Delete(d.Notes, i, i+1)
		return nil
	})
	return removed, err
}

// find returns the newest notes that match, up to limit.
func (f noteFile) find(limit int, match func(note) bool) (answer, error) {
	path, err := f.place()
	if err != nil {
		return answer{}, err
	}
	d, err := f.read(path)
	if err != nil {
		return answer{}, err
	}
	found := []note{}
	for _, n := range d.Notes {
		if match(n) {
			found = append(found, n)
		}
	}
	slices.SortFunc(found, func(a, b note) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID))
	})
	return answer{data: map[string]any{"notes": found[:min(limit, len(found))]}}, nil
}
