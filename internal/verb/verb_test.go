package verb

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/internal/verb/render"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/host"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// commandLine is a parsed command line.
type commandLine struct {
	spec    Spec
	verb    Verb
	globals Globals
	words   []string
}

// parse parses a command line as the ways into mcpl do: flags stand before and after the words. The
// error is that of the flags.
func parse(args ...string) (commandLine, error) {
	flags := func(g *Globals) *pflag.FlagSet {
		fs := pflag.NewFlagSet("mcpl", pflag.ContinueOnError)
		g.Flags(fs)
		return fs
	}
	front := flags(new(Globals))
	front.SetInterspersed(false)
	if err := front.Parse(args); err != nil {
		return commandLine{}, err
	}
	before, args := args[:len(args)-front.NArg()], front.Args()
	var line commandLine
	found := false
	for n := min(2, len(args)); n > 0 && !found; n-- {
		if line.spec, found = Find(strings.Join(args[:n], " ")); found {
			args = args[n:]
		}
	}
	if !found {
		return line, fmt.Errorf("no verb begins %q", args)
	}
	line.verb = line.spec.New()
	whole := flags(&line.globals)
	line.verb.Flags(whole)
	err := whole.Parse(slices.Concat(before, args))
	line.words = whole.Args()
	return line, err
}

// options is a row of a table from command lines to options.
type options struct {
	args []string // behind the name of the verb
	want Verb     // the options, if the command line is right
	says string   // the message of the fault, if it is wrong
}

// checkOptions runs a table from command lines to options.
func checkOptions(t *testing.T, name string, table map[string]options) {
	t.Helper()
	for title, tc := range table {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			line, err := parse(append(strings.Fields(name), tc.args...)...)
			if err == nil {
				err = line.verb.Parse(line.words)
			}
			switch {
			case err != nil && tc.says == "":
				t.Errorf("mcpl %s %q: %v", name, tc.args, err)
			case err != nil && err.Error() != tc.says:
				t.Errorf("mcpl %s %q says %q, want %q", name, tc.args, err, tc.says)
			case err == nil && tc.says != "":
				t.Errorf("mcpl %s %q passes, want %q", name, tc.args, tc.says)
			case err == nil:
				all := cmp.Exporter(func(reflect.Type) bool { return true })
				if diff := cmp.Diff(tc.want, line.verb, all); diff != "" {
					t.Errorf("mcpl %s %q: -want +got\n%s", name, tc.args, diff)
				}
			}
		})
	}
}

// server stands for a server.
type server struct {
	listing tool.Listing
	down    *fault.Fault // instead of the listing
	call    behaviour    // answers requests; a server without it must not get any
}

// behaviour is a server's side of requests.
type behaviour func(context.Context, tool.Ref, json.RawMessage, tool.CallOptions) (*tool.Result, error)

// offering returns a server with these definitions: tools are known by their inputSchema, resources by
// their uri, templates by their uriTemplate, all else is a prompt.
func offering(t *testing.T, instructions string, definitions ...string) *server {
	t.Helper()
	s := &server{listing: tool.Listing{ServerName: "fake", ServerVersion: "1.0", Instructions: instructions,
		Known: tool.Known{Protocol: "2025-11-25", Transport: "stdio"}}}
	for _, raw := range definitions {
		kind, list := tool.Prompt, &s.listing.Prompts
		switch {
		case strings.Contains(raw, `"inputSchema"`):
			kind, list = tool.Tool, &s.listing.Tools
		case strings.Contains(raw, `"uri`):
			kind, list = tool.Resource, &s.listing.Resources
		}
		def, err := tool.Parse(kind, []byte(raw))
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		*list = append(*list, def)
	}
	return s
}

// caller is the strict way to the servers of a world. Methods that it does not have panic.
type caller struct {
	engine.Caller
	w      *world
	closed bool
}

// Watch implements [engine.Caller]. The servers of a world notify of nothing.
func (c *caller) Watch(context.Context, string, tool.CallOptions, func(tool.Event)) (func(), error) {
	return func() {}, nil
}

// server returns a server. It fails the test for one that does not exist or is asked after Close.
func (c *caller) server(name string) *server {
	s := c.w.servers[name]
	if s == nil || c.closed {
		c.w.t.Errorf("server %q is asked, closed is %v", name, c.closed)
		return &server{}
	}
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.w.asked = append(c.w.asked, name)
	return s
}

func (c *caller) List(_ context.Context, name string, _ tool.CallOptions) (tool.Listing, error) {
	s := c.server(name)
	if s.down != nil {
		return tool.Listing{}, s.down
	}
	return s.listing, nil
}

