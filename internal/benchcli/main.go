// Command benchcli measures mcpl as its users meet it: as whole processes, from start to exit.
//
// Machines differ and are shared, so it prints ratios: each measurement alternates with its
// yardstick in the same run, and the medians are divided. Yardsticks are a hello-world Go
// process, the slowest of several servers alone, and a bare JSON-RPC exchange.
//
//	go run ./internal/benchcli -mcpl bin/mcpl -npm testdata/npm
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

func main() {
	mcptest.Maybe()
	maybeBurn()
	var b bench
	flag.StringVar(&b.mcpl, "mcpl", "bin/mcpl", "the mcpl to measure")
	flag.StringVar(&b.npm, "npm", "testdata/npm", "folder with the real servers; left out where they are not installed")
	flag.IntVar(&b.runs, "runs", 40, "runs of each command")
	flag.StringVar(&b.plot, "plot", "", "write a plot of time against number of tools to this SVG file")
	many := flag.Bool("many", false, "only list 45 servers beside a load of 20, which takes minutes")
	sizes := flag.String("sizes", "10,100,1000,10000,100000", "numbers of tools to search in")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	measure := func(ctx context.Context) error { return b.all(ctx, *sizes) }
	if *many {
		measure = b.many
	}
	if err := b.run(ctx, measure); err != nil {
		fmt.Fprintln(os.Stderr, "benchcli:", err)
		os.Exit(1)
	}
}

// bench is one run of all measurements.
type bench struct {
	mcpl, npm, plot string
	runs            int
	dir             string // everything made on the way
	hello           command
}

// run prepares the measurements, and measures.
func (b *bench) run(ctx context.Context, measure func(context.Context) error) error {
	var err error
	if b.mcpl, err = filepath.Abs(b.mcpl); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "mcpl-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	return measure(ctx)
}

// all measures everything that takes seconds.
func (b *bench) all(ctx context.Context, sizes string) (err error) {
	if b.hello, err = b.buildHello(ctx); err != nil {
		return err
	}
	if err := b.search(ctx, sizes); err != nil {
		return err
	}
	if err := b.warm(ctx); err != nil {
		return err
	}
	servers := filepath.Join(b.npm, "node_modules", "@modelcontextprotocol")
	if _, err := os.Stat(servers); err != nil {
		fmt.Printf("\nThe real servers are not installed (make node): list and call are left out.\n")
		return nil
	}
	if servers, err = filepath.Abs(servers); err != nil {
		return err
	}
	if err := b.list(ctx, servers); err != nil {
		return err
	}
	return b.call(ctx, servers)
}

// buildHello builds the smallest Go program that prints something, as mcpl is built.
func (b *bench) buildHello(ctx context.Context) (command, error) {
	src := filepath.Join(b.dir, "hello.go")
	code := "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\") }\n"
	if err := os.WriteFile(src, []byte(code), 0o600); err != nil {
		return command{}, err
	}
	exe := filepath.Join(b.dir, "hello")
	build := command{
		argv: []string{"go", "build", "-trimpath", "-ldflags", "-s -w", "-o", exe, src},
		env:  []string{"CGO_ENABLED=0"},
	}
	_, err := build.run(ctx)
	return command{argv: []string{exe}}, err
}

// real returns the command lines of the real servers.
func (b *bench) real(servers string) map[string][]string {
	argv := func(name string, args ...string) []string {
		return append([]string{"node", filepath.Join(servers, name, "dist", "index.js")}, args...)
	}
	return map[string][]string{
		"everything": argv("server-everything"),
		"filesystem": argv("server-filesystem", b.dir),
		"memory":     argv("server-memory"),
		"thinking":   argv("server-sequential-thinking"),
		"github":     argv("server-github"),
	}
}

func entry(name string, argv []string) string {
	quoted := make([]string, len(argv))
	for i, arg := range argv {
		quoted[i] = fmt.Sprintf("%q", arg)
	}
	return fmt.Sprintf("%q: {\"command\": %s, \"args\": [%s]}", name, quoted[0], strings.Join(quoted[1:], ", "))
}

