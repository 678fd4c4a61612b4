//go:build linux || darwin

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/prometheus/common/expfmt"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// canary is in arguments and results, and nowhere else.
const canary = "canary-4f1d"

// watchedScript is a server whose calls end in all ways.
func watchedScript() mcptest.Script {
	script := servedScript()
	script.Tools = append(script.Tools, mcptest.Tool{Name: "say", Text: canary},
		mcptest.Tool{Name: "fails", Behaviour: mcptest.Behaviour{
			Result: `{"content":[{"type":"text","text":"` + canary + `"}],"isError":true}`}})
	return script
}

// callOf returns a tools/call.
func callOf(id int, name, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, name, args)
}

// auditLine is a line as docs/contracts.md has it.
type auditLine struct {
	Time, Principal, Method, Server, Tool, Prompt, URI, Outcome, Trace string
	Ms                                                                 float64
	Bytes                                                              int
}

// audited waits until a file has n lines and returns them.
func audited(t *testing.T, path string, n int) (lines []auditLine) {
	t.Helper()
	for _, text := range mcptest.WaitLines(t, path, n) {
		if strings.Contains(text, canary) {
			t.Errorf("arguments or results are in %s", text)
		}
		var line auditLine
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&line); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if _, err := time.Parse("2006-01-02T15:04:05.000Z", line.Time); err != nil {
			t.Error(err)
		}
		lines = append(lines, line)
	}
	return lines
}

// TestServeAudit writes a line for each call, however it ends and in each exposure, and not a word of its arguments.
func TestServeAudit(t *testing.T) {
	t.Parallel()
	h := newHome(t, watchedScript())
	path := filepath.Join(h.dir, "audit.jsonl")
	s := h.serveAt(t, "127.0.0.1:0", "--expose", "all", "--audit", "audit.jsonl")
	own := "Authorization: Bearer " + s.token
	id := s.session(own)
	secret := `{"a":1,"key":"` + canary + `"}`
	at := func(exposure string) site {
		return site{t, strings.TrimSuffix(s.url, "/mcp") + "/mcp/" + exposure, "", 0, nil}
	}
	const trace = "0af7651916cd43dd8448eb211c80319c"
	s.is(s.ask("POST", callOf(1, "s_say", secret), id, own, "Traceparent: 00-"+trace+"-b7ad6b7169203331-01"), 200, canary)
	s.is(s.ask("POST", callOf(2, "s_fails", `{}`), id, own), 200, canary)
	s.is(s.ask("POST", callOf(3, "s_missing_"+canary, `{}`), id, own), 200, "there is no tool") // no server has it
	s.is(at("search").ask("POST", callOf(4, "call_tool", `{"server":"s","tool":"say","arguments":`+secret+`}`), own), 200, canary)
	s.is(at("search").ask("POST", callOf(5, "search_tools", `{"query":"say"}`), own), 200, "s/say") // no server is asked
	s.is(at("activate").ask("POST", callOf(6, "s_say", secret), own), 200, "is not active")
	s.is(s.ask("POST", `{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"a:item/`+canary+`"}}`, id, own), 200)
	s.is(s.ask("POST", `{"jsonrpc":"2.0","id":8,"method":"resources/read","params":{"uri":"a:one"}}`, id, own), 200, "first")
	s.is(s.ask("POST", `{"jsonrpc":"2.0","id":9,"method":"prompts/get","params":{"name":"s_greet"}}`, id, own), 200, "hello")
	lines := audited(t, path, 7)
	for i, want := range []auditLine{
		{Method: "tools/call", Tool: "say", Outcome: "ok", Trace: trace},
		{Method: "tools/call", Tool: "fails", Outcome: "tool_error"},
		{Method: "tools/call", Tool: "say", Outcome: "ok"},
		{Method: "tools/call", Tool: "say", Outcome: "refused"},
		{Method: "resources/read", URI: "a:item/{id}", Outcome: "ok"},
		{Method: "resources/read", URI: "a:one", Outcome: "ok"},
		{Method: "prompts/get", Prompt: "greet", Outcome: "ok"},
	} {
		got := lines[i]
		if (want.Outcome == "ok") != (got.Bytes > 0) && want.Outcome != "tool_error" || got.Ms < 0 {
			t.Errorf("%+v", got)
		}
		want.Principal, want.Server = "default", "s"
		got.Time, got.Ms, got.Bytes = "", 0, 0
		if got != want {
			t.Errorf("line %d is %+v, not %+v", i, got, want)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestServeAuditAtOnce has many clients call at once: each call has its line, whole.
func TestServeAuditAtOnce(t *testing.T) {
	t.Parallel()
	h := newHome(t, watchedScript())
	path := filepath.Join(h.dir, "audit.jsonl")
	h.vars = append(h.vars, "MCPL_AUDIT="+path)
	s := h.serveHTTP(t, "--expose", "all")
	const clients, each = 8, 25
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for i := range each {
				s.is(s.ask("POST", callOf(i, "s_say", `{"a":"`+canary+`"}`)), 200, canary)
			}
		})
	}
	wg.Wait()
	for _, line := range audited(t, path, clients*each) {
		if line.Outcome != "ok" || line.Tool != "say" || line.Principal != "" {
			t.Errorf("%+v", line)
		}
	}
}

