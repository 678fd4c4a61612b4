package gateway

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
)

// TestSessionID: the id of a session says what was agreed, to the principal that it began with, and shows when what
// that may do has changed.
func TestSessionID(t *testing.T) {
	t.Parallel()
	key := bytes.Repeat([]byte{7}, KeySize)
	s, err := newSealer([][]byte{key}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	g := &Gateway{opt: Options{Now: time.Now}, sealer: s, replica: "home"}
	ada := Identity{Principal: Principal{Name: "ada", Tier: TierRead}, Expose: All}
	_, sealed, err := g.BeginSession(t.Context(), ada, message(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+
		`{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{"url":{"more":1},"x":1},`+
		`"roots":{"listChanged":true},"experimental":{"x":{}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	g.replica = "other"
	id, ok := g.OpenSession(ada, sealed)
	can, err := json.Marshal(id.Can)
	if want := `{"elicitation":{"url":{}},"roots":{}}`; err != nil || !ok || !id.Is(ada) || string(can) != want ||
		id.Revision != "2025-06-18" || id.Home != "home" || !g.Movable(id) {
		t.Errorf("%v, %+v", ok, id)
	}
	if len(sealed) > 512 {
		t.Errorf("%d bytes", len(sealed))
	}
	for title, who := range map[string]Identity{"tier": {Principal: Principal{Name: "ada"}, Expose: All},
		"exposure": {Principal: ada.Principal, Expose: Search}, "profile": {Principal: ada.Principal, Profile: "p", Expose: All}} {
		if id, ok := g.OpenSession(who, sealed); !ok || id.Is(who) {
			t.Errorf("another %s: opens %v, is %v", title, ok, id.Is(who))
		}
	}
	if _, ok := g.OpenSession(Identity{Principal: Principal{Name: "bob", Tier: TierRead}, Expose: All}, sealed); ok {
		t.Error("it opens for another principal")
	}
	if _, err := newSealer([][]byte{key, key[1:]}, time.Now); err == nil {
		t.Error("a short key is taken")
	}
}

// FuzzSessionID opens no id that was not sealed here.
func FuzzSessionID(f *testing.F) {
	s, err := newSealer(nil, time.Now)
	if err != nil {
		f.Fatal(err)
	}
	g := &Gateway{opt: Options{Now: time.Now}, sealer: s}
	f.Add("")
	f.Add("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, text string) {
		if _, ok := g.OpenSession(Identity{}, text); ok {
			t.Fatal("it opens")
		}
	})
}