// list compares asking several real servers at once with asking the slowest of them alone, and
// with the same requests to all of them at once without mcpl: with fewer cores than servers that
// is what the machine can do at best.
func (b *bench) list(ctx context.Context, servers string) error {
	argvs := b.real(servers)
	names := slices.Sorted(maps.Keys(argvs))
	var commands []command
	var all []string
	for _, name := range names {
		all = append(all, entry(name, argvs[name]))
		c, err := b.configured("alone-"+name, entry(name, argvs[name]))
		if err != nil {
			return err
		}
		commands = append(commands, c.with("list", "--refresh"))
	}
	together, err := b.configured("together", strings.Join(all, ", "))
	if err != nil {
		return err
	}
	bare := command{do: func(ctx context.Context) error { return allAtOnce(ctx, argvs) }}
	runs := max(b.runs/4, 3)
	times, err := alternate(ctx, runs, append(commands, together.with("list", "--refresh"), bare)...)
	if err != nil {
		return err
	}
	slowest, at := time.Duration(0), ""
	fmt.Printf("\nlist --refresh, medians of %d runs, on %d cores\n", runs, runtime.NumCPU())
	for i, name := range names {
		m := median(times[i])
		fmt.Printf("  %-14s alone %7.1f ms\n", name, ms(m))
		if m > slowest {
			slowest, at = m, name
		}
	}
	five, floor := median(times[len(names)]), median(times[len(names)+1])
	fmt.Printf("  all %d at once      %7.1f ms   %.2f times the slowest alone (%s)\n",
		len(names), ms(five), ratio(five, slowest), at)
	fmt.Printf("  the same, bare     %7.1f ms   mcpl takes %.2f times that\n", ms(floor), ratio(five, floor))
	return nil
}

// allAtOnce asks all servers for their tools by hand.
func allAtOnce(ctx context.Context, argvs map[string][]string) error {
	errs := make(chan error) // one receive for each send
	for _, argv := range argvs {
		go func() { errs <- exchange(ctx, `"method":"tools/list"`, argv...) }()
	}
	var err error
	for range argvs {
		err = errors.Join(err, <-errs)
	}
	return err
}

// call compares a call through mcpl with the same exchange written by hand.
func (b *bench) call(ctx context.Context, servers string) error {
	argv := b.real(servers)["everything"]
	c, err := b.configured("call", entry("everything", argv))
	if err != nil {
		return err
	}
	call := c.with("--json", "call", "everything", "echo", "message=hello")
	if _, err := call.run(ctx); err != nil { // fills the index
		return err
	}
	bare := command{do: func(ctx context.Context) error {
		return exchange(ctx, `"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}}`, argv...)
	}}
	runs := max(b.runs/4, 3)
	times, err := alternate(ctx, runs, bare, call)
	if err != nil {
		return err
	}
	floor, through := median(times[0]), median(times[1])
	fmt.Printf("\ncall everything echo, medians of %d runs\n", runs)
	fmt.Printf("  bare JSON-RPC     %7.1f ms\n", ms(floor))
	fmt.Printf("  mcpl call         %7.1f ms   %.2f times\n", ms(through), ratio(through, floor))
	return nil
}

// warm compares a call to a server that the daemon keeps with hello-world.
func (b *bench) warm(ctx context.Context) (err error) {
	c, err := b.configured("warm", entry("example", []string{b.mcpl, "example-server"}))
	if err != nil {
		return err
	}
	cold := c.with("--json", "call", "example", "calculate", "expression=1+1")
	c.env = append(c.env, "MCPL_DAEMON=on")
	warm := c.with("--json", "call", "example", "calculate", "expression=1+1")
	defer func() {
		_, stopErr := c.with("daemon", "stop").run(ctx)
		err = errors.Join(err, stopErr)
	}()
	times, err := alternate(ctx, b.runs, b.hello, warm, cold)
	if err != nil {
		return err
	}
	hello, m, start := median(times[0]), median(times[1]), median(times[2])
	fmt.Printf("\ncall example calculate as a whole process, medians of %d runs\n", b.runs)
	fmt.Printf("  hello-world        %7.2f ms\n", ms(hello))
	fmt.Printf("  warm, by the daemon %6.2f ms   %.2f times\n", ms(m), ratio(m, hello))
	fmt.Printf("  without a daemon   %7.2f ms   %.2f times\n", ms(start), ratio(start, hello))
	return nil
}

// configured returns mcpl with a configuration and folders of its own.
func (b *bench) configured(name, entries string) (command, error) {
	home := filepath.Join(b.dir, name)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return command{}, err
	}
	config := filepath.Join(home, ".mcp.json")
	err := os.WriteFile(config, []byte(`{"mcpServers": {`+entries+`}}`), 0o600)
	return command{argv: []string{b.mcpl}, dir: home, env: []string{"HOME=" + home,
		"XDG_CACHE_HOME=" + filepath.Join(home, "cache"), "XDG_STATE_HOME=" + filepath.Join(home, "state"),
		"XDG_CONFIG_HOME=" + filepath.Join(home, "config"), "XDG_RUNTIME_DIR=", "MCPL_TRUST=all", "MCPL_DAEMON=off"}}, err
}
