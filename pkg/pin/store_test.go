package pin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

const id = "0123abcd"

// update enters a listing into the store.
func update(t *testing.T, s Store, mode Mode, days int, l tool.Listing) {
	t.Helper()
	if err := s.Update(context.Background(), id, func(p *Pins) error {
		p.Server = "e"
		enter(t, p, mode, days, l)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	s := StoreIn(t.TempDir())
	if p, err := s.Read(id); err != nil || !p.Empty() {
		t.Fatalf("at first: %+v, %v", p, err)
	}
	if changes, err := s.Changes(id); err != nil || changes != nil {
		t.Fatalf("at first: %+v, %v", changes, err)
	}
	update(t, s, Warn, 0, listing(t, "pay "+pay, "odd  \"title\":  \"a\\u003cb<\""))
	update(t, s, Warn, 1, listing(t, "pay "+rugPull))
	p, err := s.Read(id)
	if err != nil || p.Server != "e" || !strings.Contains(shortly(p), "held") {
		t.Fatalf("%+v, %v", p, err)
	}
	pin := p.Find(tool.Tool, "pay")
	if string(pin.Seen) != string(def(pay)) || string(pin.New) != string(def(rugPull)) || !pin.Since.Equal(day) {
		t.Errorf("%s, %s, %s", pin.Seen, pin.New, pin.Since)
	}
	if odd := p.Find(tool.Tool, "odd"); string(odd.Seen) != `{"name":"odd","title":"a\u003cb<"}` || odd.Gone.Day() != 21 {
		t.Errorf("it is not byte for byte: %s, gone %s", odd.Seen, odd.Gone)
	}
	changes, err := s.Changes(id)
	if err != nil || len(changes) != 1 || changes[0].Name != "pay" || !changes[0].Held || changes[0].Hash == "" {
		t.Errorf("%+v, %v", changes, err)
	}
	if info, err := os.Stat(s.path(id)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(s.Dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestVersion1: a file that the first mcpl with pins wrote is read for ever.
func TestVersion1(t *testing.T) {
	t.Parallel()
	s := Store{Dir: t.TempDir()} // where the file is the user's own
	if err := os.CopyFS(s.Dir, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	p, err := s.Read("v1")
	if err != nil || p.Server != "e" || shortly(p) != "pay annotations,required:+note,words,property:+note since 21 held; "+
		"instructions words since 21" {
		t.Errorf("%+v, %q, %v", p, shortly(p), err)
	}
	if changes, err := s.Changes("v1"); err != nil || len(changes) != 2 {
		t.Errorf("%+v, %v", changes, err)
	}
	data, err := os.ReadFile(filepath.Join("testdata", "v1.json"))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := p.render(); err != nil || string(again) != string(data) {
		t.Errorf("it is written as\n%s, %v", again, err)
	}
	l, err := ReadLock(filepath.Join("testdata", "v1.lock"))
	if err != nil || len(l.Servers["e"].Tools) != 1 {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestDamagedPinsFailClosed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, says string }{
		{"cut", "{\"version\":1,\n\"changes\":[],\n\"pins\":[{", ":3 is damaged"},
		{"empty", "", ":1 is damaged"},
		{"cut in the changes", "{\"version\":1,\n\"changes\":[", ":2 is damaged"},
		{"another version", `{"version":2,"changes":[],"pins":[]}`, "version 2"},
		{"no version", `{"changes":[],"pins":[]}`, "version 0"},
		{"another type", "{\"version\":1,\n\"changes\":{},\"pins\":[]}", ":2 is damaged"},
		{"not a definition", "{\"version\":1,\"changes\":[],\"pins\":[\n{\"name\":\"pay\",\"seen\":{\"title\":\"x\"}}]}", `:2 is damaged: the pin of "pay"`},
		{"null", `null`, "version 0"},
		{"a list", `[]`, "damaged"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := StoreIn(t.TempDir())
			if err := os.MkdirAll(s.Dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(s.path(id), []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := s.Read(id)
			says := fmt.Sprint(err)
			if !fault.Is(err, fault.Config) || !strings.Contains(says, s.path(id)) || !strings.Contains(says, tt.says) {
				t.Errorf("Read: %v", err)
			}
			err = s.Update(context.Background(), id, func(*Pins) error { return nil })
			if !fault.Is(err, fault.Config) {
				t.Errorf("Update: %v", err)
			}
			if _, err := s.Changes(id); tt.name != "not a definition" && tt.name != "cut" && fmt.Sprint(err) != says {
				t.Errorf("Changes: %v, want %s", err, says)
			}
			if data, err := os.ReadFile(s.path(id)); err != nil || string(data) != tt.text {
				t.Errorf("it became %q, %v", data, err)
			}
		})
	}
}

func TestUpdateWritesOnlyWhatChanges(t *testing.T) {
	t.Parallel()
	s := StoreIn(t.TempDir())
	update(t, s, Warn, 0, listing(t, "pay "+pay))
	before, err := os.Stat(s.path(id))
	if err != nil {
		t.Fatal(err)
	}
	update(t, s, Warn, 1, listing(t, "pay "+pay))
	gone := errors.New("no")
	if err := s.Update(context.Background(), id, func(p *Pins) error {
		p.Server = "other"
		return gone
	}); !errors.Is(err, gone) {
		t.Error(err)
	}
	if after, err := os.Stat(s.path(id)); err != nil || !os.SameFile(before, after) {
		t.Errorf("the file was replaced, %v", err)
	}
}

func TestUpdatesAtOnceLoseNothing(t *testing.T) {
	t.Parallel()
	s := StoreIn(t.TempDir())
	update(t, s, Warn, 0, tool.Listing{})
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			if err := s.Update(context.Background(), id, func(p *Pins) error {
				_, _, err := p.Meet(listing(t, fmt.Sprint("t", i)).Tools[0], Entry{Mode: Warn, Now: day})
				return err
			}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if changes, err := s.Changes(id); err != nil || len(changes) != 10 {
		t.Errorf("%d changes, %v", len(changes), err)
	}
}

func TestUnfinishedFilesAreSwept(t *testing.T) {
	t.Parallel()
	s := StoreIn(t.TempDir())
	update(t, s, Warn, 0, tool.Listing{})
	for _, name := range []string{"." + id + ".json.1.mcpl-tmp", ".other.json.1.mcpl-tmp"} {
		if err := os.WriteFile(filepath.Join(s.Dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	update(t, s, Warn, 1, listing(t, "a"))
	if left, err := filepath.Glob(filepath.Join(s.Dir, ".*.mcpl-tmp")); err != nil || len(left) != 1 {
		t.Errorf("left are %v, %v", left, err)
	}
}

func TestUnwritableSaysHowToMend(t *testing.T) {
	t.Parallel()
	blocker := filepath.Join(t.TempDir(), "blocker") // stops also root
	if err := os.WriteFile(blocker, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := StoreIn(blocker).Update(context.Background(), id, func(*Pins) error { return nil })
	if !fault.Is(err, fault.Config) || !strings.Contains(fault.From(err).Help, "XDG_STATE_HOME") {
		t.Errorf("%v", err)
	}
	if err := NewLock().Write(filepath.Join(blocker, LockFile)); !fault.Is(err, fault.Config) {
		t.Errorf("%v", err)
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), LockFile)
	if _, err := ReadLock(path); !fault.Is(err, fault.Config) || len(fault.From(err).Next) != 1 {
		t.Errorf("without one: %v", err)
	}
	before := listing(t, "pay "+pay, "b")
	before.Instructions = "Be quick."
	l := NewLock()
	if err := errors.Join(l.Add("e", before), l.Add("f", listing(t, "x")), l.Write(path)); err != nil {
		t.Fatal(err)
	}
	l, err := ReadLock(path)
	if err != nil {
		t.Fatal(err)
	}
	after := listing(t, "pay "+rugPull, "c")
	after.Instructions = "Be slow."
	for _, tt := range []struct {
		name    string
		server  string
		listing tool.Listing
		want    string
	}{
		{"the same", "e", before, "[]"},
		{"in another notation", "e", func() tool.Listing {
			other := listing(t, "b", "pay "+strings.ReplaceAll(pay, ":", " : "))
			other.Instructions = before.Instructions
			return other
		}(), "[]"},
		{"changed", "e", after, "[{e  b missing} {e  pay changed} {e  c new} {e instructions  changed}]"},
		{"another server", "g", before, "[{g server  new}]"},
	} {
		if got, err := l.Check(tt.server, tt.listing); err != nil || fmt.Sprint(got) != tt.want {
			t.Errorf("%s: %v, %v, want %s", tt.name, got, err, tt.want)
		}
	}
	if got := fmt.Sprint(l.Missing([]string{"e"})); got != "[{f server  missing}]" {
		t.Errorf("missing: %s", got)
	}
	for text, next := range map[string]bool{"": true, "{}": true, `{"version":2}`: false, `{"version":1,"servers":[]}`: true} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadLock(path)
		f := fault.From(err)
		if !fault.Is(err, fault.Config) || (f.Next != nil) != next || f.Traceback != "" {
			t.Errorf("%q: %+v", text, f)
		}
		if !next && !strings.Contains(f.Help, "update") {
			t.Errorf("%q: %s", text, f.Help)
		}
	}
	if _, err := ReadLock(filepath.Dir(path)); !strings.Contains(fault.From(err).Help, "move away") {
		t.Errorf("a folder: %+v", err)
	}
}

// FuzzPinFile: other bytes than pins are refused, and what is read is written and read alike.
func FuzzPinFile(f *testing.F) {
	data, err := os.ReadFile(filepath.Join("testdata", "v1.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"version":1,"changes":[{"grade":"words","kind":["words"]}],"pins":[{"kind":"instructions","seen":"x"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, _, err := parseFile(data)
		if err != nil {
			return
		}
		next, err := p.render()
		if err != nil {
			t.Skip("a time beyond the year 9999")
		}
		again, _, err := parseFile(next)
		if err != nil || shortly(again) != shortly(p) || len(again.pins) != len(p.pins) {
			t.Fatalf("%s became %s, %v", data, next, err)
		}
	})
}

// FuzzLockFile does the same for locks.
func FuzzLockFile(f *testing.F) {
	f.Add([]byte(`{"version":1,"servers":{"e":{"tools":{"a":"0"}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := parseLock(data)
		if err != nil {
			return
		}
		next, err := l.render()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parseLock(next); err != nil || fmt.Sprint(again.Missing(nil)) != fmt.Sprint(l.Missing(nil)) {
			t.Fatalf("%s became %s, %v", data, next, err)
		}
	})
}

// TestUpdateInterrupted: a context that ends while pins are compared leaves the file as it was.
func TestUpdateInterrupted(t *testing.T) {
	t.Parallel()
	s := Store{Dir: t.TempDir()}
	ctx, cancel := context.WithCancel(t.Context())
	edit := func(p *Pins) error {
		cancel()
		_, _, err := p.Enter(tool.Listing{Instructions: "new"}, Entry{Mode: Warn})
		return err
	}
	if err := s.Update(ctx, "x", edit); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if p, err := s.Read("x"); err != nil || !p.Empty() {
		t.Errorf("got %v, %v", p, err)
	}
}

// TestChangesAreRemembered: what was read of a file counts until the file changes, also in place and within its time.
func TestChangesAreRemembered(t *testing.T) {
	t.Parallel()
	s := StoreIn(t.TempDir())
	update(t, s, Warn, 0, listing(t, "pay "+pay))
	update(t, s, Warn, 1, listing(t, "pay "+rugPull))
	file := s.path(id)
	longAgo := time.Now().Add(-time.Hour)
	mcptest.Wait(t, file+" to settle", func() bool {
		state, err := atomicfile.StampOf(file)
		return err == nil && state.Settled()
	})
	changes := func() []Change {
		t.Helper()
		list, err := s.Changes(id)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	changes()[0].Held = false // of a copy
	if list := changes(); len(list) != 1 || !list[0].Held {
		t.Fatalf("%+v", list)
	}
	if err := s.Update(t.Context(), id, func(p *Pins) error {
		p.See(func(Change) bool { return true })
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if list := changes(); len(list) != 0 {
		t.Errorf("after they were seen: %+v", list)
	}
	update(t, s, Warn, 2, listing(t, "pay "+pay))
	if list := changes(); len(list) != 1 {
		t.Errorf("after another change: %+v", list)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(data, []byte(`"version":1`), []byte(`"version":9`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, longAgo, longAgo); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Changes(id); err == nil || !strings.Contains(err.Error(), "version 9") {
		t.Errorf("of a file of another version: %v", err)
	}
}
