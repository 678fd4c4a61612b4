package index

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"sort"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/packed"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// ErrDamaged says that search.idx is not a packed index of this version, or has changed since it was written.
var ErrDamaged = errors.New("the packed index is damaged")

// ErrReplaced says that tool_index.json has been replaced since the snapshot was opened, so that a definition can no
// longer be read through it. A snapshot that is opened now can read it.
var ErrReplaced = errors.New("the index has been replaced meanwhile")

// Snapshot is a packed index open for reading. It does not change while it is open, and is safe for concurrent use.
// [Snapshot.Close] unmaps the file: nothing may read the snapshot then or later. Answers are copies and stay valid.
type Snapshot struct {
	file    *mapping // nil if served from memory
	data    []byte
	defs    func(span) ([]byte, error) // reads tool_index.json
	defFile string                     // path of tool_index.json; empty if the definitions are in memory
	stamp   Stamp
	servers []ServerInfo
	warn    []string
	defSize int64
	defTime int64
	table   []byte
	records []byte
	ranked  [rankings]ranked
	// recordsAt is where the records begin in the file.
	recordsAt int
}

// ServerInfo is a snapshot's record of a server.
type ServerInfo struct {
	Facts
	// Tools, Resources, Templates and Prompts count what the server has. Tokens estimates what the definitions of the
	// tools cost a model.
	Tools, Resources, Templates, Prompts, Tokens int

	first int           // number of its first document
	place [rankings]int // its first place in each ranking
}

// Offers returns how many tools, resources, templates and prompts the server has.
func (s *ServerInfo) Offers() int { return s.Tools + s.Resources + s.Templates + s.Prompts }

// documents returns where the documents of a kind are: n of them, from the first-th on.
func (s *ServerInfo) documents(kind tool.Kind) (first, n int) {
	counts := [...]int{s.Tools, s.Resources, s.Templates, s.Prompts}
	i := slices.Index(kinds(), kind)
	first = s.first
	for _, n := range counts[:i] {
		first += n
	}
	return first, counts[i]
}

// kind returns the kind of one of its documents.
func (s *ServerInfo) kind(doc int) tool.Kind {
	for _, kind := range kinds() {
		if first, n := s.documents(kind); doc < first+n {
			return kind
		}
	}
	return tool.Tool // the document belongs to another server
}

// Record is a snapshot's record of a tool, resource or prompt, as a hit shows it.
type Record struct {
	Doc                int
	Kind               tool.Kind
	Server             string
	Name               string // for a resource its URI
	Title              string
	Description        string // its first sentences
	Signature          string
	Required           []string
	MediaType          string // of a resource, if it says so
	definitionLocation span
}

// Open maps search.idx. It fails with [ErrDamaged], with fs.ErrNotExist, or if tool_index.json is not the file that
// the packed index was made from. A fault says that this process cannot open any file.
func (s Store) Open() (*Snapshot, error) {
	file, err := mapFile(s.packedFile())
	if err != nil {
		return nil, err
	}
	sn, err := parseSnapshot(file.data)
	if err != nil {
		file.close()
		return nil, err
	}
	sn.file = file
	file.cold(sn.recordsAt, sn.recordsAt+len(sn.records))
	sn.defFile, sn.defs = s.toolsFile(), s.readDefinition
	if !sn.hasDefinitions() {
		sn.Close()
		return nil, fmt.Errorf("%w: %s is another than it was made from", ErrDamaged, s.toolsFile())
	}
	return sn, nil
}

// hasDefinitions reports whether tool_index.json is still the file that the snapshot was made from.
func (sn *Snapshot) hasDefinitions() bool {
	if sn.defFile == "" {
		return true
	}
	info, err := os.Stat(sn.defFile)
	return err == nil && info.Size() == sn.defSize && info.ModTime().UnixNano() == sn.defTime
}

// Holds reports whether search.idx is the one that sn was opened from or saved as. It reads only the header: the
// checksum there covers the times of every listing and of tool_index.json.
func (s Store) Holds(sn *Snapshot) bool {
	file, _, err := openFile(s.packedFile())
	if err != nil {
		return false
	}
	defer file.Close()
	var head [headerSize]byte
	_, err = io.ReadFull(file, head[:])
	return err == nil && bytes.Equal(head[:], sn.data[:headerSize])
}

func (s Store) readDefinition(at span) ([]byte, error) {
	file, _, err := openFile(s.toolsFile())
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw := make([]byte, at.len)
	if _, err := io.ReadFull(io.NewSectionReader(file, at.off, at.len), raw); err != nil {
		return nil, err
	}
	return raw, nil
}

