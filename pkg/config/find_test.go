//go:build unix

package config

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
)

// refused returns why files are not used.
func refused(s *Sources) string {
	var list []string
	for _, l := range s.Looked {
		if l.Refused {
			list = append(list, l.Note)
		}
	}
	return strings.Join(list, "\n")
}

// chmod changes the mode of a file of the world.
func (w *world) chmod(path string, mode os.FileMode) {
	w.t.Helper()
	if err := os.Chmod(w.path(path), mode); err != nil {
		w.t.Fatal(err)
	}
}

// chown gives a file of the world to another user. It needs root.
func (w *world) chown(path string, uid, gid int) {
	w.t.Helper()
	if err := os.Lchown(w.path(path), uid, gid); err != nil {
		w.t.Skipf("files cannot be given to another user here: %v", err)
	}
}

// TestF2WritableByOthers: a file that others could have written is not used, nor one in such a folder.
func TestF2WritableByOthers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path, place, config string
		mode                os.FileMode
		own                 bool // the group is that of this user alone, or of root
		used                bool
	}{
		"as made":                        {path: "../.mcp.json", mode: 0o600, used: true},
		"umask 002, group of the user":   {path: "../.mcp.json", mode: 0o664, own: true, used: true},
		"file, by anybody":               {path: "../.mcp.json", mode: 0o666},
		"folder, by anybody":             {path: "..", mode: 0o777},
		"sticky folder":                  {path: "..", mode: 0o777 | os.ModeSticky},
		"folder on the way":              {path: ".", mode: 0o777},
		"folder umask 002":               {path: "..", mode: 0o775, own: true, used: true},
		"dot folder":                     {path: "../.claude", config: "../.claude/mcp.json", mode: 0o777},
		"folder above the project's own": {path: "../..", mode: 0o777, used: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			config := test.config
			if config == "" {
				config = "../.mcp.json"
			}
			config = w.write(config, "{}")
			w.chmod(test.path, test.mode)
			info, err := os.Stat(w.path(test.path))
			if err != nil {
				t.Fatal(err)
			}
			if test.own && atomicfile.Exposed(info) != "" {
				t.Skip("the group of this process is shared")
			}
			s := w.locate(Selection{})
			if used := len(s.Configs) > 0 && s.Configs[0].Path == config && s.Configs[0].Found; used != test.used {
				t.Errorf("used %t: %+v", used, s.Looked)
			}
			if why := refused(s); (why == "") != test.used {
				t.Errorf("refused %q", why)
			}
			if test.used {
				return
			}
			if s := w.locate(Selection{Trusted: []string{filepath.Dir(w.Dir)}}); len(s.Configs) != 1 || refused(s) != "" {
				t.Errorf("in a trusted folder: %+v", s.Looked)
			}
			if s := w.locate(Selection{Trusted: []string{w.Home}}); len(s.Configs) != 0 {
				t.Errorf("beside a trusted folder: %+v", s.Looked)
			}
			w.vars["MCPL_TRUST"] = "all"
			if s := w.locate(Selection{}); len(s.Configs) != 1 {
				t.Errorf("with MCPL_TRUST=all: %+v", s.Looked)
			}
			w.vars["MCPL_TRUST"] = ""
			if s := w.locate(Selection{Configs: []string{config}}); len(s.Configs) != 1 || s.Configs[0].Found {
				t.Errorf("named: %+v", s.Configs)
			}
		})
	}
}

