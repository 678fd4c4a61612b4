package index

import (
	"bytes"
	"os"
	"testing"
	"time"
)

// servers.md, S3: `list ONE --refresh` in a configuration of 45 servers rewrote the whole index. If no definition has
// changed, tool_index.json stays and the rankings are taken over; what is damaged is built anew all the same.
func TestSaveWritesOnlyWhatHasChanged(t *testing.T) {
	t.Parallel()
	read := func(path string) []byte {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	nothing := func(*Catalog, Store) {}
	flip := func(at func([]byte) int) func(*Catalog, Store) {
		return func(_ *Catalog, s Store) {
			data := read(s.packedFile())
			data[at(data)] ^= 1
			if err := os.WriteFile(s.packedFile(), data, 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	for name, tt := range map[string]struct {
		change func(*Catalog, Store)
		same   bool // tool_index.json
	}{
		"only times":                 {nothing, true},
		"a failure":                  {func(cat *Catalog, _ Store) { cat.Servers[0].State = Failed }, true},
		"warnings of another length": {func(cat *Catalog, _ Store) { cat.Warnings = []string{"ab", "c"} }, true},
		"a definition": {func(cat *Catalog, _ Store) {
			cat.Servers[0].Tools[1] = def(t, `{"name":"list_issues","description":"List Issues"}`)
		}, false},
		"one definition less": {func(cat *Catalog, _ Store) { cat.Servers[0].Tools = cat.Servers[0].Tools[:1] }, false},
		"a server's name":     {func(cat *Catalog, _ Store) { cat.Servers[0].Name = "other" }, false},
		"tool_index.json is another": {func(_ *Catalog, s Store) {
			if err := os.WriteFile(s.toolsFile(), bytes.ToUpper(read(s.toolsFile())), 0o600); err != nil {
				t.Error(err)
			}
		}, false},
		"search.idx is gone":  {func(_ *Catalog, s Store) { _ = os.Remove(s.packedFile()) }, true},
		"damage in the table": {flip(func([]byte) int { return headerSize + 700 }), true},
		"damage in a ranking": {flip(func(data []byte) int { return len(data) * 3 / 4 }), true},
		"damage at the end":   {flip(func(data []byte) int { return len(data) - 9 }), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cat, stamp := sample(t)
			s := save(t, cat, stamp)
			before, err := os.Stat(s.toolsFile())
			if err != nil {
				t.Fatal(err)
			}
			cat.Servers[0].TriedAt = cat.Servers[0].TriedAt.Add(time.Hour)
			tt.change(cat, s)
			if _, err := s.Save(t.Context(), cat, stamp); err != nil {
				t.Fatal(err)
			}
			after, err := os.Stat(s.toolsFile())
			if err != nil || os.SameFile(before, after) != tt.same {
				t.Errorf("the same file: %t, want %t (%v)", !tt.same, tt.same, err)
			}
			defs, spans := renderDefinitions(cat)
			if !bytes.Equal(read(s.toolsFile()), defs) {
				t.Error("tool_index.json is not that of the catalog")
			}
			want := pack(cat, stamp, spans, int64(len(defs)), after.ModTime().UnixNano())
			if !bytes.Equal(read(s.packedFile()), want) {
				t.Error("search.idx is not that of the catalog")
			}
			sn, err := s.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer sn.Close()
			if _, err := sn.body(); err != nil {
				t.Error(err)
			}
		})
	}
}
