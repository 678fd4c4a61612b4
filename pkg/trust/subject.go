package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/config"
)

// maxLine bounds the files of one line with which Git ties worktrees together, in bytes.
const maxLine = 1 << 16

// Subject is what a person approves: a server's entry as written, for one project, and the files of its repository that
// it runs.
type Subject struct {
	// Project tells projects apart. It is the folder of the project, links resolved; in a Git repository it is the folder
	// that all worktrees share and the place of the project in the worktree, so that worktrees share their approvals.
	Project string
	// Folder is the folder of the project.
	Folder string
	Server string
	// Hash is the SHA-256 of everything that was approved, 64 hex digits.
	Hash string
	// Terms are the same for a person, a line each: secrets are masked, and files stand with the beginning of their hash.
	Terms []string
}

// Approval returns the approval of the subject.
func (s Subject) Approval(at time.Time) Approval {
	return Approval{Project: s.Project, Server: s.Server, Hash: s.Hash, Folder: s.Folder, Terms: s.Terms, Approved: at}
}

// Short is how many digits of a hash a person is shown.
const Short = 12

// Of returns what a person approves of a server of a project. It fails if a file that the server runs cannot be read.
func Of(s *config.Server) (Subject, error) {
	sub := Subject{Folder: s.Project, Server: s.Name, Project: Project(s.Project)}
	if filepath.Ext(s.File) == ".toml" {
		sub.Project = ToolsProject(s.Project)
	}
	files, err := programs(s)
	if err != nil {
		return Subject{}, err
	}
	// Encoding texts and numbers cannot fail.
	data, _ := json.Marshal(map[string]any{"version": 1, "terms": s.Terms(), "files": files})
	sum := sha256.Sum256(data)
	sub.Hash = hex.EncodeToString(sum[:])
	sub.Terms = shown(s)
	for _, f := range files {
		sub.Terms = append(sub.Terms, fmt.Sprintf("file: %s (%s)", f.Path, f.Hash[:Short]))
	}
	return sub, nil
}

// shown writes the terms of a server for a person.
func shown(s *config.Server) []string {
	d := s.Shown()
	var list []string
	oneLine := strings.NewReplacer("\n", `\n`, "\r", `\r`)
	add := func(name, text string) {
		if text != "" {
			list = append(list, name+": "+oneLine.Replace(text))
		}
	}
	terms := s.ShownTerms()
	add("command", d.Command+hashes(terms, "command", "args"))
	add("url", d.URL+hashes(terms, "url"))
	add("folder", folder(s, d.Cwd)+hashes(terms, "cwd"))
	for _, t := range terms {
		field, _, _ := strings.Cut(t.Field, "[")
		text := t.Text + hashes([]config.Term{t}, field)
		switch {
		case slices.Contains([]string{"command", "args", "cwd", "url", "type"}, field) || saysNothing(t):
		case strings.HasPrefix(field, "given."):
			add("variable", strings.TrimPrefix(t.Field, "given.")+"="+text+", set by the project's .env")
		case strings.HasPrefix(field, "env."), strings.HasPrefix(field, "headers."):
			kind, name, _ := strings.Cut(t.Field, ".")
			add(kind, name+"="+text)
		default:
			add(t.Field, text)
		}
	}
	add("variables", strings.Join(s.References(), ", "))
	return list
}