// TestF2OtherUser: a configuration, an environment file or a .git of another user does not count.
func TestF2OtherUser(t *testing.T) {
	t.Parallel()
	const other = 4242
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.write(".mcp.json", "{}")
		w.write(".env", "")
		own := w.write("~/.claude/mcp.json", "{}")
		w.chown(".mcp.json", other, other)
		w.chown(".env", other, other)
		s := w.locate(Selection{})
		if len(s.Configs) != 1 || s.Configs[0].Path != own || s.Configs[0].Found || len(s.EnvFiles) != 0 {
			t.Errorf("used %+v %+v", s.Configs, s.EnvFiles)
		}
		if why := refused(s); strings.Count(why, "belongs to another user (uid 4242)") != 2 {
			t.Errorf("refused: %s", why)
		}
		f := (&Sources{Looked: s.Looked, tried: len(s.Looked)}).NoConfig()
		if text := f.Message + f.Help; !strings.Contains(text, "uid 4242") || !strings.Contains(text, "chown") ||
			!strings.Contains(text, `"trusted"`) || strings.Contains(text, "Put your servers") {
			t.Errorf("no configuration: %s", text)
		}
		if !strings.Contains(f.Traceback, "uid 4242") {
			t.Errorf("the reason is not said: %s", f.Traceback)
		}
	})
	t.Run("group", func(t *testing.T) {
		t.Parallel()
		for _, place := range []string{"../.mcp.json", ".."} {
			w := newWorld(t)
			w.write("../.mcp.json", "{}")
			w.chown(place, os.Geteuid(), other)
			if s := w.locate(Selection{}); len(s.Configs) != 1 {
				t.Errorf("%s of another group, which only reads it: %+v", place, s.Looked)
			}
			w.chmod(place, 0o770)
			if s := w.locate(Selection{}); len(s.Configs) != 0 || !strings.Contains(refused(s), "can be written by the group 4242") {
				t.Errorf("%s that another group may write: %+v", place, s.Looked)
			}
		}
	})
	t.Run("repository", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.write("../.mcp.json", "{}")
		w.chown("../.git", other, other)
		if s := w.locate(Selection{}); len(s.Configs) != 0 {
			t.Errorf("found %+v above a foreign .git", s.Configs)
		}
		if s := w.locate(Selection{Trusted: []string{w.path("..")}}); len(s.Configs) != 1 {
			t.Errorf("a bind mount that is trusted: %+v", s.Looked)
		}
	})
	t.Run("link", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		target := w.write("../../else/mcp.json", "{}")
		if err := os.Symlink(target, w.path(".mcp.json")); err != nil {
			t.Fatal(err)
		}
		if s := w.locate(Selection{}); len(s.Configs) != 1 {
			t.Errorf("a link: %+v", s.Looked)
		}
		w.chmod("../../else", 0o777)
		if s := w.locate(Selection{}); len(s.Configs) != 0 {
			t.Errorf("a link into a folder of others: %+v", s.Configs)
		}
	})
}

// TestLinkWay: a link does not count if another user could lead it elsewhere, wherever it ends.
func TestLinkWay(t *testing.T) {
	t.Parallel()
	const other = 4242
	for name, test := range map[string]struct {
		to      string // where .mcp.json leads, from the folder that holds all of it
		arrange func(w *world)
		used    bool
		why     string
	}{
		"own folders": {"way/link/mcp.json", func(*world) {}, true, ""},
		"a folder on the way, by anybody": {"way/link/mcp.json", func(w *world) { w.chmod("../../way", 0o777) }, false,
			"way can be written by anybody"},
		"a sticky one": {"way/link/mcp.json", func(w *world) { w.chmod("../../way", 0o777|os.ModeSticky) }, true, ""},
		"a folder of another user": {"way/link/mcp.json", func(w *world) { w.chown("../../way", other, other) }, false,
			"way belongs to another user (uid 4242)"},
		"a link of another user in a sticky folder": {"way/link/mcp.json", func(w *world) {
			w.chmod("../../way", 0o777|os.ModeSticky)
			w.chown("../../way/link", other, other)
		}, false, "link belongs to another user (uid 4242)"},
		"up again": {"way/inner/../../else/mcp.json", func(w *world) { w.chmod("../../way", 0o777) }, false,
			"way can be written by anybody"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write("../../else/mcp.json", "{}")
			w.write("../../way/inner/x", "")
			base := w.path("../..")
			if err := os.Symlink("../else", filepath.Join(base, "way", "link")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(base+"/"+test.to, w.path(".mcp.json")); err != nil {
				t.Fatal(err)
			}
			test.arrange(w)
			s := w.locate(Selection{})
			if len(s.Configs) == 1 != test.used || !strings.HasSuffix(refused(s), test.why) {
				t.Errorf("%+v, refused %q", s.Configs, refused(s))
			}
		})
	}
	t.Run("the working directory", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.write(".mcp.json", "{}")
		w.write("../../way/x", "")
		if err := os.Symlink(w.Dir, w.path("../../way/here")); err != nil {
			t.Fatal(err)
		}
		w.Dir = w.path("../../way/here")
		if s := w.locate(Selection{}); len(s.Configs) != 1 {
			t.Errorf("an own link: %+v", s.Looked)
		}
		way := filepath.Dir(w.Dir)
		if err := os.Chmod(way, 0o777); err != nil {
			t.Fatal(err)
		}
		if s := w.locate(Selection{}); len(s.Configs) != 0 || !strings.Contains(refused(s), way+" can be written by anybody") {
			t.Errorf("a link of anybody: %+v", s.Looked)
		}
	})
}

