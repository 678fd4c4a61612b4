package verb

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// fakeCaller stands for a server: what its one tool does is the test's function. The real ones are in
// cmd/mcpl.
type fakeCaller struct {
	call func(ctx context.Context, opt tool.CallOptions) (*tool.Result, error)
}

func (fakeCaller) List(context.Context, string, tool.CallOptions) (tool.Listing, error) {
	def, err := tool.ParseDef([]byte(`{"name":"ask","inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`))
	return tool.Listing{Tools: []tool.Def{def}}, err
}

func (c fakeCaller) Call(ctx context.Context, _ tool.Ref, _ json.RawMessage, opt tool.CallOptions) (*tool.Result, error) {
	return c.call(ctx, opt)
}

func (fakeCaller) Close() error { return nil }

// person is a user's end of mcpl's streams: what is typed, and whether there is a terminal at all.
type person struct {
	stdin  io.Reader
	stderr io.Writer // nil: a buffer
	absent bool
	width  int
}

// ran is what a run left behind.
type ran struct {
	code           int
	stdout, stderr string
}

// fault is the failure in the JSON answer.
func (r ran) fault(t *testing.T) fault.Fault {
	t.Helper()
	var a struct{ Error fault.Fault }
	if err := json.Unmarshal([]byte(r.stdout), &a); err != nil {
		t.Fatalf("%v\n%s", err, r.stdout)
	}
	return a.Error
}

