package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/search"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// ErrDamaged says that search.idx is no packed index of this version, or has changed since it
// was written.
var ErrDamaged = errors.New("the packed index is damaged")

// Snapshot is a packed index open for reading. It does not change while it is open. Close it
// after the last use of anything it returned.
type Snapshot struct {
	file    *mapping // nil: served from memory
	data    []byte
	defs    func(span) ([]byte, error) // reads tool_index.json
	stamp   Stamp
	servers []ServerInfo
	warn    []string
	defSize int64
	defTime int64
	table   []byte
	records []byte
	ranking []byte
	// recordsAt is where the records begin in the file.
	recordsAt int
}

// ServerInfo is what a snapshot holds of a server.
type ServerInfo struct {
	Name          string
	State         State
	ServerName    string // what the server calls itself
	Instructions  string // the beginning of them
	ListedAt      time.Time
	TriedAt       time.Time
	TTL           time.Duration
	Tools, Tokens int
	Off           bool
	Notes         []string
	Error         *fault.Fault
	first         int // number of its first document
}

// Record is what a snapshot holds of a tool for printing it as a hit.
type Record struct {
	Doc                int
	Server             string
	Name               string
	Title              string
	Description        string // its first sentences
	Signature          string
	Required           []string
	definitionLocation span
}

// Open maps search.idx. It fails with [ErrDamaged], or fs.ErrNotExist, or when tool_index.json is
// not the file that the packed index was made from.
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
	info, err := os.Stat(s.toolsFile())
	if err != nil || info.Size() != sn.defSize || info.ModTime().UnixNano() != sn.defTime {
		sn.Close()
		return nil, fmt.Errorf("%w: %s is another than it was made from", ErrDamaged, s.toolsFile())
	}
	sn.defs = s.readDefinition
	return sn, nil
}

func (s Store) readDefinition(at span) ([]byte, error) {
	file, err := os.Open(s.toolsFile())
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
	var n [6]uint64
	for i := range n {
		if n[i] = binary.LittleEndian.Uint64(data[16+8*i:]); n[i] > uint64(len(data)) {
			return nil, fmt.Errorf("%w: a section lies outside the file", ErrDamaged)
		}
	}
	metaLen, tableAt, docs, recordsAt, searchAt, searchLen := n[0], n[1], n[2], n[3], n[4], n[5]
	size := uint64(len(data))
	if headerSize+metaLen > tableAt || tableAt+docs*tableEntry > recordsAt || recordsAt > searchAt || searchAt+searchLen > size {
		return nil, fmt.Errorf("%w: its sections overlap", ErrDamaged)
	}
	if crc32.ChecksumIEEE(data[16:headerSize+metaLen]) != binary.LittleEndian.Uint32(data[12:]) {
		return nil, fmt.Errorf("%w: checksum of its head", ErrDamaged)
	}
	sn := &Snapshot{data: data,
		table:     data[tableAt : tableAt+docs*tableEntry],
		records:   data[recordsAt:searchAt],
		recordsAt: int(recordsAt),
		ranking:   data[searchAt : searchAt+searchLen]}
	if err := sn.parseMeta(data[headerSize : headerSize+metaLen]); err != nil {
		return nil, err
	}
	total := 0
	for i := range sn.servers {
		if sn.servers[i].Tools < 0 || sn.servers[i].Tools > sn.Len()-total {
			return nil, fmt.Errorf("%w: it counts more tools than it has", ErrDamaged)
		}
		sn.servers[i].first = total
		total += sn.servers[i].Tools
	}
	if uint64(total) != docs {
		return nil, fmt.Errorf("%w: it counts its tools in two ways", ErrDamaged)
	}
	return sn, nil
}

func (sn *Snapshot) parseMeta(meta []byte) error {
	r := &reader{b: meta}
	sn.defSize, sn.defTime = int64(r.uvarint()), r.varint()
	for range r.count() {
		sn.stamp.Sources = append(sn.stamp.Sources, config.Source{Path: r.string(), MTime: r.varint(), Size: r.varint()})
	}
	sn.stamp.EnvNames = r.strings()
	sn.stamp.EnvDigest = r.uint64()
	sn.warn = r.strings()
	for range r.count() {
		sn.servers = append(sn.servers, r.server())
	}
	if r.bad || len(r.b) > 0 {
		return fmt.Errorf("%w: its head cannot be read", ErrDamaged)
	}
	return nil
}

func (r *reader) server() ServerInfo {
	s := ServerInfo{Name: r.string(), State: State(r.string()), ServerName: r.string(), Instructions: r.string(),
		ListedAt: timeOf(r.varint()), TriedAt: timeOf(r.varint()), TTL: time.Duration(r.varint()),
		Tools: int(r.uvarint()), Tokens: int(r.uvarint()), Off: r.byte() != 0, Notes: r.strings()}
	if e := r.strings(); len(e) == 4 {
		s.Error = &fault.Fault{Type: fault.Type(e[0]), Message: e[1], Traceback: e[2], Help: e[3], Server: s.Name}
	}
	return s
}

