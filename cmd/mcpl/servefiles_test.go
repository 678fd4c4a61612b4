//go:build linux || darwin

package main

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// TestServeAddress says what is wrong with an address at which mcpl serve cannot be.
func TestServeAddress(t *testing.T) {
	t.Parallel()
	h := newHome(t, mcptest.Script{})
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for address, texts := range map[string][]string{
		"7399":                {"--http 7399 is not an address with a port", "127.0.0.1:7332"},
		"foo":                 {"--http foo is not an address with a port", "127.0.0.1:7332"},
		"127.0.0.1:x":         {"cannot serve at 127.0.0.1:x"},
		taken.Addr().String(): {"cannot serve at " + taken.Addr().String(), "another mcpl serve may run there"},
	} {
		cmd, stdout, stderr := h.mcpl(t, "serve", "--no-auth", "--http", address)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if code := exitCode(t, cmd); code != 2 {
			t.Errorf("%s: ended with %d", address, code)
		}
		for _, text := range texts {
			if !strings.Contains(stdout.String()+stderr.String(), text) {
				t.Errorf("%s: %q is not in %s%s", address, text, stdout, stderr)
			}
		}
	}
}

// TestServeListsCrashed: list_servers says of a server that crashed that it has ended, and blames no defect of mcpl.
func TestServeListsCrashed(t *testing.T) {
	t.Parallel()
	script := servedScript()
	crashing := mcptest.Script{Start: mcptest.Behaviour{Exit: &mcptest.Exit{Code: 3}}}
	script.Later = []mcptest.Later{{From: 3, Script: crashing}}
	h := newHome(t, script)
	f := h.serve(t)
	f.initialize(`{}`)
	f.has(f.do("tools/call", `{"name":"call_tool","arguments":{"server":"s","tool":"odd","arguments":{"a":1}}}`), "novel")
	lines := mcptest.WaitLines(t, h.starts, 2) // the first one was listed
	var pid int
	if _, err := fmt.Sscan(lines[1], &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	answer := ""
	mcptest.Wait(t, "the server is down", func() bool {
		answer = f.do("tools/call", `{"name":"list_servers","arguments":{}}`)
		return strings.Contains(answer, "is down")
	})
	if !strings.Contains(answer, "s has ended") || strings.Contains(answer, "defect") {
		t.Error(answer)
	}
}

// TestServeEndOfInput answers what came before the end of stdin, and cancels what takes too long.
func TestServeEndOfInput(t *testing.T) {
	t.Parallel()
	script := servedScript()
	script.Tools = append(script.Tools, mcptest.Tool{Name: "slow", Text: "late",
		Behaviour: mcptest.Behaviour{Delay: mcptest.Duration(time.Second)}})
	h := newHome(t, script)
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}`
	listen, _ := modern("subscriptions/listen", "", `"notifications":{"toolsListChanged":true},`)
	for _, test := range []struct {
		last  string
		texts []string
		most  time.Duration
	}{
		{`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, []string{`"id":1,"result"`, `"id":2,"result"`, `"s_odd"`}, 8 * time.Second},
		{callOf(2, "s_slow", `{}`), []string{`"id":1,"result"`, `"id":2,"result"`, "late"}, 8 * time.Second},
		{callOf(2, "s_hang", `{}`), []string{`"id":1,"result"`, `"id":2,"result"`, "cancelled it"}, 30 * time.Second},
		{listen, nil, 8 * time.Second},
	} {
		t.Run(test.last, func(t *testing.T) {
			t.Parallel()
			cmd, stdout, stderr := h.mcpl(t, "serve", "--expose", "all")
			input := hello + "\n" + test.last + "\n"
			if test.last == listen { // since MCP 2026-07-28 there is no hello
				input = listen + "\n"
			}
			cmd.Stdin = strings.NewReader(input)
			began := time.Now()
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v: %s", err, stderr)
			}
			for _, text := range test.texts {
				if !strings.Contains(stdout.String(), text) {
					t.Errorf("%q is not in %s", text, stdout)
				}
			}
			if took := time.Since(began); took > test.most {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// TestServeEndOfOutput: without a reader of its stdout, serve ends at once, though a call is running.
func TestServeEndOfOutput(t *testing.T) {
	t.Parallel()
	h := newHome(t, servedScript())
	cmd, _, _ := h.mcpl(t, "serve", "--expose", "all")
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out.Close()
	cmd.Stdout = in
	cmd.Stdin = strings.NewReader(callOf(1, "s_hang", `{}`) + "\n" + `{"jsonrpc":"2.0","id":2,"method":"ping"}` + "\n")
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	exitCode(t, cmd)
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("it took %s", took)
	}
}
