package gateway

import (
	"strings"
	"testing"
	"time"
)

func TestFits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		template, uri string
		want          bool
	}{
		{"a:item/{id}", "a:item/7", true}, {"a:item/{id}", "a:item/", true}, {"a:item/{id}", "b:item/7", false},
		{"a:{x}/end", "a:one/two/end", true}, {"a:{x}/end", "a:one", false}, {"{x}", "anything", true},
		{"a:{x}-{y}.txt", "a:1-2.txt", true}, {"a:{x}-{y}.txt", "a:1.txt", false}, {"a:{x}{y}", "a:", true},
		{"a:fixed", "a:fixed", true}, {"a:fixed", "a:fixed/more", false}, {"", "", false}, {"a:{open", "a:x", false},
	} {
		if got := fits(c.template, c.uri); got != c.want {
			t.Errorf("%q and %q: %v", c.template, c.uri, got)
		}
	}
	long := strings.Repeat("{a}-", 2000)
	if fits(long, strings.Repeat("-", 1999)) {
		t.Error("a template with more than the URI has fits")
	}
}

func FuzzFits(f *testing.F) {
	f.Add("a:{x}/b{y}", "a:1/b2")
	f.Fuzz(func(t *testing.T, template, uri string) {
		if fits(template, uri) && template == "" {
			t.Fatal("an empty template fits")
		}
	})
}

// TestSeal: what a client keeps for the gateway opens there, for its purpose and its time, and nothing else does.
func TestSeal(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s, err := newSealer(nil, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.seal("one", state{Server: "s", State: []byte(`{"a":1}`)}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var got state
	if err := s.open("one", text, &got); err != nil || got.Server != "s" || string(got.State) != `{"a":1}` {
		t.Errorf("%+v, %v", got, err)
	}
	for title, wrong := range map[string]string{"empty": "", "cut": text[:len(text)-2], "changed": text[1:] + text[:1], "other": "%%%"} {
		if s.open("one", wrong, &got) == nil {
			t.Errorf("%s: it opens", title)
		}
	}
	if s.open("two", text, &got) == nil {
		t.Error("it opens for another purpose")
	}
	now = now.Add(time.Minute + time.Second)
	if s.open("one", text, &got) == nil {
		t.Error("it opens when it has expired")
	}
}
