// Command conformance runs the protocol's conformance suite (npm @modelcontextprotocol/conformance)
// against mcpl, in every revision that each scenario knows, and compares what fails with what is
// expected to fail. mcpl is the client in some scenarios, and in the others the server: mcpl serve, in
// front of the everything-server of the protocol's Go SDK (server.go).
//
// In a client scenario the suite starts a server and then "the client" with that server's URL; the client is
// this program again, with -client. It is a user, not a client: it writes a configuration with the URL,
// types the commands of mcpl that the scenario asks for (scenarios.go), and follows the commands that
// mcpl's errors advise. Whatever it knows of the protocol would hide what mcpl lacks.
//
//	go run ./internal/conformance -mcpl bin/mcpl -suite testdata/conformance \
//		-everything "$(go -C tools tool -n everything-server)" -scenario tools_call
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
)

// errFailed is the end of a run whose failures have been printed.
var errFailed = errors.New("mcpl does not do what is expected of it")

func main() {
	var s suite
	var asClient bool
	flag.StringVar(&s.mcpl, "mcpl", "bin/mcpl", "the mcpl to try")
	flag.StringVar(&s.dir, "suite", "testdata/conformance", "folder with the installed suite and expected-failures.yaml")
	flag.StringVar(&s.only, "scenario", "", "run this scenario alone, and show what was typed and answered")
	flag.StringVar(&s.everything, "everything", "", "the everything-server, which tools/go.mod pins")
	flag.IntVar(&s.jobs, "jobs", max(2, runtime.NumCPU()), "scenarios at a time")
	flag.BoolVar(&asClient, "client", false,
		"be the client of one scenario: the suite starts it so, with the server's URL")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if asClient {
		err = beClient(ctx, s.mcpl, flag.Arg(0))
	} else {
		err = s.run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// beClient does what the scenario of the environment asks a client to do.
func beClient(ctx context.Context, mcpl, url string) error {
	ctx, cancel := context.WithTimeout(ctx, clientLimit)
	defer cancel()
	dir, err := os.MkdirTemp("", "mcpl-conformance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if mcpl, err = filepath.Abs(mcpl); err != nil {
		return err
	}
	job, err := jobOf(os.Getenv, url)
	if err != nil {
		return err
	}
	u, err := newUser(mcpl, dir, job.entry())
	if err != nil {
		return err
	}
	return job.play(ctx, u)
}
