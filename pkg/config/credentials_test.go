package config

import (
	"fmt"
	"strings"
	"testing"
)

// TestForwardedIsHiddenApart: the headers of a client are hidden in what is said of its own connection, however many
// others there are, and hide nothing of theirs.
func TestForwardedIsHiddenApart(t *testing.T) {
	t.Parallel()
	s := newWorld(t).one(`{"url": "https://h/mcp", "headers": {"Authorization": "Bearer for-the-list", "X-Team": "blue"},
		"credentials": "forward", "forward": {"authorization": "X-Client-Token"}}`)
	own := s.For("ada", []KeyValue{{"authorization", "secret-of-ada"}})
	for i := range 50 {
		s.For("", []KeyValue{{"authorization", fmt.Sprintf("another-secret-%d", i)}})
	}
	if got := own.Mask("secret-of-ada another-secret-7"); got != "*** another-secret-7" {
		t.Error(got)
	}
	if got := s.Mask("secret-of-ada"); got != "secret-of-ada" {
		t.Error(got)
	}
	if got := fmt.Sprint(own.Headers); got != "[{X-Team blue} {authorization secret-of-ada}]" {
		t.Error(got)
	}
	if got := fmt.Sprint(s.Headers); !strings.Contains(got, "for-the-list") {
		t.Errorf("the entry has become %s", got)
	}
}

// TestWrongCredentials: an entry whose credentials cannot be what they say is not used.
func TestWrongCredentials(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		`{"url": "https://h", "credentials": "mine"}`:                                        `is not "gateway"`,
		`{"url": "https://h", "credentials": "forward"}`:                                     "belong together",
		`{"url": "https://h", "forward": {"A": "X-A"}}`:                                      "belong together",
		`{"url": "https://h", "credentials": "forward", "forward": {"A": "Authorization"}}`:  "between the client and mcpl",
		`{"url": "https://h", "credentials": "forward", "forward": {"A": "Mcp-Session-Id"}}`: "between the client and mcpl",
		`{"url": "https://h", "credentials": "forward", "forward": {"A B": "X-A"}}`:          "not a valid header name",
		`{"command": "x", "credentials": "user"}`:                                            `are for servers with a "url"`,
		`{"command": "x", "apiKey": true}`:                                                   `are for servers with a "url"`,
	} {
		if got := fmt.Sprint(newWorld(t).entry(entry).Problems); !strings.Contains(got, want) {
			t.Errorf("%s: %s", entry, got)
		}
	}
}
