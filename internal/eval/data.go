package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcp-launchpad/mcpl/pkg/search"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// set is a catalogue of tools with labelled queries.
type set struct {
	name    string
	docs    []search.Document
	queries []query
}

// query is a text and the groups of documents that answer it. Documents of a group are
// interchangeable.
type query struct {
	id, text string
	groups   []group
}

type group struct {
	docs []int
	gain float64
}

// toolLine and queryLine are the lines of tools.jsonl and queries.jsonl.
type toolLine struct {
	Server      string          `json:"server"`
	Tool        string          `json:"tool"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

type queryLine struct {
	ID       string `json:"id"`
	Query    string `json:"query"`
	Relevant []struct {
		tool.Ref
		Group int     `json:"g"`
		Rel   float64 `json:"rel"`
	} `json:"relevant"`
}

// readSet reads the set in dir; one without queries.jsonl has none.
func readSet(dir string) (*set, error) {
	s := &set{name: filepath.Base(dir)}
	at := map[tool.Ref][]int{}
	err := readLines(filepath.Join(dir, "tools.jsonl"), func(line []byte) error {
		var t toolLine
		if err := json.Unmarshal(line, &t); err != nil {
			return err
		}
		ref := tool.Ref{Server: t.Server, Name: t.Tool}
		at[ref] = append(at[ref], len(s.docs))
		s.docs = append(s.docs, document(&t))
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = readLines(filepath.Join(dir, "queries.jsonl"), func(line []byte) error {
		var l queryLine
		if err := json.Unmarshal(line, &l); err != nil {
			return err
		}
		q, err := labelled(&l, at)
		s.queries = append(s.queries, q)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return s, err
}

// labelled resolves the labels of a query to documents.
func labelled(l *queryLine, at map[tool.Ref][]int) (query, error) {
	q := query{id: l.ID, text: l.Query}
	groups := map[int]int{}
	for _, r := range l.Relevant {
		docs, ok := at[r.Ref]
		if !ok {
			return q, fmt.Errorf("query %s: no tool %s", l.ID, r.Ref)
		}
		i, ok := groups[r.Group]
		if !ok {
			i = len(q.groups)
			groups[r.Group] = i
			q.groups = append(q.groups, group{})
		}
		g := &q.groups[i]
		g.docs = append(g.docs, docs...)
		g.gain = max(g.gain, r.Rel)
	}
	return q, nil
}

// document turns a line into what ranking sees, parameters in the order of their names.
func document(t *toolLine) search.Document {
	d := search.Document{Server: t.Server, Name: t.Tool, Title: t.Title, Description: t.Description}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	// A schema that is not an object has no parameters to search.
	_ = json.Unmarshal(t.InputSchema, &schema)
	for name, raw := range schema.Properties {
		var p struct {
			Description string `json:"description"`
		}
		_ = json.Unmarshal(raw, &p) // nor has a property that is none a description
		d.Params = append(d.Params, search.Param{Name: name, Description: p.Description})
	}
	slices.SortFunc(d.Params, func(x, y search.Param) int {
		if x.Name < y.Name {
			return -1
		}
		return 1
	})
	return d
}

func readLines(path string, use func([]byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 64<<20)
	for n := 1; sc.Scan(); n++ {
		if err := use(sc.Bytes()); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
	return sc.Err()
}

// readSets reads every folder of dir that has queries, or the one called only.
func readSets(dir, only string) ([]*set, error) {
	if only != "" {
		s, err := readSet(filepath.Join(dir, only))
		return []*set{s}, err
	}
	if _, err := os.Stat(filepath.Join(dir, "tools.jsonl")); err == nil {
		s, err := readSet(dir)
		return []*set{s}, err
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*", "queries.jsonl"))
	if err != nil {
		return nil, err
	}
	var sets []*set
	for _, p := range paths {
		s, err := readSet(filepath.Dir(p))
		if err != nil {
			return nil, err
		}
		sets = append(sets, s)
	}
	if len(sets) == 0 {
		return nil, fmt.Errorf("no folder of %s has a queries.jsonl", dir)
	}
	return sets, nil
}

// mixIn adds the tools of bg to the catalogue of s, except those that s has already.
func mixIn(s, bg *set) {
	have := map[tool.Ref]bool{}
	for _, d := range s.docs {
		have[tool.Ref{Server: d.Server, Name: d.Name}] = true
	}
	for _, d := range bg.docs {
		if !have[tool.Ref{Server: d.Server, Name: d.Name}] {
			s.docs = append(s.docs, d)
		}
	}
}
