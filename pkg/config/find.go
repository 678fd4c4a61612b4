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

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
)

// finder finds files that the user did not name, from the working directory. A file of a project counts only if no
// other user could have written it: the file and each folder from the working directory to it belong to this user or
// root, and others may not write there. (Git had to learn the same: CVE-2022-24765.)
type finder struct {
	env     Env
	sources *Sources
}

// configs finds the configuration. tools says that a tools.toml in the working directory is one.
func (f finder) configs(tools bool) {
	e, s := f.env, f.sources
	if tools && f.try(&s.Configs, e.Dir, toolsFile, "in the working directory") {
		s.project = e.Dir
		return
	}
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
	why, what := atomicfile.Exposed(info), path
	folders := []string{filepath.Dir(path)}
	// A link is judged by the file that it leads to, by the folder of that, and by the way there.
	target, linkWhy, link := followLinks(path)
	if linkWhy == "" && target != path {
		folders = append(folders, filepath.Dir(target))
	}
	for at := f.env.Dir; at != dir && filepath.Dir(at) != at; at = filepath.Dir(at) {
		folders = append(folders, at)
	}
	if dir != folders[0] {
		folders = append(folders, dir)
	}
	for _, folder := range folders {
		if why == "" {
			why, what = distrustFolder(folder), folder
		}
	}
	if why == "" {
		why, what = linkWhy, link
	}
	if why == "" || f.sources.trusts(dir) {
		return ""
	}
	return fmt.Sprintf("not used: %s %s", what, why)
}

func distrustFolder(dir string) string {
	info, err := os.Stat(dir)
	if err != nil {
		return atomicfile.Reason(err)
	}
	return atomicfile.Exposed(info)
}

// maxLinks bounds the links of one path, as systems do (path_resolution(7)).
const maxLinks = 40

// followLinks returns where the links in an absolute path lead. If why is not empty, it says why they are not followed,
// and what is to blame: another user could have made a link, or could write in a folder that one lies in or leads
// through.
func followLinks(path string) (target, why, what string) {
	at, left := splitRoot(path)
	ofLinks := 0 // how many of the names that are left come from links; they stand first
	for links := 0; len(left) > 0; {
		next := filepath.Join(at, left[0]) // at has no links, so ".." is the folder above
		info, err := os.Lstat(next)
		if err != nil {
			return "", atomicfile.Reason(err), next
		}
		isLink := info.Mode()&fs.ModeSymlink != 0
		if isLink || ofLinks > 0 {
			if why := distrustPassage(at); why != "" {
				return "", why, at
			}
		}
		left, ofLinks = left[1:], max(0, ofLinks-1)
		if !isLink {
			at = next
			continue
		}
		if why := atomicfile.Foreign(info); why != "" {
			return "", why, next
		}
		text, err := os.Readlink(next)
		if links++; err != nil || links > maxLinks {
			return "", "cannot be followed", next
		}
		if filepath.IsAbs(text) {
			at, _ = splitRoot(text)
		}
		_, names := splitRoot(text)
		left, ofLinks = append(names, left...), ofLinks+len(names)
	}
	return at, "", ""
}

// splitRoot returns the root folder of a path, and the names behind it.
func splitRoot(path string) (root string, names []string) {
	volume := filepath.VolumeName(path)
	names = strings.FieldsFunc(path[len(volume):], func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
	return volume + string(filepath.Separator), names
}

// distrustPassage says why a link is not followed through a folder. Others may write in a sticky one, such as /tmp:
// there only the owner of a link or folder can replace it.
func distrustPassage(dir string) string {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return atomicfile.Reason(err)
	case info.Mode()&fs.ModeSticky != 0:
		return atomicfile.Foreign(info)
	}
	return atomicfile.Exposed(info)
}

// repository returns the root of the repository that dir is in: the nearest folder with a .git (a folder, or a file in
// worktrees and submodules) that is one. If another user could have put it there, it does not count, and why says so.
// Outside of a repository, root is dir itself and why is not empty.
func repository(dir string, trusted func(folder string) bool) (root, why string) {
	for at := dir; ; at = filepath.Dir(at) {
		git := filepath.Join(at, ".git")
		if info, err := os.Stat(git); err == nil && isGit(git, info) {
			what := git
			if why = atomicfile.Exposed(info); why == "" {
				why, what = distrustFolder(at), at
			}
			if why == "" {
				_, why, what = followLinks(git)
			}
			if why != "" {
				why = what + " " + why
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
	// Opening a pipe would wait for ever, and anybody may put one into a folder above.
	return info.Mode().IsRegular() && bytes.HasPrefix(beginning(path), []byte("gitdir: "))
}

// beginning returns the first bytes of a regular file.
func beginning(path string) []byte {
	f, _, err := atomicfile.Open(path, maxFile)
	if err != nil {
		return nil
	}
	defer f.Close() // it was only read
	var b [8]byte
	n, _ := io.ReadFull(f, b[:]) // a shorter file does not begin with more
	return b[:n]
}

// TrustsFolder returns a function that reports whether a folder is one of these, or lies in one. Each of them is
// absolute or begins with ~/; others count for nothing. MCPL_TRUST=all trusts all folders. Links are followed, so
// that a link in a trusted folder trusts nothing elsewhere.
func (e Env) TrustsFolder(folders []string) func(string) bool {
	return func(folder string) bool {
		if e.TrustsAll() {
			return true
		}
		real, err := filepath.EvalSymlinks(folder)
		return err == nil && slices.ContainsFunc(folders, func(trusted string) bool {
			if trusted = tilde(trusted, e.Home); !filepath.IsAbs(trusted) {
				return false
			}
			trusted, err := filepath.EvalSymlinks(trusted)
			if err != nil {
				return false
			}
			inner, err := filepath.Rel(trusted, real)
			return err == nil && filepath.IsLocal(inner)
		})
	}
}

// TrustsNothing returns a notice for each of these folders that does not count or is not there: whoever wrote it meant
// another.
func (e Env) TrustsNothing(folders []string) (notices []string) {
	for _, folder := range folders {
		path, why := tilde(folder, e.Home), ""
		if !filepath.IsAbs(path) {
			why = "it is not a whole path"
		} else if info, err := os.Stat(path); err != nil || !info.IsDir() {
			why = "there is no folder " + path
		}
		if why != "" {
			notices = append(notices, fmt.Sprintf("%q of \"trusted\" in %s trusts nothing: %s. Write a path that begins with / "+
				"or ~/", folder, e.SettingsFile(), why))
		}
	}
	return notices
}

// TrustsAll reports whether MCPL_TRUST=all is set, in the process environment and not in a file: all servers of all
// projects may be started, as in a machine that runs tests.
func (e Env) TrustsAll() bool { return strings.TrimSpace(e.get("MCPL_TRUST")) == "all" }
