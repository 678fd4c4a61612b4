package index

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/packed"
	"github.com/mcp-launchpad/mcpl/pkg/search"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

var update = flag.Bool("update", false, "write the fixture of the packed version in force")

func def(t testing.TB, raw string) tool.Def { return defOf(t, tool.Tool, raw) }

func defOf(t testing.TB, kind tool.Kind, raw string) tool.Def {
	t.Helper()
	d, err := tool.Parse(kind, []byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// sample is a catalog with something of everything.
func sample(t testing.TB) (*Catalog, Stamp) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123, time.UTC)
	cat := &Catalog{
		Warnings: []string{"/x/.mcp.json:3: something is odd"},
		Servers: []Server{
			{Meta: Meta{Facts: Facts{Name: "git", State: Listed, ListedAt: at, TriedAt: at, TTL: time.Hour,
				Known: tool.Known{Protocol: "2025-11-25", Transport: "sse", Asks: true},
				Pin:   config.HoldPins, Pins: "0123abcd", Changes: 2,
				ServerName: "git-server", Instructions: "Keeps repositories. Use it well.", Notes: []string{"a note"}},
				Transport: "stdio", Fingerprint: "f1", SaidTTL: time.Hour, Took: time.Second, ServerVersion: "1.2"},
				Tools: []tool.Def{
					def(t, `{"name":"create_issue","title":"Create issue","description":"Create an issue.\n\nMore of it.","inputSchema":{ "type":"object",`+
						`"properties":{"title":{"type":"string"},"n":{"type":"integer"}},"required":["title"]},"x-vendor":1.0}`),
					def(t, `{"name":"list_issues","description":"List issues"}`),
				},
				Resources: []tool.Def{
					defOf(t, tool.Resource, `{ "uri":"git://readme","name":"README","description":"How to create.","mimeType":"text/markdown","size": 12.0 }`),
					defOf(t, tool.Resource, `{"uri":"git://log","name":"log","title":"The log","mimeType":7}`),
					defOf(t, tool.Resource, `{"uriTemplate":"git://blob/{path}","name":"blob","mimeType":"text/plain"}`),
				},
				Prompts: []tool.Def{defOf(t, tool.Prompt, `{"name":"create_issue","description":"Ask for an issue to create",`+
					`"arguments":[{"name":"topic","required":true},{"name":"tone"}]}`)},
			},
			{Meta: Meta{Facts: Facts{Name: "off", State: Unknown, Off: true}, Transport: "http"}},
			{Meta: Meta{Transport: "stdio", Facts: Facts{Name: "down", State: Failed, TriedAt: at,
				Error: fault.New(fault.Timeout, "down is down", "").On("down", "").
					Then("Ask it again with", fault.Step{Verb: "list", Server: "down", Args: []string{"--refresh"}}).
					ThenSet("Put", fault.Set{Variable: "TOKEN", File: "/x/.env"})}},
				Tools:   []tool.Def{def(t, `{"name":"größe","description":"Größe <b>&amp;</b> \u001b[31m"}`)},
				Prompts: []tool.Def{defOf(t, tool.Prompt, `{"name":"größe"}`), defOf(t, tool.Prompt, `{"name":"kleine"}`)}},
			{Meta: Meta{Transport: "stdio", Facts: Facts{Name: "empty", State: Listed, ListedAt: at, TriedAt: at}}},
			{Meta: Meta{Transport: "stdio", Facts: Facts{Name: "books", State: Listed, ListedAt: at, TriedAt: at}},
				Resources: []tool.Def{defOf(t, tool.Resource, `{"uriTemplate":"book://{isbn}","name":"book"}`)}},
		},
	}
	cat.Servers[slices.IndexFunc(cat.Servers, func(s Server) bool { return s.Name == "down" })].Error.Reason = "refused"
	stamp := Stamp{Sources: []config.Source{{Path: "/x/.mcp.json", Why: "found", MTime: 12345, Size: 99}},
		EnvNames: []string{"A", "B"}, EnvDigest: 0xfeedface12345678}
	return cat, stamp
}