// hashes returns the hashes of what is masked in fields, to stand behind the text: a person sees when it changes.
func hashes(terms []config.Term, fields ...string) string {
	var list []string
	for _, t := range terms {
		field, _, _ := strings.Cut(t.Field, "[")
		if t.Hash != "" && slices.Contains(fields, field) {
			list = append(list, t.Hash)
		}
	}
	if list == nil {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}

// saysNothing reports whether a term is of no use to a person: how many roots there are, if each is shown, and a port
// that no one named.
func saysNothing(t config.Term) bool {
	return t.Field == "roots" && t.Text != "0" || t.Field == "oauth.redirectPort" && t.Text == "0"
}

// folder returns where a server starts, if that does not depend on a variable, else as it is written.
func folder(s *config.Server, written string) string {
	if strings.Contains(written, "${") || filepath.IsAbs(written) {
		return written
	}
	return s.Cwd
}

// program is a file of the repository that a server runs.
type program struct {
	Path string `json:"path"` // from the root of the repository, with slashes
	Hash string `json:"hash"` // SHA-256 of its content, in hex
}

// programs returns the files of the project's repository that the command line of a server names, sorted by path. What
// those load in turn is not seen.
func programs(s *config.Server) ([]program, error) {
	root := s.Project
	if top, inside := worktree(s.Project); inside {
		root = top
	}
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, err
	}
	var list []program
	texts := append([]string{s.Command}, s.Args...)
	for _, p := range s.Env {
		texts = append(texts, p.Value)
	}
	for _, text := range texts {
		for _, path := range paths(text) {
			if !filepath.IsAbs(path) {
				path = filepath.Join(s.Cwd, path)
			}
			inner, ok := within(root, path)
			if !ok || slices.ContainsFunc(list, func(p program) bool { return p.Path == inner }) {
				continue
			}
			hash, err := hashFile(path)
			if errors.Is(err, errNoFile) {
				continue
			}
			if err != nil {
				return nil, err
			}
			list = append(list, program{inner, hash})
		}
	}
	slices.SortFunc(list, func(a, b program) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

// paths returns what may be a path in a word of a command line or in the value of a variable: the whole, and each part
// of it, as in --config=FILE and in "exec ./run.sh".
func paths(text string) []string {
	return append([]string{text}, strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("'\"`;|&<>(){}[]=,:@", r)
	})...)
}

// within returns a path as seen from root. ok is false if it is outside, as written and with its links followed.
func within(root, path string) (inner string, ok bool) {
	for _, p := range []string{path, followed(path)} {
		if rel, err := filepath.Rel(root, p); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}

// followed returns path with the links of its folder followed, so that a project that is reached by a link is the same
// project.
func followed(path string) string {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return path
	}
	return filepath.Join(dir, filepath.Base(path))
}

// errNoFile says that a word names no regular file.
var errNoFile = errors.New("not a file")

// hashFile returns the SHA-256 of a regular file.
func hashFile(path string) (string, error) {
	f, _, err := atomicfile.Open(path, math.MaxInt64)
	if err != nil {
		if info, gone := os.Stat(path); gone != nil || !info.Mode().IsRegular() {
			return "", errNoFile
		}
		return "", err
	}
	defer f.Close() // it was only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// ToolsProject is [Project] for the servers of a tools.toml, whose names may be those of servers of the project's other
// configuration.
func ToolsProject(project string) string { return Project(project) + " tools.toml" }

// Project tells projects apart, by their folder; see [Subject].
func Project(project string) string {
	real, err := filepath.EvalSymlinks(project)
	if err != nil {
		real = filepath.Clean(project)
	}
	top, inside := worktree(real)
	if !inside {
		return real
	}
	inner, err := filepath.Rel(top, real)
	if err != nil {
		return real
	}
	return shared(top) + " " + filepath.ToSlash(inner)
}

// worktree returns the top folder of the Git worktree that a folder is in.
func worktree(dir string) (top string, inside bool) {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			return at, true
		}
		if filepath.Dir(at) == at {
			return "", false
		}
	}
}

// shared returns the folder of the repository that a worktree belongs to. A linked worktree has a file .git that names
// its folder in the repository, and that folder names the worktree (gitrepository-layout(5), worktrees). Unless both
// agree, the worktree stands for itself: a clone must not claim to be a worktree of another repository.
func shared(top string) string {
	own := filepath.Join(top, ".git")
	data, err := atomicfile.Read(own, maxLine)
	if err != nil {
		return own
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
	if !ok {
		return own
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(top, dir)
	}
	back, err := atomicfile.Read(filepath.Join(dir, "gitdir"), maxLine)
	if err != nil || !sameFile(resolve(dir, string(back)), own) {
		return own
	}
	common, err := atomicfile.Read(filepath.Join(dir, "commondir"), maxLine)
	if err != nil {
		return own
	}
	real, err := filepath.EvalSymlinks(resolve(dir, string(common)))
	if err != nil || !sameFile(filepath.Join(real, "worktrees"), filepath.Dir(filepath.Clean(dir))) {
		return own
	}
	return real
}

func resolve(dir, line string) string {
	path := strings.TrimSpace(line)
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}
