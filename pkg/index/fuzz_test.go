package index

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"os"
	"slices"
	"testing"
)

// fixed returns a packed index with correct checksums of head and records, so that fuzzing gets
// behind them.
func fixed(data []byte) []byte {
	if len(data) < headerSize {
		return data
	}
	data = append([]byte(packedMagic), data[8:]...)
	binary.LittleEndian.PutUint32(data[8:], packedVersion)
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(data[at:]) }
	size := uint64(len(data))
	if n := u64(16); n <= size-headerSize {
		binary.LittleEndian.PutUint32(data[12:], crc32.ChecksumIEEE(data[16:headerSize+n]))
	}
	table, docs, records := u64(24), u64(32), u64(40)
	for doc := range min(docs, 100) {
		at := table + doc*tableEntry
		if table > size || at+tableEntry > size || records > size {
			break
		}
		entry := data[at : at+tableEntry]
		off, n := binary.LittleEndian.Uint64(entry[16:]), uint64(binary.LittleEndian.Uint32(entry[24:]))
		if off > size-records || n > size-records-off {
			continue
		}
		raw := data[records+off : records+off+n]
		crc := crc32.Update(crc32.ChecksumIEEE(entry[:entryCRC]), crc32.IEEETable, raw)
		binary.LittleEndian.PutUint32(entry[entryCRC:], crc)
	}
	return data
}

// FuzzSnapshot: any bytes are a snapshot that can be read to the end, or damaged; never a panic.
func FuzzSnapshot(f *testing.F) {
	cat, stamp := sample(f)
	defs, spans := renderDefinitions(cat)
	packed := pack(cat, stamp, spans, int64(len(defs)), 42)
	f.Add(packed, false)
	f.Add(packed, true)
	f.Add(packed[:headerSize], true)
	f.Add(pack(&Catalog{}, Stamp{}, nil, 0, 0), true)
	f.Fuzz(func(t *testing.T, data []byte, fix bool) {
		if fix {
			data = fixed(data)
		}
		sn, err := parseSnapshot(data)
		if err == nil {
			sn.defs = func(at span) ([]byte, error) {
				if at.off < 0 || at.len < 0 || at.off > int64(len(defs)) || at.len > int64(len(defs))-at.off {
					return nil, errors.New("outside the file")
				}
				return defs[at.off : at.off+at.len], nil
			}
			err = readAll(sn)
			for _, s := range sn.Servers() {
				for _, kind := range kinds() {
					recs, _ := sn.Records(s.Name, kind)
					for _, rec := range recs {
						if d, err := sn.Definition(rec); err == nil && (d.Name != rec.Name || d.Kind != rec.Kind) {
							t.Fatalf("the definition of the %s %q is the %s %q", rec.Kind, rec.Name, d.Kind, d.Name)
						}
					}
				}
			}
		}
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
	})
}

// FuzzLoad: whatever the two readable files hold, loading them gives servers whose tools have
// names, and what was loaded can be saved and loaded again.
func FuzzLoad(f *testing.F) {
	cat, stamp := sample(f)
	s := save(f, cat, stamp)
	defs, err := os.ReadFile(s.toolsFile())
	if err != nil {
		f.Fatal(err)
	}
	meta, err := os.ReadFile(s.metaFile())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(defs, meta, true)
	f.Add([]byte(`{"version":1,"servers":[{"name":"a","tools":[{"name":"x"}],"resources":[{"uriTemplate":"x:{y}"},{"uri":"x:y"}],"prompts":[{"name":"x"}]},{"name":"a"}]}`), []byte(`{"version":1,"servers":[{"name":"a","state":"listed"}]}`), true)
	f.Add([]byte(`{"version":1,"servers":null}`), []byte(`{`), false)
	f.Fuzz(func(t *testing.T, defs, meta []byte, fix bool) {
		if fix { // the metadata's checksum of the definitions
			var m map[string]any
			if json.Unmarshal(meta, &m) == nil && m != nil {
				m["definitions"] = digest(defs)
				meta, _ = json.Marshal(m)
			}
		}
		s := Store{Dir: t.TempDir()}
		if err := errors.Join(os.WriteFile(s.toolsFile(), defs, 0o600), os.WriteFile(s.metaFile(), meta, 0o600)); err != nil {
			t.Fatal(err)
		}
		cat, _ := s.Load()
		for _, server := range cat.Servers {
			for _, d := range slices.Concat(server.Tools, server.Resources, server.Prompts) {
				if d.Name == "" {
					t.Fatalf("a %s without a name", d.Kind)
				}
			}
		}
		sn, err := s.Save(t.Context(), cat, Stamp{})
		if err != nil {
			t.Fatal(err)
		}
		if err := readAll(sn); err != nil {
			t.Fatal(err)
		}
		if again, notice := s.Load(); notice != "" || len(again.Servers) != len(cat.Servers) {
			t.Fatalf("loaded again: %d servers of %d, %s", len(again.Servers), len(cat.Servers), notice)
		}
	})
}
