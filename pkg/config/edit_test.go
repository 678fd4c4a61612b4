package config

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

func npx(args ...string) Entry { return Entry{Command: "npx", Args: args} }

// TestSetEntry holds that nothing but the entry and its comma changes.
func TestSetEntry(t *testing.T) {
	t.Parallel()
	const added = "\"new\": {\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"p\"]\n    }"
	tabbed := strings.NewReplacer("      ", "\t\t\t", "    ", "\t\t").Replace(added)
	const flat = `"new": {"command": "npx", "args": ["-y", "p"]}`
	for name, tc := range map[string]struct{ file, want string }{
		"nothing":        {"", "{\n  \"mcpServers\": {\n    " + added + "\n  }\n}\n"},
		"white space":    {" \n", "{\n  \"mcpServers\": {\n    " + added + "\n  }\n}\n"},
		"an object":      {"{}", "{\n  \"mcpServers\": {\n    " + added + "\n  }\n}"},
		"no servers yet": {"{\n  \"mcpServers\": {}\n}\n", "{\n  \"mcpServers\": {\n    " + added + "\n  }\n}\n"},
		"only a comment": {"{\n  \"mcpServers\": {\n    // none\n  }\n}\n", "{\n  \"mcpServers\": {\n    // none\n    " + added + "\n  }\n}\n"},
		"behind others": {"{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}\n  }\n}\n",
			"{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"},\n    " + added + "\n  }\n}\n"},
		"a trailing comma": {"{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"},\n  },\n}\n",
			"{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"},\n    " + added + ",\n  },\n}\n"},
		"comments": {"// c1\n{ // c2\n  \"mcpServers\": { // c3\n    \"a\": {\"command\": \"x\"} // c4 }\n    /* c5 */\n  } // c6\n} // c7",
			"// c1\n{ // c2\n  \"mcpServers\": { // c3\n    \"a\": {\"command\": \"x\"}, // c4 }\n    /* c5 */\n    " + added + "\n  } // c6\n} // c7"},
		"tabs": {"{\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\": \"x\"}\n\t}\n}", "{\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\": \"x\"},\n\t\t" + tabbed + "\n\t}\n}"},
		"lines of Windows": {"\xef\xbb\xbf{\r\n  \"mcpServers\": {\r\n    \"a\": {\"command\": \"x\"} // c\r\n  }\r\n}\r\n",
			"\xef\xbb\xbf{\r\n  \"mcpServers\": {\r\n    \"a\": {\"command\": \"x\"}, // c\r\n    " + strings.ReplaceAll(added, "\n", "\r\n") + "\r\n  }\r\n}\r\n"},
		"one line":                       {`{"mcpServers": {"a": {"command": "x"}}}`, `{"mcpServers": {"a": {"command": "x"}, ` + flat + `}}`},
		"one line with a trailing comma": {`{"mcpServers": {"a": {"command": "x"},}}`, `{"mcpServers": {"a": {"command": "x"}, ` + flat + `,}}`},
		"VS Code":                        {`{"inputs": [], "servers": {"a": {"command": "x"}}}`, `{"inputs": [], "servers": {"a": {"command": "x"}, ` + flat + `}}`},
		"other things": {"{\n    \"theme\": \"dark\" // mine\n}", "{\n    \"theme\": \"dark\", // mine\n    \"mcpServers\": {\n        " +
			strings.NewReplacer("      ", "            ", "    ", "        ").Replace(added) + "\n    }\n}"},
		"an entry that cannot be used": {`{"mcpServers": {"a": 1}, "x": {"new": 1}}`, `{"mcpServers": {"a": 1, ` + flat + `}, "x": {"new": 1}}`},
		"the last of a repeated key":   {`{"mcpServers": {"a": 1}, "mcpServers": {"b": 1}}`, `{"mcpServers": {"a": 1}, "mcpServers": {"b": 1, ` + flat + `}}`},
	} {
		got, replaced, err := SetEntry("/f", []byte(tc.file), "new", npx("-y", "p"), false)
		if err != nil || string(got) != tc.want || replaced {
			t.Errorf("%s: %v, %v\ngot  %q\nwant %q", name, err, replaced, got, tc.want)
			continue
		}
		// A second one goes the same way, and taking both out again leaves the others.
		got, _, err = SetEntry("/f", got, "two", Entry{URL: "https://h/x"}, false)
		if err != nil {
			t.Errorf("%s: a second entry: %v", name, err)
			continue
		}
		for _, gone := range []string{"two", "new"} {
			if got, err = RemoveEntry("/f", got, gone); err != nil {
				t.Errorf("%s: %s does not go: %v", name, gone, err)
			}
		}
		if strings.Contains(tc.file, `"a"`) && string(got) != tc.file {
			t.Errorf("%s: there and back\ngot  %q\nwant %q", name, got, tc.file)
		}
	}
}

