package catalog

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/fixture"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/pin"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// bank is a world whose only server has one tool.
type bank struct {
	*world
	disabled []string // by the catalog
	off      []string // by a person
}

func newBank(t *testing.T, definition string) *bank {
	t.Helper()
	b := &bank{world: newWorld(t, "bank")}
	b.offer(definition)
	return b
}

// offer replaces what the server offers.
func (b *bank) offer(definitions ...string) {
	b.t.Helper()
	b.servers["bank"] = fixture.Tools(b.t, definitions...)
}

// list lists the server and returns what the index has of it: the definitions, and what is known of it.
func (b *bank) list(list List) (definitions string, facts index.Facts) {
	b.t.Helper()
	b.notices = nil
	opt := b.options()
	opt.Pins = Pins{Store: pin.StoreIn(filepath.Join(b.dir, "state")),
		Allows: func(server, name string) bool {
			return !strings.Contains(strings.Join(b.off, " "), server+"/"+name+";")
		},
		Inherit: func(_ context.Context, server, _, name string) error {
			b.disabled = append(b.disabled, server+"/"+name)
			return nil
		}}
	c := New(opt)
	defer c.Close()
	err := c.Read(b.t.Context(), Need{List: list}, func(v *View) error {
		recs, err := v.Records("bank", tool.Tool)
		if err != nil {
			return err
		}
		var raws []string
		for _, r := range recs {
			def, err := v.Definition(r)
			if err != nil {
				return err
			}
			raws = append(raws, string(def.Raw()))
		}
		info, _ := v.Server("bank")
		definitions, facts = strings.Join(raws, "\n"), info.Facts
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return definitions, facts
}

const (
	pays      = `{"name":"pay","description":"Pays."}`
	otherwise = `{"name":"pay","description":"Pays otherwise."}`
	destroys  = `{"name":"pay","description":"Pays.","annotations":{"destructiveHint":true}}`
)

func TestF6ChangedDefinitions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		setting config.Pins
		entry   string // the member "pin"
		after   string
		want    string // what the index has then
		changes int
	}{
		{"words are used", config.WarnPins, "", otherwise, otherwise, 1},
		{"what is looser is held", config.WarnPins, "", destroys, pays, 1},
		{"hold", config.HoldPins, "", otherwise, pays, 1},
		{"the entry wins", config.WarnPins, "hold", otherwise, pays, 1},
		{"without a setting", "", "", otherwise, otherwise, 1},
		{"off", config.NoPins, "", destroys, destroys, 0},
		{"notation", config.HoldPins, "", `{"description":"Pays.", "name":"pay"}`, `{"description":"Pays.","name":"pay"}`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBank(t, pays)
			b.settings.Pins = tt.setting
			if tt.entry != "" {
				b.configure(fmt.Sprintf(`bank: {"command": "x", "pin": %q}`, tt.entry))
			}
			if got, facts := b.list(ListExpired); got != pays || facts.Changes != 0 {
				t.Fatalf("at first %s, %+v", got, facts)
			}
			b.offer(tt.after)
			if err := os.RemoveAll(filepath.Join(b.dir, ".cache")); err != nil { // an empty cache approves nothing
				t.Fatal(err)
			}
			for range 2 {
				got, facts := b.list(ListAll)
				if got != tt.want || facts.Changes != tt.changes || (facts.Pins == "") != (tt.setting == config.NoPins) {
					t.Errorf("%s, %+v", got, facts)
				}
			}
		})
	}
}

// TestIndexFromBeforePins: what a server offered when mcpl did not pin yet is what a person has seen.
func TestIndexFromBeforePins(t *testing.T) {
	t.Parallel()
	b := newBank(t, pays)
	b.settings.Pins = config.NoPins
	b.list(ListExpired)
	b.settings.Pins = config.WarnPins
	b.offer(destroys)
	if got, facts := b.list(ListAll); got != pays || facts.Changes != 1 {
		t.Errorf("%s, %+v", got, facts)
	}
}

