// Package state keeps which servers and tools a person has switched on or off, in a file that the person may edit:
// tool-state.json, {"enabled": [...], "disabled": [...]}.
//
// Call [FileIn], then [File.Read] for the choice or [File.Update] to change it; [Tools.Allows] says whether a tool is
// on. A name is a server ("github") or one of its tools ("github/delete_repo"). A name in disabled is off. If enabled
// is empty, everything else is on; if not, only its names are. The package does not know what the names refer to.
package state

import (
	"bytes"
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

	"github.com/gofrs/flock"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Tools is the choice of a person. Its zero value has everything on.
type Tools struct {
	Enabled  []string
	Disabled []string

	rest []tool.Field // other members of the file, which an update keeps
}

// Allows reports whether a tool is on.
func (t Tools) Allows(server, name string) bool {
	ref := server + "/" + name
	if slices.Contains(t.Disabled, server) || slices.Contains(t.Disabled, ref) {
		return false
	}
	return len(t.Enabled) == 0 || slices.Contains(t.Enabled, server) || slices.Contains(t.Enabled, ref)
}

// AllowsServer reports whether a server may be asked at all: it is not off as a whole, and if only some names are on,
// it or one of its tools is among them.
func (t Tools) AllowsServer(server string) bool {
	if slices.Contains(t.Disabled, server) {
		return false
	}
	return len(t.Enabled) == 0 || slices.ContainsFunc(t.Enabled, func(name string) bool {
		return name == server || strings.HasPrefix(name, server+"/")
	})
}

// Whole reports whether every tool of a server is on.
func (t Tools) Whole(server string) bool {
	single := func(name string) bool { return strings.HasPrefix(name, server+"/") }
	return t.AllowsServer(server) && !slices.ContainsFunc(t.Disabled, single) &&
		(len(t.Enabled) == 0 || slices.Contains(t.Enabled, server))
}

// Enable switches names on: it takes them out of disabled, and adds them to enabled unless that is empty. If it
// switches a tool on, it also takes the tool's server out of disabled, since no tool of it could be called otherwise.
func (t *Tools) Enable(names ...string) {
	for _, name := range names {
		t.Disabled = without(t.Disabled, name)
		if server, _, isTool := strings.Cut(name, "/"); isTool {
			t.Disabled = without(t.Disabled, server)
		}
		if len(t.Enabled) > 0 {
			t.Enabled = with(t.Enabled, name)
		}
	}
}

// Only switches names on and everything else off.
func (t *Tools) Only(names ...string) {
	t.Enabled = nil
	t.Enable(names...)
	for _, name := range names {
		t.Enabled = with(t.Enabled, name)
	}
}

// Disable switches names off. They stay in enabled: disabled is the stronger list, and a later Enable finds the
// choice as it was.
func (t *Tools) Disable(names ...string) {
	for _, name := range names {
		t.Disabled = with(t.Disabled, name)
	}
}

func with(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

func without(list []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(n string) bool { return n == name })
}

// File is the file of the state.
type File struct{ Path string }

// FileIn returns the state's file in mcpl's state directory.
func FileIn(dir string) File { return File{Path: filepath.Join(dir, "tool-state.json")} }

// lockWait bounds how long an update waits for another mcpl. Each holds the lock for milliseconds.
const lockWait = 5 * time.Second

// Read returns the state. A missing file is the zero state. Read moves a damaged file to Path+".bak"; then the zero
// state applies, and notice says so. err is for a file that cannot be read.
func (f File) Read() (t Tools, notice string, err error) {
	data, err := os.ReadFile(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return Tools{}, "", nil
	}
	if err != nil {
		return Tools{}, "", fault.New(fault.Config, "cannot read "+f.Path,
			"Make it readable for you, or delete it to have every tool on.").Because(err)
	}
	t, err = parse(data)
	if err == nil {
		return t, "", nil
	}
	backup := f.Path + ".bak"
	notice = fmt.Sprintf("%s is damaged (%v): it was moved to %s, and every tool is on", f.Path, err, backup)
	if err := os.Rename(f.Path, backup); err != nil {
		notice = fmt.Sprintf("%s is damaged and could not be moved away (%v): every tool is on", f.Path, err)
	}
	return Tools{}, notice, nil
}

// parse reads the file's JSON. null and a missing list count as empty.
func parse(data []byte) (t Tools, err error) {
	fields, err := tool.SplitObject(bytes.TrimPrefix(data, []byte("\ufeff")))
	if err != nil {
		return Tools{}, err
	}
	for _, field := range fields {
		list := map[string]*[]string{"enabled": &t.Enabled, "disabled": &t.Disabled}[field.Key]
		if list == nil {
			t.rest = append(t.rest, field)
		} else if err := json.Unmarshal(field.Value, list); err != nil {
			return Tools{}, fmt.Errorf("%q is not a list of names", field.Key)
		}
	}
	return t, nil
}

// Update changes the state by edit: one locked read, edit and atomic replacement, so that concurrent updates lose
// nothing. The notice is that of [File.Read].
func (f File) Update(ctx context.Context, edit func(*Tools)) (notice string, err error) {
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return "", f.unwritable(err)
	}
	lock := flock.New(f.Path + ".lock")
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	if ok, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil || !ok {
		return "", f.unwritable(err)
	}
	defer lock.Unlock()
	t, notice, err := f.Read()
	if err != nil {
		return notice, err
	}
	rest := t.rest
	edit(&t)
	t.rest = rest // edit may have replaced all of t
	if err := errors.Join(atomicfile.Sweep(f.Path), atomicfile.Write(f.Path, t.render(), 0o600)); err != nil {
		return notice, f.unwritable(err)
	}
	return notice, nil
}

// render writes the lists, enabled first, and then the other members of the file.
func (t Tools) render() []byte {
	fields := append([]tool.Field{{Key: "enabled", Value: listJSON(t.Enabled)},
		{Key: "disabled", Value: listJSON(t.Disabled)}}, t.rest...)
	var b bytes.Buffer
	// JoinObject makes valid JSON of valid values.
	_ = json.Indent(&b, tool.JoinObject(fields), "", "  ")
	b.WriteByte('\n')
	return b.Bytes()
}

func listJSON(names []string) json.RawMessage {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = string(tool.Quote(name))
	}
	return json.RawMessage("[" + strings.Join(quoted, ",") + "]")
}

func (f File) unwritable(err error) *fault.Fault {
	return fault.New(fault.Config, "cannot write "+f.Path,
		fmt.Sprintf("Make the folder %s writable for you, or point XDG_STATE_HOME to one that is.", filepath.Dir(f.Path))).
		Because(err)
}
