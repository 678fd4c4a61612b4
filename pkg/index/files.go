package index

import (
	"bytes"
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
// has changed, tool_index.json stays as it is and the rankings are taken over. If writing fails, err says why, and the
// snapshot is still good, served from memory.
func (s Store) Save(cat *Catalog, stamp Stamp) (*Snapshot, error) {
	for _, path := range []string{s.toolsFile(), s.metaFile(), s.packedFile()} {
		_ = atomicfile.Sweep(path) // a leftover costs only its room
	}
	defs, spans := renderDefinitions(cat)
	meta := metadata{Version: metaVersion, Definitions: digest(defs), Stamp: stamp, Warnings: cat.Warnings}
	for _, server := range cat.Servers {
		server.Error = kept(server.Error)
		meta.Servers = append(meta.Servers, server.Meta)
	}
	text, err := json.MarshalIndent(meta, "", "  ")
	if err != nil {
		return nil, err
	}
	same, err := s.writeDefinitions(defs)
	if err == nil {
		err = replace(s.metaFile(), append(text, '\n'))
	}
	mtime := int64(0)
	if info, statErr := os.Stat(s.toolsFile()); statErr == nil && err == nil {
		mtime = info.ModTime().UnixNano()
	}
	var packed []byte
	if same {
		packed = s.repack(cat, stamp, int64(len(defs)), mtime)
	}
	if packed == nil {
		packed = pack(cat, stamp, spans, int64(len(defs)), mtime)
	}
	if err == nil {
		err = replace(s.packedFile(), packed)
	}
	sn, openErr := parseSnapshot(packed)
	if openErr != nil { // what pack made must be readable
		return nil, openErr
	}
	for i := range sn.servers {
		sn.servers[i].Error = cat.Servers[i].Error // whole, for the process that has listed it
	}
	sn.defs = func(at span) ([]byte, error) { return defs[at.off : at.off+at.len], nil }
	return sn, err
}

// writeDefinitions writes tool_index.json, unless it is this text already.
func (s Store) writeDefinitions(defs []byte) (same bool, err error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return false, err
	}
	if len(defs) > maxFile {
		return false, fmt.Errorf("the definitions have %d bytes, more than %d", len(defs), maxFile)
	}
	info, err := os.Stat(s.toolsFile())
	if err == nil && info.Size() == int64(len(defs)) {
		if data, err := readFile(s.toolsFile()); err == nil && bytes.Equal(data, defs) {
			return true, nil
		}
	}
	return false, replace(s.toolsFile(), defs)
}

// replace writes a file of the index. Anything else in its place goes: the folder is mcpl's own.
func replace(path string, data []byte) error {
	err := atomicfile.Write(path, data, 0o600)
	if errors.Is(err, atomicfile.ErrUnfit) {
		if err = os.Remove(path); err == nil {
			err = atomicfile.Write(path, data, 0o600)
		}
	}
	return err
}

// repack renders search.idx with what the present one has of the definitions, which are the same. It returns nil if the
// file is missing, damaged or made from another tool_index.json.
func (s Store) repack(cat *Catalog, stamp Stamp, defsSize, defsMTime int64) []byte {
	old, err := s.Open()
	if err != nil {
		return nil
	}
	defer old.Close()
	from, err := old.body()
	if err != nil {
		return nil
	}
	return packBody(cat, stamp, from, defsSize, defsMTime)
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
			raw := def.Raw()
			spans = append(spans, span{int64(b.Len()), int64(len(raw)), crc32.ChecksumIEEE(raw)})
			b.Write(raw)
		})
		b.WriteString("\n]}")
	}
	b.WriteString("\n]}\n")
	return b.Bytes(), spans
}
