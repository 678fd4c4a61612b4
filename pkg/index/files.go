package index

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// The versions of the two JSON files. A file of another version is rebuilt.
//
//	tool_index.json      1: the first; members "resources" and "prompts" were added
//	index_metadata.json  1: of times when only tools were listed
//	                     2: the same members, but resources and prompts have been listed too
//	                     3: servers of projects are listed only if they are approved
//
// In metadata of version 1 no server counts as listed: each is asked once more for everything it offers.
const (
	formatVersion = 1
	metaVersion   = 3
)

// Store is the folder of one configuration set. It need not exist.
type Store struct{ Dir string }

func (s Store) toolsFile() string  { return filepath.Join(s.Dir, "tool_index.json") }
func (s Store) metaFile() string   { return filepath.Join(s.Dir, "index_metadata.json") }
func (s Store) packedFile() string { return filepath.Join(s.Dir, "search.idx") }
func (s Store) lockFile() string   { return filepath.Join(s.Dir, "lock") }

// Lock takes the store for writing, waiting for other processes until ctx ends. Readers need no lock, since files are
// only ever replaced as a whole. The error is one of the file system or of ctx.
func (s Store) Lock(ctx context.Context) (unlock func(), err error) {
	lock, err := atomicfile.NewLock(s.lockFile())
	if err != nil {
		return nil, err
	}
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return nil, err
	}
	return func() { lock.Unlock() }, nil
}

// TryLock takes the store for writing. If another process has it, free is false.
func (s Store) TryLock() (unlock func(), free bool, err error) {
	lock, err := atomicfile.NewLock(s.lockFile())
	if err != nil {
		return nil, false, err
	}
	free, err = lock.TryLock()
	return func() { lock.Unlock() }, free, err
}

// definitions is the layout of tool_index.json.
type definitions struct {
	Version int `json:"version"`
	Servers []struct {
		Name      string            `json:"name"`
		Tools     []json.RawMessage `json:"tools"`
		Resources []json.RawMessage `json:"resources"`
		Prompts   []json.RawMessage `json:"prompts"`
	} `json:"servers"`
}

// metadata is the layout of index_metadata.json.
type metadata struct {
	Version int `json:"version"`
	// Definitions is the SHA-256 of the tool_index.json that this belongs to.
	Definitions string `json:"definitions"`
	Stamp
	Warnings []string `json:"warnings,omitempty"`
	Servers  []Meta   `json:"servers"`
}

// Load reads both JSON files. It does not trust metadata that are damaged, of another version or of another tool
// index: it keeps the definitions, but their servers count as Unknown. The notice says so. It is empty if all is
// well, or if there was no index yet.
func (s Store) Load() (cat *Catalog, notice string) {
	cat = new(Catalog)
	data, err := readFile(s.toolsFile())
	if errors.Is(err, atomicfile.ErrUnfit) {
		notice = fmt.Sprintf("%s is built anew: %v", s.toolsFile(), err)
	}
	if err != nil { // there was no index, or none that can be read
		return cat, notice
	}
	defs, err := parseDefinitions(data)
	if err != nil {
		return cat, fmt.Sprintf("the tool index %s is damaged and is built anew: %v", s.toolsFile(), err)
	}
	metas, warnings, version, err := s.loadMeta(data)
	cat.BeforeApprovals = err == nil && version < 3
	if err != nil {
		notice = fmt.Sprintf("the index metadata %s is not usable, servers are asked again: %v", s.metaFile(), err)
	}
	cat.Warnings = warnings
	for _, d := range defs {
		if m, ok := metas[d.Name]; ok {
			d.Meta = m
		}
		cat.Servers = append(cat.Servers, d)
	}
	return cat, notice
}

func parseDefinitions(data []byte) ([]Server, error) {
	var file definitions
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	if file.Version != formatVersion {
		return nil, fmt.Errorf("it has version %d, this mcpl writes version %d", file.Version, formatVersion)
	}
	servers := make([]Server, 0, len(file.Servers))
	for _, s := range file.Servers {
		server := Server{Meta: Meta{Facts: Facts{Name: s.Name, State: Unknown}}}
		for _, list := range []struct {
			kind tool.Kind
			raws []json.RawMessage
			defs *[]tool.Def
		}{{tool.Tool, s.Tools, &server.Tools}, {tool.Resource, s.Resources, &server.Resources},
			{tool.Prompt, s.Prompts, &server.Prompts}} {
			for _, raw := range list.raws {
				def, err := tool.Parse(list.kind, raw)
				if err != nil {
					return nil, fmt.Errorf("a %s of %s: %w", list.kind, s.Name, err)
				}
				*list.defs = append(*list.defs, def)
			}
		}
		servers = append(servers, server)
	}
	return servers, nil
}

