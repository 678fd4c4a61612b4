package state

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// lockWait bounds how long an update waits for another mcpl. Each holds the lock for milliseconds.
const lockWait = 5 * time.Second

// Update changes the choices by edit: one locked read, edit and atomic replacement, so that concurrent updates lose
// nothing. Comments and other members of the file stay. A file that cannot be understood stays as it is, and the error
// is that of [File.Read].
func (f File) Update(ctx context.Context, edit func(*Tools)) error {
	return atomicfile.Edit(ctx, f.Path, lockWait, func() ([]byte, error) {
		d, err := f.open()
		if err != nil {
			return nil, err
		}
		after := Tools{slices.Clone(d.tools.Enabled), slices.Clone(d.tools.Disabled)}
		edit(&after)
		return d.with(after)
	})
}

// with returns the document's text with other choices, indented. Text with comments gets the layout of hujson.Format,
// other text that of json.Indent.
func (d document) with(t Tools) ([]byte, error) {
	var ops []string
	for _, list := range []struct {
		key           string
		before, after []string
	}{{"enabled", d.tools.Enabled, t.Enabled}, {"disabled", d.tools.Disabled, t.Disabled}} {
		if v := d.root.Find("/" + list.key); v == nil || v.Value.Kind() == 'n' {
			ops = append(ops, fmt.Sprintf(`{"op": "add", "path": "/%s", "value": []}`, list.key))
		}
		for i, name := range slices.Backward(list.before) {
			if !slices.Contains(list.after, name) {
				ops = append(ops, fmt.Sprintf(`{"op": "remove", "path": "/%s/%d"}`, list.key, i))
			}
		}
		for _, name := range list.after {
			if !slices.Contains(list.before, name) {
				ops = append(ops, fmt.Sprintf(`{"op": "add", "path": "/%s/-", "value": %s}`, list.key, tool.Quote(name)))
			}
		}
	}
	root := d.root.Clone()
	if err := root.Patch([]byte("[" + strings.Join(ops, ",") + "]")); err != nil {
		return nil, err
	}
	if hasComments(root) {
		root.Format()
		return root.Pack(), nil
	}
	root.Standardize() // it may have a trailing comma
	var b bytes.Buffer
	err := json.Indent(&b, bytes.TrimSpace(root.Pack()), "", "  ")
	b.WriteByte('\n')
	return b.Bytes(), err
}

func hasComments(root hujson.Value) bool {
	for v := range root.All() {
		extras := []hujson.Extra{v.BeforeExtra, v.AfterExtra}
		switch inside := v.Value.(type) {
		case *hujson.Object:
			extras = append(extras, inside.AfterExtra)
		case *hujson.Array:
			extras = append(extras, inside.AfterExtra)
		}
		if slices.ContainsFunc(extras, func(e hujson.Extra) bool { return !e.IsStandard() }) {
			return true
		}
	}
	return false
}
