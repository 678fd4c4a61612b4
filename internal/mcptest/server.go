package mcptest

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// JSON-RPC error codes, those of the protocol's revision 2026-07-28 among them.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeUnknownMethod  = -32601
	codeInvalidParams  = -32602
	codeBadVersion     = -32022
)

// server is one run of a script. Quick requests are answered in the order they came by the
// loop itself; slow ones get a goroutine, which ends with its work or when done is closed.
type server struct {
	script Script

	initialized bool          // initialize has arrived; used by the loop alone
	end         chan int      // the exit code that a behaviour asked for
	done        chan struct{} // closed when the server ends
	slow        sync.WaitGroup

	write  sync.Mutex // one line at a time
	stdout io.Writer
	stderr io.Writer

	mu     sync.Mutex
	tools  []Tool                   // the script's and the generated ones, or those that came Then
	asked  int                      // requests of our own so far
	asks   map[string]chan []byte   // by id: those whose answer something waits for
	active map[string]chan struct{} // by id: slow requests, closed when cancelled
	failed map[*Error]int           // how often an error with a limit was answered
	tasks  map[string]*running      // by id
}

// message is any JSON-RPC message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`

	replies []string // what the client answered to what was asked for this message
}

func newServer(script Script, stdout, stderr io.Writer) *server {
	return &server{
		script: script,
		tools:  append(script.Tools[:len(script.Tools):len(script.Tools)], script.Generate.tools()...),
		end:    make(chan int, 1),
		done:   make(chan struct{}),
		stdout: stdout,
		stderr: stderr,
		asks:   map[string]chan []byte{},
		active: map[string]chan struct{}{},
		failed: map[*Error]int{},
		tasks:  map[string]*running{},
	}
}

// run is the server's loop. It returns the exit code after every slow request has ended.
func (s *server) run(stdin io.Reader) int {
	if !s.act(s.script.Start, &message{}, nil) {
		return <-s.end // with Never nothing comes: the process has to be killed
	}
	lines := make(chan []byte)
	go readLines(stdin, lines, s.done)
	code := s.loop(lines)
	close(s.done)
	s.slow.Wait()
	return code
}

func (s *server) loop(lines <-chan []byte) int {
	for {
		select {
		case code := <-s.end: // wins over a line that is there too
			return code
		default:
		}
		select {
		case code := <-s.end:
			return code
		case line, ok := <-lines:
			switch {
			case ok:
				s.receive(line)
			case s.script.IgnoreEOF:
				lines = nil
			default:
				return 0
			}
		}
	}
}

// readLines sends the lines of r until it ends or done is closed.
func readLines(r io.Reader, lines chan<- []byte, done <-chan struct{}) {
	defer close(lines)
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		select {
		case lines <- line[:len(line)-1]:
		case <-done:
			return
		}
	}
}

func (s *server) receive(line []byte) {
	s.record(s.script.Received, line)
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		s.fail(message{ID: json.RawMessage("null")}, Error{Code: codeParse, Message: err.Error()})
		return
	}
	switch {
	case m.Method == "":
		s.record(s.script.Answers, line)
		s.answered(string(m.ID), line)
	case m.ID == nil:
		s.notified(m, line)
	default:
		s.initialized = s.initialized || m.Method == "initialize"
		s.request(m)
	}
}

