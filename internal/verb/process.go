package verb

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/daemon"
	"github.com/mcp-launchpad/mcpl/pkg/output"
)

// Process returns the app of this process: streams, environment, version, clock. It cannot reach live servers.
func Process() (*App, error) {
	env, err := config.ProcessEnv()
	if err != nil {
		return nil, err
	}
	return &App{
		Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		OutTTY: terminal(os.Stdout), ErrTTY: terminal(os.Stderr), InTTY: atTerminal(),
		Version: version(), Now: time.Now, Started: time.Now(), Detach: detach,
	}, nil
}

// atTerminal reports whether stdin is a terminal, which has not gone.
func atTerminal() bool { return term.IsTerminal(int(os.Stdin.Fd())) }

// version returns the version that Go stamped into the binary: a tag, or a pseudo-version with the commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// oneSignal is the time in which further signals are the same interruption: timeout(1) signals the process and then
// its group.
const oneSignal = 100 * time.Millisecond

// Interruptible returns a context that ends with its parent, SIGINT or SIGTERM. A signal after that ends the process at
// once, unless it comes with the first one.
func Interruptible(parent context.Context) context.Context {
	ctx, stop := signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		if parent.Err() != nil { // no signal: what comes now is for whoever catches signals next
			stop()
			return
		}
		time.AfterFunc(oneSignal, stop)
	})
	return ctx
}

// detach starts this program with other arguments, without our terminal and pipes. This process does not wait for it:
// it ends by itself, with its work or at its time limits, and init reaps it.
func detach(args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := &exec.Cmd{Path: self, Args: append([]string{os.Args[0]}, args...), SysProcAttr: detachedAttributes()}
	daemon.KeepToSelf()
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// terminal describes the terminal behind a stream. Colour follows https://no-color.org.
func terminal(f *os.File) output.Terminal {
	if !term.IsTerminal(int(f.Fd())) {
		return output.Terminal{}
	}
	width, _, _ := term.GetSize(int(f.Fd())) // negative if it is not known
	color := os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return output.Terminal{Is: true, Color: color, Width: max(width, 0)}
}
