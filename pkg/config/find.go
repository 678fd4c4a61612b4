package config

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// finder finds files that the user did not name, from the working directory. A file of a project counts only if no
// other user could have written it: the file and each folder from the working directory to it belong to this user or
// root, and others may not write there. (Git had to learn the same: CVE-2022-24765.)
type finder struct {
	env     Env
	sources *Sources
}

// configs finds the configuration.
func (f finder) configs() {
	e, s := f.env, f.sources
	for dir := range f.upwards() {
		why := "in the working directory"
		if dir != e.Dir {
			why = "in a parent of the working directory, within the repository"
		}
		if f.try(&s.Configs, dir, ".mcp.json", why) || f.try(&s.Configs, dir, filepath.Join(".claude", "mcp.json"), why) {
			s.project = dir
			return
		}
	}
	user := e.userConfig()
	if !slices.ContainsFunc(s.Looked, func(l Looked) bool { return l.Path == user }) {
		s.try(&s.Configs, user, "in your home folder")
	}
}

// Upwards yields the working directory and its parents up to the root of the repository: the folders that may hold a
// project's files. It looks for the root once the first folder is not enough.
func (e Env) Upwards() iter.Seq[string] { return finder{e, e.sources(Selection{})}.upwards() }

func (f finder) upwards() iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(f.env.Dir) {
			return
		}
		root := f.root()
		for dir := f.env.Dir; dir != root; {
			if dir = filepath.Dir(dir); !yield(dir) {
				return
			}
		}
	}
}

// root returns the root of the repository that the working directory is in, or the working directory itself. If the
// repository does not count, the configuration that is not looked at for that is noted.
func (f finder) root() string {
	root, why := repository(f.env.Dir, f.sources.trusts)
	if why == "" {
		return root
	}
	for _, name := range []string{".mcp.json", filepath.Join(".claude", "mcp.json")} {
		path := filepath.Join(root, name)
		if _, err := os.Stat(path); err == nil && root != f.env.Dir {
			f.sources.Looked = append(f.sources.Looked, Looked{Path: path, Note: "not used: " + why, Refused: true})
		}
	}
	return f.env.Dir
}

// envFiles finds the environment files.
func (f finder) envFiles() {
	e, s := f.env, f.sources
	f.try(&s.EnvFiles, e.Dir, ".env", "in the working directory")
	if s.project != "" && s.project != e.Dir {
		f.try(&s.EnvFiles, s.project, ".env", "beside the project's configuration")
	}
	if user := e.userEnvFile(); user != filepath.Join(e.Dir, ".env") {
		s.try(&s.EnvFiles, user, "in your home folder")
	}
}

// try adds a file of the project, by its name in a folder from the working directory upwards; or one of the user's own
// that lies there.
func (f finder) try(list *[]Source, dir, name, why string) bool {
	path := filepath.Join(dir, name)
	if path == f.env.userConfig() || path == f.env.userEnvFile() {
		return f.sources.try(list, path, why)
	}
	return f.sources.tryFound(list, Source{Path: path, Why: why, Found: true},
		func(info fs.FileInfo) string { return f.refuse(dir, path, info) })
}

// refuse says why a file is not used. It is empty if the file is.
func (f finder) refuse(dir, path string, info fs.FileInfo) string {
	why, what := distrust(info), path
	folders := []string{filepath.Dir(path)}
	// A link is judged by the file that it leads to, and by the folder of that.
	if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
		folders = append(folders, filepath.Dir(target))
	}
	for at := f.env.Dir; at != dir && filepath.Dir(at) != at; at = filepath.Dir(at) {
		folders = append(folders, at)
	}
	for _, folder := range append(folders, dir) {
		if why == "" {
			why, what = distrustFolder(folder), folder
		}
	}
	if why == "" || f.sources.trusts(dir) {
		return ""
	}
	return fmt.Sprintf("not used: %s %s", what, why)
}

func distrustFolder(dir string) string {
	info, err := os.Stat(dir)
	if err != nil {
		return reason(err)
	}
	return distrust(info)
}

// repository returns the root of the repository that dir is in: the nearest folder with a .git (a folder, or a file in
// worktrees and submodules) that is one. If another user could have put it there, it does not count, and why says so.
// Outside of a repository, root is dir itself and why is not empty.
func repository(dir string, trusted func(folder string) bool) (root, why string) {
	for at := dir; ; at = filepath.Dir(at) {
		git := filepath.Join(at, ".git")
		if info, err := os.Stat(git); err == nil && isGit(git, info) {
			if why = distrust(info); why != "" {
				why = git + " " + why
			} else if why = distrustFolder(at); why != "" {
				why = at + " " + why
			}
			if why != "" && trusted(at) {
				why = ""
			}
			return at, why
		}
		if filepath.Dir(at) == at {
			return dir, "there is no repository"
		}
	}
}

// isGit reports whether .git is what Git makes: a folder with a HEAD, or a file that names such a folder.
func isGit(path string, info fs.FileInfo) bool {
	if info.IsDir() {
		head, err := os.Stat(filepath.Join(path, "HEAD"))
		return err == nil && head.Mode().IsRegular()
	}
	return bytes.HasPrefix(beginning(path), []byte("gitdir: "))
}

// beginning returns the first bytes of a regular file.
func beginning(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close() // it was only read
	var b [8]byte
	n, _ := io.ReadFull(f, b[:]) // a shorter file does not begin with more
	return b[:n]
}

// TrustsFolder returns a function that reports whether a folder is one of these, or lies in one. MCPL_TRUST=all trusts
// all folders. Links are followed, so that a link in a trusted folder trusts nothing elsewhere.
func (e Env) TrustsFolder(folders []string) func(string) bool {
	return func(folder string) bool {
		if e.TrustsAll() {
			return true
		}
		real, err := filepath.EvalSymlinks(folder)
		return err == nil && slices.ContainsFunc(folders, func(trusted string) bool {
			trusted, err := filepath.EvalSymlinks(absolute(trusted, e.Home, e.Home))
			if err != nil {
				return false
			}
			inner, err := filepath.Rel(trusted, real)
			return err == nil && filepath.IsLocal(inner)
		})
	}
}

// TrustsNothing returns a notice for each of these folders that is not there: whoever wrote it meant another.
func (e Env) TrustsNothing(folders []string) (notices []string) {
	for _, folder := range folders {
		path := absolute(folder, e.Home, e.Home)
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			notices = append(notices, fmt.Sprintf("%q of \"trusted\" in %s trusts nothing: there is no folder %s. Write a path "+
				"that begins with / or ~/", folder, e.SettingsFile(), path))
		}
	}
	return notices
}

// TrustsAll reports whether MCPL_TRUST=all is set, in the process environment and not in a file: all servers of all
// projects may be started, as in a machine that runs tests.
func (e Env) TrustsAll() bool { return strings.TrimSpace(e.get("MCPL_TRUST")) == "all" }