// TestNoRepository: what only looks like a repository is none, so that the search for files ends.
func TestNoRepository(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(w *world){
		"empty folder": func(w *world) {},
		"other file":   func(w *world) { w.write("../.git", "hello") },
	} {
		w := newWorld(t)
		if err := os.RemoveAll(w.path("../.git")); err != nil {
			t.Fatal(err)
		}
		if make(w); name == "empty folder" {
			if err := os.Mkdir(w.path("../.git"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		w.write("../.mcp.json", "{}")
		if _, why := repository(w.Dir, w.TrustsFolder(nil)); why == "" {
			t.Skip("the temporary folder lies in a repository")
		}
		if s := w.locate(Selection{}); len(s.Configs) != 0 {
			t.Errorf("%s: found %+v", name, s.Configs)
		}
	}
	w := newWorld(t)
	if err := os.RemoveAll(w.path("../.git")); err != nil {
		t.Fatal(err)
	}
	w.write("../.git", "gitdir: /elsewhere/.git/worktrees/x\n")
	w.write("../.mcp.json", "{}")
	if s := w.locate(Selection{}); len(s.Configs) != 1 {
		t.Errorf("a worktree: %+v", s.Looked)
	}
}

// TestTrustedLink: a link in a trusted folder does not make its target trusted.
func TestTrustedLink(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("~/work/mine/x", "")
	if err := os.Symlink(w.path(".."), w.path("~/work/linked")); err != nil {
		t.Fatal(err)
	}
	trusts := w.TrustsFolder([]string{"~/work", "~/none"})
	for path, want := range map[string]bool{"~/work": true, "~/work/mine": true, "~/work/linked": false, "..": false,
		"~/workshop": false, "~": false} {
		if got := trusts(w.path(path)); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
	for _, folder := range []string{"", ".", "work", "./work", "~work"} {
		if w.TrustsFolder([]string{folder})(w.path("~/work")) {
			t.Errorf("%q trusts ~/work", folder)
		}
	}
}

// TestWithoutApprover: nothing of a project may be used if no one can say that it is approved.
func TestWithoutApprover(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Approver = nil
	s := w.one(`{"command": "x"}`)
	if s.Unapproved == nil || s.Usable() == nil || s.Admit() == nil || s.Project != w.Dir {
		t.Errorf("%+v", s)
	}
	w.vars["MCPL_CONFIG"] = ".mcp.json"
	if s := w.one(`{"command": "x"}`); s.Unapproved != nil || s.Admit() != nil || s.Project != "" {
		t.Errorf("a named file: %+v", s)
	}
}

// TestForeignEnvFile: the environment file of a project gives no value to an entry of the user's own.
func TestForeignEnvFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("~/.claude/mcp.json", `{"mcpServers": {"s": {"command": "${TOOL:-mine}"}}}`)
	w.write(".env", "TOOL=evil")
	command := func(sel Selection) string {
		s, err := w.load(sel).Server("s")
		if err != nil {
			t.Fatal(err)
		}
		return s.Command
	}
	if got := command(Selection{}); got != "mine" {
		t.Errorf("a project's .env makes it %s", got)
	}
	if got := command(Selection{Trusted: []string{w.Dir}}); got != "evil" {
		t.Errorf("that of a trusted folder does not count: %s", got)
	}
	w.write("~/.claude/.env", "TOOL=own")
	if got := command(Selection{}); got != "own" {
		t.Errorf("the user's own does not count: %s", got)
	}
	w.write("own.json", `{"mcpServers": {"s": {"command": "${TOOL:-mine}"}}}`)
	if got := command(Selection{Configs: []string{"own.json"}}); got != "evil" {
		t.Errorf("one beside a file that the user named does not count: %s", got)
	}
	w.write("~/elsewhere/own.json", `{"mcpServers": {"s": {"command": "${TOOL:-mine}"}}}`)
	if got := command(Selection{Configs: []string{"~/elsewhere/own.json"}}); got != "own" {
		t.Errorf("a project's .env makes a named one %s", got)
	}
}

// TestFoundPipe: a configuration that is found and is a pipe is not opened, which could wait for ever. An environment
// file may be one.
func TestFoundPipe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{".mcp.json", ".env"} {
		if err := syscall.Mkfifo(w.path(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := w.locate(Selection{})
	if len(s.Configs) != 0 || s.Looked[0].Note != "not a regular file" || len(s.EnvFiles) != 1 {
		t.Errorf("%+v, %+v", s.Looked, s.EnvFiles)
	}
}

// TestF11PipeForRepository: a pipe that is called .git does not make a repository, and is not opened.
func TestF11PipeForRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := os.RemoveAll(w.path("../.git")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(w.path("../.git"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.write("../.mcp.json", "{}")
	if s := w.locate(Selection{}); len(s.Configs) != 0 {
		t.Errorf("%+v", s.Looked)
	}
}