func (c *caller) Call(ctx context.Context, ref tool.Ref, args json.RawMessage,
	opt tool.CallOptions) (*tool.Result, error) {
	s := c.server(ref.Server)
	if s.call == nil {
		c.w.t.Errorf("%s is called", ref)
		return nil, fault.New(fault.Internal, "called", "")
	}
	return s.call(ctx, ref, args, opt)
}

func (c *caller) Close() error {
	if c.closed {
		c.w.t.Error("closed twice")
	}
	c.closed = true
	return nil
}

// world is a home, a project's folder, servers, and the app of a process there.
type world struct {
	t       *testing.T
	app     *App // for the next run; its streams are the run's
	dir     string
	servers map[string]*server
	daemon  bool // requests may go to one

	mu    sync.Mutex
	asked []string // the servers that were asked, in order
}

// noon is the time in every world.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// newWorld returns a world whose project has this configuration, if it is not empty. Its index is not
// built yet.
func newWorld(t *testing.T, configuration string, servers map[string]*server) *world {
	t.Helper()
	root, err := os.MkdirTemp("", "v") // shorter than t.TempDir: lines are broken by their length
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	w := &world{t: t, dir: filepath.Join(root, "dir"), servers: servers}
	w.write(".git/HEAD", "")
	if configuration != "" {
		w.write(".mcp.json", configuration)
	}
	home := filepath.Join(root, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	trusting := func(name string) (string, bool) {
		value, ok := map[string]string{"MCPL_TRUST": "all"}[name]
		return value, ok
	}
	w.app = &App{
		Env: config.Env{Dir: w.dir, Home: home, GOOS: "linux", Lookup: trusting}, Stdin: strings.NewReader(""),
		OutTTY: output.Terminal{Is: true, Width: 120}, Version: "v1.2.3", Now: func() time.Time { return noon }, Started: time.Now(),
		InProcess: func(*config.Config, host.CallerOptions) engine.Caller { return &caller{w: w} },
	}
	return w
}

// write writes a file in the project's folder.
func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		w.t.Fatal(err)
	}
}

// read returns a file of the project's folder.
func (w *world) read(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, filepath.FromSlash(name)))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

// atTerminal puts a person at a terminal, who types text.
func (w *world) atTerminal(typed io.Reader) {
	w.app.InTTY, w.app.ErrTTY, w.app.Stdin = true, output.Terminal{Is: true, Width: 100}, typed
}

// outcome is what a run left behind.
type outcome struct {
	code           int
	stdout, stderr string // the world's folders are DIR and HOME in them
}

// run runs a command line.
func (w *world) run(ctx context.Context, args ...string) outcome {
	w.t.Helper()
	line, err := parse(args...)
	if err != nil {
		w.t.Fatalf("mcpl %q: %v", args, err)
	}
	var stdout, stderr bytes.Buffer
	app := *w.app
	app.Stdout, app.Stderr = &stdout, &stderr
	line.globals.NoDaemon = line.globals.NoDaemon || !w.daemon
	code, err := app.Run(ctx, line.spec, line.verb, line.globals, line.words)
	if err != nil {
		w.t.Errorf("mcpl %q: %v", args, err)
	}
	masked := func(text string) string {
		text = strings.NewReplacer(w.dir, "DIR", w.app.Env.Home, "HOME").Replace(text)
		text = regexp.MustCompile(`"took_ms":\d+`).ReplaceAllString(text, `"took_ms":0`) // by the real clock
		return regexp.MustCompile(`/[0-9a-f]{16}\b`).ReplaceAllString(text, "/KEY")
	}
	return outcome{code, masked(stdout.String()), masked(stderr.String())}
}

// built returns the world with an index of all servers.
func (w *world) built() *world {
	w.t.Helper()
	if got := w.run(w.t.Context(), "list", "--refresh"); got.code != 0 {
		w.t.Fatalf("the index is not built: %+v", got)
	}
	w.asked = nil
	return w
}

// answer is a row of a table from command lines to what is printed. A fault is printed on stderr as
// text, so that text holds stderr too.
type answer struct {
	args  []string
	code  int
	asked []string // the servers that must be asked, sorted
	text  string   // all of stdout and stderr
	json  string   // stdout with --json, without its last line break; "" is not looked at
	// says replaces text for faults that other packages word: parts of what is printed.
	says []string
}

