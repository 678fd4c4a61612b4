package approval

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/policy"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// version is that of the file's layout.
const version = 1

// maxFile bounds the file in bytes, maxRequests the requests in it, maxArguments the arguments of each in bytes: a
// person has to read them. maxSize bounds the arguments of all. maxOwnRequests and maxOwnSize bound those of one
// principal, but not of the person: requests that were used or revoked do not count.
const (
	maxFile        = 64 << 20
	maxRequests    = 1000
	maxArguments   = 1 << 20
	maxSize        = 16 << 20
	maxOwnRequests = 100
	maxOwnSize     = 2 << 20
)

// content is the layout of the file.
type content struct {
	Version  int       `json:"version"`
	Key      key       `json:"key"`
	Requests []Request `json:"requests"`
}

// read returns the content of the file. A missing file has no key and no requests. A file that cannot be read, or is
// damaged, or that another user could have written, is a fault.Config, and stays where it is.
func (s Store) read() (content, error) {
	data, info, err := atomicfile.ReadOwn(s.path(), maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return content{Version: version}, nil
	case err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		err = fmt.Errorf("its mode is %#o: others may use it, and it holds a key", info.Mode().Perm())
	}
	var c content
	var line int
	if err == nil {
		c, line, err = parse(data)
	}
	if err != nil {
		return content{}, fault.New(fault.Config, fmt.Sprintf("%s: no approval in this file counts: %s",
			atomicfile.At(s.path(), line), atomicfile.Reason(err)),
			"Mend the file, or delete it: what is open has to be asked for anew then. It must be readable for you alone.")
	}
	return c, nil
}

// parse reads the file's JSON. line is that of a mistake in the JSON or in a request, 0 for other mistakes.
func parse(data []byte) (c content, line int, err error) {
	var file struct {
		content
		Requests []json.RawMessage `json:"requests"`
	}
	if line, err = atomicfile.ParseJSON(data, &file); err != nil {
		return content{}, line, err
	}
	switch c = file.content; {
	case c.Version != version:
		return content{}, 0, fmt.Errorf("it is of version %d, and this mcpl knows %d", c.Version, version)
	case len(c.Key) != keySize:
		return content{}, 0, fmt.Errorf("its key has %d bytes and not %d", len(c.Key), keySize)
	}
	seen, end := map[string]bool{}, 0
	for i, raw := range file.Requests {
		begin := end + bytes.Index(data[end:], raw)
		end = begin + len(raw)
		var r Request
		line, err := atomicfile.ParseJSON(raw, &r)
		if err == nil {
			err = r.check()
		}
		if err == nil && seen[r.ID] {
			err = fmt.Errorf("there is another %s", r.ID)
		}
		if err != nil {
			return content{}, bytes.Count(data[:begin], []byte("\n")) + max(line, 1), fmt.Errorf("request %d: %w", i+1, err)
		}
		seen[r.ID] = true
		c.Requests = append(c.Requests, r)
	}
	return c, 0, nil
}

// check reports what no mcpl would have written.
func (r Request) check() error {
	ways := []policy.Way{policy.Terminal, policy.Elicitation, policy.Token, policy.Model}
	switch {
	case !isID(r.ID):
		return fmt.Errorf("%q is not an id", r.ID)
	case r.Server == "" || r.Name == "":
		return errors.New("it has no server or no tool")
	case !slices.Contains([]tool.Kind{tool.Tool, tool.Prompt, tool.Resource}, r.Kind):
		return fmt.Errorf("there is no kind %q", r.Kind)
	case len(r.Call) != 64:
		return errors.New("it does not say which call it is for")
	case !slices.Contains([]State{Pending, Approved, Used, Denied, Revoked}, r.State):
		return fmt.Errorf("there is no state %q", r.State)
	case r.State == Approved && !r.takes(r.Way):
		return fmt.Errorf("it was approved by %q, which may not", r.Way)
	case r.Expires.Unix() < 0 || r.Expires.Unix() > maxSeconds:
		return errors.New("it expires at no time that there is")
	case slices.ContainsFunc(r.By, func(way policy.Way) bool { return !slices.Contains(ways, way) }):
		return fmt.Errorf("%q holds an unknown way", r.By)
	}
	return nil
}

// render is the inverse of parse. Each request is a line, so that a mistake has one too.
func (c content) render() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b) // which ends each value with a line break
	enc.SetEscapeHTML(false)
	key := base64.StdEncoding.EncodeToString(c.Key)
	fmt.Fprintf(&b, `{"version": %d, "key": "%s", "requests": [`+"\n", c.Version, key)
	for i, r := range c.Requests {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := enc.Encode(r); err != nil {
			return nil, err
		}
	}
	b.WriteString("]}\n")
	return b.Bytes(), nil
}