// parseSnapshot reads the header and the meta section of a packed index.
func parseSnapshot(data []byte) (*Snapshot, error) {
	if len(data) < headerSize || string(data[:8]) != packedMagic {
		return nil, fmt.Errorf("%w: no header", ErrDamaged)
	}
	if v := binary.LittleEndian.Uint32(data[8:]); v != packedVersion {
		return nil, fmt.Errorf("%w: it has version %d, this mcpl reads version %d", ErrDamaged, v, packedVersion)
	}
	var n [4 + 2*rankings]uint64
	for i := range n {
		if n[i] = binary.LittleEndian.Uint64(data[16+8*i:]); n[i] > uint64(len(data)) {
			return nil, fmt.Errorf("%w: a section lies outside the file", ErrDamaged)
		}
	}
	metaLen, tableAt, docs, recordsAt, searchAt := n[0], n[1], n[2], n[3], n[4]
	overlap := headerSize+metaLen > tableAt || tableAt+docs*tableEntry > recordsAt || recordsAt > searchAt
	for i, end := 4, uint64(0); i < len(n); i += 2 {
		overlap = overlap || n[i] < end || n[i]+n[i+1] > uint64(len(data))
		end = n[i] + n[i+1]
	}
	if overlap {
		return nil, fmt.Errorf("%w: its sections overlap", ErrDamaged)
	}
	if crc32.ChecksumIEEE(data[16:headerSize+metaLen]) != binary.LittleEndian.Uint32(data[12:]) {
		return nil, fmt.Errorf("%w: checksum of its head", ErrDamaged)
	}
	sn := &Snapshot{data: data, table: data[tableAt : tableAt+docs*tableEntry], records: data[recordsAt:searchAt],
		recordsAt: int(recordsAt)}
	for i := range sn.ranked {
		at, size := n[4+2*i], n[5+2*i]
		sn.ranked[i] = ranked{at: int(at), data: data[at : at+size]}
	}
	return sn, sn.parseMeta(data[headerSize : headerSize+metaLen])
}

// parseMeta reads the meta section, and gives each server the numbers of its documents.
func (sn *Snapshot) parseMeta(meta []byte) error {
	r := &packed.Reader{Rest: meta}
	if sn.codeMeta(&packed.Codec{From: r}); r.Bad || len(r.Rest) > 0 {
		return fmt.Errorf("%w: its head cannot be read", ErrDamaged)
	}
	total := 0
	for i := range sn.servers {
		s := &sn.servers[i]
		s.first = total
		for _, kind := range kinds() {
			_, n := s.documents(kind)
			if n < 0 || n > sn.Len()-total {
				return fmt.Errorf("%w: it counts more than it has", ErrDamaged)
			}
			total += n
		}
		for which := range sn.ranked {
			s.place[which] = sn.ranked[which].docs
			_, n := s.ranked(which)
			sn.ranked[which].docs += n
		}
	}
	if total != sn.Len() {
		return fmt.Errorf("%w: it counts its tools in two ways", ErrDamaged)
	}
	return nil
}

// Close releases the file.
func (sn *Snapshot) Close() error {
	if sn.file == nil {
		return nil
	}
	return sn.file.close()
}

// Matches reports whether the snapshot was made from exactly these files, unchanged. digest returns the digest of
// process variables, given the names that the configuration refers to.
func (sn *Snapshot) Matches(sources []config.Source, approvals string, digest func(names []string) uint64) bool {
	return slices.EqualFunc(sources, sn.stamp.Sources, func(a, b config.Source) bool {
		return a.Path == b.Path && a.MTime == b.MTime && a.Size == b.Size
	}) && approvals == sn.stamp.Approvals && digest(sn.stamp.EnvNames) == sn.stamp.EnvDigest
}

// Servers returns the servers in configuration order.
func (sn *Snapshot) Servers() []ServerInfo { return sn.servers }

// Warnings returns what was wrong with the configuration when it was read.
func (sn *Snapshot) Warnings() []string { return sn.warn }

// Server returns the server of that name.
func (sn *Snapshot) Server(name string) (ServerInfo, bool) {
	i := slices.IndexFunc(sn.servers, func(s ServerInfo) bool { return s.Name == name })
	if i < 0 {
		return ServerInfo{}, false
	}
	return sn.servers[i], true
}

// Len returns the number of documents: tools, resources, templates and prompts.
func (sn *Snapshot) Len() int { return len(sn.table) / tableEntry }

// ServerOf returns the name of the server that document doc belongs to.
func (sn *Snapshot) ServerOf(doc int) string { return sn.serverOf(doc).Name }

func (sn *Snapshot) serverOf(doc int) *ServerInfo {
	holds := func(i int) bool { return sn.servers[i].first+sn.servers[i].Offers() > doc }
	return &sn.servers[sort.Search(len(sn.servers), holds)]
}

