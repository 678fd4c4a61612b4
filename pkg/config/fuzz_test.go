package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// secret is the value of every variable in the fuzz targets. It must turn up in no report.
const secret = "hunter2-hunter2"

// quotes fails where a report quotes the secret.
func quotes(t *testing.T, reports ...any) {
	t.Helper()
	for _, report := range reports {
		if text := fmt.Sprintf("%+v", report); strings.Contains(text, secret) {
			t.Errorf("the secret is in %s", text)
		}
	}
}

func FuzzConfigFile(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "[1,2", `{"mcpServers": {"a": {"command": "x", "args": ["-y", 1, true, "${T}"], "env": {"A": "${T:-d}"}, "cwd": "~/x", "timeout": 5}}}`,
		`{"servers": {"a": {"type": "sse", "url": "https://u:p@h/x?token=abcdef", "headers": {"Authorization": "Bearer ${T}"}}}, "mcpServers": null}`,
		"// c\n{\"mcpServers\": {\"a\": {}, \"a\": 1, \"\": {}, \"x/y\": {\"command\": \"a b c\", \"disabled\": \"x\"},},}", "/*", `{"a": {"command": ""}}`,
		`{"mcpServers": {"a": {"command": "${T} b --token ${T}"}, "b": {"url": "${T}"}, "c": {"command": "\u0000"}, "d": {"command": "x", "ttl": "1h", "timeout": 1e999}}}`,
		`{"mcpServers": {"a": {"command": "x", "roots": ["${T}", "file://${T}", "http://${T}"], "protocol": "2025-06-18"}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if strings.Contains(string(data), "hunter") {
			t.Skip("the file holds the secret itself")
		}
		l := loader{env: Env{Dir: "/nowhere", Home: "/home", Lookup: func(string) (string, bool) { return secret, true }},
			config: &Config{Sources: &Sources{}}}
		l.variables.lookup = l.env.Lookup
		if err := l.add(Source{Path: "/nowhere/f"}, data); err != nil {
			var report *fault.Fault
			if !errors.As(err, &report) || report.Type != fault.Config || helpOf(report) == "" {
				t.Fatalf("%v is no fault that helps", err)
			}
			return
		}
		l.finish()
		for _, p := range l.config.Problems {
			if p.Line < 1 || p.Line > 1+strings.Count(string(data), "\n") || p.Message == "" || p.Fix == "" {
				t.Errorf("problem %+v", p)
			}
		}
		quotes(t, l.config.Problems, l.config.Variables)
		for _, s := range l.config.Servers {
			if (s.Transport == Stdio) != (s.Command != "") || invalidName(s.Name) != "" || s.Usable() != nil {
				t.Errorf("server %+v", s)
			}
			quotes(t, s.Display(), s.Mask(fmt.Sprintf("%q %q %s %q", s.Args, s.Env, s.URL, s.Headers)))
			s.Fingerprint()
		}
	})
}

func FuzzExpand(f *testing.F) {
	for _, seed := range []string{"", "${A}", "${A:-${B}}", "$${A}", "${", "${A:-", "$", "a${UP}b${low:-x}c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x := expand(text, func(name string) (string, bool) { return "", false })
		if len(x.values) > 0 || len(x.missing) > len(text) {
			t.Errorf("%q: %+v", text, x)
		}
		if !x.strange && len(x.names) == 0 && x.text != strings.ReplaceAll(text, "$${", "${") {
			t.Errorf("%q changes without a reference, to %q", text, x.text)
		}
		y := expand(text, func(name string) (string, bool) { return "v", true })
		if len(y.missing) > 0 || y.strange != x.strange || strings.Join(x.names, ",") != strings.Join(y.names, ",") {
			t.Errorf("%q: %+v without values, %+v with", text, x, y)
		}
		if onlyReferences(text) && (x.text != text || x.strange) {
			t.Errorf("%q: %+v", text, x)
		}
	})
}

func FuzzEnvFile(f *testing.F) {
	for _, seed := range []string{"", "A=@", "export A='@'\nB=\"@\n@\" # @\n", "@", "A", "A=\"@", "A=${@}", "A=\\$@\\${B}", "# @", "\x00=@", "A=${N:-@}", "'A'=@", "A=''@"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v := &variables{lookup: func(string) (string, bool) { return "", false }}
		file, problems := v.parse("/f", strings.ReplaceAll(text, "@", secret))
		quotes(t, problems)
		for _, p := range problems {
			if p.Line < 1 || p.Fix == "" {
				t.Errorf("problem %+v", p)
			}
		}
		for name, val := range file.values {
			if name == "" || strings.Contains(val.text, dollar) || strings.Contains(val.text, escapedDollar) {
				if !strings.Contains(text, dollar) && !strings.Contains(text, escapedDollar) {
					t.Errorf("%q is %q", name, val.text)
				}
			}
		}
	})
}

func FuzzSettings(f *testing.F) {
	for _, seed := range []string{"", "ttl = '1h'\n", "limit=5\n[x]\ny=1", "Limit=\"5\"", "=", "a.b=1", "max_bytes=0x10", "limit = '''\n5'''", "[[ttl]]",
		"[[policy]]\nmatch='*'\naction='ask'\nby=['token']\n[[policy]]", "policy=[{match='a/*',action='deny'}]", "[policy]\nmatch=''"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file := settingsFile{path: "/f", data: data}
		if err := file.parse(); err != nil {
			if report := fault.From(err); report.Type != fault.Config || helpOf(report) == "" {
				t.Errorf("%v is no fault that helps", err)
			}
			return
		}
		rules, err := file.policy()
		if err == nil && len(rules) != len(file.values.Policy) || err != nil && !fault.Is(err, fault.Config) {
			t.Errorf("%d rules of %d, %v", len(rules), len(file.values.Policy), err)
		}
		for i := range file.values.Policy {
			if line := file.policyLine(i); line < 1 || line > 1+strings.Count(string(data), "\n") {
				t.Errorf("rule %d is in line %d", i, line)
			}
		}
		for _, slot := range new(Settings).slots(file.values) {
			if slot.text != nil {
				_ = slot.set(string(*slot.text))
				if line := file.line(slot.name); line < 0 || line > 1+strings.Count(string(data), "\n") {
					t.Errorf("%s is in line %d", slot.name, line)
				}
			}
		}
	})
}

// FuzzMask: what is masked stays masked in every spelling that the masking promises.
func FuzzMask(f *testing.F) {
	for _, seed := range []string{"", "abcd", "a b&c", "\"\\\n", "true", "ünï", "long\nlines of\na secret key"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		trimmed := strings.TrimSpace(value)
		if len(trimmed) < minSecret || strings.Contains("***", trimmed) || trimmed == "true" || trimmed == "false" || trimmed == "null" {
			return
		}
		masked := mask(replacer([]string{value}), "before "+value+" after")
		quoted, err := json.Marshal(value)
		if err != nil || strings.Contains(masked, trimmed) && !strings.Contains("before *** after", trimmed) {
			t.Errorf("%q is in %q", trimmed, masked)
		}
		if inJSON := mask(replacer([]string{value}), string(quoted)); !strings.Contains(inJSON, "***") {
			t.Errorf("%q is in %s", trimmed, inJSON)
		}
	})
}

// FuzzEntries: whatever is pasted as an entry is refused with a fault, or holds servers that have a command or a URL.
func FuzzEntries(f *testing.F) {
	for _, text := range []string{`{"command": "x"}`, `{"url": "https://h"} // c`, `{"mcpServers": {"a": {"command": "x"}}}`,
		`{"a": {"command": "x"}, "b": {}}`, `{}`, `[`, `{"servers": 1}`, `{"env": {"A": "b"}}`, `{"":{"command":"x"}}`} {
		f.Add("n", text)
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		entries, _, err := ParseEntries(name, text)
		if f := fault.From(err); err != nil && f.Type == fault.Internal {
			t.Errorf("%q: %v", text, err)
		}
		for name, d := range entries {
			if name == "" || (d.Command == "") == (d.URL == "") {
				t.Errorf("%q: %q is %+v", text, name, d)
			}
		}
	})
}
