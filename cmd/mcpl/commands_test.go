package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/itchyny/gojq"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// commands are what scripts need beside testscript's own:
//
//	code N CMD...        runs CMD, which has to exit with N
//	jq EXPR              EXPR of the last stdout, one JSON document, has to be true
//	gone FILE            the process whose id FILE holds has to end within 10 s
//	lines FILE N         FILE has to have exactly N lines
func commands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"code": code, "jq": jq, "gone": gone, "lines": lines,
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
	query, err := gojq.Parse(args[0])
	ts.Check(err)
	stdout := ts.ReadFile("stdout")
	var input any
	if err := json.Unmarshal([]byte(stdout), &input); err != nil {
		ts.Fatalf("stdout is not one JSON document: %v\n%s", err, stdout)
	}
	v, _ := query.Run(input).Next()
	if err, ok := v.(error); ok {
		ts.Fatalf("jq %s: %v\n%s", args[0], err, stdout)
	}
	if (v == true) == neg {
		ts.Fatalf("jq %s gives %v of\n%s", args[0], v, stdout)
	}
}

// gone waits for the end of a process whose id a server has written.
func gone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gone FILE")
	}
	word, _, _ := strings.Cut(strings.TrimSpace(ts.ReadFile(args[0])), " ")
	pid, err := strconv.Atoi(word)
	ts.Check(err)
	for end := time.Now().Add(10 * time.Second); mcptest.Alive(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("process %d still runs", pid)
		}
	}
}

func lines(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: lines FILE N")
	}
	n := strings.Count(ts.ReadFile(args[0]), "\n")
	if (fmt.Sprint(n) == args[1]) == neg {
		ts.Fatalf("%s has %d lines, want %s", args[0], n, args[1])
	}
}