// NameOf returns the name of document doc. Unlike [Snapshot.Record] it is meant for many documents: it reads the
// mapping, without a system call for each. It fails with [ErrDamaged].
func (sn *Snapshot) NameOf(doc int) (string, error) {
	rec, err := sn.record(doc, false)
	return rec.Name, err
}

// Record reads the record of document doc. It fails with [ErrDamaged].
func (sn *Snapshot) Record(doc int) (Record, error) { return sn.record(doc, sn.file != nil) }

// record reads a record, from the file or from the mapping, which is better for many records.
func (sn *Snapshot) record(doc int, fromFile bool) (Record, error) {
	entry := sn.table[doc*tableEntry : (doc+1)*tableEntry]
	u64 := binary.LittleEndian.Uint64
	at, off := span{int64(u64(entry)), int64(u64(entry[8:])), binary.LittleEndian.Uint32(entry[28:])}, u64(entry[16:])
	size := uint64(binary.LittleEndian.Uint32(entry[24:]))
	if off > uint64(len(sn.records)) || size > uint64(len(sn.records))-off {
		return Record{}, fmt.Errorf("%w: a record lies outside the file", ErrDamaged)
	}
	raw := sn.records[off : off+size]
	if fromFile {
		var err error
		if raw, err = sn.file.read(sn.recordsAt+int(off), int(size)); err != nil {
			return Record{}, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	crc := crc32.Update(crc32.ChecksumIEEE(entry[:entryCRC]), crc32.IEEETable, raw)
	if crc != binary.LittleEndian.Uint32(entry[entryCRC:]) || at.off < 0 || at.len < 0 || at.len > sn.defSize {
		return Record{}, fmt.Errorf("%w: checksum of a record", ErrDamaged)
	}
	r := &packed.Reader{Rest: raw}
	server := sn.serverOf(doc)
	rec := Record{Doc: doc, Kind: server.kind(doc), Server: server.Name, definitionLocation: at}
	if codeRecord(&packed.Codec{From: r}, &rec); r.Bad {
		return Record{}, fmt.Errorf("%w: a record cannot be read", ErrDamaged)
	}
	return rec, nil
}

// Records returns a server's records of a kind, in the server's order.
func (sn *Snapshot) Records(server string, kind tool.Kind) ([]Record, error) {
	info, ok := sn.Server(server)
	if !ok {
		return nil, nil
	}
	first, n := info.documents(kind)
	list := make([]Record, 0, n)
	for doc := first; doc < first+n; doc++ {
		rec, err := sn.record(doc, false)
		if err != nil {
			return nil, err
		}
		list = append(list, rec)
	}
	return list, nil
}

// Find returns the record that a reference names.
func (sn *Snapshot) Find(ref tool.Ref) (Record, bool, error) {
	info, ok := sn.Server(ref.Server)
	if !ok {
		return Record{}, false, nil
	}
	first, n := info.documents(ref.Kind)
	for doc := first; doc < first+n; doc++ {
		rec, err := sn.record(doc, false)
		if err != nil || rec.Name == ref.Name {
			return rec, err == nil, err
		}
	}
	return Record{}, false, nil
}

// FileState tells one state of a file from others. States are compared with ==.
type FileState = atomicfile.Stamp

// DefinitionsFile returns the state of tool_index.json now. It is always the same if the definitions are in memory.
func (sn *Snapshot) DefinitionsFile() (FileState, error) {
	if sn.defFile == "" {
		return FileState{}, nil
	}
	return atomicfile.StampOf(sn.defFile)
}

// Definition reads one definition from tool_index.json. It fails with [ErrReplaced] or [ErrDamaged].
func (sn *Snapshot) Definition(rec Record) (tool.Def, error) {
	raw, err := sn.defs(rec.definitionLocation)
	if err == nil && crc32.ChecksumIEEE(raw) != rec.definitionLocation.crc {
		err = fmt.Errorf("tool_index.json holds another definition of %s", rec.Name)
	}
	if err != nil {
		return tool.Def{}, sn.unreadable(err)
	}
	def, err := tool.Parse(rec.Kind, raw)
	if err != nil || def.Name != rec.Name || def.Kind != rec.Kind {
		return tool.Def{}, sn.unreadable(fmt.Errorf("tool_index.json does not hold %s where it should", rec.Name))
	}
	return def, nil
}

// unreadable returns the error of a definition that cannot be read for the reason given. The file is looked at only
// then: mostly nothing is wrong with it.
func (sn *Snapshot) unreadable(reason error) error {
	if errors.As(reason, new(*fault.Fault)) {
		return reason
	}
	if !sn.hasDefinitions() {
		return fmt.Errorf("%w: %w", ErrReplaced, reason)
	}
	return fmt.Errorf("%w: %w", ErrDamaged, reason)
}