// loadMeta reads the metadata that belongs to the definitions in data.
func (s Store) loadMeta(data []byte) (metas map[string]Meta, warnings []string, version int, err error) {
	raw, err := readFile(s.metaFile())
	if err != nil {
		return nil, nil, 0, err
	}
	var file metadata
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, nil, 0, err
	}
	if file.Version < 1 || file.Version > metaVersion {
		return nil, nil, 0, fmt.Errorf("it has version %d, this mcpl writes version %d", file.Version, metaVersion)
	}
	if file.Definitions != digest(data) {
		return nil, nil, 0, errors.New("it belongs to another tool index")
	}
	metas = make(map[string]Meta, len(file.Servers))
	for _, m := range file.Servers {
		if file.Version == 1 && m.State == Listed {
			m.State = Unknown
		}
		metas[m.Name] = m
	}
	return metas, file.Warnings, file.Version, nil
}

// Save writes the files and returns the snapshot of them. The caller holds the lock. Each file is replaced atomically,
// the packed one last: a reader sees the old state or the new one, or a mixture that it recognises. If no definition
// has changed, tool_index.json stays as it is and the rankings are taken over. If ctx ends before the first file is
// replaced, none is, and the error is that of the context. If writing fails, err says why, and the snapshot is still
// good, served from memory.
func (s Store) Save(ctx context.Context, cat *Catalog, stamp Stamp) (*Snapshot, error) {
	for _, path := range []string{s.toolsFile(), s.metaFile(), s.packedFile()} {
		_ = atomicfile.Sweep(path) // a leftover costs only its room
	}
	r, err := within(ctx, func() rendered { return s.render(cat) }, func(rendered) {})
	if err != nil {
		return nil, err
	}
	meta := metadata{Version: metaVersion, Definitions: digest(r.defs), Stamp: stamp, Warnings: cat.Warnings}
	for _, server := range cat.Servers {
		server.Error = kept(server.Error)
		meta.Servers = append(meta.Servers, server.Meta)
	}
	text, err := json.MarshalIndent(meta, "", "  ")
	if err != nil {
		return nil, err
	}
	w := writing{err: os.MkdirAll(s.Dir, 0o700)}
	if len(r.defs) > maxFile {
		w.err = fmt.Errorf("the definitions have %d bytes, more than %d", len(r.defs), maxFile)
	}
	made := s.toolsFile()
	if !r.same {
		made = w.prepare(ctx, s.toolsFile(), r.defs)
	}
	mtime := int64(0)
	if info, statErr := os.Stat(made); statErr == nil && w.err == nil {
		mtime = info.ModTime().UnixNano()
	}
	w.prepare(ctx, s.metaFile(), append(text, '\n'))
	packed := packBody(cat, stamp, r.body, int64(len(r.defs)), mtime)
	w.prepare(ctx, s.packedFile(), packed)
	if err = w.commit(); ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil, err
	}
	sn, openErr := parseSnapshot(packed)
	if openErr != nil { // what pack made must be readable
		return nil, openErr
	}
	for i := range sn.servers {
		sn.servers[i].Error = cat.Servers[i].Error // whole, for the process that has listed it
	}
	sn.defs = func(at span) ([]byte, error) { return r.defs[at.off : at.off+at.len], nil }
	return sn, err
}

// rendered is what Save computes of the definitions.
type rendered struct {
	defs []byte // tool_index.json
	body body
	same bool // defs are what the file holds
}

func (s Store) render(cat *Catalog) (r rendered) {
	defs, spans := renderDefinitions(cat)
	r.defs, r.same = defs, s.holds(defs)
	if r.same {
		if old := s.oldBody(); old != nil {
			r.body = *old
			return r
		}
	}
	r.body = newBody(cat, spans)
	return r
}

// holds reports whether tool_index.json is this text already.
func (s Store) holds(defs []byte) bool {
	info, err := os.Stat(s.toolsFile())
	if err != nil || info.Size() != int64(len(defs)) {
		return false
	}
	data, err := readFile(s.toolsFile())
	return err == nil && bytes.Equal(data, defs)
}