func TestSetEntryFields(t *testing.T) {
	t.Parallel()
	none := ""
	for want, d := range map[string]Entry{
		`{"command": "a b", "args": ["<&>", "\"", "é"], "env": {"A": "1", "B": "${C}"}, "cwd": "/d", "callTimeout": "1m30s", "disabled": true}`: {
			Command: "a b", Args: []string{"<&>", `"`, "é"}, Env: []KeyValue{{"A", "1"}, {"B", "${C}"}}, Cwd: "/d",
			CallTimeout: 90 * time.Second, Disabled: true},
		`{"url": "https://h/x", "headers": {"H": "v"}, "connectTimeout": "2h"}`: {
			URL: "https://h/x", Headers: []KeyValue{{"H", "v"}}, ConnectTimeout: 2 * time.Hour},
		`{"command": "a", "scope": "session", "namespace": ""}`: {Command: "a", Scope: SessionOnly, Namespace: &none},
		`{"type": "sse", "url": "https://h/x"}`:                 {URL: "https://h/x", Transport: SSE},
		`{"type": "http", "url": "https://h/x"}`:                {URL: "https://h/x", Transport: HTTP},
		`{"url": "https://h/x", "oauth": {"clientId": "c", "scopes": ["r"], "redirectPort": 8765}}`: {
			URL: "https://h/x", OAuth: &OAuth{ClientID: "c", Scopes: []string{"r"}, RedirectPort: 8765}},
	} {
		got, _, err := SetEntry("/f", []byte(`{"mcpServers": {"a": 1}}`), "n", d, false)
		if err != nil || string(got) != `{"mcpServers": {"a": 1, "n": `+want+`}}` {
			t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
		}
	}
}

// TestUse35NoTypeThatNobodySaid: a URL is written without a type unless somebody said one, so that mcpl still finds out
// that a server speaks SSE.
func TestUse35NoTypeThatNobodySaid(t *testing.T) {
	t.Parallel()
	after, _, err := SetEntry("/f", []byte(`{}`), "n", Entry{URL: "https://h/sse"}, false)
	if err != nil {
		t.Fatal(err)
	}
	servers, _, err := parseFile("/f", after)
	if err != nil || len(servers) != 1 || !servers[0].FallBack || strings.Contains(string(after), "type") {
		t.Errorf("%s is read as %+v, %v", after, servers, err)
	}
}

func TestReplaceEntry(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ file, want string }{
		"one line":      {`{"mcpServers": {"n": {"command": "old"}, "b": 1}}`, `{"mcpServers": {"n": {"command": "npx"}, "b": 1}}`},
		"several lines": {"{\n \"servers\": {\n  \"n\": 1, // c\n  \"b\": 1\n }\n}", "{\n \"servers\": {\n  \"n\": {\n   \"command\": \"npx\"\n  }, // c\n  \"b\": 1\n }\n}"},
	} {
		got, replaced, err := SetEntry("/f", []byte(tc.file), "n", npx(), true)
		if err != nil || string(got) != tc.want || !replaced {
			t.Errorf("%s: %v, %v\ngot  %q\nwant %q", name, err, replaced, got, tc.want)
		}
		if _, _, err := SetEntry("/f", []byte(tc.file), "n", npx(), false); !fault.Is(err, fault.Config) {
			t.Errorf("%s: unasked: %v", name, err)
		}
	}
}

func TestRemoveEntry(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ file, want string }{
		"the first of a line":  {`{"mcpServers": {"n": 1, "b": 2}}`, `{"mcpServers": {"b": 2}}`},
		"the last of a line":   {`{"mcpServers": {"a": 1, "n": 2}}`, `{"mcpServers": {"a": 1}}`},
		"the only one":         {`{"mcpServers": {"n": 1}}`, `{"mcpServers": {}}`},
		"with a comma behind":  {`{"mcpServers": {"n": 1,}}`, `{"mcpServers": {}}`},
		"a line of its own":    {"{\"mcpServers\": {\n  \"n\": 1,\n  \"b\": 2\n}}", "{\"mcpServers\": {\n  \"b\": 2\n}}"},
		"several lines":        {"{\"mcpServers\": {\n  \"a\": 1,\n  \"n\": {\n    \"x\": 1 // c\n  }\n}}", "{\"mcpServers\": {\n  \"a\": 1\n}}"},
		"comments beside":      {"{\"mcpServers\": {\n  // c1\n  \"n\": 1, // c2\n  \"b\": 2\n}}", "{\"mcpServers\": {\n  // c1\n  // c2\n  \"b\": 2\n}}"},
		"a comment in between": {"{\"mcpServers\": {\n  \"n\": 1 /* c1 */ , // c2\n  \"b\": 2\n}}", "{\"mcpServers\": {\n  /* c1 */  // c2\n  \"b\": 2\n}}"},
		"a comment before":     {"{\"mcpServers\": {\n  \"a\": 1 // c1 ,\n  , // c2\n  \"n\": 2\n}}", "{\"mcpServers\": {\n  \"a\": 1 // c1 ,\n   // c2\n}}"},
		"twice":                {`{"mcpServers": {"n": 1, "b": 2, "n": 3}}`, `{"mcpServers": {"b": 2}}`},
		"in both":              {`{"servers": {"n": 1}, "mcpServers": {"n": 1, "b": 2}}`, `{"servers": {}, "mcpServers": {"b": 2}}`},
		"with escapes":         {`{"mcpServers": {"\u006e": "}", "b": 2}}`, `{"mcpServers": {"b": 2}}`},
	} {
		got, err := RemoveEntry("/f", []byte(tc.file), "n")
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: %v\ngot  %q\nwant %q", name, err, got, tc.want)
		}
	}
}