// runCall runs `mcpl call demo ask` with more flags against a server that does what call says. The
// streams are not a terminal, they are only said to be one.
func runCall(ctx context.Context, t *testing.T, who person, g Globals, v *Call, call func(context.Context, tool.CallOptions) (*tool.Result, error), args ...string) ran {
	t.Helper()
	root := t.TempDir()
	home, dir := filepath.Join(root, "home"), filepath.Join(root, "dir")
	if err := errors.Join(os.MkdirAll(home, 0o700), os.MkdirAll(filepath.Join(dir, ".git"), 0o700),
		os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(`{"mcpServers": {"demo": {"command": "nothing"}}}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	app := &App{Env: config.Env{Dir: dir, Home: home, GOOS: "linux", Lookup: func(string) (string, bool) { return "", false }}, Stdin: who.stdin, Stdout: &out, Stderr: &errs, Now: time.Now, Started: time.Now(),
		NewCaller: func(*config.Config, CallerOptions) engine.Caller { return fakeCaller{call} }}
	if who.stderr != nil {
		app.Stderr = io.MultiWriter(&errs, who.stderr)
	}
	if !who.absent {
		app.InTTY, app.ErrTTY = true, output.Terminal{Is: true, Width: max(who.width, 0)}
	}
	code, err := app.Run(ctx, v, g, append([]string{"demo", "ask"}, args...))
	if err != nil {
		t.Fatal(err)
	}
	return ran{code, out.String(), errs.String()}
}

// asking makes a server that asks questions and answers with the replies.
func asking(questions ...tool.Question) func(context.Context, tool.CallOptions) (*tool.Result, error) {
	return func(ctx context.Context, opt tool.CallOptions) (*tool.Result, error) {
		var texts []string
		for _, q := range questions {
			r, err := opt.Audience.Elicit(ctx, q)
			if err != nil {
				return nil, fault.New(fault.Interrupted, "interrupted", "")
			}
			texts = append(texts, strings.TrimSpace(string(r.Action)+" "+string(r.Content)))
		}
		return textResult(strings.Join(texts, "\n")), nil
	}
}

func textResult(text string) *tool.Result {
	return &tool.Result{Raw: json.RawMessage(`{"content":[{"type":"text","text":` + string(tool.Quote(text)) + `}]}`)}
}

const whoSchema = `{"type":"object","properties":{
	"name":{"type":"string","title":"Full name","description":"As in your\npassport","minLength":2,"maxLength":20},
	"mail":{"type":"string","format":"email"},
	"age":{"type":"integer","minimum":18,"maximum":99},
	"score":{"type":"number","default":1.5},
	"news":{"type":"boolean","default":true},
	"color":{"type":"string","enum":["r","g"],"enumNames":["Red","Green"]},
	"size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]},
	"pets":{"type":"array","items":{"type":"string","enum":["cat","dog","2"]},"minItems":1,"maxItems":2},
	"days":{"type":"array","items":{"anyOf":[{"const":"mo","title":"Monday"},{"const":"tu","title":"Tuesday"}]}},
	"born":{"type":"string","format":"date"},
	"at":{"type":"string","format":"date-time"},
	"home":{"type":"string","format":"uri"},
	"odd":{"type":["string","null"]}
},"required":["name","color","pets"]}`

func formOf(schema string) tool.Question {
	return tool.Question{Server: "not this one", Message: "Who are you?\x1b[2J", Schema: json.RawMessage(schema)}
}

// TestPersonIsAsked holds the conversation at a terminal: the lines that are typed, the reply that the
// server gets, and what the person was shown.
func TestPersonIsAsked(t *testing.T) {
	t.Parallel()
	one := func(member string) tool.Question {
		return formOf(`{"properties":{"x":` + member + `},"required":["x"]}`)
	}
	page := tool.Question{Message: "Pay here", URL: "https://pay.example.com/cart?id=1"}
	for name, tc := range map[string]struct {
		q     tool.Question
		typed string
		want  string
		shows []string
	}{
		"all": {formOf(whoSchema), "Ada\nada@example.com\n36\n\n\nGreen\n2\ndog, 1\nmonday,2\n1815-12-10\n2026-01-31T12:00:00Z\nhttps://a.b/c\nnull\ny\n",
			`accept {"name":"Ada","mail":"ada@example.com","age":36,"score":1.5,"news":true,"color":"g","size":"l","pets":["dog","cat"],` +
				`"days":["mo","tu"],"born":"1815-12-10","at":"2026-01-31T12:00:00Z","home":"https://a.b/c","odd":null}`,
			[]string{"demo asks you something", "  | Who are you?␛[2J", "1/13  name  (string, 2 to 20 characters)", "  | As in your\n  | passport", "  | Full name",
				"2/13  mail  (email, optional)", "3/13  age  (integer, 18 to 99, optional)", "[1.5] > ", "[true] > ", "  | 2. g: Green", "any of these, with commas between, 1 to 2 of them"}},
		"least": {formOf(whoSchema), "Ada\n\n\n\n\n1\n\n2\n\n\n\n\n\nyes\n", `accept {"name":"Ada","score":1.5,"news":true,"color":"r","pets":["2"]}`, nil},
		"corrected": {formOf(whoSchema), "\nA\nAda\nmail\na@b.c\nten\n7\n18\nx\n2e0\nmaybe\nN\n3\nblue\nr\nXL\nlarge\n\n1,2,3\n-\ncat\n-\n31.1.2026\n2026-01-31\nnoon\n\nfoo\n\nnot json\n\"\"\ny\n",
			`accept {"name":"Ada","mail":"a@b.c","age":18,"score":2e0,"news":false,"color":"r","size":"l","pets":["cat"],"days":[],"born":"2026-01-31","odd":""}`,
			[]string{`an answer is needed; "" is the empty text`, "again: it ", "an e-mail address like", "that is not a number", "say yes or no",
				"that is none of them; type a number from 1 to 2", "a date like 2026-01-31", "a date and time like", "a URI like", "that is not JSON"}},
		"changed":         {formOf(`{"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`), "1\n2\nc\n\n3\nx\ny\n", `accept {"a":"1","b":"3"}`, []string{`{"a":"1","b":"2"}`, "[2] > ", `type one of the words`}},
		"declined":        {one(`{"type":"string"}`), "Decline\n", "decline", []string{"Declined."}},
		"declined at end": {one(`{"type":"string"}`), "x\nno\n", "decline", nil},
		"Ctrl-D":          {one(`{"type":"string"}`), "", "decline", nil},
		"Ctrl-D at end":   {one(`{"type":"string"}`), "x\n", "decline", nil},
		"last line":       {one(`{"type":"string"}`), "x\ny", `accept {"x":"x"}`, nil},
		"empty text":      {one(`{"type":"string"}`), "\"\"\ny\n", `accept {"x":""}`, nil},
		"arrow keys":      {one(`{"type":"string"}`), "a\x1b[D\nb\ny\n", `accept {"x":"b"}`, []string{"were arrow keys pressed?"}},
		"not UTF-8":       {one(`{"type":"string"}`), "a\xff\nb\ny\n", `accept {"x":"b"}`, []string{"it is not UTF-8 text"}},
		"bad default":     {one(`{"type":"integer","default":"x"}`), "\n1\ny\n", `accept {"x":1}`, []string{"[x] > ", "the default does not fit"}},
		"list default":    {one(`{"type":"array","items":{"enum":["a",2]},"default":["a",2]}`), "\ny\n", `accept {"x":["a",2]}`, []string{"[a, 2] > "}},
		"secret":          {one(`{"type":"string","title":"API-Key"}`), "k\ny\n", `accept {"x":"k"}`, []string{"this looks like a secret"}},
		"only yes":        {formOf(`{"type":"object","properties":{}}`), "\nmaybe\ny\n", "accept {}", []string{"Accept? yes, no: ", "type one of the words"}},
		"only no":         {formOf(`{}`), "n\n", "decline", nil},
		"no form":         {formOf(`{"anyOf":[{"required":["a"]},{"required":["b"]}]}`), "1\n{\"c\":1}\nchange\n{\"b\":1}\ny\n", `accept {"b":1}`, []string{"that is no JSON object", "It wants a JSON object on one line"}},
		"no schema":       {tool.Question{Message: "?"}, "{}\ny\n", "accept {}", nil},
		"page":            {page, "y\n", "accept", []string{"demo wants you to open", "  | Pay here", "  https://pay.example.com/cart?id=1\n  at pay.example.com\n", "Open it yourself"}},
		"page declined":   {page, "no\n", "decline", nil},
		"odd page":        {tool.Question{Message: "m", URL: "javascript:alert(1)"}, "\nn\n", "decline", []string{"no address of a web page"}},
		"plain page":      {tool.Question{Message: "m", URL: "http://paypal.com@evil.example/"}, "\nn\n", "decline", []string{"at evil.example, unencrypted"}},
		"imitated page":   {tool.Question{Message: "m", URL: "https://раypal.com/"}, "\nn\n", "decline", []string{"letters that look like others"}},
		"imitated, coded": {tool.Question{Message: "m", URL: "https://www.XN--pypal-4ve.com/"}, "\nn\n", "decline", []string{"letters that look like others"}},
		"broken default": {one(`{"type":"array","items":{"type":"string","enum":["cat","Declined."]},"default":["cat",
"Declined."
]}`), "\ny\n", `accept {"x":["cat",
"Declined."
]}`, []string{`{"x":["cat","Declined."]}`}},
	} {
		got := runCall(t.Context(), t, person{stdin: strings.NewReader(tc.typed)}, Globals{}, new(Call), asking(tc.q))
		if got.code != 0 || got.stdout != tc.want+"\n" {
			t.Errorf("%s: code %d\ngot  %swant %s\n%s", name, got.code, got.stdout, tc.want, got.stderr)
		}
		for _, shown := range tc.shows {
			if !strings.Contains(got.stderr, shown) {
				t.Errorf("%s: %q is not in\n%s", name, shown, got.stderr)
			}
		}
		if strings.Contains(got.stderr, "\x1b[2J") || strings.Contains(got.stderr, "not this one") {
			t.Errorf("%s: the server's words got out:\n%s", name, got.stderr)
		}
	}
}

// TestWithoutPerson holds what --elicit answers, and the error where nobody does.
func TestWithoutPerson(t *testing.T) {
	t.Parallel()
	who := formOf(`{"properties":{"name":{"type":"string"},"n":{"type":"integer","default":3},"mail":{"type":"string","format":"email"}},"required":["name"]}`)
	defaults := formOf(`{"properties":{"n":{"type":"integer","default":3}},"required":["n"]}`)
	page := tool.Question{Message: "Pay here", URL: "https://pay.example.com/"}
	for name, tc := range map[string]struct {
		elicit []string
		asks   []tool.Question
		code   int
		says   []string // in stdout: the result, or the fault
	}{
		"object":     {[]string{` {"name": "Ada"} `}, []tool.Question{who}, 0, []string{`"accept {\"name\":\"Ada\",\"n\":3}"`}},
		"words":      {[]string{"decline", "cancel", "accept"}, []tool.Question{who, who, page, page, defaults}, 0, []string{`"decline\ncancel\naccept\naccept\naccept {\"n\":3}"`}},
		"the last":   {[]string{`{"name":"A"}`}, []tool.Question{who, who}, 0, []string{`:3}\naccept {`}},
		"unanswered": {nil, []tool.Question{who}, 6, []string{`ApprovalRequiredError`, `demo asks \"Who are you?`, `mcpl call demo ask '{\"a\":\"it'\\''s\"}' --elicit '{\"name\":\"<name>\"}'`, `The answer: name: string, n?: integer, mail?: string`, `"result":"decline"`, "declined"}},
		"two":        {nil, []tool.Question{who, page}, 6, []string{`demo asks 2 questions`, `\"Pay here\"`, `--elicit '{\"name\":\"<name>\"}' --elicit accept`, "To open, if you trust it: https://pay.example.com/"}},
		"the same":   {nil, []tool.Question{page, page, page}, 6, []string{`3 questions`, `s\"}' --elicit accept\nTo decline`}},
		"unfit":      {[]string{`{"name":"A"}`, `{"nam":1,"mail":"x"}`}, []tool.Question{who, who}, 2, []string{`InvalidArgumentsError`, `--elicit '{\"name\":\"A\"}' --elicit '{`, `"pointer":"/name"`, `"nearest":"name"`, `The answer: name: string`, `"result":"accept {\"name\":\"A\",\"n\":3}\ndecline"`}},
		"unfit mail": {[]string{`{"name":"A","mail":"x"}`}, []tool.Question{who}, 2, []string{`"pointer":"/mail","problem":"is not of its format","expected":"an e-mail`}},
		"reused":     {[]string{`{"name":"A"}`}, []tool.Question{who, defaults}, 2, []string{`--elicit '{\"name\":\"A\"}' --elicit '{\"n\":3}'`}},
		"accept":     {[]string{"accept"}, []tool.Question{who}, 2, []string{`"pointer":"/name","problem":"is missing"`}},
		"for a page": {[]string{`{"name":"A"}`}, []tool.Question{page}, 2, []string{`is a JSON object`, "--elicit accept"}},
		"no answer":  {[]string{"yes"}, nil, 2, []string{"UsageError", "--elicit yes is no answer"}},
		"broken":     {[]string{`{"a":`}, nil, 2, []string{"UsageError"}},
	} {
		got := runCall(t.Context(), t, person{absent: true}, Globals{JSON: true}, &Call{getting: getting{Asking: Asking{Elicit: tc.elicit}}}, asking(tc.asks...), "a=it's")
		if got.code != tc.code {
			t.Errorf("%s: code %d\n%s", name, got.code, got.stdout)
		}
		for _, text := range tc.says {
			if !strings.Contains(got.stdout, text) {
				t.Errorf("%s: no %s in\n%s", name, text, got.stdout)
			}
		}
	}
}

// TestUnansweredAndFailed: a question that nobody answered explains whatever failed after it, but for
// an interruption.
func TestUnansweredAndFailed(t *testing.T) {
	t.Parallel()
	for typ, want := range map[fault.Type]fault.Type{
		fault.Protocol: fault.ApprovalRequired, fault.Timeout: fault.ApprovalRequired, fault.Interrupted: fault.Interrupted,
	} {
		call := func(ctx context.Context, opt tool.CallOptions) (*tool.Result, error) {
			for range 30 {
				if _, err := opt.Audience.Elicit(ctx, formOf(whoSchema)); err != nil {
					return nil, err
				}
			}
			return nil, fault.New(typ, "the first fault", "its help").Trace("its trace")
		}
		got := runCall(t.Context(), t, person{absent: true}, Globals{JSON: true}, new(Call), call).fault(t)
		if got.Type != want || want == fault.ApprovalRequired && (!strings.Contains(got.Traceback, "the first fault\nits trace") || !strings.Contains(got.Message, "; and 20 more")) {
			t.Errorf("%s: %+v", typ, got)
		}
	}
	toolError := func(ctx context.Context, opt tool.CallOptions) (*tool.Result, error) {
		_, err := opt.Audience.Elicit(ctx, formOf(whoSchema))
		return &tool.Result{Raw: json.RawMessage(`{"isError":true,"content":[{"type":"text","text":"no name"}]}`), IsError: true}, err
	}
	if got := runCall(t.Context(), t, person{absent: true}, Globals{JSON: true}, new(Call), toolError).fault(t); got.Type != fault.ApprovalRequired || got.Result != "no name" {
		t.Errorf("%+v", got)
	}
}

// TestQuestionsTakeTurns: questions that come at once are asked one after the other, and what is told
// meanwhile waits.
func TestQuestionsTakeTurns(t *testing.T) {
	t.Parallel()
	call := func(ctx context.Context, opt tool.CallOptions) (*tool.Result, error) {
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				opt.Audience.Progress(tool.Progress{Done: 1, Total: 2, Message: " half\n"})
				if r, err := opt.Audience.Elicit(ctx, formOf(`{"properties":{"x":{"type":"string"}}}`)); err != nil || r.Action != tool.Accept {
					t.Errorf("%+v, %v", r, err)
				}
			})
		}
		all.Wait()
		return textResult("done"), nil
	}
	got := runCall(t.Context(), t, person{stdin: strings.NewReader(strings.Repeat("x\ny\n", 3))}, Globals{Verbose: true}, new(Call), call)
	if got.code != 0 || strings.Count(got.stderr, "Send this to demo? yes, no, change: ") != 3 || strings.Count(got.stderr, "demo progress 1/2: half\n") != 3 {
		t.Errorf("%d\n%s", got.code, got.stderr)
	}
	for _, talk := range strings.Split(got.stderr, "demo asks you something")[1:] {
		if asked, _, ok := strings.Cut(talk, "change: "); !ok || strings.Contains(asked, "half") {
			t.Errorf("something came between:\n%s", talk)
		}
	}
}