// checkAnswers runs a table from command lines to what is printed, as text and as JSON, each in a world
// of its own.
func checkAnswers(t *testing.T, newWorld func(*testing.T) *world, table map[string]answer) {
	t.Helper()
	for title, tc := range table {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			got := w.run(t.Context(), tc.args...)
			for _, part := range tc.says {
				if !strings.Contains(got.stdout+got.stderr, part) {
					t.Errorf("mcpl %q does not say %q:\n%s%s", tc.args, part, got.stdout, got.stderr)
				}
			}
			diff := ""
			if tc.says == nil {
				diff = cmp.Diff(tc.text, got.stdout+got.stderr)
			}
			if got.code != tc.code || diff != "" {
				t.Errorf("mcpl %q: exit code %d, want %d, -want +got\n%s", tc.args, got.code, tc.code, diff)
			}
			if slices.Sort(w.asked); !slices.Equal(w.asked, tc.asked) {
				t.Errorf("mcpl %q asks %q, want %q", tc.args, w.asked, tc.asked)
			}
			if tc.json == "" {
				return
			}
			w = newWorld(t)
			got = w.run(t.Context(), append([]string{"--json"}, tc.args...)...)
			if diff := cmp.Diff(tc.json+"\n", got.stdout); got.code != tc.code || diff != "" {
				t.Errorf("mcpl --json %q: exit code %d, want %d, -want +got\n%s", tc.args, got.code, tc.code, diff)
			}
			if !json.Valid([]byte(got.stdout)) {
				t.Errorf("mcpl --json %q prints no JSON document: %s", tc.args, got.stdout)
			}
		})
	}
}

// The configuration and the servers of most tests.
const fixtureConfig = `{"mcpServers": {
  "demo": {"command": "demo", "args": ["--token", "${TOKEN:-none}"]},
  "papers": {"command": "papers"},
  "down": {"command": "down"},
  "off": {"command": "off", "disabled": true},
  "web": {"url": "https://web.example/mcp"}
}}`

// fixture returns a world with these servers, and an index of them.
func fixture(t *testing.T) *world {
	t.Helper()
	down := fault.New(fault.ServerConnection, "down exited with code 3", "Run it by hand.").On("down", "").
		Then("See what happened with", fault.Step{Verb: "doctor", Server: "down"})
	demo := offering(t, "Adds up. <!-- And --> more.",
		`{"name":"add","title":"Add","description":"Add two numbers. And more.","inputSchema":{"type":"object","properties":{`+
			`"a":{"type":"number","description":"The first."},"b":{"type":"number","default":1.0}},"required":["a"]},`+
			`"annotations":{"readOnlyHint":true,"openWorldHint":false},`+
			`"outputSchema":{"type":"object","properties":{"sum":{"type":"number"}}}}`,
		`{"name":"drop","description":"Deprecated: drop a table","inputSchema":{"type":"object","properties":{`+
			`"table":{"type":"string","enum":["users","orders"]}}},"annotations":{"destructiveHint":true,"idempotentHint":true}}`)
	demo.call = answering(map[string]string{
		"add":  `{"content":[{"type":"text","text":"3"}],"structuredContent":{"sum":3.0}}`,
		"drop": `{"content":[{"type":"text","text":"no such table"}],"isError":true}`,
	})
	papers := offering(t, "",
		`{"name":"cite","description":"Cite a paper","inputSchema":{"type":"object"}}`,
		`{"uri":"paper://report","name":"report","title":"The report","description":"What was found.","mimeType":"text/plain"}`,
		`{"uriTemplate":"paper://{year}","name":"by year"}`,
		`{"name":"review","description":"Review a paper","arguments":[{"name":"topic","description":"Of what","required":true}]}`)
	papers.call = answering(map[string]string{
		"cite":           `{"content":[{"type":"text","text":"[1]"},{"type":"image","mimeType":"image/png","data":"AQID"}]}`,
		"paper://report": `{"contents":[{"uri":"paper://report","mimeType":"text/plain","text":"rain & wind"}]}`,
		"review":         `{"messages":[{"role":"user","content":{"type":"text","text":"Review rain."}}]}`,
	})
	w := newWorld(t, fixtureConfig, map[string]*server{
		"demo": demo, "papers": papers, "down": {down: down},
		"web": offering(t, "", `{"name":"look","description":"Look at a page","inputSchema":{"type":"object"}}`),
	})
	w.app.Logins = &logins{t: t}
	w.app.Query = func(expr string) (render.Query, error) {
		if expr == "nope" {
			return nil, errors.New("unknown expression")
		}
		return func(_ context.Context, value json.RawMessage) ([]json.RawMessage, error) {
			if expr != "." {
				return nil, errors.New("it does not fit")
			}
			return []json.RawMessage{value, value}, nil
		}, nil
	}
	return w.built()
}

// answering returns the behaviour of a server with these answers, by what is asked for.
func answering(answers map[string]string) behaviour {
	return func(_ context.Context, ref tool.Ref, _ json.RawMessage, _ tool.CallOptions) (*tool.Result, error) {
		raw, ok := answers[ref.Name]
		if !ok {
			return nil, fault.New(fault.Protocol, ref.String()+" is unknown to its server", "")
		}
		return &tool.Result{Raw: json.RawMessage(raw), IsError: strings.Contains(raw, `"isError":true`)}, nil
	}
}
