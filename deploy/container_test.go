//go:build linux

package deploy

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// contain runs its arguments from the third on as a container does: as process 1 of user $2, in a read-only file system
// $1, with volumes as the kubelet makes them for the group $2: root's, and writable for everybody.
const contain = `set -e
root=$1 user=$2
shift 2
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
for volume in /home/mcpl /tmp; do
	mount -t tmpfs -o mode=2777,gid="${user#*:}" tmpfs "$root$volume"
done
mount -o remount,ro,bind "$root"
cd "$root/home/mcpl"
exec chroot --userspec="$user" --groups="${user#*:}" "$root" "$@"`

// mounted writes files as the kubelet mounts those of a ConfigMap or a Secret: behind links, in a folder of root that
// everybody may write but for the mount's being read-only.
func (img image) mounted(t *testing.T, folder string, mode os.FileMode, files map[string]string) {
	t.Helper()
	dir := filepath.Join(img.root, folder)
	version := filepath.Join(dir, "..2026_01_02")
	if err := os.MkdirAll(version, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(version, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, 0, 65532); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Base(version), filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
}

// environment returns what a container's environment is, apart from what is taken from Secrets.
func environment(t *testing.T, c corev1.Container) (list []string) {
	t.Helper()
	for _, variable := range c.Env {
		if variable.ValueFrom != nil {
			t.Fatalf("%s comes from elsewhere", variable.Name)
		}
		list = append(list, variable.Name+"="+variable.Value)
	}
	return list
}

// addToken makes a token with the program of the image, and returns it and the file that is to be mounted.
func (img image) addToken(t *testing.T) (token, file string) {
	t.Helper()
	state := t.TempDir()
	cmd := exec.Command(filepath.Join(img.root, "usr/local/bin/mcpl"), "--json", "serve", "token", "add", "laptop")
	cmd.Env = append(os.Environ(), "HOME="+state, "XDG_STATE_HOME="+state)
	said, err := cmd.Output()
	var added struct{ Token string }
	if err == nil {
		err = json.Unmarshal(said, &added)
	}
	text, readErr := os.ReadFile(filepath.Join(state, "mcpl", "gateway-tokens.json"))
	if err != nil || readErr != nil {
		t.Fatal(err, readErr, string(said))
	}
	return added.Token, string(text)
}

// TestContainer runs the image as the chart does: read-only, as a user without a name or rights, as process 1, with
// nothing to write to but its volumes. Probes come from another address and without a token, as the kubelet's do.
func TestContainer(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can make what a container is made of: run make deploy-test as root")
	}
	o := rendered(t, minimal, `
replicas: 1
sessionKeys: {existingSecret: ""}
servers: {example: {command: mcpl, args: [example-server]}}
settings: "limit = 3"
`)
	pod, c := o.container(t)
	img := build(t)
	token, file := img.addToken(t)
	for _, dir := range []string{"proc", "tmp"} {
		if err := os.Mkdir(filepath.Join(img.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, mount := range c.VolumeMounts {
		switch mount.Name {
		case "config":
			img.mounted(t, mount.MountPath, 0o644, get[corev1.ConfigMap](o).Data)
		case "tokens":
			mode := os.FileMode(*pod.Volumes[1].Secret.DefaultMode)
			img.mounted(t, mount.MountPath, mode, map[string]string{"tokens.json": file})
		}
	}
	args := slices.Concat(img.entrypoint, c.Args)
	at := slices.Index(args, fmt.Sprintf("--http=0.0.0.0:%d", c.Ports[0].ContainerPort))
	if at < 0 {
		t.Fatalf("%q does not serve at the port of the container", args)
	}
	args[at] = "--http=0.0.0.0:0" // this machine is not the container's alone
	user := fmt.Sprintf("%d:%d", *pod.SecurityContext.RunAsUser, *pod.SecurityContext.RunAsGroup)
	if user != img.user {
		t.Errorf("the chart runs it as %s, the image as %s", user, img.user)
	}
	cmd := exec.Command("/bin/sh", slices.Concat([]string{"-c", contain, "sh", img.root, user}, args)...)
	cmd.Env = slices.Concat([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, img.env, environment(t, c))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	base, ended := started(t, cmd)

	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe} {
		status, said := request(t, "GET", base+probe.HTTPGet.Path, "", "")
		for until := time.Now().Add(time.Minute); status == 503 && time.Now().Before(until); { // it asks again, as the kubelet does
			time.Sleep(50 * time.Millisecond)
			status, said = request(t, "GET", base+probe.HTTPGet.Path, "", "")
		}
		if status != 200 {
			t.Errorf("%s without a token, from another machine: %d %s", probe.HTTPGet.Path, status, said)
		}
	}
	if status, said := request(t, "POST", base+"/mcp", "", `{"jsonrpc":"2.0","id":1,"method":"ping"}`); status != 401 {
		t.Errorf("without a token: %d %s", status, said)
	}
	// A call starts a server, which writes the index, and its result is too large and goes to the store.
	status, said := request(t, "POST", base+"/mcp", token, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"call_tool",
		"arguments":{"server":"example","tool":"calculate","arguments":{"expression":"6*7"}}}}`)
	if status != 200 || !strings.Contains(said, "42") {
		t.Errorf("a call: %d %s", status, said)
	}
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)); err != nil ||
		!regexp.MustCompile(`(?m)^Uid:\s+65532\s+65532\s+65532\s+65532$`).Match(text) {
		t.Errorf("%v: it does not run as 65532: %s", err, text)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	log := ended()
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("SIGTERM ends it with %d: %s", code, log)
	}
	if strings.Contains(log, "read-only") || strings.Contains(log, "permission") || strings.Contains(log, token) {
		t.Errorf("it said %s", log)
	}
}

// started starts mcpl serve --http and returns its URL at an address that is not loopback, if this machine has one, and
// a function that waits for its end and returns what it has said.
func started(t *testing.T, cmd *exec.Cmd) (base string, ended func() string) {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has mostly ended
	var log bytes.Buffer
	lines := bufio.NewReader(io.TeeReader(stderr, &log))
	line, err := lines.ReadString('\n')
	port := regexp.MustCompile(`http://\S+:(\d+)/mcp`).FindStringSubmatch(line)
	if err != nil || port == nil {
		_ = cmd.Process.Kill()       // it has perhaps ended
		rest, _ := io.ReadAll(lines) // what there is of it
		t.Fatalf("%v: %s%s, %v", err, line, rest, cmd.Wait())
	}
	return "http://" + net.JoinHostPort(outward(t), port[1]), func() string {
		_, _ = io.ReadAll(lines) // up to its end
		_ = cmd.Wait()           // its exit code is looked at
		return log.String()
	}
}

// outward returns an address of this machine that others see, and loopback if there is none.
func outward(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && network.IP.To4() != nil && network.IP.IsGlobalUnicast() {
			return network.IP.String()
		}
	}
	t.Log("this machine has no address but loopback")
	return "127.0.0.1"
}

// request sends a request and returns what comes back.
func request(t *testing.T, method, url, token, body string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(said)
}
