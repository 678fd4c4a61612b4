package render

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// saved writes the images, audio and blobs of a result to files in dir and returns the result with their names.
func (r Result) saved(dir string, ref tool.Ref) (Result, error) {
	for i := range r.blocks {
		b := &r.blocks[i]
		data := b.Data
		if b.Resource != nil && b.Resource.Text == nil {
			data = b.Resource.Blob
		} else if b.Type != "image" && b.Type != "audio" {
			continue
		}
		content, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return r, fault.New(fault.Protocol,
				fmt.Sprintf("%s sent a %s that is not base64", ref.Server, cmp.Or(b.Type, "blob")), "").Because(err)
		}
		if b.file, err = saveFile(dir, ref, content, extension(b.mime())); err != nil {
			return r, err
		}
		var o output.Object
		if b.Type != "" { // the contents of a resource have no type
			o.Add("type", b.Type)
		}
		if b.Resource != nil {
			o.Add("uri", b.Resource.URI)
		}
		o.Add("mimeType", b.mime())
		o.Add("bytes", len(content))
		o.Add("file", b.file)
		b.raw = o.Bytes()
	}
	return r, nil
}

// saveFile writes content to a file named after the tool and the content, so that equal contents get
// the same name and different ones never do.
func saveFile(dir string, ref tool.Ref, content []byte, ext string) (string, error) {
	sum := sha256.Sum256(content)
	name := fmt.Sprintf("%s-%s-%s%s", fileWord(ref.Server), fileWord(ref.Name), hex.EncodeToString(sum[:6]), ext)
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = atomicfile.Write(path, content, 0o600)
	}
	if err != nil {
		return "", fault.New(fault.Result, fmt.Sprintf("the result of %s cannot be written to %s", ref, dir),
			"Give --output-dir a folder that you may write to and that has room.").Because(err)
	}
	return path, nil
}

// makeFolder makes a folder and tries whether files can be written there.
func makeFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	probe, err := os.CreateTemp(dir, ".mcpl-*")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// fileWord makes a name fit for a file name on every system.
func fileWord(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
	return s[:min(len(s), 60)]
}

// extension returns the usual file extension of a media type. The common ones are listed here,
// since the system's table differs from machine to machine; the rest get their subtype.
func extension(mime string) string {
	mime, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(mime)), ";")
	common := map[string]string{
		"image/jpeg": ".jpg", "image/jpg": ".jpg", "image/svg+xml": ".svg",
		"image/x-icon": ".ico", "image/vnd.microsoft.icon": ".ico",
		"audio/mpeg": ".mp3", "audio/mp3": ".mp3", "audio/mp4": ".m4a", "audio/x-m4a": ".m4a",
		"audio/x-wav": ".wav", "audio/wave": ".wav", "audio/vnd.wave": ".wav",
		"text/plain": ".txt", "text/markdown": ".md",
		"application/gzip": ".gz", "application/x-gzip": ".gz", "application/octet-stream": ".bin",
	}
	if ext := common[mime]; ext != "" {
		return ext
	}
	_, sub, _ := strings.Cut(mime, "/")
	if i := strings.LastIndexByte(sub, '+'); i >= 0 {
		sub = sub[i+1:]
	}
	if sub = fileWord(sub); sub == "" || len(sub) > 12 {
		return ".bin"
	}
	return "." + sub
}

// spilled describes a result that was too large to print.
type spilled struct {
	File      string `json:"file"`
	Bytes     int    `json:"bytes"`
	Structure any    `json:"structure"`
	Help      string `json:"help"`
}

const spillHelp = "Select what you need of it with --jq EXPR."

// keepSpilled is how long results that were too large to print stay in the cache.
const keepSpilled = 7 * 24 * time.Hour

// spill writes a whole result to a file: in --output-dir, else in the folder for large results, from which it removes
// old ones.
func (v *Delivery) spill(to Destination, ref tool.Ref, a *answer) (*spilled, error) {
	content, ext := []byte(a.joined()), ".json"
	if !a.queried && a.value.plain != nil {
		content, ext = []byte(*a.value.plain), ".txt"
	}
	dir := v.OutputDir
	if dir == "" {
		dir = to.Large
		removeOld(dir, to.Now().Add(-keepSpilled))
	}
	path, err := saveFile(dir, ref, content, ext)
	if err != nil {
		return nil, err
	}
	return &spilled{File: path, Bytes: len(content), Structure: structure(a.joined(), 3), Help: spillHelp}, nil
}

// removeOld removes the files of a folder that were last written before t. A file that cannot be removed stays.
func removeOld(dir string, t time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().Type()&fs.ModeType == 0 && info.ModTime().Before(t) {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// structure describes a JSON value: objects by their keys, lists by length and first element,
// strings by size, down to depth levels.
func structure(raw json.RawMessage, depth int) any {
	if fields, err := tool.SplitObject(raw); err == nil {
		if depth == 0 {
			return fmt.Sprintf("object, %s, %s", Plural(len(fields), "key"), Size(len(raw)))
		}
		const most = 30
		var o output.Object
		for i, f := range fields {
			if i == most {
				o.Add("…", fmt.Sprintf("%d more keys", len(fields)-most))
				break
			}
			o.Add(f.Key, structure(f.Value, depth-1))
		}
		return json.RawMessage(o.Bytes())
	}
	if list, err := tool.SplitArray(raw); err == nil && list != nil {
		about := fmt.Sprintf("list, %s, %s", Plural(len(list), "item"), Size(len(raw)))
		if len(list) == 0 || depth == 0 {
			return about
		}
		return []any{about, structure(list[0], depth-1)}
	}
	if s, ok := stringIn(raw); ok {
		return fmt.Sprintf("string, %s, %s", Size(len(s)), Plural(strings.Count(s, "\n")+1, "line"))
	}
	return raw // a number, true, false or null
}

func (s *spilled) WriteText(t *output.Text) {
	t.Line(fmt.Sprintf("The result has %s. It is whole in:", Size(s.Bytes)))
	t.Line("  ", output.Cyan(s.File))
	t.Line("Its structure:")
	var o output.Object
	o.Add("v", s.Structure)
	t.Print(Indented(o[0].Value, "  "))
	t.Line(output.Dim(spillHelp))
}