// notified handles a notification of the client.
func (s *server) notified(m message, line []byte) {
	switch m.Method {
	case "notifications/cancelled":
		s.record(s.script.Cancelled, line)
		s.cancel(m)
	case "notifications/initialized":
		for range s.script.ListChanged {
			s.sendLine(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
	}
	b := s.script.Methods[m.Method]
	if !b.slow() {
		s.act(b, &m, nil)
		return
	}
	s.slow.Go(func() { s.act(b, &m, nil) })
}

// request answers m: at once, or in a goroutine where that may take time.
func (s *server) request(m message) {
	steps := []Behaviour{s.script.Methods[m.Method]}
	if e := s.refusal(m); e != nil {
		steps = append(steps, Behaviour{Error: e})
	} else {
		steps = append(steps, s.behaviour(m))
	}
	slow := m.Method == "tasks/result"
	for _, b := range steps {
		slow = slow || b.slow()
	}
	if !slow {
		s.perform(m, steps, nil)
		return
	}
	cancelled := make(chan struct{})
	s.mu.Lock()
	s.active[string(m.ID)] = cancelled
	s.mu.Unlock()
	s.slow.Go(func() {
		s.perform(m, steps, cancelled)
		s.mu.Lock()
		delete(s.active, string(m.ID))
		s.mu.Unlock()
	})
}

// perform takes the steps and answers m with the first error or result among them, or else as
// the protocol says.
func (s *server) perform(m message, steps []Behaviour, cancelled <-chan struct{}) {
	for _, b := range steps {
		switch {
		case !s.act(b, &m, cancelled):
			return
		case s.fails(b):
			s.fail(m, *b.Error)
			return
		case s.requires(b, &m):
			return
		case b.Result != "":
			s.reply(m, b.Result)
			return
		}
	}
	s.answer(m, cancelled)
}

// fails reports whether b answers with its error now.
func (s *server) fails(b Behaviour) bool {
	if b.Error == nil || b.ErrorTimes == 0 {
		return b.Error != nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed[b.Error]++
	return s.failed[b.Error] <= b.ErrorTimes
}

// requires answers m with the next of b's rounds, and reports whether there was one. The requestState
// is the number of rounds so far.
func (s *server) requires(b Behaviour, m *message) bool {
	var p struct {
		State     string          `json:"requestState"`
		Responses json.RawMessage `json:"inputResponses"`
	}
	if len(b.Rounds) == 0 || json.Unmarshal(m.Params, &p) != nil {
		return false
	}
	n := len(p.State)
	if p.Responses != nil {
		m.replies = append(m.replies, string(p.Responses))
	}
	if n >= len(b.Rounds) {
		return false
	}
	s.reply(*m, Raw(`{"resultType":"input_required","inputRequests":`+b.Rounds[n].line()+
		`,"requestState":`+quote(strings.Repeat("s", n+1))+`}`))
	return true
}

// work keeps the processor busy: it hashes so many megabytes.
func work(megabytes int) {
	block := make([]byte, 1<<20)
	for range megabytes {
		sum := sha256.Sum256(block)
		copy(block, sum[:])
	}
}

// act does what b says before an answer. It returns false where none must follow: the request
// was cancelled, the server is ending, or the script wants it so.
func (s *server) act(b Behaviour, m *message, cancelled <-chan struct{}) bool {
	if b.StderrBytes > 0 {
		line := strings.Repeat("x", 63) + "\n"
		text := strings.Repeat(line, b.StderrBytes/len(line)+1)
		io.WriteString(s.stderr, text[:b.StderrBytes])
	}
	for _, line := range b.Stderr {
		io.WriteString(s.stderr, line+"\n")
	}
	for _, line := range b.Noise {
		s.sendLine(line)
	}
	work(b.Work)
	if !s.replay(b.Replay, cancelled) || !s.progress(b, *m, cancelled) || !s.sleep(b.Delay, cancelled) {
		return false
	}
	for _, a := range b.Asks {
		answer, ok := s.ask(a, cancelled)
		if !ok {
			return false
		}
		if a.Wait {
			m.replies = append(m.replies, answer)
		}
	}
	if b.Exit != nil {
		if b.Exit.Signal != "" {
			killSelf(b.Exit.Signal)
		}
		select {
		case s.end <- b.Exit.Code:
		default: // another request has ended the server already
		}
		return false
	}
	return !b.Never
}

// replay writes the lines of a recording. It returns false when something ended the wait for a line.
func (s *server) replay(lines []Line, cancelled <-chan struct{}) bool {
	started := time.Now()
	for _, line := range lines {
		if !s.sleep(line.At-Duration(time.Since(started)), cancelled) {
			return false
		}
		if line.Stderr {
			io.WriteString(s.stderr, line.Text+"\n")
		} else {
			s.sendLine(line.Text)
		}
	}
	return true
}

// progress sends b's notifications, if the client asked for some.
func (s *server) progress(b Behaviour, m message, cancelled <-chan struct{}) bool {
	var p struct {
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	if json.Unmarshal(m.Params, &p) != nil || p.Meta.Token == nil {
		return true
	}
	for i := 1; i <= b.Progress; i++ {
		s.sendLine(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":`+
			`{"progressToken":%s,"progress":%d,"total":%d,"message":"step %d"}}`, p.Meta.Token, i, b.Progress, i))
		if !s.sleep(b.Every, cancelled) {
			return false
		}
	}
	return true
}

// ask sends a request to the client and waits for the answer, its result or error, where a says so.
func (s *server) ask(a Ask, cancelled <-chan struct{}) (answer string, ok bool) {
	s.mu.Lock()
	s.asked++
	id := string(a.ID.or(Raw(strconv.Itoa(s.asked))))
	came := make(chan []byte, 1)
	s.asks[id] = came
	s.mu.Unlock()
	line := `{"jsonrpc":"2.0","method":` + quote(a.Method)
	if id != "none" {
		line = `{"jsonrpc":"2.0","id":` + id + `,"method":` + quote(a.Method)
	}
	if a.Params != "" {
		line += `,"params":` + a.Params.line()
	}
	s.sendLine(line + "}")
	if !a.Wait {
		return "", true
	}
	select {
	case line := <-came:
		var m struct{ Result, Error json.RawMessage }
		if json.Unmarshal(line, &m) != nil || m.Result == nil {
			return string(m.Error), true
		}
		return string(m.Result), true
	case <-cancelled:
	case <-s.done:
	}
	return "", false
}

// answered wakes what waits for the client's answer with that id.
func (s *server) answered(id string, line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if came, ok := s.asks[id]; ok {
		came <- line
		delete(s.asks, id)
	}
}

// cancel stops the slow request that a notifications/cancelled names.
func (s *server) cancel(m message) {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(m.Params, &p) != nil || s.script.IgnoreCancel {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.active[string(p.ID)]; ok {
		close(c)
		delete(s.active, string(p.ID))
	}
}

// sleep waits for d; it returns false when something ended the wait.
func (s *server) sleep(d Duration, cancelled <-chan struct{}) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(time.Duration(d))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-cancelled:
	case <-s.done:
	}
	return false
}

func (s *server) reply(m message, result Raw) {
	for _, line := range s.script.Between {
		s.sendLine(line)
	}
	s.sendLine(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result.line() + `}`)
}

func (s *server) fail(m message, e Error) {
	for _, line := range s.script.Between {
		s.sendLine(line)
	}
	body := fmt.Sprintf(`{"code":%d,"message":%s`, e.Code, quote(e.Message))
	if e.Data != "" {
		body += `,"data":` + e.Data.line()
	}
	s.sendLine(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":` + body + `}}`)
}

// sendLine writes a line to stdout. It ignores a client that has gone: the end of stdin says so.
func (s *server) sendLine(line string) {
	s.write.Lock()
	defer s.write.Unlock()
	io.WriteString(s.stdout, line+"\n")
}

// record adds a line to a record file; a test that reads it would notice a missing one, but the
// reason belongs on stderr.
func (s *server) record(path string, line []byte) {
	if err := appendLine(path, line); err != nil {
		fmt.Fprintln(s.stderr, "mcptest:", err)
	}
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil { // a string always encodes
		panic(err)
	}
	return string(b)
}
