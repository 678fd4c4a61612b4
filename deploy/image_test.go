package deploy

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// image is what the Dockerfile makes, without its base: a folder in place of a file system.
type image struct {
	root       string // the folder
	env        []string
	user, dir  string
	entrypoint []string
	cmd        []string
}

// stages parses the Dockerfile.
func stages(t *testing.T) []instructions.Stage {
	t.Helper()
	file, err := os.Open("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	parsed, err := parser.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, warning := range parsed.Warnings {
		t.Errorf("the Dockerfile: %s", warning.Short)
	}
	all, args, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0].Name != "build" || all[1].BaseName != "$BASE" || args[0].Args[0].Key != "BASE" {
		t.Fatalf("the stages are %v with %v", all, args)
	}
	return all
}

// build carries out the Dockerfile: the commands of its first stage run here, in the repository, and the last stage's
// files are copied into a folder. Docker is not needed, nor are its bases had.
func build(t *testing.T) image {
	t.Helper()
	all, out := stages(t), t.TempDir()
	for _, command := range all[0].Commands {
		run, ok := command.(*instructions.RunCommand)
		if !ok {
			continue
		}
		cmd := exec.Command("/bin/sh", "-c", strings.Join(run.CmdLine, " "))
		cmd.Dir = ".."
		cmd.Env = append(os.Environ(), "OUT="+out, "TARGETOS=", "TARGETARCH=") // as for the platform of this machine
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("RUN %v: %v\n%s", run.CmdLine, err, said)
		}
	}
	img := image{root: t.TempDir()}
	for _, command := range all[1].Commands {
		switch c := command.(type) {
		case *instructions.EnvCommand:
			for _, pair := range c.Env {
				img.env = append(img.env, pair.Key+"="+pair.Value)
			}
		case *instructions.CopyCommand:
			img.copy(t, out, c)
		case *instructions.UserCommand:
			img.user = c.User
		case *instructions.WorkdirCommand:
			img.dir = c.Path
		case *instructions.EntrypointCommand:
			img.entrypoint = c.CmdLine
		case *instructions.CmdCommand:
			img.cmd = c.CmdLine
		case *instructions.ExposeCommand:
		default:
			t.Fatalf("the last stage has %s, which may need a shell that its base lacks", c.Name())
		}
	}
	return img
}

// copy copies a file or an empty folder of the first stage.
func (img image) copy(t *testing.T, out string, c *instructions.CopyCommand) {
	t.Helper()
	source := c.SourcePaths[0]
	if rest, ok := strings.CutPrefix(source, "/out"); ok {
		source = out + rest
	} else if _, err := os.Stat(source); err != nil {
		t.Logf("%s is not on this machine, and is left out", source)
		return
	}
	target := filepath.Join(img.root, c.DestPath)
	info, err := os.Stat(source)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(target), 0o755)
	}
	if err == nil && info.IsDir() {
		err = os.Mkdir(target, info.Mode().Perm())
	} else if err == nil {
		var data []byte
		if data, err = os.ReadFile(source); err == nil {
			err = os.WriteFile(target, data, info.Mode().Perm())
		}
	}
	if err == nil && c.Chown != "" {
		var uid, gid int
		if _, err = fmt.Sscanf(c.Chown, "%d:%d", &uid, &gid); err == nil && os.Geteuid() == 0 {
			err = os.Chown(target, uid, gid)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestDockerfile builds what the Dockerfile builds, and looks at the result.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	module, err := os.ReadFile(filepath.Join("..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	toolchain := regexp.MustCompile(`(?m)^go (\S+)$`).FindSubmatch(module)[1]
	if base := stages(t)[0].BaseName; base != fmt.Sprintf("golang:%s-bookworm", toolchain) {
		t.Errorf("it builds with %s, and go.mod asks for %s", base, toolchain)
	}
	img := build(t)
	if img.user != "65532:65532" {
		t.Errorf("the user is %q", img.user)
	}
	path := filepath.Join(img.root, "usr/local/bin/mcpl")
	binary, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	for _, segment := range binary.Progs {
		if segment.Type == elf.PT_INTERP {
			interpreter, _ := io.ReadAll(segment.Open()) // only shown
			t.Errorf("the program is not static: it needs %s", interpreter)
		}
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Path != "github.com/mcp-launchpad/mcpl/cmd/mcpl" {
		t.Errorf("the program is %s", info.Path)
	}
	said, err := exec.Command(path, append(img.cmd, "--help")...).CombinedOutput()
	if err != nil || !bytes.Contains(said, []byte("Streamable HTTP")) {
		t.Errorf("mcpl %q --help: %v\n%s", img.cmd, err, said)
	}
}
