package engine

import (
	"sync"

	"github.com/mcp-launchpad/mcpl/pkg/canonical"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// maxDefinitions bounds the definitions that an engine remembers, in bytes.
const maxDefinitions = 4 << 20

// definitions remember what was called, so that the next call of the same does not look for it in the index, and
// neither parses nor hashes it. They are those of one state of the index and its file. The zero value is ready for use.
type definitions struct {
	mu    sync.Mutex
	of    *index.Snapshot
	file  index.FileState
	size  int
	known map[tool.Ref]*definition
}

// definition is one definition with what calls need of it. It does not change.
type definition struct {
	tool.Def
	hints     tool.Hints
	needsTask bool
	// hash returns the canonical hash of the definition, which is computed once.
	hash func() (string, error)

	record index.Record
}

func newDefinition(def tool.Def) *definition {
	return &definition{Def: def, hints: def.Hints(), needsTask: needsTask(def),
		hash: sync.OnceValues(func() (string, error) { return canonical.Hash(def.Raw()) })}
}

// record returns the record of a remembered definition of the snapshot.
func (d *definitions) record(sn *index.Snapshot, ref tool.Ref) (index.Record, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of != sn || d.known[ref] == nil {
		return index.Record{}, false
	}
	return d.known[ref].record, true
}

// get returns the definition of a record, which ref names. It is read from the index unless the snapshot and the file
// are those that it was remembered of.
func (d *definitions) get(sn *index.Snapshot, ref tool.Ref, rec index.Record) (*definition, error) {
	// The state is older than what is read, so that a change between the two makes the next call read again.
	file, statErr := sn.DefinitionsFile()
	d.mu.Lock()
	if d.of == sn && d.file == file && statErr == nil && d.known[ref] != nil {
		defer d.mu.Unlock()
		return d.known[ref], nil
	}
	d.mu.Unlock()
	def, err := sn.Definition(rec)
	if err != nil {
		return nil, err
	}
	made := newDefinition(def)
	made.record = rec
	if statErr == nil && file.Settled() {
		d.put(sn, file, ref, made)
	}
	return made, nil
}

func (d *definitions) put(sn *index.Snapshot, file index.FileState, ref tool.Ref, made *definition) {
	size := 0
	for _, f := range made.Fields {
		size += len(f.Key) + len(f.Value)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of != sn || d.file != file || d.size+size > maxDefinitions {
		d.of, d.file, d.size, d.known = sn, file, 0, make(map[tool.Ref]*definition)
	}
	if d.known[ref] == nil {
		d.known[ref], d.size = made, d.size+size
	}
}
