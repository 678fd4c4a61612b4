//go:build linux || darwin

package main

import (
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"

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

// TestServeCrashIsNoDefect: list_servers says of a server that has crashed that it has ended, and blames no defect.
func TestServeCrashIsNoDefect(t *testing.T) {
	t.Parallel()
	script := servedScript()
	crash := mcptest.Behaviour{Exit: &mcptest.Exit{Code: 3}}
	script.Later = []mcptest.Later{{From: 3, Script: mcptest.Script{Start: crash}}}
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
