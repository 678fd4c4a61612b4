package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcp-launchpad/mcpl/internal/authtest"
)

// authServers is the key of the servers that a script has started.
const authServers = "authtest"

// authserver starts a server that wants a login, whose URL is in $NAME: authserver NAME [OPTION...]. The
// options are expires=SECONDS, norefresh, client=ID:SECRET, noregistration, scope=SCOPE (of all), TOOL:SCOPE.
func authserver(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: authserver NAME [OPTION...]")
	}
	o := authtest.Options{Scopes: map[string]string{}}
	for _, option := range args[1:] {
		key, value, _ := strings.Cut(option, "=")
		tool, scope, isScope := strings.Cut(option, ":")
		switch {
		case key == "expires":
			n, err := strconv.Atoi(value)
			ts.Check(err)
			o.Expires = n
		case key == "norefresh":
			o.NoRefresh = true
		case key == "noregistration":
			o.NoRegistration = true
		case key == "client":
			id, secret, _ := strings.Cut(value, ":")
			o.Clients = map[string]string{id: secret}
		case key == "scope":
			o.Scopes[""] = value
		case isScope:
			o.Scopes[tool] = scope
		default:
			ts.Fatalf("authserver: what is %s?", option)
		}
	}
	s := authtest.New(o)
	ts.Defer(s.Close)
	ts.Value(authServers).(map[string]*authtest.Server)[args[0]] = s
	ts.Setenv(args[0], s.URL())
}

// authdo changes a server, or looks at it: authdo NAME expire|revoke|break|mend|count EVENT N.
func authdo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: authdo NAME expire|revoke|down|up|count EVENT N")
	}
	s := ts.Value(authServers).(map[string]*authtest.Server)[args[0]]
	switch args[1] {
	case "expire":
		s.Expire()
	case "revoke":
		s.Revoke()
	case "down":
		s.Change(func(o *authtest.Options) { o.TokenError = "down" })
	case "up":
		s.Change(func(o *authtest.Options) { o.TokenError = "" })
	case "count":
		if got := fmt.Sprint(s.Count(args[2])); got != args[3] {
			ts.Fatalf("%s came %s times, want %s:\n%s", args[2], got, args[3], strings.Join(s.Events(), "\n"))
		}
	default:
		ts.Fatalf("authdo: what is %s?", args[1])
	}
}

// noauthsecrets looks for the secrets of a server where none may be.
func noauthsecrets(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: noauthsecrets NAME")
	}
	texts := map[string]string{"stdout": ts.ReadFile("stdout"), "stderr": ts.ReadFile("stderr")}
	home := ts.Getenv("HOME")
	ts.Check(filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.Contains(filepath.ToSlash(path), "/mcpl/auth/") {
			return err
		}
		data, err := os.ReadFile(path)
		texts[path] = string(data)
		return err
	}))
	for _, secret := range ts.Value(authServers).(map[string]*authtest.Server)[args[0]].Secrets() {
		for where, text := range texts {
			if strings.Contains(text, secret) {
				ts.Fatalf("%s holds a secret:\n%s", where, text)
			}
		}
	}
}

// watched is a stream that is passed on. The first address in it goes to the channel found, which has room for it.
type watched struct {
	to    io.Writer
	text  bytes.Buffer
	found chan<- string // nil after the first address
}

func (w *watched) Write(p []byte) (int, error) {
	w.text.Write(p)
	if address := authtest.AddressIn(w.text.String()); address != "" && w.found != nil {
		w.found <- address
		w.found = nil
	}
	return w.to.Write(p)
}

// playBrowser runs a command and goes to the address that it prints on stderr.
func playBrowser() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	found := make(chan string, 1)
	out := &watched{to: os.Stderr, found: found}
	cmd.Stdout, cmd.Stderr = os.Stdout, out
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-ctx.Done():
		case address := <-found:
			if _, _, err := authtest.Browse(ctx, address); err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "play-browser:", err)
			}
		}
	}()
	err := cmd.Wait()
	cancel()
	<-done
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(exit.ExitCode())
	case err != nil:
		os.Exit(99)
	}
	os.Exit(0)
}

// xdgOpen is the browser of the machine that a script runs on. It also writes down that it was opened.
func xdgOpen() {
	f, err := os.OpenFile(filepath.Join(os.Getenv("HOME"), "browsed"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintln(f, "opened")
		err = f.Close()
	}
	if err == nil {
		_, _, err = authtest.Browse(context.Background(), os.Args[1])
	}
	if err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}