// TestQuestionGivenUp: a question ends with the call, and with its own context; the next one can be
// answered. Two pipes stand for the terminal.
func TestQuestionGivenUp(t *testing.T) {
	t.Parallel()
	stdin, typing := io.Pipe()
	shown, stderr := io.Pipe()
	defer typing.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	prompt := make(chan struct{}) // one value for each prompt
	go func() {
		defer close(prompt)
		var seen []byte
		for b := make([]byte, 4096); ; {
			n, err := shown.Read(b)
			if err != nil {
				return
			}
			if seen = append(seen, b[:n]...); bytes.HasSuffix(seen, []byte("> ")) {
				prompt <- struct{}{}
			}
		}
	}()
	q := formOf(`{"properties":{"x":{"type":"string"}}}`)
	call := func(ctx context.Context, opt tool.CallOptions) (*tool.Result, error) {
		withdrawn, withdraw := context.WithCancel(ctx)
		go func() { <-prompt; withdraw() }()
		if _, err := opt.Audience.Elicit(withdrawn, q); !errors.Is(err, context.Canceled) {
			t.Errorf("withdrawn: %v", err)
		}
		go func() {
			<-prompt
			io.WriteString(typing, "decline\n")
		}()
		if r, err := opt.Audience.Elicit(ctx, q); err != nil || r.Action != tool.Decline {
			t.Errorf("the next one: %+v, %v", r, err)
		}
		go func() { <-prompt; interrupt() }()
		_, err := opt.Audience.Elicit(ctx, q)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted: %v", err)
		}
		if _, err := opt.Audience.Elicit(ctx, q); err == nil {
			t.Error("asked after the end")
		}
		return nil, fault.New(fault.Interrupted, "interrupted", "").Because(err)
	}
	got := runCall(ctx, t, person{stdin: stdin, stderr: stderr}, Globals{}, new(Call), call)
	stderr.Close()
	if got.code != fault.Interrupted.ExitCode() {
		t.Errorf("%d\n%s", got.code, got.stderr)
	}
}