// oldBody returns what search.idx has of the definitions. It is nil if the file is missing, damaged or made from
// another tool_index.json.
func (s Store) oldBody() *body {
	old, err := s.Open()
	if err != nil {
		return nil
	}
	defer old.Close()
	from, err := old.body()
	if err != nil {
		return nil
	}
	from.table, from.records = slices.Clone(from.table), slices.Clone(from.records) // which are in the file
	for i := range from.rankings {
		from.rankings[i] = slices.Clone(from.rankings[i])
	}
	return &from
}

// writing replaces several files, if none of them fails before the first is replaced.
type writing struct {
	pending []*atomicfile.Pending
	err     error // the first
}

// prepare writes the new content of a file, and returns the name that it has until commit.
func (w *writing) prepare(ctx context.Context, path string, data []byte) (temp string) {
	type result struct {
		*atomicfile.Pending
		err error
	}
	if w.err != nil {
		return ""
	}
	write := func() result {
		p, err := atomicfile.Prepare(path, data, 0o600)
		if errors.Is(err, atomicfile.ErrUnfit) { // the folder is mcpl's own
			if err = os.Remove(path); err == nil {
				p, err = atomicfile.Prepare(path, data, 0o600)
			}
		}
		return result{p, err}
	}
	r, err := within(ctx, write, func(late result) {
		if late.err == nil {
			late.Discard()
		}
	})
	if w.err = cmp.Or(err, r.err); w.err != nil {
		return ""
	}
	w.pending = append(w.pending, r.Pending)
	return r.Temp
}

// commit replaces the files, unless one could not be written.
func (w *writing) commit() error {
	for _, p := range w.pending {
		if w.err != nil {
			p.Discard()
			continue
		}
		_, w.err = p.Commit()
	}
	return w.err
}

// within returns what do returns, or the error of ctx if that ends first: a large index takes seconds to make, and a
// slow disk to write. do then goes on, and late gets what it returns.
func within[T any](ctx context.Context, do func() T, late func(T)) (result T, err error) {
	done := make(chan T)
	go func() { // ends with do
		result := do()
		select {
		case done <- result:
		case <-ctx.Done():
			late(result)
		}
	}()
	select {
	case result = <-done:
		return result, nil
	case <-ctx.Done():
		return result, ctx.Err()
	}
}

// kept returns what the files hold of the failure of a server: its type and message, and what to do next. Traceback and
// help quote what the server wrote, and with that perhaps a secret that mcpl does not know.
func kept(f *fault.Fault) *fault.Fault {
	if f == nil {
		return nil
	}
	k := *f
	k.Traceback, k.Help, k.Suggestions, k.Arguments, k.Result = "", "", nil, nil, nil
	asks := func(n fault.Next) bool { return n.Step != nil && (n.Step.Verb == "list" || n.Step.Verb == "doctor") }
	if f.Help != "" && !slices.ContainsFunc(k.Next, asks) {
		again := fault.Step{Verb: "list", Server: f.Server, Args: []string{"--refresh", "--verbose"}}
		k.Next = append(slices.Clone(k.Next), fault.Next{Why: "See all it says with", Step: &again})
	}
	return &k
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// span is the place of a definition in tool_index.json, and its checksum.
type span struct {
	off, len int64
	crc      uint32
}

// renderDefinitions writes tool_index.json, one definition a line, and returns the place of each, in the order of the
// documents.
func renderDefinitions(cat *Catalog) ([]byte, []span) {
	lists := [rankings]string{"tools", "resources", "prompts"}
	var b bytes.Buffer
	var spans []span
	fmt.Fprintf(&b, "{\"version\":%d,\"servers\":[", formatVersion)
	for i, server := range cat.Servers {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n{\"name\":%s,\"tools\":[", tool.Quote(server.Name))
		in, separator := "tools", ""
		server.documents(func(def tool.Def) {
			if list := lists[rankingOf(def.Kind)]; list != in {
				fmt.Fprintf(&b, "\n],\"%s\":[", list)
				in, separator = list, ""
			}
			b.WriteString(separator + "\n")
			separator = ","
			raw := def.Whole()
			spans = append(spans, span{int64(b.Len()), int64(len(raw)), crc32.ChecksumIEEE(raw)})
			b.Write(raw)
		})
		b.WriteString("\n]}")
	}
	b.WriteString("\n]}\n")
	return b.Bytes(), spans
}
