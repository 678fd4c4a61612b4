package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/itchyny/gojq"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/index"
)

// commands are what scripts need beside testscript's own:
//
//	code N CMD...        runs CMD, which has to exit with N
//	jq EXPR              EXPR of the last stdout, one JSON document, has to be true
//	damage FILE HOW      spoils a file of the one index: cut, garble, future or remove
//	gone FILE            the processes whose ids begin the lines of FILE have to end within 10 s
//	jqout EXPR FILE      writes what EXPR gives of the last stdout to FILE
//	jqenv EXPR NAME      sets a variable to the text that EXPR gives of the last stdout
//	lines FILE N         FILE has to have exactly N lines; none is the same as no file
//	shorter FILE N       FILE has to have at most N bytes
//	authserver NAME ...  starts a server that wants a login; see there
//	authdo NAME WHAT     changes it, or holds what it was asked against what is expected; see there
//	noauthsecrets NAME   neither the last output nor a file of the home but the logins holds a secret of it
//
// Programs that they can run: mcptest SCRIPT.json; play-browser CMD..., which runs CMD, reads the
// address of a login from its stderr and goes there; xdg-open, which is the browser of the machine.
func commands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"code": code, "damage": damage, "jq": jq, "jqout": jqout, "jqenv": jqenv, "gone": gone, "lines": lines, "waitlines": waitlines, "age": age, "shorter": shorter,
		"authserver": authserver, "authdo": authdo, "noauthsecrets": noauthsecrets,
	}
}

func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N CMD...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("exit code %d, want %s\nstdout: %s\nstderr: %s", got, args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

func jq(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: jq EXPR")
	}
	v := query(ts, args[0])
	if (v == true) == neg {
		ts.Fatalf("jq %s gives %v of\n%s", args[0], v, ts.ReadFile("stdout"))
	}
}

func jqout(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: jqout EXPR FILE")
	}
	data, err := json.Marshal(query(ts, args[0]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o600))
}

func jqenv(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: jqenv EXPR NAME")
	}
	text, ok := query(ts, args[0]).(string)
	if !ok || text == "" {
		ts.Fatalf("jqenv %s gives no text of\n%s", args[0], ts.ReadFile("stdout"))
	}
	ts.Setenv(args[1], text)
}

// query returns the first result of a jq expression over the last stdout.
func query(ts *testscript.TestScript, expr string) any {
	query, err := gojq.Parse(expr)
	ts.Check(err)
	stdout := ts.ReadFile("stdout")
	var input any
	if err := json.Unmarshal([]byte(stdout), &input); err != nil {
		ts.Fatalf("stdout is not one JSON document: %v\n%s", err, stdout)
	}
	v, _ := query.Run(input).Next()
	if err, ok := v.(error); ok {
		ts.Fatalf("jq %s: %v\n%s", expr, err, stdout)
	}
	return v
}

// damage spoils a file of the index, of which there is one. Its time stays, as if the disk had done it.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: damage FILE cut|garble|change|future|remove")
	}
	paths, err := filepath.Glob(filepath.Join(ts.Getenv("XDG_CACHE_HOME"), "mcpl", "*", args[0]))
	ts.Check(err)
	if len(paths) != 1 {
		ts.Fatalf("%d files %s", len(paths), args[0])
	}
	info, err := os.Stat(paths[0])
	ts.Check(err)
	data, err := os.ReadFile(paths[0])
	ts.Check(err)
	switch args[1] {
	case "cut":
		data = data[:len(data)/2]
	case "garble":
		data = bytes.Map(func(r rune) rune { return r ^ 1 }, data)
	case "change": // into another sound file of the same size
		data = bytes.Replace(data, []byte("Say hello"), []byte("Say jello"), 1)
	case "future":
		data[8] = 99 // the version of search.idx
	case "remove":
		ts.Check(os.Remove(paths[0]))
		return
	default:
		ts.Fatalf("damage: how is %s?", args[1])
	}
	ts.Check(os.WriteFile(paths[0], data, 0o600))
	ts.Check(os.Chtimes(paths[0], info.ModTime(), info.ModTime()))
}

// gone waits for the end of the processes whose ids servers have written.
func gone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gone FILE")
	}
	for line := range strings.Lines(strings.TrimSpace(ts.ReadFile(args[0]))) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		pid, err := strconv.Atoi(word)
		ts.Check(err)
		if _, gone := mcptest.Poll(func() (string, bool) { return "", !mcptest.Alive(pid) }); !gone {
			ts.Fatalf("process %d still runs", pid)
		}
	}
}

func lines(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: lines FILE N")
	}
	n := 0
	if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
		n = strings.Count(ts.ReadFile(args[0]), "\n")
	}
	if (fmt.Sprint(n) == args[1]) == neg {
		ts.Fatalf("%s has %d lines, want %s", args[0], n, args[1])
	}
}

func shorter(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: shorter FILE N")
	}
	limit, err := strconv.Atoi(args[1])
	ts.Check(err)
	if n := len(ts.ReadFile(args[0])); n > limit {
		ts.Fatalf("%s has %d bytes, more than %d:\n%s", args[0], n, limit, ts.ReadFile(args[0]))
	}
}

func waitlines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitlines FILE N")
	}
	text, came := mcptest.Poll(func() (string, bool) {
		text := ts.ReadFile(args[0])
		return text, fmt.Sprint(strings.Count(text, "\n")) == args[1]
	})
	if !came {
		ts.Fatalf("%s has not come to %s lines:\n%s", args[0], args[1], text)
	}
}

// age sets the times in the metadata back and removes the packed index, which is derived from it.
func age(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: age DURATION")
	}
	d, err := time.ParseDuration(args[0])
	ts.Check(err)
	folders, err := filepath.Glob(filepath.Join(ts.Getenv("XDG_CACHE_HOME"), "mcpl", "*", "index_metadata.json"))
	ts.Check(err)
	if len(folders) == 0 {
		ts.Fatalf("there is no index")
	}
	for _, path := range folders {
		unlock, err := index.Store{Dir: filepath.Dir(path)}.Lock(context.Background()) // a background refresh may be at it
		ts.Check(err)
		defer unlock()
		text := regexp.MustCompile(`"(listedAt|triedAt)": "([^"]*)"`).ReplaceAllStringFunc(ts.ReadFile(path), func(member string) string {
			parts := strings.Split(member, `"`)
			at, err := time.Parse(time.RFC3339Nano, parts[3])
			ts.Check(err)
			return fmt.Sprintf("%q: %q", parts[1], at.Add(-d).Format(time.RFC3339Nano))
		})
		ts.Check(os.WriteFile(path, []byte(text), 0o600))
		ts.Check(os.Remove(filepath.Join(filepath.Dir(path), "search.idx")))
	}
}