// TestServeAuditCancelled: a call that its client has cancelled is one, also over stdin and stdout.
func TestServeAuditCancelled(t *testing.T) {
	t.Parallel()
	h := newHome(t, watchedScript())
	path := filepath.Join(h.dir, "audit.jsonl")
	f := h.serve(t, "--expose", "all", "--audit", path, "--daemon", "off")
	f.send(hello)
	f.until(`"id":1`)
	f.send(callOf(2, "s_hang", `{"a":"`+canary+`"}`))
	mcptest.Wait(t, "the call", func() bool {
		return strings.Contains(strings.Join(mcptest.Lines(t, h.received), "\n"), `"tools/call"`)
	})
	f.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	if line := audited(t, path, 1)[0]; line.Outcome != "cancelled" || line.Tool != "hang" {
		t.Errorf("%+v", line)
	}
}

// TestServeAuditFull: a full disk stops no call, and a person hears of it once. Lines go to stderr with a dash.
func TestServeAuditFull(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no full disk to write to")
	}
	h := newHome(t, watchedScript())
	s := h.serveHTTP(t, "--expose", "all", "--audit", "/dev/full")
	for i := range 3 {
		s.is(s.ask("POST", callOf(i, "s_say", `{}`)), 200, canary)
	}
	if said := s.end(); strings.Count(said, "audit lines are lost, and calls go on: /dev/full cannot be written") != 1 {
		t.Error(said)
	}
	s = h.serveHTTP(t, "--expose", "all", "--audit", "-")
	s.is(s.ask("POST", callOf(1, "s_say", `{}`)), 200, canary)
	if said := s.end(); !strings.Contains(said, `"server":"s","tool":"say","outcome":"ok"`) {
		t.Error(said)
	}
	for _, c := range []struct{ args, variable, want string }{
		{"--audit nowhere/audit", "", "cannot be opened: it is not there"},
		{"", "MCPL_AUDIT=relative", `MCPL_AUDIT: it is not the path of a file`},
	} {
		cmd, _, stderr := h.mcpl(t, append([]string{"serve", "--http", "127.0.0.1:0"}, strings.Fields(c.args)...)...)
		cmd.Env = append(cmd.Env, c.variable)
		_ = cmd.Run() // its exit code is looked at
		if code := cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%q: %d, %s", c, code, stderr)
		}
	}
}

// path returns the site at another path.
func (s site) path(path string) site {
	return site{s.t, strings.TrimSuffix(s.url, "/mcp") + path, s.token, s.pid, nil}
}

// metrics reads the numbers of a gateway, as Prometheus would, into a map from names with labels to values.
func (s site) metrics(headers ...string) map[string]float64 {
	s.t.Helper()
	r := s.path("/metrics").ask("GET", "", headers...)
	s.is(r, 200)
	var parser expfmt.TextParser
	families, err := parser.TextToMetricFamilies(strings.NewReader(r.body))
	if err != nil {
		s.t.Fatalf("%v\n%s", err, r.body)
	}
	values := make(map[string]float64)
	for name, family := range families {
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			key := name + "{" + strings.Join(labels, ",") + "}"
			values[key] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return values
}

// TestServeMetrics counts calls, responses, sessions and streams.
func TestServeMetrics(t *testing.T) {
	t.Parallel()
	s := newHome(t, watchedScript()).serveHTTP(t, "--expose", "all")
	id := s.session()
	s.is(s.ask("POST", callOf(1, "s_say", `{}`), id), 200, canary)
	s.is(s.ask("POST", callOf(2, "s_fails", `{}`), id), 200, canary)
	s.is(s.ask("POST", ping, "Mcp-Session-Id: none"), 404)
	ctx, leave := context.WithCancel(t.Context())
	resp := s.open(ctx, "GET", "", id)
	got := s.metrics()
	for key, want := range map[string]float64{
		"mcpl_calls_total{server=s,method=tools/call,outcome=ok}":         1,
		"mcpl_calls_total{server=s,method=tools/call,outcome=tool_error}": 1,
		"mcpl_call_duration_seconds{server=s}":                            2,
		"mcpl_http_responses_total{code=200}":                             4, // initialize, two calls and the stream
		"mcpl_http_responses_total{code=404}":                             1,
		"mcpl_sessions{}":                                                 1,
		"mcpl_streams{}":                                                  1,
		"mcpl_servers{state=running}":                                     1,
		"mcpl_servers{state=down}":                                        0,
	} {
		if value, ok := got[key]; !ok || value != want {
			t.Errorf("%s is %v, not %v, in %v", key, value, want, got)
		}
	}
	leave()
	resp.Body.Close()
	s.is(s.ask("DELETE", "", id), 204)
	mcptest.Eventually(t, func() (string, bool) {
		now := s.metrics()
		return fmt.Sprint(now), now["mcpl_sessions{}"] == 0 && now["mcpl_streams{}"] == 0
	})
}

// TestServeHealth answers probes without a token; metrics only to programs of this machine, and to others with one.
func TestServeHealth(t *testing.T) {
	t.Parallel()
	s := newHome(t, watchedScript()).serveAt(t, "127.0.0.1:0")
	own := "Authorization: Bearer " + s.token
	for _, path := range []string{"/livez", "/readyz", "/healthz", "/metrics"} {
		at := s.path(path)
		mcptest.Eventually(t, func() (string, bool) {
			r := at.ask("GET", "")
			return r.body, r.status == 200
		})
		s.is(at.ask("HEAD", ""), 200)
		for _, stranger := range []string{"Host: gateway.example", "X-Forwarded-For: 192.0.2.1", "Forwarded: for=192.0.2.1"} {
			want := 200
			if path == "/metrics" {
				want = 401
			}
			s.is(at.ask("GET", "", stranger), want)
			s.is(at.ask("GET", "", stranger, own), 200)
		}
		if r := at.ask("POST", "", own); r.status != 405 || r.header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%+v", r)
		}
	}
	s.is(s.path("/metrics").ask("GET", "", "Origin: https://evil.example"), 403)
}

