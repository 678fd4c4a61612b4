package verb

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// TestEarlyPath: without a way to live servers a verb answers, or fails with ErrNotFresh and has written
// nothing and asked nothing.
func TestEarlyPath(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct {
		args  string
		later bool // the configuration has changed
		fresh bool // it answers
	}{
		"a search":                   {args: "search add", fresh: true},
		"a search of a changed file": {args: "search add", later: true},
		"a refresh":                  {args: "list --refresh"},
		"a definition":               {args: "inspect demo add", fresh: true},
		"a mistake":                  {args: "list demo papers", fresh: true},
		"a call":                     {args: "call demo add a=1"},
		"a call that does not fit":   {args: "call demo add b=1", fresh: true},
		"a call from stdin":          {args: "call demo add --stdin"},
		"a call of a file":           {args: "call demo add a=@x"},
		"a dry run":                  {args: "call demo add a=1 --dry-run"},
		"a resource":                 {args: "read papers paper://report"},
		"a prompt":                   {args: "prompt papers review topic=x"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			w := fixture(t)
			if tc.later {
				w.write(".mcp.json", fixtureConfig+"\n")
			}
			line, err := parse(strings.Fields(tc.args)...)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			app := *w.app
			app.Stdout, app.Stderr, app.InProcess, app.Logins = &out, &out, nil, nil
			_, err = app.Run(t.Context(), line.spec, line.verb, line.globals, line.words)
			if fresh := err == nil; fresh != tc.fresh || err != nil && !errors.Is(err, engine.ErrNotFresh) {
				t.Errorf("mcpl %s: %v", tc.args, err)
			}
			if written := out.Len() > 0; written != tc.fresh || len(w.asked) > 0 {
				t.Errorf("mcpl %s asks %q and writes %q", tc.args, w.asked, &out)
			}
		})
	}
}

// TestEarlyVerbs: the early path does not run verbs that the index cannot answer, and leaves them to main.
func TestEarlyVerbs(t *testing.T) {
	t.Parallel()
	for name, early := range map[string]bool{"search": true, "inspect": true, "call": true, "list": true, "read": true,
		"resources": true, "prompt": true, "prompts": true, "config": false, "config import": false, "config add": false,
		"config remove": false, "auth": false, "doctor": false, "disable": false, "enable": false, "instructions": false,
		"completion": false, "daemon": false, "version": false, RefreshName: false} {
		if spec, ok := Find(name); !ok || spec.Early != early {
			t.Errorf("%s: early is %v, found is %v", name, spec.Early, ok)
		}
	}
}

// closed is a stream that takes nothing, for this reason.
type closed struct{ reason error }

func (c closed) Write([]byte) (int, error) { return 0, c.reason }

// TestLostOutput: a reader who has gone is not a failure; a stream that takes nothing is one, and says so
// on the other.
func TestLostOutput(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	for title, tc := range map[string]struct {
		args   string
		reason error
		code   int
		says   string
	}{
		"an answer without a reader": {"list", syscall.EPIPE, 0, ""},
		"a fault without a reader":   {"list nosuch --json", syscall.EPIPE, 3, ""},
		"an answer that is lost":     {"list", full, 2, "error: the answer could not be written to stdout\n  no space left on device\n"},
		"a fault that is lost":       {"list demo papers --json", full, 2, `error: list takes one server, "papers" is too much`},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			w := fixture(t)
			line, err := parse(strings.Fields(tc.args)...)
			if err != nil {
				t.Fatal(err)
			}
			var stderr bytes.Buffer
			app := *w.app
			app.Stdout, app.Stderr = closed{tc.reason}, &stderr
			code, err := app.Run(t.Context(), line.spec, line.verb, line.globals, line.words)
			if err != nil || code != tc.code || !strings.HasPrefix(stderr.String(), tc.says) {
				t.Errorf("exit code %d, %v\n%s", code, err, &stderr)
			}
			if tc.says == "" && stderr.Len() > 0 {
				t.Errorf("it says %s", &stderr)
			}
		})
	}
}

// TestSession holds what every run does before its verb and after it.
func TestSession(t *testing.T) {
	t.Parallel()
	t.Run("wrong settings", func(t *testing.T) {
		t.Parallel()
		w := fixture(t)
		path := w.app.Env.SettingsFile()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("limt = 3\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
		if got := w.run(t.Context(), "version"); got.code != 2 || !strings.Contains(got.stderr, "limt") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a damaged state file", func(t *testing.T) {
		t.Parallel()
		w := fixture(t)
		path := filepath.Join(w.app.Env.StateDir(), "tool-state.json")
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("{"), 0o600)); err != nil {
			t.Fatal(err)
		}
		if got := w.run(t.Context(), "list", "demo"); got.code != 2 || !strings.Contains(got.stderr, "tool-state.json:1: ") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a configuration that is missing", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, "", nil)
		if got := w.run(t.Context(), "list"); got.code != fault.Config.ExitCode() {
			t.Errorf("%+v", got)
		}
	})
	t.Run("files of the command line", func(t *testing.T) {
		t.Parallel()
		w := fixture(t)
		w.write("one.json", `{"mcpServers": {"web": {"url": "https://web.example/mcp"}}}`)
		got := w.run(t.Context(), "--config", "one.json", "-v", "list", "--json")
		if got.code != 0 || !strings.Contains(got.stdout, `"servers":[{"name":"web"`) || strings.Contains(got.stdout, "demo") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a background that does not start", func(t *testing.T) {
		t.Parallel()
		w := fixture(t)
		w.app.Detach = func([]string) error { return errors.New("no more processes") }
		w.app.Now = func() time.Time { return noon.Add(25 * time.Hour) }
		got := w.run(t.Context(), "-v", "list", "demo")
		if got.code != 0 || !strings.Contains(got.stderr, "the index could not be refreshed behind the answer: no more processes") {
			t.Errorf("%+v", got)
		}
	})
}

// TestDurations holds what flags of time take.
func TestDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"30s": "30s", "2m": "2m0s", "90": "1m30s", "0.5": "500ms", "1.5h": "1h30m0s", "0": "", "-1": "", "soon": "", "": "",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			var g Globals
			fs := pflag.NewFlagSet("mcpl", pflag.ContinueOnError)
			fs.SetOutput(io.Discard)
			g.Flags(fs)
			err := fs.Parse([]string{"--connect-timeout", text})
			if got := fs.Lookup("connect-timeout").Value.String(); got != want || (err == nil) != (want != "") {
				t.Errorf("%q is %q, %v, want %q", text, got, err, want)
			}
		})
	}
}

// TestProcess: the app of this process is ready for the early path, and for no more.
func TestProcess(t *testing.T) {
	t.Parallel()
	app, err := Process()
	if err != nil {
		t.Fatal(err)
	}
	if app.Version == "" || app.InProcess != nil || app.Logins != nil || app.Detach == nil || app.Env.Dir == "" {
		t.Errorf("%+v", app)
	}
	var out bytes.Buffer
	app.Stdout = &out
	spec, _ := Find("version")
	code, err := app.Run(context.Background(), spec, spec.New(), Globals{}, nil)
	if code != 0 || err != nil || out.Len() == 0 {
		t.Errorf("%d, %v, %s", code, err, &out)
	}
}
