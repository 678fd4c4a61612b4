package index

import (
	"errors"
	"fmt"
	"sort"

	"github.com/mcp-launchpad/mcpl/pkg/search"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// rankings is the number of rankings; see pack.go.
const rankings = 3

// rankingOf returns the ranking that documents of a kind are in.
func rankingOf(kind tool.Kind) int {
	switch kind {
	case tool.Resource, tool.Template:
		return 1
	case tool.Prompt:
		return 2
	}
	return 0
}

// ranked is one ranking in a snapshot.
type ranked struct {
	at   int // in the file
	data []byte
	docs int // the number of documents it should have
}

// open opens the ranking.
func (r *ranked) open() (*search.Index, error) {
	ix, err := search.Open(r.data)
	if err == nil && ix.Len() != r.docs {
		err = errors.New("it ranks other documents")
	}
	return ix, err
}

// ranked returns which documents of a server are in a ranking: n of them, from the first-th on.
func (s *ServerInfo) ranked(which int) (first, n int) {
	switch which {
	case 1:
		return s.first + s.Tools, s.Resources + s.Templates
	case 2:
		return s.documents(tool.Prompt)
	}
	return s.documents(tool.Tool)
}

// Search ranks the definitions of a kind: tools, resources together with templates, or prompts; see
// [search.Index.Search]. Other kinds do not take part. It fails with [ErrDamaged] or the error of a bad query.
func (sn *Snapshot) Search(q search.Query, kind tool.Kind) ([]search.Hit, error) {
	which := rankingOf(kind)
	r := &sn.ranked[which]
	ix, err := r.open()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if from, to := ix.Texts(); sn.file != nil && q.Method != search.Regex && q.Method != search.Exact {
		sn.file.cold(r.at+from, r.at+to)
	}
	if keep := q.Keep; keep != nil && r.docs != sn.Len() {
		q.Keep = func(place int) bool { return keep(sn.document(which, place)) }
	}
	hits, err := ix.Search(q)
	if errors.Is(err, search.ErrCorrupt) {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	for i := range hits {
		hits[i].Doc = sn.document(which, hits[i].Doc)
	}
	return hits, err
}

// document returns the number of the document that has a place in a ranking.
func (sn *Snapshot) document(which, place int) int {
	if sn.ranked[which].docs == sn.Len() { // the ranking has all documents
		return place
	}
	// The place belongs to the last server whose documents begin there or before: other servers that begin at the same
	// place have no documents.
	i := sort.Search(len(sn.servers), func(i int) bool { return sn.servers[i].place[which] > place }) - 1
	first, _ := sn.servers[i].ranked(which)
	return first + place - sn.servers[i].place[which]
}