func TestEditFaults(t *testing.T) {
	t.Parallel()
	set := func(file, name string, d Entry) error {
		_, _, err := SetEntry("/f", []byte(file), name, d, false)
		return err
	}
	_, missing := RemoveEntry("/f", []byte(`{"mcpServers": {"a": 1}}`), "n")
	_, nowhere := RemoveEntry("/f", nil, "n")
	for name, tc := range map[string]struct {
		err  error
		typ  fault.Type
		says string
	}{
		"no JSON":              {set(`{"a": `, "n", npx()), fault.Config, "/f:1: not JSON"},
		"no object":            {set(`[]`, "n", npx()), fault.Config, "/f holds an array"},
		"servers a list":       {set("{\n\"mcpServers\": []}", "n", npx()), fault.Config, `/f:2: "mcpServers" is an array`},
		"too deep":             {set(strings.Repeat("[", 2000), "n", npx()), fault.Config, "nested too deep"},
		"a name with a /":      {set(`{}`, "a/b", npx()), fault.Usage, `"/"`},
		"no name":              {set(`{}`, "", npx()), fault.Usage, "empty"},
		"no command":           {set(`{}`, "n", Entry{}), fault.Config, "no \"command\""},
		"both":                 {set(`{}`, "n", Entry{Command: "c", URL: "u"}), fault.Config, `both "command" and "url"`},
		"text that no JSON is": {set(`{}`, "n", npx("\xff")), fault.Config, "cannot be written"},
		"a name that is not":   {missing, fault.ServerNotFound, `/f has no server "n"`},
		"an empty file":        {nowhere, fault.ServerNotFound, `/f has no server "n"`},
	} {
		f := fault.From(tc.err)
		if f == nil || f.Type != tc.typ || !strings.Contains(f.Message, tc.says) || helpOf(f) == "" {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// FuzzEdit: of any file, an edit is a fault or leaves every other byte where it was.
func FuzzEdit(f *testing.F) {
	for _, seed := range []string{"", "{}", "{\"mcpServers\": {\"a\": {\"command\": \"x\"},\n // c\n}}", "{\t}", "\xef\xbb\xbf{\"servers\":{\"new\":1 /*,*/ , \"new\":2 // ,\n}}\r\n",
		"/**/{//\n\"mcpServers\"/*:*/:/**/{/**/\"a\"/**/:/**/1/**/,/**/}/**/,/**/}//", `{"mcpServers": {"new": {"command": "x"}}}`, "{\n\t\"a\": [1,],\n\t}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		foreseen := func(err error) {
			var report *fault.Fault
			if err != nil && (!errors.As(err, &report) || report.Type == fault.Internal || helpOf(report) == "") {
				t.Errorf("%v is no fault that was foreseen", err)
			}
		}
		without, err := RemoveEntry("/f", data, "new")
		foreseen(err)
		if err == nil && !isWithin(without, data) {
			t.Errorf("what is left of\n%q was not all in it:\n%q", data, without)
		}
		if err != nil {
			without = data
		}
		with, _, err := SetEntry("/f", without, "new", npx("-y", "p"), false)
		foreseen(err)
		if err != nil || len(bytes.TrimSpace(without)) == 0 {
			return
		}
		if !isWithin(without, with) && !isWithin(withoutAny(without, " \t\r\n"), with) { // white space in an empty object
			t.Errorf("not all of\n%q is in\n%q", without, with)
		}
		again, err := RemoveEntry("/f", with, "new")
		if err != nil || !isWithin(withoutAny(without, " \t\r\n,"), again) {
			t.Errorf("%v: there and back from\n%q to\n%q", err, without, again)
		}
	})
}

// isWithin reports whether all bytes of part are in whole, in order.
func isWithin(part, whole []byte) bool {
	for _, c := range part {
		i := bytes.IndexByte(whole, c)
		if i < 0 {
			return false
		}
		whole = whole[i+1:]
	}
	return true
}

func withoutAny(data []byte, chars string) []byte {
	return slices.DeleteFunc(slices.Clone(data), func(c byte) bool { return strings.IndexByte(chars, c) >= 0 })
}