// TestEditedEntryKeepsPins: another version of a server shows what it changes.
func TestEditedEntryKeepsPins(t *testing.T) {
	t.Parallel()
	b := newBank(t, pays)
	b.list(ListExpired)
	b.configure(`bank: {"command": "run-bank", "args": ["--version", "2"]}`)
	b.offer(destroys)
	if got, facts := b.list(ListExpired); got != pays || facts.Changes != 1 {
		t.Errorf("%s, %+v", got, facts)
	}
	// The entry comes with the project, which must not switch off what guards against it.
	b.configure(`bank: {"command": "run-bank", "pin": "off"}`)
	if got, facts := b.list(ListAll); got != pays || facts.Changes != 1 {
		t.Errorf("off: %s, %+v", got, facts)
	}
}

// TestListChangedNotesHeldChange: a server that says that it has changed, and is held, is noted in the index although
// that shows the same definitions.
func TestListChangedNotesHeldChange(t *testing.T) {
	t.Parallel()
	b := newBank(t, pays)
	b.list(ListExpired)
	b.offer(destroys)
	if got, facts := b.list(ListChanged); got != pays || facts.Changes != 1 {
		t.Errorf("%s, %+v", got, facts)
	}
}

func TestF6RenamedToolStaysDisabled(t *testing.T) {
	t.Parallel()
	b := newBank(t, pays)
	b.off = []string{"bank/pay;"}
	b.list(ListExpired)
	b.offer(strings.Replace(pays, "pay", "pay2", 1))
	b.list(ListAll)
	if got := strings.Join(b.disabled, " "); got != "bank/pay2" || len(b.notices) != 1 ||
		b.notices[0] != "bank/pay2 is pay under another name, so it is disabled too" {
		t.Errorf("disabled are %q, %q", got, b.notices)
	}
	b.disabled = nil
	if b.list(ListAll); b.disabled != nil {
		t.Errorf("a person has enabled it, but %q", b.disabled)
	}
}

// TestDamagedPins: a server whose pins cannot be read is not listed anew, and keeps its old list.
func TestDamagedPins(t *testing.T) {
	t.Parallel()
	b := newBank(t, pays)
	_, facts := b.list(ListExpired)
	path := filepath.Join(b.dir, "state", "pins", facts.Pins+".json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.offer(destroys)
	got, facts := b.list(ListAll)
	if got != pays || facts.State != index.Failed || !fault.Is(facts.Error, fault.Config) ||
		!strings.Contains(facts.Error.Message, path) {
		t.Errorf("%s, %+v", got, facts)
	}
}

// TestUnwritablePins: mcpl also works where it can keep nothing, unless it has to hold.
func TestUnwritablePins(t *testing.T) {
	t.Parallel()
	for mode, want := range map[config.Pins]index.State{config.WarnPins: index.Listed, config.HoldPins: index.Failed} {
		b := newBank(t, pays)
		b.settings.Pins = mode
		if err := os.WriteFile(filepath.Join(b.dir, "state"), nil, 0o600); err != nil { // stops also root
			t.Fatal(err)
		}
		if _, facts := b.list(ListExpired); facts.State != want || (len(b.notices) == 1) != (mode == config.WarnPins) {
			t.Errorf("%s: %+v, %q", mode, facts, b.notices)
		}
	}
}

// TestChangeHasItsDay: the day of a change is that of its listing.
func TestChangeHasItsDay(t *testing.T) {
	t.Parallel()
	b := newBank(t, pays)
	b.list(ListExpired)
	b.offer(otherwise)
	b.pass(48 * time.Hour)
	_, facts := b.list(ListAll)
	changes, err := pin.StoreIn(filepath.Join(b.dir, "state")).Changes(facts.Pins)
	if err != nil || len(changes) != 1 || changes[0].Since.Format("2006-01-02") != "2026-03-03" {
		t.Errorf("%+v, %v", changes, err)
	}
}