// TestTold holds what is shown of progress, and where. Log messages are told by the connection.
func TestTold(t *testing.T) {
	t.Parallel()
	tell := func(_ context.Context, opt tool.CallOptions) (*tool.Result, error) {
		opt.Audience.Message(tool.Message{Level: "warning", Logger: "db", Data: json.RawMessage("\"slow\"")})
		opt.Audience.Progress(tool.Progress{Done: 3, Message: strings.Repeat("x\x1b\n", 2000)})
		return textResult("done"), nil
	}
	for name, tc := range map[string]struct {
		who    person
		g      Globals
		shown  string
		hidden string
	}{
		"no terminal": {person{absent: true}, Globals{}, "", "3"},
		"JSON":        {person{width: 90}, Globals{JSON: true}, "", "x"},
		"narrow":      {person{width: 20}, Globals{}, "\rcalling… 3\x1b[K", "x"},
		"wide":        {person{width: 40}, Globals{}, "\rcalling demo/ask 3  x␛ x␛ x␛ x␛ x␛ x␛ …\x1b[K\r\x1b[K", "slow"},
		"verbose":     {person{}, Globals{Verbose: true}, "demo progress 3: x␛ x␛", "\x1b"},
	} {
		got := runCall(t.Context(), t, tc.who, tc.g, new(Call), tell)
		if got.code != 0 || !strings.Contains(got.stderr, tc.shown) || strings.Contains(got.stderr, tc.hidden) || len(got.stderr) > 3*maxMemberText {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestMaxTime holds what limits a request: the flag, else the setting where it is not the default.
func TestMaxTime(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ flag, timeout, setting, want time.Duration }{
		{0, 0, config.DefaultMaxTime, 0},
		{0, time.Hour, config.DefaultMaxTime, 0},
		{time.Minute, 0, config.DefaultMaxTime, time.Minute},
		{time.Minute, time.Hour, time.Hour, time.Minute},
		{0, 0, time.Hour, time.Hour},
		{0, 2 * time.Hour, time.Hour, 2 * time.Hour},
	} {
		f := Asking{Timeout: tc.timeout, MaxTime: tc.flag}
		if got := f.options(config.Settings{MaxTime: tc.setting}); got.MaxTime != tc.want || got.Timeout != tc.timeout {
			t.Errorf("%+v: %+v", tc, got)
		}
	}
}

// TestOneQuestionAtATime: the next question is not shown before the last is answered.
func TestOneQuestionAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stdin, typing := io.Pipe()
		defer typing.Close()
		var shown bytes.Buffer // read only while all others wait
		p := output.New(output.Options{Out: io.Discard, Err: &shown, ErrTTY: output.Terminal{Is: true}})
		a := newAudience(&Session{App: &App{Stdin: stdin, InTTY: true, ErrTTY: output.Terminal{Is: true}}, Printer: p}, new(Asking),
			&engine.Plan{Ref: tool.Ref{Server: "demo", Name: "ask"}}, resultOf)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if r, err := a.Elicit(t.Context(), formOf(`{"properties":{"x":{"type":"string"}}}`)); err != nil || r.Action != tool.Accept {
					t.Errorf("%+v, %v", r, err)
				}
			})
		}
		for i := range 3 {
			synctest.Wait()
			if n := strings.Count(shown.String(), "demo asks you something"); n != i+1 {
				t.Errorf("%d questions are shown after %d answers", n, i)
			}
			io.WriteString(typing, "x\ny\n")
		}
		all.Wait()
	})
}
