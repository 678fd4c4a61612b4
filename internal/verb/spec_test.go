package verb

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// TestTable holds what the ways into mcpl rely on.
func TestTable(t *testing.T) {
	t.Parallel()
	names, words := map[string]bool{}, map[string]bool{}
	for _, spec := range Table() {
		first, _, two := strings.Cut(spec.Name, " ")
		if names[spec.Name] || two && !names[first] {
			t.Errorf("%s: its name is there twice, or comes before %s", spec.Name, first)
		}
		names[spec.Name] = true
		if last := spec.Name[strings.LastIndex(spec.Name, " ")+1:]; strings.Fields(spec.Use)[0] != last {
			t.Errorf("%s: its use begins otherwise: %s", spec.Name, spec.Use)
		}
		if spec.Short == "" || strings.HasSuffix(spec.Short, ".") || (spec.Group == "") != two {
			t.Errorf("%s: group %q, short help %q", spec.Name, spec.Group, spec.Short)
		}
		if spec.Early && spec.Daemon == NoDaemon {
			t.Errorf("%s is answered early and knows no daemon", spec.Name)
		}
		for _, alias := range spec.Aliases {
			for _, word := range strings.Fields(alias.Words) {
				if words[word] || word != strings.ToLower(word) {
					t.Errorf("%s: the word %s stands for another verb too, or is not in lower case", spec.Name, word)
				}
				words[word] = true
			}
		}
		fs := pflag.NewFlagSet(spec.Name, pflag.ContinueOnError)
		spec.New().Flags(fs)
		for flag := range spec.Values {
			if fs.Lookup(flag) == nil {
				t.Errorf("%s: --%s has values but does not exist", spec.Name, flag)
			}
		}
	}
	for word := range words {
		if names[word] {
			t.Errorf("%s is a verb, and a word for another one", word)
		}
	}
}

// TestNewIsNew: what one run parses does not reach the next.
func TestNewIsNew(t *testing.T) {
	t.Parallel()
	for _, spec := range Table() {
		fs := pflag.NewFlagSet(spec.Name, pflag.ContinueOnError)
		spec.New().Flags(fs)
		changed := spec.New()
		other := pflag.NewFlagSet(spec.Name, pflag.ContinueOnError)
		changed.Flags(other)
		other.VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() == "bool" {
				_ = f.Value.Set("true")
			}
			if got := fs.Lookup(f.Name).Value.String(); got != f.DefValue {
				t.Errorf("%s: --%s is %q in another run", spec.Name, f.Name, got)
			}
		})
	}
}

func TestMeant(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"find": "search", "SHOW": "inspect", "tools/call": "call", "ls": "list", "reload": "list --refresh", "templates": "resources",
		"cat": "read", "list_prompts": "prompts", "get-prompt": "prompt", "install": "config add", "rm": "config remove",
		"migrate": "config import", "login": "auth login", "log-out": "auth logout", "on": "enable", "off": "disable",
		"agents": "instructions", "cfg": "config", "frobnicate": "", "": "", "search": "",
	} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			if got := Meant(word); got != want {
				t.Errorf("%s means %q, want %q", word, got, want)
			}
		})
	}
}

// TestCompletion holds what completes each verb's arguments and flags, with an index and without one.
func TestCompletion(t *testing.T) {
	t.Parallel()
	w := fixture(t)
	if got := w.run(t.Context(), "disable", "web", "demo/drop"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	for title, tc := range map[string]struct {
		verb, flag string
		args       []string
		want       []string
		files      bool
	}{
		"servers that are on":     {verb: "call", want: []string{"demo", "papers", "down"}},
		"tools that are on":       {verb: "call", args: []string{"demo"}, want: []string{"add: Add two numbers. And more."}},
		"arguments":               {verb: "call", args: []string{"demo", "add"}, files: true},
		"tools of no server":      {verb: "inspect", args: []string{"nosuch"}},
		"resources":               {verb: "read", args: []string{"papers"}, want: []string{"paper://report: What was found."}},
		"behind a resource":       {verb: "read", args: []string{"papers", "paper://report"}},
		"prompts":                 {verb: "prompt", args: []string{"papers"}, want: []string{"review: Review a paper"}},
		"arguments of a prompt":   {verb: "prompt", args: []string{"papers", "review"}, files: true},
		"prompts of a server off": {verb: "prompt", args: []string{"web"}},
		"one server":              {verb: "list", args: []string{"demo"}},
		"whatever can be switched": {verb: "enable", want: []string{"demo", "papers", "down", "off", "web",
			"demo/add: Add two numbers. And more.", "demo/drop: Deprecated: drop a table", "papers/cite: Cite a paper", "web/look: Look at a page"}},
		"commands of auth":       {verb: "auth", want: []string{"login", "logout", "status"}},
		"servers of auth":        {verb: "auth", args: []string{"login"}, want: []string{"demo", "papers", "down"}},
		"commands of the daemon": {verb: "daemon", want: []string{"status", "stop", "restart", "logs", "run"}},
		"shells":                 {verb: "completion", want: []string{"bash", "zsh", "fish", "powershell"}},
		"behind a shell":         {verb: "completion", args: []string{"bash"}, files: true},
		"servers of a flag":      {verb: "search", flag: "server", want: []string{"demo", "papers", "down"}},
		"kinds of a search":      {verb: "search", flag: "kind", want: []string{"tool", "resource", "prompt", "all"}},
		"clients of an import": {verb: "config import", flag: "from", want: []string{"claude-code",
			"claude-desktop", "codex", "cursor", "gemini", "opencode", "syntropy", "vscode", "windsurf", "zed"}},
		"transports of a new server": {verb: "config add", flag: "transport", want: []string{"http", "sse"}},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			spec, _ := Find(tc.verb)
			complete := spec.Complete
			if tc.flag != "" {
				complete = spec.Values[tc.flag]
			}
			names := w.app.Names(Globals{})
			defer names.Close()
			words, files := complete(names, tc.args)
			var got []string
			for _, word := range words {
				got = append(got, strings.Replace(strings.TrimSpace(word), "\t", ": ", 1))
			}
			if tc.verb == "config import" {
				slices.Sort(got)
			}
			if !slices.Equal(got, tc.want) || files != tc.files {
				t.Errorf("got %q, files %v, want %q, files %v", got, files, tc.want, tc.files)
			}
		})
	}
	if len(w.asked) > 0 {
		t.Errorf("completion asks %q", w.asked)
	}
}

// TestCompletionWithoutIndex: nothing is known, and no server is started to know it.
func TestCompletionWithoutIndex(t *testing.T) {
	t.Parallel()
	for title, w := range map[string]*world{
		"no index yet":     newWorld(t, fixtureConfig, nil),
		"no configuration": newWorld(t, "", nil),
	} {
		names := w.app.Names(Globals{})
		if servers, tools := names.servers(false), names.records("demo", tool.Tool, false); servers != nil || tools != nil {
			t.Errorf("%s: %q, %v", title, servers, tools)
		}
		names.Close()
	}
}
