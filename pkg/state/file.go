package state

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// formatVersion is the version of the files. A file that names none is of version 1.
//
//	1: the members enabled and disabled, and the project that the file is of
const formatVersion = 1

// File is a file of choices.
type File struct {
	Path string
	// Project is the folder that the file is of. The choices hold in it and below. If empty, they hold everywhere.
	Project string
}

// FileIn returns the file that holds everywhere, in mcpl's state directory.
func FileIn(dir string) File { return File{Path: filepath.Join(dir, "tool-state.json")} }

// ProjectFile returns the file of a project. It lies in mcpl's state directory and not in the project: what a
// repository brings along is not the choice of a person.
func ProjectFile(dir, project string) File {
	if real, err := filepath.EvalSymlinks(project); err == nil {
		project = real // one folder has one file, whichever way leads to it
	}
	return File{Path: filepath.Join(projects(dir), projectName(project)), Project: project}
}

// PrincipalFile returns the file of a principal of a gateway. It only narrows the other files: something is on for the
// principal if all of them have it on.
func PrincipalFile(dir, principal string) File {
	sum := sha256.Sum256([]byte("mcpl principal 1\x00" + principal))
	return File{Path: filepath.Join(Principals(dir), hex.EncodeToString(sum[:16])+".json")}
}

// Principals returns the folder of the files of principals.
func Principals(dir string) string { return filepath.Join(dir, "principals") }

func projects(dir string) string { return filepath.Join(dir, "projects") }

// projectName returns the name of a project's file. On systems whose folders may be spelled in any case, case is
// not part of it.
func projectName(project string) string {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		project = strings.ToLower(project)
	}
	sum := sha256.Sum256([]byte("mcpl project 1\x00" + project))
	return hex.EncodeToString(sum[:8]) + ".json"
}

// InForce returns the files that apply in a folder: the one that holds everywhere, and those that there are for the
// folder and the folders above it. The error is a fault.Config.
func InForce(dir, folder string) ([]File, error) {
	files := []File{FileIn(dir)}
	entries, err := os.ReadDir(projects(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return files, nil
	}
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	if err != nil {
		return nil, fault.New(fault.Config, "cannot tell what is switched off in this folder",
			fmt.Sprintf("Make %s and the working directory readable for you.", projects(dir))).Because(err)
	}
	for at := folder; ; at = filepath.Dir(at) {
		name := projectName(at)
		if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name }) {
			files = append(files, File{Path: filepath.Join(projects(dir), name), Project: at})
		}
		if at == filepath.Dir(at) {
			return files, nil
		}
	}
}

// Read returns the choices that apply in a folder. The notices name members of the files that mcpl does not know. A
// file that cannot be understood is a fault.Config, which names the line to mend, since what it switches off would be
// on without it.
func Read(dir, folder string) (all All, notices []string, err error) {
	files, err := InForce(dir, folder)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range files {
		t, unknown, err := f.Read()
		if err != nil {
			return nil, nil, err
		}
		all = append(all, t)
		notices = append(notices, unknown...)
	}
	return all, notices, nil
}

// Read returns the choices of the file, and a notice for each member that mcpl does not know. A missing file is the
// zero value. The file may have comments and trailing commas. If it cannot be understood, the error is a fault.Config.
func (f File) Read() (t Tools, notices []string, err error) {
	d, err := f.open()
	return d.tools, d.notices, err
}

// document is the content of a file.
type document struct {
	tools   Tools
	notices []string
	root    hujson.Value
}

func (f File) open() (document, error) {
	data, err := config.ReadOwn(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = f.empty(), nil
	}
	if err != nil {
		return document{}, err
	}
	return f.parse(data)
}

// empty is the content of a new file.
func (f File) empty() []byte {
	project := ""
	if f.Project != "" {
		project = fmt.Sprintf(` "project": %s,`, tool.Quote(f.Project))
	}
	return fmt.Appendf(nil, `{"version": %d,%s "enabled": [], "disabled": []}`, formatVersion, project)
}

// parse reads the content of the file. null and a missing list count as empty.
func (f File) parse(data []byte) (d document, err error) {
	root, line, err := config.ParseForeign(f.Path, data)
	if err != nil {
		return d, err
	}
	object, ok := root.Value.(*hujson.Object)
	if !ok {
		return d, f.damaged(1, "it is not an object")
	}
	d.root = root
	seen := make(map[string]int)
	for _, m := range object.Members {
		key := m.Name.Value.(hujson.Literal).String()
		at := line(m.Name.StartOffset)
		if before := seen[key]; before > 0 {
			return d, f.damaged(at, fmt.Sprintf("%q stands in line %d too", key, before))
		}
		seen[key] = at
		list := map[string]*[]string{"enabled": &d.tools.Enabled, "disabled": &d.tools.Disabled}[key]
		switch {
		case list != nil:
			if *list, ok = names(m.Value.Value); !ok {
				return d, f.damaged(at, fmt.Sprintf("%q is not a list of names", key))
			}
		case key == "version":
			if n, ok := m.Value.Value.(hujson.Literal); !ok || n.Int() != formatVersion {
				return d, f.damaged(at, fmt.Sprintf("the version is not %d, the one that this mcpl knows", formatVersion))
			}
		case key == "project": // for readers of the file
		case slices.Contains([]string{"enable", "enabled", "disable", "disabled"}, strings.ToLower(key)):
			return d, f.damaged(at, fmt.Sprintf(`%q is neither "enabled" nor "disabled"`, key))
		default:
			d.notices = append(d.notices, fmt.Sprintf(
				"%s:%d: mcpl does not know the member %q, which switches nothing", f.Path, at, key))
		}
	}
	return d, nil
}

// names returns the names of a list. null has none.
func names(v hujson.ValueTrimmed) (list []string, ok bool) {
	if v.Kind() == 'n' {
		return nil, true
	}
	array, ok := v.(*hujson.Array)
	if !ok {
		return nil, false
	}
	for _, element := range array.Elements {
		name, ok := element.Value.(hujson.Literal)
		if !ok || name.Kind() != '"' {
			return nil, false
		}
		list = append(list, name.String())
	}
	return list, true
}

// damaged is the fault of a file whose choices are not sure.
func (f File) damaged(line int, why string) *fault.Fault {
	return fault.New(fault.Config, fmt.Sprintf("%s:%d: %s, so it is not sure what is switched off", f.Path, line, why),
		fmt.Sprintf("Correct line %d of %s. Until then no server and no tool can be used.", line, f.Path))
}
