package search

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"hash/crc32"
	"os"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "write the fixture of the present format version")

// fixture is the index of catalogue() as format version 1 packs it. When the format changes,
// formatVersion has to change with it, and this fixture stays, beside one of the new version.
const fixture = "testdata/v1.idx"

// TestFixture holds the format: what was written before must still be read, and give the same
// answers as what is written now.
func TestFixture(t *testing.T) {
	t.Parallel()
	now := Build(catalogue())
	if *update {
		if err := os.WriteFile(fixture, now, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(fixture)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(old, now) {
		t.Error("Build packs the same documents in another way: if the format, the words, the stems or the lengths " +
			"changed, that is a new formatVersion with a line in its changelog and a fixture of its own")
	}
	ix, err := Open(old)
	if err != nil {
		t.Fatal(err)
	}
	hits, err := ix.Search(Query{Text: "create an issue", Limit: 1})
	if err != nil || len(hits) != 1 || catalogue()[hits[0].Doc].Name != "create_issue" {
		t.Errorf("the fixture answers %+v, %v", hits, err)
	}
}

// An index of a future version differs from a damaged one.
func TestOtherVersion(t *testing.T) {
	t.Parallel()
	b := Build(catalogue())
	binary.LittleEndian.PutUint32(b[len(magic):], formatVersion+1)
	if _, err := Open(b); !errors.Is(err, ErrVersion) {
		t.Errorf("Open: %v", err)
	}
	if _, err := Open([]byte("{}")); !errors.Is(err, ErrCorrupt) {
		t.Errorf("Open: %v", err)
	}
}

// TestNonsenseBehindChecksums changes every byte and mends the checksums, so that only the
// checks of what the bytes mean are left. Answers may be wrong then, but nothing may panic.
func TestNonsenseBehindChecksums(t *testing.T) {
	t.Parallel()
	good := Build(catalogue())
	queries := []Query{{Text: "create an isue", Explain: true}, {Text: "file", Method: Exact}, {Text: "f.le", Method: Regex}}
	for i := range good {
		for _, change := range []byte{0x01, 0x80, 0xff} {
			bad := slices.Clone(good)
			bad[i] ^= change
			ix, err := Open(repaired(bad))
			for q := 0; err == nil && q < len(queries); q++ {
				_, err = ix.Search(queries[q])
			}
			if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
				t.Fatalf("byte %d: %v", i, err)
			}
		}
	}
}

// TestOpenReadsLittle proves that opening does not read everything: damage behind the header
// does not show before a query meets it.
func TestOpenReadsLittle(t *testing.T) {
	t.Parallel()
	b := Build(synthetic(2000))
	at := len(b) / 2
	b[at] ^= 1
	ix, err := Open(b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ix.Search(Query{Text: "a", Method: Regex}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a search of every text met no damage: %v", err)
	}
}

func TestPackFreq(t *testing.T) {
	t.Parallel()
	for _, x := range []float64{.004, .1, .5, 1, 1.03, 2, 3.7, 100, 255} {
		got := float64(unpackFreq(packFreq(x)))
		if got < x*31/32 || got > x*33/32 {
			t.Errorf("%v became %v", x, got)
		}
	}
	if unpackFreq(packFreq(1e9)) > 256 || unpackFreq(packFreq(1e-9)) != 1./256 {
		t.Error("frequencies out of range are not clamped")
	}
	for b := 1; b < 256; b++ {
		if packFreq(float64(unpackFreq(byte(b)))) != byte(b) {
			t.Errorf("%d does not survive", b)
		}
	}
}

// TestChecksum pins the checksum and the hash: they are parts of the format.
func TestChecksum(t *testing.T) {
	t.Parallel()
	if crc32.ChecksumIEEE([]byte("mcpl")) != 0xc9a2d13e {
		t.Errorf("CRC-32 is %#x", crc32.ChecksumIEEE([]byte("mcpl")))
	}
	if hash("issue") != 0x1c54d4fa9f0321da {
		t.Errorf("the hash is %#x", hash("issue"))
	}
}
