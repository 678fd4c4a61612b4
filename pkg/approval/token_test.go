package approval

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

func TestTokenRoundTrip(t *testing.T) {
	t.Parallel()
	k := make(key, keySize)
	r := Request{ID: "abcdefgh", Expires: time.Unix(1_800_000_000, 0).UTC(), Call: strings.Repeat("0", 64)}
	text := k.sign(r)
	got, err := parseToken(text)
	if err != nil || got.String() != text || got.Request != r.ID || !got.Expires.Equal(r.Expires) || !k.signed(got, r) {
		t.Errorf("%s became %+v, %v", text, got, err)
	}
	if other := append(key{1}, k[1:]...); other.signed(got, r) || other.id() == k.id() {
		t.Error("another key takes the token")
	}
	if !IsToken(text) || IsToken(r.ID) {
		t.Error("ids and tokens are not told apart")
	}
}

// FuzzToken: whatever is taken for a token is written as it was read, and no one but the key makes a genuine one.
func FuzzToken(f *testing.F) {
	k := key(strings.Repeat("k", keySize))
	r := Request{ID: "abcdefgh", Expires: time.Unix(1_800_000_000, 0).UTC(), Call: strings.Repeat("0", 64)}
	genuine := k.sign(r)
	for _, seed := range []string{genuine, genuine[:40], genuine + "=", strings.ToUpper(genuine), tokenPrefix, "",
		tokenPrefix + strings.Repeat("A", tokenSize), strings.Replace(genuine, "1.", "2.", 1)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseToken(text)
		if err != nil {
			return
		}
		if got.String() != text {
			t.Errorf("%q is written %q", text, got.String())
		}
		if k.signed(got, r) && text != genuine {
			t.Errorf("%q is genuine", text)
		}
	})
}

// FuzzFile: whatever is taken for a file is written so that it reads the same, and never breaks what uses it.
func FuzzFile(f *testing.F) {
	fixture, err := os.ReadFile("testdata/version1.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(fixture)
	for _, seed := range []string{"", "{}", "null", "[]", `{"version":1}`, `{"version":1,"key":null,"requests":[null]}`,
		`{"version":1,"key":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","requests":null}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, line, err := parse(data)
		if err != nil {
			if line < 0 || line > 1+bytes.Count(data, []byte("\n")) {
				t.Errorf("line %d", line)
			}
			return
		}
		once, err := c.render()
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := parse(once)
		if err != nil {
			t.Fatalf("%s: %v", once, err)
		}
		if twice, err := again.render(); err != nil || !bytes.Equal(twice, once) {
			t.Errorf("%s became %s, %v", once, twice, err)
		}
		now := time.Unix(1_800_000_000, 0)
		c.pass(pay(5), nil, now)
		c.prune(now)
	})
}
