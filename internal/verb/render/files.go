package render

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/humanize"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/results"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// saver keeps the content of a binary in a file with this extension.
type saver func(content []byte, ext string) (results.Entry, error)

// saved keeps the binaries of a result in files and returns the result with their names. A binary that is not base64
// stays as it is, and broken has its kind. If a file cannot be written, the result is incomplete.
func (r Result) saved(save saver) (saved Result, broken []string, err error) {
	r.blocks = slices.Clone(r.blocks)
	keep := func(mime string, content []byte) (results.Entry, error) {
		entry, err := save(content, results.Extension(mime))
		if err == nil && !slices.Contains(r.files, entry.Path) {
			r.files = append(r.files, entry.Path)
		}
		return entry, err
	}
	place := func(mime string, content []byte) (json.RawMessage, error) {
		entry, err := keep(mime, content)
		return binary(mime, entry).Bytes(), err
	}
	kept := map[string]json.RawMessage{} // what takes the place of data that was saved
	for i := range r.blocks {
		b := &r.blocks[i]
		data, ok := b.binary()
		if !ok {
			continue
		}
		content, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			broken = append(broken, cmp.Or(b.Type, "blob"))
			continue
		}
		entry, err := keep(b.mime(), content)
		if err != nil {
			return r, nil, err
		}
		kept[data] = binary(b.mime(), entry).Bytes()
		b.saved(kept[data], entry.Path)
	}
	if r.plain != nil && r.kind == tool.Tool {
		if mime, content := decoded(strings.TrimSpace(*r.plain)); content != nil {
			r.value, err = place(mime, content)
			r.plain = nil
		}
	} else if r.value != nil {
		r.value, err = withoutBinaries(r.value, kept, place)
	}
	return r, broken, err
}

// binary returns the data of a block that is not text and was not saved.
func (b *block) binary() (data string, ok bool) {
	if b.file != "" {
		return "", false
	}
	if b.Resource != nil && b.Resource.Text == nil {
		return b.Resource.Blob, true
	}
	return b.Data, b.Type == "image" || b.Type == "audio"
}

// saved puts the description of a file in the place of a block's data.
func (b *block) saved(about json.RawMessage, file string) {
	var o output.Object
	if b.Type != "" { // the contents of a resource have no type
		o.Add("type", b.Type)
	}
	if b.Resource != nil {
		o.Add("uri", b.Resource.URI)
	}
	fields, _ := tool.SplitObject(about) // it is ours
	b.raw, b.file = append(o, fields...).Bytes(), file
}

// binary describes content that was saved.
func binary(mime string, e results.Entry) output.Object {
	var o output.Object
	o.Add("mimeType", mime)
	o.Add("bytes", e.Size)
	o.Add("file", e.Path)
	if e.ID != "" {
		o.Add("id", e.ID)
	}
	return o
}

// inWords returns the result with a few words in place of the binaries in its structured content, for people.
func (r Result) inWords() Result {
	if r.value == nil {
		return r
	}
	words := func(mime string, content []byte) (json.RawMessage, error) {
		return tool.Quote(fmt.Sprintf("[%s, %s; save it with --output-dir DIR]", mime, humanize.Size(len(content)))), nil
	}
	kept := map[string]json.RawMessage{}
	for i := range r.blocks {
		if data, ok := r.blocks[i].binary(); ok {
			if content, err := base64.StdEncoding.DecodeString(data); err == nil {
				kept[data], _ = words(r.blocks[i].mime(), content)
			}
		}
	}
	r.value, _ = withoutBinaries(r.value, kept, words) // words does not fail
	return r
}

// leastBinary is the length of the shortest base64 that is taken for a binary inside a JSON value.
const leastBinary = 64