func timeOf(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

// Close releases the file. The snapshot and its strings that alias the file are gone then.
func (sn *Snapshot) Close() error {
	if sn.file == nil {
		return nil
	}
	return sn.file.close()
}

// Matches reports whether the snapshot was made from exactly these files, unchanged. lookup
// gives the process variables' digest for the names that the configuration refers to.
func (sn *Snapshot) Matches(sources []config.Source, digest func(names []string) uint64) bool {
	return slices.EqualFunc(sources, sn.stamp.Sources, func(a, b config.Source) bool {
		return a.Path == b.Path && a.MTime == b.MTime && a.Size == b.Size
	}) && digest(sn.stamp.EnvNames) == sn.stamp.EnvDigest
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

// Len returns the number of tools.
func (sn *Snapshot) Len() int { return len(sn.table) / tableEntry }

// ServerOf returns the name of the server that document doc belongs to.
func (sn *Snapshot) ServerOf(doc int) string {
	i, _ := slices.BinarySearchFunc(sn.servers, doc, func(s ServerInfo, doc int) int {
		switch {
		case s.first+s.Tools <= doc:
			return -1
		case s.first > doc:
			return 1
		}
		return 0
	})
	return sn.servers[i].Name
}

// NameOf returns the name of document doc. Unlike [Snapshot.Record] it is meant for many: it reads
// the mapping, without a system call for each. It fails with [ErrDamaged].
func (sn *Snapshot) NameOf(doc int) (string, error) {
	rec, err := sn.record(doc, nil)
	return rec.Name, err
}

// Record reads what a hit prints of document doc. It fails with [ErrDamaged].
func (sn *Snapshot) Record(doc int) (Record, error) {
	if sn.file == nil {
		return sn.record(doc, nil)
	}
	return sn.record(doc, func(off, n int) ([]byte, error) { return sn.file.read(sn.recordsAt+off, n) })
}

// record reads a record through read, or from the mapping, which is better for many.
func (sn *Snapshot) record(doc int, read func(off, n int) ([]byte, error)) (Record, error) {
	entry := sn.table[doc*tableEntry : (doc+1)*tableEntry]
	u64 := binary.LittleEndian.Uint64
	at, off := span{int64(u64(entry)), int64(u64(entry[8:]))}, u64(entry[16:])
	size := uint64(binary.LittleEndian.Uint32(entry[24:]))
	if off > uint64(len(sn.records)) || size > uint64(len(sn.records))-off {
		return Record{}, fmt.Errorf("%w: a record lies outside the file", ErrDamaged)
	}
	raw := sn.records[off : off+size]
	if read != nil {
		var err error
		if raw, err = read(int(off), int(size)); err != nil {
			return Record{}, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	crc := crc32.Update(crc32.ChecksumIEEE(entry[:28]), crc32.IEEETable, raw)
	if crc != binary.LittleEndian.Uint32(entry[28:]) || at.off < 0 || at.len < 0 || at.len > sn.defSize {
		return Record{}, fmt.Errorf("%w: checksum of a record", ErrDamaged)
	}
	r := &reader{b: raw}
	rec := Record{Doc: doc, Server: sn.ServerOf(doc), Name: r.string(), Title: r.string(), Description: r.string(),
		Signature: r.string(), Required: r.strings(), definitionLocation: at}
	if r.bad {
		return Record{}, fmt.Errorf("%w: a record cannot be read", ErrDamaged)
	}
	return rec, nil
}

// Records returns the tools of a server in its own order.
func (sn *Snapshot) Records(server string) ([]Record, error) {
	info, ok := sn.Server(server)
	if !ok {
		return nil, nil
	}
	list := make([]Record, 0, info.Tools)
	for doc := info.first; doc < info.first+info.Tools; doc++ {
		rec, err := sn.record(doc, nil)
		if err != nil {
			return nil, err
		}
		list = append(list, rec)
	}
	return list, nil
}

// Find returns the record of a tool by its names.
func (sn *Snapshot) Find(ref tool.Ref) (Record, bool, error) {
	info, ok := sn.Server(ref.Server)
	if !ok {
		return Record{}, false, nil
	}
	for doc := info.first; doc < info.first+info.Tools; doc++ {
		rec, err := sn.record(doc, nil)
		if err != nil || rec.Name == ref.Name {
			return rec, err == nil, err
		}
	}
	return Record{}, false, nil
}

// Definition reads one definition from tool_index.json.
func (sn *Snapshot) Definition(rec Record) (tool.Def, error) {
	raw, err := sn.defs(rec.definitionLocation)
	if err != nil {
		return tool.Def{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	def, err := tool.ParseDef(raw)
	if err != nil || def.Name != rec.Name {
		return tool.Def{}, fmt.Errorf("%w: tool_index.json does not hold %s where it should", ErrDamaged, rec.Name)
	}
	return def, nil
}

// Search ranks the tools; see [search.Index.Search]. It fails with [ErrDamaged] or the error of
// a bad query.
func (sn *Snapshot) Search(q search.Query) ([]search.Hit, error) {
	ix, err := search.Open(sn.ranking)
	if err == nil && ix.Len() != sn.Len() {
		err = errors.New("it ranks other tools")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if from, to := ix.Texts(); sn.file != nil && q.Method != search.Regex && q.Method != search.Exact {
		at := sn.recordsAt + len(sn.records)
		sn.file.cold(at+from, at+to)
	}
	hits, err := ix.Search(q)
	if errors.Is(err, search.ErrCorrupt) {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return hits, err
}

// reader decodes what pack.go's append functions wrote. Once something is amiss, bad is set and
// all further reads are zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) fail() { r.b, r.bad = nil, true }

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

// count reads the number of things that follow, each of at least one byte.
func (r *reader) count() int {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.fail()
		return nil
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

func (r *reader) string() string { return string(r.take(r.count())) }

func (r *reader) strings() []string {
	var list []string
	for range r.count() {
		list = append(list, r.string())
	}
	return list
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}