func save(t testing.TB, cat *Catalog, stamp Stamp) Store {
	t.Helper()
	s := Store{Dir: filepath.Join(t.TempDir(), "key")}
	unlock, err := s.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	sn, err := s.Save(t.Context(), cat, stamp)
	if err != nil {
		t.Fatal(err)
	}
	check(t, sn)
	return s
}

// check holds a snapshot of the sample to what was put in.
func check(t testing.TB, sn *Snapshot) {
	t.Helper()
	cat, _ := sample(t)
	if sn.Len() != 10 || !slices.Equal(sn.Warnings(), cat.Warnings) || len(sn.Servers()) != 5 {
		t.Fatalf("%d documents of %d servers, warnings %q", sn.Len(), len(sn.Servers()), sn.Warnings())
	}
	for i, got := range sn.Servers() {
		in := cat.Servers[i]
		want := ServerInfo{Facts: in.Facts, Tools: len(in.Tools), Prompts: len(in.Prompts)}
		for _, d := range in.Tools {
			want.Tokens += d.Tokens()
		}
		for _, d := range in.Resources {
			if d.Kind == tool.Resource {
				want.Resources++
			} else {
				want.Templates++
			}
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(ServerInfo{}, fault.Fault{}),
			cmpopts.EquateApproxTime(0)); diff != "" {
			t.Errorf("%s: -want +got\n%s", in.Name, diff)
		}
		defs := slices.Concat(in.Tools, in.Resources, in.Prompts)
		var recs []Record
		for _, kind := range kinds() {
			some, err := sn.Records(in.Name, kind)
			if err != nil {
				t.Fatalf("%ss of %s: %v", kind, in.Name, err)
			}
			recs = append(recs, some...)
		}
		if len(recs) != len(defs) {
			t.Fatalf("records of %s: %v", in.Name, recs)
		}
		for j, rec := range recs {
			if rec.Server != in.Name || rec.Kind != defs[j].Kind || rec.Name != defs[j].Name || rec.Title != defs[j].Title ||
				sn.ServerOf(rec.Doc) != in.Name {
				t.Errorf("record %+v", rec)
			}
			found, ok, err := sn.Find(tool.Ref{Server: in.Name, Name: rec.Name, Kind: rec.Kind})
			if err != nil || !ok || found.Doc != rec.Doc {
				t.Errorf("%s/%s is not found: %v, %v", in.Name, rec.Name, ok, err)
			}
		}
	}
	if rec, ok, err := sn.Find(tool.Ref{Server: "git", Name: "git://readme"}); ok || err != nil {
		t.Errorf("a resource is found as a tool: %+v, %v", rec, err)
	}
	if rec, _, err := sn.Find(tool.Ref{Server: "git", Name: "git://readme", Kind: tool.Resource}); rec.MediaType != "text/markdown" {
		t.Errorf("media type of %+v, %v", rec, err)
	}
	if rec, _, err := sn.Find(tool.Ref{Server: "git", Name: "create_issue", Kind: tool.Prompt}); rec.Signature != "topic: string, tone?: string" {
		t.Errorf("signature of %+v, %v", rec, err)
	}
	first, err := sn.Record(0)
	if err != nil || first.Description != "Create an issue." || first.Signature != "title: string, n?: integer" || !slices.Equal(first.Required, []string{"title"}) {
		t.Errorf("record 0: %+v, %v", first, err)
	}
	for kind, want := range map[tool.Kind]string{tool.Tool: "[0 6]", tool.Resource: "[2 3 4 9]", tool.Template: "[2 3 4 9]", tool.Prompt: "[5 7 8]"} {
		var docs []int
		hits, err := sn.Search(search.Query{Text: ".", Method: search.Regex, Keep: func(doc int) bool { return doc != 1 }},
			kind)
		for _, h := range hits {
			docs = append(docs, h.Doc)
		}
		slices.Sort(docs)
		if got := fmt.Sprint(docs); got != want || err != nil {
			t.Errorf("search of %ss: %s, want %s, %v", kind, got, want, err)
		}
	}
	hits, err := sn.Search(search.Query{Text: "create"}, tool.Tool)
	if err != nil || len(hits) == 0 || hits[0].Doc != 0 {
		t.Errorf("search: %+v, %v", hits, err)
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	cat, stamp := sample(t)
	s := save(t, cat, stamp)
	sn, err := s.Open()
	if err != nil {
		t.Fatal(err)
	}
	check(t, sn)
	for _, server := range cat.Servers {
		for _, want := range slices.Concat(server.Tools, server.Resources, server.Prompts) {
			rec, _, err := sn.Find(tool.Ref{Server: server.Name, Name: want.Name, Kind: want.Kind})
			if err != nil {
				t.Fatal(err)
			}
			got, err := sn.Definition(rec)
			if err != nil || string(got.Raw()) != string(want.Raw()) {
				t.Errorf("definition %s, %v", got.Raw(), err)
			}
		}
	}
	for _, ref := range []tool.Ref{{Server: "git", Name: "none"}, {Server: "none", Name: "create_issue"}, {Server: "off", Name: ""}} {
		if _, ok, err := sn.Find(ref); ok || err != nil {
			t.Errorf("%v: %v, %v", ref, ok, err)
		}
	}
	if recs, err := sn.Records("none", tool.Tool); recs != nil || err != nil {
		t.Errorf("records of no server: %v, %v", recs, err)
	}
	if err := sn.Close(); err != nil {
		t.Error(err)
	}
	// The readable files hold the same.
	again, notice := s.Load()
	if notice != "" {
		t.Error(notice)
	}
	if diff := cmp.Diff(cat, again, cmpopts.IgnoreUnexported(fault.Fault{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-saved +loaded\n%s", diff)
	}
	text, err := os.ReadFile(s.toolsFile())
	if err != nil || !json.Valid(text) || !strings.Contains(string(text), "\n{\"name\":\"list_issues\"") {
		t.Errorf("tool_index.json is not one definition a line: %v\n%s", err, text)
	}
	if again.Find("down") == nil || again.Find("none") != nil {
		t.Error("Find finds the wrong servers")
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	cat, stamp := sample(t)
	sn, err := save(t, cat, stamp).Open()
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	digest := func(names []string) uint64 {
		if !slices.Equal(names, stamp.EnvNames) {
			t.Errorf("asked for %v", names)
		}
		return stamp.EnvDigest
	}
	if !sn.Matches(stamp.Sources, "", digest) {
		t.Error("it does not match what it was made from")
	}
	for name, change := range map[string]func(*config.Source){
		"path": func(s *config.Source) { s.Path += "x" }, "time": func(s *config.Source) { s.MTime++ },
		"size": func(s *config.Source) { s.Size++ },
	} {
		sources := slices.Clone(stamp.Sources)
		change(&sources[0])
		if sn.Matches(sources, "", digest) {
			t.Errorf("it matches another %s", name)
		}
	}
	if sn.Matches(stamp.Sources, "another", digest) {
		t.Error("it matches other approvals")
	}
	if sn.Matches(nil, "", digest) || sn.Matches(append(stamp.Sources, stamp.Sources...), "", digest) {
		t.Error("it matches more or fewer files")
	}
	if sn.Matches(stamp.Sources, "", func([]string) uint64 { return 1 }) {
		t.Error("it matches other variables")
	}
}

// TestDamagedOpen: what is not the file that was written is refused, with ErrDamaged.
func TestDamagedOpen(t *testing.T) {
	t.Parallel()
	cat, stamp := sample(t)
	s := save(t, cat, stamp)
	good, err := os.ReadFile(s.packedFile())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Store{Dir: t.TempDir()}).Open(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing there: %v", err)
	}
	for n := range len(good) {
		if n > headerSize && n%7 != 0 {
			continue
		}
		// A file that ends early must be refused when it is opened or when that part is read.
		sn, err := parseSnapshot(good[:n])
		if err == nil {
			err = readAll(sn)
		}
		if !errors.Is(err, ErrDamaged) {
			t.Fatalf("the first %d bytes: %v", n, err)
		}
	}
	other := Store{Dir: t.TempDir()}
	for name, content := range map[string][]byte{"empty": {}, "short": good[:headerSize-1], "foreign": slices.Repeat([]byte("x"), 500)} {
		if err := os.WriteFile(other.packedFile(), content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Open(); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The packed index without its definitions, or with others.
	if err := os.Chtimes(s.toolsFile(), time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(); !errors.Is(err, ErrDamaged) {
		t.Errorf("definitions of another time: %v", err)
	}
	if err := os.Remove(s.toolsFile()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(); !errors.Is(err, ErrDamaged) {
		t.Errorf("no definitions: %v", err)
	}
}

// TestF10EachDefinitionHasAChecksum: a definition that has changed in its place, with size and time of the file as they
// were, is not taken for the one that was listed.
func TestF10EachDefinitionHasAChecksum(t *testing.T) {
	t.Parallel()
	cat, stamp := sample(t)
	s := save(t, cat, stamp)
	good, err := os.ReadFile(s.toolsFile())
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(s.toolsFile())
	if err != nil {
		t.Fatal(err)
	}
	write := func(data []byte) {
		if err := errors.Join(os.WriteFile(s.toolsFile(), data, 0o600),
			os.Chtimes(s.toolsFile(), info.ModTime(), info.ModTime())); err != nil {
			t.Fatal(err)
		}
	}
	sn, err := s.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	rec, _, err := sn.Find(tool.Ref{Server: "git", Name: "create_issue"})
	if err != nil {
		t.Fatal(err)
	}
	at := rec.definitionLocation
	for i := at.off; i < at.off+at.len; i++ {
		bad := slices.Clone(good)
		bad[i] ^= 1 << (i % 8)
		write(bad)
		if _, err := sn.Definition(rec); !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
	write(good)
	if _, err := sn.Definition(rec); err != nil {
		t.Error(err)
	}
}

// TestF8FailuresAreKeptShort: of a failure the files hold type and message and what to do next. The process that has
// listed the server has all of it.
func TestF8FailuresAreKeptShort(t *testing.T) {
	t.Parallel()
	failure := fault.New(fault.ServerConnection, "x exited", "It said CANARYhelp.").On("x", "").Trace("stderr: CANARYtrace")
	failure.Result = "CANARYresult"
	failure.ThenSet("Add to", fault.Set{Variable: "TOKEN", File: "/x/.env"})
	cat := &Catalog{Servers: []Server{{Meta: Meta{Facts: Facts{Name: "x", State: Failed, Error: failure}}}}}
	s := Store{Dir: t.TempDir()}
	sn, err := s.Save(t.Context(), cat, Stamp{})
	if err != nil {
		t.Fatal(err)
	}
	if info, _ := sn.Server("x"); info.Error != failure {
		t.Errorf("right after the listing there is %+v", info.Error)
	}
	for _, path := range []string{s.metaFile(), s.packedFile()} {
		data, err := os.ReadFile(path)
		if err != nil || bytes.Contains(data, []byte("CANARY")) {
			t.Errorf("%s: %v\n%s", path, err, data)
		}
	}
	opened, err := s.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	loaded, _ := s.Load()
	info, _ := opened.Server("x")
	for what, got := range map[string]*fault.Fault{"search.idx": info.Error, "index_metadata.json": loaded.Servers[0].Error} {
		if got.Type != failure.Type || got.Message != failure.Message || len(got.Next) != 2 ||
			got.Next[0].Set.Variable != "TOKEN" || got.Next[1].Step.Verb != "list" {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

// TestFlippedBits: a flipped bit is noticed, or is in padding and changes nothing.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	cat, stamp := sample(t)
	s := save(t, cat, stamp)
	good, err := os.ReadFile(s.packedFile())
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 1 << (i % 8)
		sn, err := parseSnapshot(bad)
		if err == nil {
			err = readAll(sn)
		}
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("byte %d: %v", i, err)
			}
			continue
		}
		check(t, sn)
		if t.Failed() {
			t.Fatalf("byte %d", i)
		}
	}
}

// readAll reads everything that a snapshot holds.
func readAll(sn *Snapshot) error {
	for _, s := range sn.Servers() {
		for _, kind := range kinds() {
			recs, err := sn.Records(s.Name, kind)
			if err != nil {
				return err
			}
			for _, rec := range recs {
				if _, _, err := sn.Find(tool.Ref{Server: rec.Server, Name: rec.Name, Kind: rec.Kind}); err != nil {
					return err
				}
			}
		}
	}
	for _, q := range []search.Query{{Text: "create issue größe"}, {Text: ".", Method: search.Regex}, {Text: "e", Method: search.Exact}} {
		for _, kind := range kinds() {
			hits, err := sn.Search(q, kind)
			if err != nil {
				return err
			}
			for _, h := range hits {
				rec, err := sn.Record(h.Doc)
				if err != nil {
					return err
				}
				if rankingOf(rec.Kind) != rankingOf(kind) {
					return fmt.Errorf("a search of %ss finds the %s %s", kind, rec.Kind, rec.Name)
				}
			}
		}
	}
	return nil
}

// TestKindsApart: tools are found and ranked as if there were no resources and prompts.
func TestKindsApart(t *testing.T) {
	t.Parallel()
	mixed, stamp := sample(t)
	plain, _ := sample(t)
	for i := range plain.Servers {
		plain.Servers[i].Resources, plain.Servers[i].Prompts = nil, nil
	}
	for _, q := range []search.Query{{Text: "create issue", Explain: true}, {Text: "kleine"}, {Text: "größe"}, {Text: "e", Method: search.Exact}} {
		var found [2][]string
		for i, cat := range []*Catalog{plain, mixed} {
			defs, spans := renderDefinitions(cat)
			sn, err := parseSnapshot(pack(cat, stamp, spans, int64(len(defs)), 42))
			if err != nil {
				t.Fatal(err)
			}
			hits, err := sn.Search(q, tool.Tool)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range hits {
				rec, err := sn.Record(h.Doc)
				if err != nil {
					t.Fatal(err)
				}
				found[i] = append(found[i], fmt.Sprint(rec.Server, rec.Name, h.Score, h.MatchedIn, h.Explain))
			}
		}
		if diff := cmp.Diff(found[0], found[1]); diff != "" {
			t.Errorf("%q: -alone +among others\n%s", q.Text, diff)
		}
	}
}

func TestLoadOdd(t *testing.T) {
	t.Parallel()
	cat, stamp := sample(t)
	for name, test := range map[string]struct {
		file    string // to damage
		content string // "" removes it
		tools   int    // of git, as loaded
		state   State
		notice  string
	}{
		"no definitions":      {"tool_index.json", "", 0, "", ""},
		"garbled definitions": {"tool_index.json", `{"version":1,"servers":[{"name":"git","tools":[{"name":`, 0, "", "damaged"},
		"future definitions":  {"tool_index.json", `{"version":2,"servers":[]}`, 0, "", "version 2"},
		"a nameless tool":     {"tool_index.json", `{"version":1,"servers":[{"name":"git","tools":[{}]}]}`, 0, "", "a tool of git"},
		"other definitions":   {"tool_index.json", `{"version":1,"servers":[{"name":"git","tools":[{"name":"x"}]}]}`, 1, Unknown, "another tool index"},
		"no metadata":         {"index_metadata.json", "", 2, Unknown, "not usable"},
		"garbled metadata":    {"index_metadata.json", `{"version":1,`, 2, Unknown, "not usable"},
		"future metadata":     {"index_metadata.json", `{"version":7}`, 2, Unknown, "version 7"},
		"metadata before all": {"index_metadata.json", `{"version":0}`, 2, Unknown, "version 0"},
		"a nameless prompt":   {"tool_index.json", `{"version":1,"servers":[{"name":"git","tools":[],"prompts":[{}]}]}`, 0, "", "a prompt of git"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := save(t, cat, stamp)
			path := filepath.Join(s.Dir, test.file)
			err := os.Remove(path)
			if test.content != "" {
				err = os.WriteFile(path, []byte(test.content), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			got, notice := s.Load()
			if (notice == "") != (test.notice == "") || !strings.Contains(notice, test.notice) {
				t.Errorf("notice %q, want %q", notice, test.notice)
			}
			git := got.Find("git")
			if test.state == "" {
				if git != nil {
					t.Errorf("loaded %+v", git)
				}
				return
			}
			if git == nil || len(git.Tools) != test.tools || git.State != test.state {
				t.Errorf("loaded %+v", git)
			}
		})
	}
}

// TestLoadOld: what was written before resources and prompts were listed is kept, and its servers
// are to be asked again.
func TestLoadOld(t *testing.T) {
	t.Parallel()
	cat, stamp := sample(t)
	for i := range cat.Servers {
		cat.Servers[i].Resources, cat.Servers[i].Prompts = nil, nil
	}
	s := Store{Dir: t.TempDir()}
	if _, err := s.Save(t.Context(), cat, stamp); err != nil {
		t.Fatal(err)
	}
	defs, err := os.ReadFile(s.toolsFile())
	if err != nil || strings.Contains(string(defs), "resources") || strings.Contains(string(defs), "prompts") {
		t.Errorf("tools alone are written in another way than ever: %v\n%s", err, defs)
	}
	meta, err := os.ReadFile(s.metaFile())
	if err != nil {
		t.Fatal(err)
	}
	cat.BeforeApprovals = true
	for version := 2; version > 0; version-- {
		old := strings.Replace(string(meta), `"version": 3`, fmt.Sprintf(`"version": %d`, version), 1)
		if err := os.WriteFile(s.metaFile(), []byte(old), 0o600); err != nil {
			t.Fatal(err)
		}
		got, notice := s.Load()
		if notice != "" {
			t.Error(notice)
		}
		for i := range cat.Servers {
			if version == 1 && cat.Servers[i].State == Listed {
				cat.Servers[i].State = Unknown
			}
		}
		if diff := cmp.Diff(cat, got, cmpopts.IgnoreUnexported(fault.Fault{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("version %d: -saved +loaded\n%s", version, diff)
		}
	}
}

// TestSweep: what a killed writer left behind goes with the next write, and nothing else.
func TestSweep(t *testing.T) {
	t.Parallel()
	cat, stamp := sample(t)
	s := save(t, cat, stamp)
	for _, name := range []string{".search.idx.123.mcpl-tmp", ".tool_index.json.99.mcpl-tmp", ".index_metadata.json.1.mcpl-tmp",
		"mine.txt"} {
		if err := os.WriteFile(filepath.Join(s.Dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Save(t.Context(), cat, stamp); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"index_metadata.json", "lock", "mine.txt", "search.idx", "tool_index.json"}; !slices.Equal(names, want) {
		t.Errorf("left: %v", names)
	}
}

// TestSaveNowhere: what cannot be written can be used all the same.
func TestSaveNowhere(t *testing.T) {
	t.Parallel()
	cat, stamp := sample(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := Store{Dir: filepath.Join(file, "key")}
	if _, err := s.Lock(t.Context()); err == nil {
		t.Error("it can be locked")
	}
	if _, _, err := s.TryLock(); err == nil {
		t.Error("it can be locked")
	}
	sn, err := s.Save(t.Context(), cat, stamp)
	if err == nil || sn == nil {
		t.Fatalf("snapshot %v, %v", sn, err)
	}
	check(t, sn)
	rec, _, err := sn.Find(tool.Ref{Server: "git", Name: "list_issues"})
	if err != nil {
		t.Fatal(err)
	}
	if d, err := sn.Definition(rec); err != nil || d.Name != "list_issues" {
		t.Errorf("definition %+v, %v", d, err)
	}
	// The room for the third file is missing.
	s = Store{Dir: t.TempDir()}
	if err := os.MkdirAll(filepath.Join(s.packedFile(), "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if sn, err = s.Save(t.Context(), cat, stamp); err == nil || sn == nil {
		t.Fatalf("snapshot %v, %v", sn, err)
	}
	check(t, sn)
}

func TestLock(t *testing.T) {
	t.Parallel()
	s := Store{Dir: t.TempDir()}
	unlock, err := s.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, free, err := s.TryLock(); free || err != nil {
		t.Errorf("locked twice: %v, %v", free, err)
	}
	unlock()
	unlock, free, err := s.TryLock()
	if !free || err != nil {
		t.Fatalf("not free: %v", err)
	}
	unlock()
}

func TestFirstSentences(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text  string
		limit int
		want  string
	}{
		{"", 20, ""},
		{"  Short.  ", 20, "Short."},
		{"One. Two. Three is long.", 12, "One. Two."},
		{"First paragraph\nwith a break.\n\nSecond.", 100, "First paragraph with a break."},
		{"First.\r\n\r\nSecond.", 100, "First."},
		{"# Weather server\n\n## Use\nTells the weather.", 100, "Tells the weather."},
		{"# Only a heading", 100, "Only a heading"},
		{"A sentence that is much too long to be shown", 20, "A sentence that…"},
		{"Unbreakablewordthatgoesonandon", 12, "Unbreakab…"},
		{"ééééééééééééééé", 10, "ééé…"},
		{"Hm. And then a very long sentence follows it", 30, "Hm. And then a very long…"},
	} {
		if got := FirstSentences(test.text, test.limit); got != test.want {
			t.Errorf("FirstSentences(%q, %d) = %q, want %q", test.text, test.limit, got, test.want)
		}
	}
}

func FuzzFirstSentences(f *testing.F) {
	f.Add("One. Two.", 5)
	f.Add("é\xff\n\n. ! ?", 8)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 10 || limit > 1000 {
			return
		}
		got := FirstSentences(text, limit)
		if len(got) > limit || strings.ContainsAny(got, "\n\t") {
			t.Fatalf("%q in %d bytes is %q", text, limit, got)
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Fatalf("%q in %d bytes is %q", text, limit, got)
		}
	})
}

// TestFixture: an index that an earlier mcpl wrote is read, or refused as another version. With
// -update the fixture of the version in force is written; those of versions that were released
// stay for ever.
func TestFixture(t *testing.T) {
	t.Parallel()
	cat, stamp := sample(t)
	now := filepath.Join("testdata", fmt.Sprintf("packed.v%d.idx", packedVersion))
	if *update {
		defs, spans := renderDefinitions(cat)
		if err := os.WriteFile(now, pack(cat, stamp, spans, int64(len(defs)), 42), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	paths, err := filepath.Glob(filepath.Join("testdata", "packed.v*.idx"))
	if err != nil || !slices.Contains(paths, now) {
		t.Fatalf("there is no %s (%v); make it with -update", now, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sn, err := parseSnapshot(data)
		if path != now {
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: %v", path, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v. Is this another format? Then it is another packedVersion", path, err)
		}
		check(t, sn)
	}
}

// TestFaultWithoutAStep holds that advice that is neither a step nor a variable survives the packed index.
func TestFaultWithoutAStep(t *testing.T) {
	t.Parallel()
	f := fault.New(fault.MissingVariable, "down lacks TOKEN", "").ThenSet("Add to", fault.Set{Variable: "TOKEN", File: "/x/.env"})
	f.Next = append(f.Next, fault.Next{Why: "Get TOKEN at https://x.example"})
	c, got := new(packed.Codec), new(ServerInfo)
	codeServer(c, &ServerInfo{Facts: Facts{Error: f}})
	codeServer(&packed.Codec{From: &packed.Reader{Rest: c.To}}, got)
	if diff := cmp.Diff(f, got.Error, cmpopts.IgnoreUnexported(fault.Fault{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestF3RankingReadsTheBeginning bounds what a definition costs the packed index, however much it says.
func TestF3RankingReadsTheBeginning(t *testing.T) {
	t.Parallel()
	words := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "word%d ", i)
		}
		return b.String()
	}
	size := func(n int) int {
		raw := fmt.Sprintf(`{"name":"t","title":%q,"description":%q,"inputSchema":{"properties":{"a":{"description":%q},"b":{"description":"last"}}}}`,
			words(n), words(n), words(n))
		cat := &Catalog{Servers: []Server{{Meta: Meta{Facts: Facts{Name: "s", State: Listed}}, Tools: []tool.Def{def(t, raw)}}}}
		return len(pack(cat, Stamp{}, make([]span, 1), 0, 0))
	}
	if small, large := size(20_000), size(80_000); large > small*11/10 {
		t.Errorf("%d bytes, of four times as many words %d", small, large)
	}
}