// withoutBinaries returns a JSON value with something else in the place of strings that hold binaries as base64: those
// in kept, and those that begin as a file of a well-known kind does.
func withoutBinaries(value json.RawMessage, kept map[string]json.RawMessage,
	place func(mime string, content []byte) (json.RawMessage, error)) (json.RawMessage, error) {
	var out []byte
	from := 0
	for i := 0; i < len(value); i++ {
		if value[i] != '"' {
			continue
		}
		begin, end := i, stringEnd(value, i)
		i = end - 1
		text := value[begin+1 : end-1]
		if len(text) == 0 || isKey(value, end) {
			continue
		}
		text = bytes.ReplaceAll(text, []byte(`\/`), []byte("/")) // the only escape of base64
		stands, ok := kept[string(text)]
		if !ok && len(text) >= leastBinary {
			if mime, content := decoded(string(text)); content != nil {
				var err error
				if stands, err = place(mime, content); err != nil {
					return value, err
				}
				ok = true
			}
		}
		if ok {
			out = append(append(out, value[from:begin]...), stands...)
			from = end
		}
	}
	return append(out, value[from:]...), nil
}

// stringEnd returns the end of the string that begins at i, in valid JSON.
func stringEnd(value []byte, i int) int {
	for i++; i < len(value) && value[i] != '"'; i++ {
		if value[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(value))
}

// isKey reports whether the string that ends at i is a key.
func isKey(value []byte, i int) bool {
	for ; i < len(value); i++ {
		if !bytes.ContainsRune([]byte(" \t\r\n"), rune(value[i])) {
			return value[i] == ':'
		}
	}
	return false
}

// decoded returns the content of a text that is base64 of a file of a well-known kind, or a data: URL with base64 (RFC
// 2397), and its media type. The content of other text is nil.
func decoded(text string) (mime string, content []byte) {
	if head, data, ok := strings.Cut(text, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		mime, text = strings.TrimPrefix(head, "data:"), data
	} else if mime = beginsAs(text); mime == "" {
		return "", nil
	}
	content, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", nil
	}
	return mime, content
}

// beginsAs returns the media type of a file by the beginning of its base64, "" for an unknown one.
func beginsAs(text string) string {
	for _, known := range []struct{ begin, mime string }{
		{"iVBORw0KGgo", "image/png"}, {"/9j/", "image/jpeg"}, {"R0lGODdh", "image/gif"}, {"R0lGODlh", "image/gif"},
		{"UklGR", "image/webp"}, {"JVBERi0", "application/pdf"}, {"UEsDB", "application/zip"}, {"SUQz", "audio/mpeg"},
		{"T2dnU", "audio/ogg"}, {"H4sIA", "application/gzip"},
	} {
		if !strings.HasPrefix(text, known.begin) {
			continue
		}
		if head, err := base64.StdEncoding.DecodeString(text[:16]); known.begin == "UklGR" && err == nil &&
			string(head[8:]) == "WAVE" {
			return "audio/wav"
		}
		return known.mime
	}
	return ""
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

// spilled describes a result that was too large to print.
type spilled struct {
	results.Outline
	Help string `json:"help"`
}

// spill describes a JSON value that was written to a file.
func spill(value json.RawMessage, e results.Entry) *spilled {
	s := &spilled{Outline: results.Describe(value, e), Help: "Read the file, or select what you need with --jq EXPR."}
	if e.ID == "" {
		return s
	}
	step, others := fault.Step{Verb: "result", Args: []string{e.ID, "--jq", "EXPR"}}, " (or --grep RE)"
	if lines := s.Next(); lines != "" {
		step.Args = []string{e.ID, "--lines", lines}
		others = " (or --grep RE, or --jq EXPR)"
	}
	s.Help = "See more with: " + output.Command(step) + others
	return s
}

func (s *spilled) WriteText(t *output.Text) {
	t.Line(fmt.Sprintf("The result has %s. It is whole in:", humanize.Size(s.Bytes)))
	t.Line("  ", output.Cyan(s.File))
	t.Line("Its structure:")
	var o output.Object
	o.Add("v", s.Structure)
	t.Print(results.Indented(o[0].Value, "  "))
	t.Line(fmt.Sprintf("The first of its %s:", humanize.Plural(s.Lines, "line")))
	for line := range strings.Lines(s.First) {
		t.Line("  ", strings.TrimRight(line, "\n"))
	}
	t.Line(output.Dim(s.Help))
}
