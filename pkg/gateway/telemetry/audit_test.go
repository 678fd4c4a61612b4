package telemetry

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcp-launchpad/mcpl/pkg/gateway"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// TestMain checks that no audit is left.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func aCall(name string) gateway.Record {
	return gateway.Record{Method: "tools/call", Principal: "ada", Server: "s", Name: name, Outcome: gateway.Succeeded,
		Began: time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC), Took: 1500 * time.Microsecond, Bytes: 7,
		Trace: tool.Trace{ID: "t", Span: "u"}}
}

// noNotice fails the test if a person should mend something.
func noNotice(t *testing.T) func(string) {
	return func(text string) { t.Error(text) }
}

// TestAuditLine has the line as docs/contracts.md shows it, with hidden characters escaped.
func TestAuditLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit")
	a, err := NewAudit(AuditOptions{Path: path, Notice: noNotice(t)})
	if err != nil {
		t.Fatal(err)
	}
	a.Observe(aCall("a\u202eb\nc"))
	prompt, read := aCall("p"), aCall("a:{id}")
	prompt.Method, read.Method = "prompts/get", "resources/read"
	read.Trace = tool.Trace{}
	a.Observe(prompt)
	a.Observe(read)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	a.Observe(aCall("late")) // nothing happens
	got, err := os.ReadFile(path)
	const begin = `{"time":"2026-01-02T03:04:05.006Z","principal":"ada","method":"`
	want := begin + `tools/call","server":"s","tool":"a\u202eb\nc","outcome":"ok","ms":1.5,"bytes":7,"trace":"t"}` + "\n" +
		begin + `prompts/get","server":"s","prompt":"p","outcome":"ok","ms":1.5,"bytes":7,"trace":"t"}` + "\n" +
		begin + `resources/read","server":"s","uri":"a:{id}","outcome":"ok","ms":1.5,"bytes":7}` + "\n"
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s\nnot\n%s", err, got, want)
	}
}

// TestAuditLost: lines that find no room are counted, and a later line says how many there were.
func TestAuditLost(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var lines []string
	begun, goOn := make(chan struct{}), make(chan struct{})
	a, err := NewAudit(AuditOptions{Notice: noNotice(t), Line: func(line string) {
		mu.Lock()
		lines = append(lines, line)
		first := len(lines) == 1
		mu.Unlock()
		if first {
			close(begun)
			<-goOn
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	a.Observe(aCall("first"))
	<-begun // it is being written, and takes its time
	for range maxWaiting + 5 {
		a.Observe(aCall("next"))
	}
	close(goOn)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	var lost struct{ Lost int }
	if err := json.Unmarshal([]byte(lines[1]), &lost); err != nil || lost.Lost != 5 || len(lines) != maxWaiting+2 {
		t.Errorf("%d lines, %v, %s", len(lines), err, lines[1])
	}
}

// TestAuditWritesAgain: while the file cannot be written lines are lost, and a person hears of it once. After that a
// line of its own says how many were lost.
func TestAuditWritesAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "audit")
	notices := 0
	w := &writer{opt: AuditOptions{Path: path, Notice: func(string) { notices++ }}}
	if err := w.open(); err != nil {
		t.Fatal(err)
	}
	a := &Audit{opt: w.opt}
	a.put(w, []byte("one"))
	good := w.file
	closed, err := os.Open(dir) // it cannot be written
	if err != nil {
		t.Fatal(err)
	}
	defer closed.Close()
	w.file = closed
	a.put(w, []byte("two"))
	a.put(w, []byte("three"))
	w.file, w.torn = good, true // as after a part of a line
	a.put(w, []byte("four"))
	w.close()
	got, err := os.ReadFile(path)
	lines := strings.Split(string(got), "\n")
	if err != nil || notices != 1 || len(lines) != 5 || lines[0] != "one" || lines[1] != "" ||
		!strings.HasSuffix(lines[2], `,"lost":2}`) || lines[3] != "four" {
		t.Errorf("%v, %d notices, %q", err, notices, lines)
	}
}

// TestAuditReopen: if the file cannot be opened anew, lines go to the old one.
func TestAuditReopen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "audit")
	a, err := NewAudit(AuditOptions{Path: path, Notice: noNotice(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := a.Reopen(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot be opened") {
		t.Errorf("%v", err)
	}
	a.Observe(aCall("x"))
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := a.Reopen(t.Context()); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(path + ".1"); err != nil || !strings.Contains(string(got), `"tool":"x"`) {
		t.Errorf("%v, %s", err, got)
	}
}