// TestServeReadyWithDeadServer: a gateway is ready though a server does not start, and before one has answered that
// takes its time it is not.
func TestServeReadyWithDeadServer(t *testing.T) {
	t.Parallel()
	h := newHome(t, watchedScript())
	pipe := filepath.Join(h.dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`{"mcpServers":{"dead":{"command":"/nonexistent"},"slow":{"command":"cat","args":[%q]}}}`, pipe)
	if err := os.WriteFile(filepath.Join(h.dir, ".mcp.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s := h.serveHTTP(t)
	s.is(s.path("/livez").ask("GET", ""), 200)
	s.is(s.path("/readyz").ask("GET", ""), 503, "being listed")
	mcptest.Eventually(t, func() (string, bool) { // the server has opened the pipe, and ends with it
		file, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			err = file.Close()
		}
		return fmt.Sprint(err), err == nil
	})
	began := time.Now()
	mcptest.Eventually(t, func() (string, bool) {
		r := s.path("/readyz").ask("GET", "")
		return r.body, r.status == 200
	})
	if took := time.Since(began); took > 8*time.Second { // a server that does not answer delays it by 10 s
		t.Errorf("it took %s", took)
	}
}

// TestServeReload: after SIGHUP lines go to a new audit file, and the configuration is read again.
func TestServeReload(t *testing.T) {
	t.Parallel()
	h := newHome(t, watchedScript())
	path := filepath.Join(h.dir, "audit.jsonl")
	s, process := h.startAt(t, "127.0.0.1:0", "--no-auth", "--expose", "all", "--audit", path)
	s.is(s.ask("POST", callOf(1, "s_say", `{}`)), 200, canary)
	audited(t, path, 1)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	if err := process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	mcptest.Wait(t, "the new file", func() bool { _, err := os.Stat(path); return err == nil })
	s.is(s.ask("POST", callOf(2, "s_say", `{}`)), 200, canary)
	audited(t, path, 1)
	if n := len(mcptest.Lines(t, path+".1")); n != 1 {
		t.Errorf("the old file has %d lines", n)
	}
	if said := s.end(); !strings.Contains(said, "the configuration was read again") {
		t.Error(said)
	}
}

// TestServeTerminalGone: a gateway that was started at a terminal ends with it, and not by SIGHUP before.
func TestServeTerminalGone(t *testing.T) {
	t.Parallel()
	h := newHome(t, watchedScript())
	cmd, _, _ := h.mcpl(t, "serve", "--http", "127.0.0.1:0", "--no-auth")
	own := exec.Command(cmd.Path, cmd.Args[1:]...)
	own.Dir, own.Env = cmd.Dir, cmd.Env
	terminal, err := pty.Start(own)
	if err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { _ = own.Process.Kill() }) // its exit code says so
	defer late.Stop()
	lines := bufio.NewScanner(terminal)
	until := func(text string) {
		t.Helper()
		for !strings.Contains(lines.Text(), text) {
			if !lines.Scan() {
				t.Fatalf("it did not say %q: %v", text, lines.Err())
			}
		}
	}
	until("listening on")
	hangUp := func() {
		t.Helper()
		if err := own.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	hangUp()
	until("read again")
	settings := filepath.Join(h.dir, "mcpl", "config.toml")
	if err := os.MkdirAll(filepath.Dir(settings), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, []byte("nonsense = 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	hangUp()
	until("left as it was")
	terminal.Close()
	if code := exitCode(t, own); code != 0 {
		t.Errorf("it ended with %d", code)
	}
}
