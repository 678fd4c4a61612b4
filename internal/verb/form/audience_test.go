package form

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcp-launchpad/mcpl/internal/verb/render"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// scene is a request and the user's end of mcpl's streams. The streams are not a terminal, the
// printer is only told that they are.
type scene struct {
	stdin         io.Reader
	stderr        io.Writer // besides the buffer; may be nil
	absent        bool      // no person is there
	width         int
	json, verbose bool
	answers       []string
	args          string
}

// server stands for a server: it is what the one request does.
type server func(ctx context.Context, audience tool.Audience) (*tool.Result, error)

// outcome is what a request left behind.
type outcome struct {
	code           int
	stdout, stderr string
}

// fault returns the failure in the JSON answer.
func (o outcome) fault(t *testing.T) fault.Fault {
	t.Helper()
	var a struct{ Error fault.Fault }
	if err := json.Unmarshal([]byte(o.stdout), &a); err != nil {
		t.Fatalf("%v\n%s", err, o.stdout)
	}
	return a.Error
}

// run makes a request of demo/ask and prints what comes of it.
func (sc scene) run(ctx context.Context, t *testing.T, s server) outcome {
	t.Helper()
	var out, errs bytes.Buffer
	o := output.Options{Out: &out, Err: &errs, JSON: sc.json, Verbose: sc.verbose}
	if sc.stderr != nil {
		o.Err = io.MultiWriter(&errs, sc.stderr)
	}
	if !sc.absent {
		o.ErrTTY = output.Terminal{Is: true, Width: sc.width}
	}
	p := output.New(o)
	opt := Options{Ref: tool.Ref{Server: "demo", Name: "ask"}, Args: []byte(sc.args), Answers: sc.answers, Printer: p}
	if !sc.absent {
		opt.Dialog = p.NewDialog(sc.stdin)
	}
	a := New(opt)
	res, err := a.End(s(ctx, a))
	if err == nil {
		_, err = new(render.Delivery).Answer(ctx, render.Destination{Printer: p}, opt.Ref, res)
	}
	code := 0
	if err != nil {
		f := fault.From(err)
		code = f.Type.ExitCode()
		if err := p.Fault(f); err != nil {
			t.Fatal(err)
		}
	}
	return outcome{code, out.String(), errs.String()}
}

// asking makes a server that asks questions and answers with the replies.
func asking(questions ...tool.Question) server {
	return func(ctx context.Context, audience tool.Audience) (*tool.Result, error) {
		var texts []string
		for _, q := range questions {
			r, err := audience.Elicit(ctx, q)
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
		"no form":         {formOf(`{"anyOf":[{"required":["a"]},{"required":["b"]}]}`), "1\n{\"c\":1}\nchange\n{\"b\":1}\ny\n", `accept {"b":1}`, []string{"that is not a JSON object", "It wants a JSON object on one line"}},
		"no schema":       {tool.Question{Message: "?"}, "{}\ny\n", "accept {}", nil},
		"page":            {page, "y\n", "accept", []string{"demo wants you to open", "  | Pay here", "  https://pay.example.com/cart?id=1\n  at pay.example.com\n", "Open it yourself"}},
		"page declined":   {page, "no\n", "decline", nil},
		"odd page":        {tool.Question{Message: "m", URL: "javascript:alert(1)"}, "\nn\n", "decline", []string{"not the address of a web page"}},
		"plain page":      {tool.Question{Message: "m", URL: "http://paypal.com@evil.example/"}, "\nn\n", "decline", []string{"at evil.example, unencrypted"}},
		"imitated page":   {tool.Question{Message: "m", URL: "https://раypal.com/"}, "\nn\n", "decline", []string{"letters that look like others"}},
		"imitated, coded": {tool.Question{Message: "m", URL: "https://www.XN--pypal-4ve.com/"}, "\nn\n", "decline", []string{"letters that look like others"}},
		"broken default": {one(`{"type":"array","items":{"type":"string","enum":["cat","Declined."]},"default":["cat",
"Declined."
]}`), "\ny\n", `accept {"x":["cat",
"Declined."
]}`, []string{`{"x":["cat","Declined."]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := scene{stdin: strings.NewReader(tc.typed)}.run(t.Context(), t, asking(tc.q))
			if got.code != 0 || got.stdout != tc.want+"\n" {
				t.Errorf("code %d\ngot  %swant %s\n%s", got.code, got.stdout, tc.want, got.stderr)
			}
			for _, shown := range tc.shows {
				if !strings.Contains(got.stderr, shown) {
					t.Errorf("%q is not in\n%s", shown, got.stderr)
				}
			}
			if strings.Contains(got.stderr, "\x1b[2J") || strings.Contains(got.stderr, "not this one") {
				t.Errorf("the server's words got out:\n%s", got.stderr)
			}
		})
	}
}

// TestWithoutPerson holds what --elicit answers, and the fault of a question without an answer.
func TestWithoutPerson(t *testing.T) {
	t.Parallel()
	who := formOf(`{"properties":{"name":{"type":"string"},"n":{"type":"integer","default":3},"mail":{"type":"string","format":"email"}},"required":["name"]}`)
	defaults := formOf(`{"properties":{"n":{"type":"integer","default":3}},"required":["n"]}`)
	page := tool.Question{Message: "Pay here", URL: "https://pay.example.com/"}
	imitation := tool.Question{Message: "Pay here", URL: "https://xn--pypal-4ve.com/"}
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
		"F20: a page that looks like another": {[]string{"accept"}, []tool.Question{imitation}, 2, []string{
			`does not name the host of the page`, `accept xn--pypal-4ve.com, once the URL was opened: https://xn--pypal-4ve.com/`,
			`--elicit 'accept xn--pypal-4ve.com'`, `"result":"decline"`}},
		"its host":           {[]string{"accept xn--pypal-4ve.com"}, []tool.Question{imitation}, 0, []string{`"accept"`}},
		"another host":       {[]string{"accept xn--bcher-kva.example"}, []tool.Question{imitation}, 2, nil},
		"a host unanswered":  {nil, []tool.Question{imitation}, 6, []string{`--elicit 'accept xn--pypal-4ve.com'`}},
		"a host for another": {[]string{"accept xn--pypal-4ve.com"}, []tool.Question{page}, 2, []string{"--elicit accept"}},
		"for a page":         {[]string{`{"name":"A"}`}, []tool.Question{page}, 2, []string{`is a JSON object`, "--elicit accept"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := scene{absent: true, json: true, answers: tc.elicit, args: `{"a":"it's"}`}.run(t.Context(), t, asking(tc.asks...))
			if got.code != tc.code {
				t.Errorf("code %d\n%s", got.code, got.stdout)
			}
			for _, text := range tc.says {
				if !strings.Contains(got.stdout, text) {
					t.Errorf("no %s in\n%s", text, got.stdout)
				}
			}
		})
	}
}

// TestUnansweredAndFailed: a question without an answer explains whatever failed after it, but for
// an interruption.
func TestUnansweredAndFailed(t *testing.T) {
	t.Parallel()
	for typ, want := range map[fault.Type]fault.Type{
		fault.Protocol: fault.ApprovalRequired, fault.Timeout: fault.ApprovalRequired, fault.Interrupted: fault.Interrupted,
	} {
		call := func(ctx context.Context, audience tool.Audience) (*tool.Result, error) {
			for range 30 {
				if _, err := audience.Elicit(ctx, formOf(whoSchema)); err != nil {
					return nil, err
				}
			}
			return nil, fault.New(typ, "the first fault", "its help").Trace("its trace")
		}
		got := scene{absent: true, json: true}.run(t.Context(), t, call).fault(t)
		if got.Type != want {
			t.Errorf("%s: %+v", typ, got)
		}
		explained := strings.Contains(got.Traceback, "the first fault\nits trace") && strings.Contains(got.Message, "; and 20 more")
		if explained != (want == fault.ApprovalRequired) {
			t.Errorf("%s: explained is %v: %+v", typ, explained, got)
		}
	}
	toolError := func(ctx context.Context, audience tool.Audience) (*tool.Result, error) {
		_, err := audience.Elicit(ctx, formOf(whoSchema))
		return &tool.Result{Raw: json.RawMessage(`{"isError":true,"content":[{"type":"text","text":"no name"}]}`), IsError: true}, err
	}
	got := scene{absent: true, json: true}.run(t.Context(), t, toolError).fault(t)
	if got.Type != fault.ApprovalRequired || got.Result != "no name" {
		t.Errorf("%+v", got)
	}
}

// TestQuestionsTakeTurns: questions that come at once are asked one after the other, and what is shown
// meanwhile waits.
func TestQuestionsTakeTurns(t *testing.T) {
	t.Parallel()
	call := func(ctx context.Context, audience tool.Audience) (*tool.Result, error) {
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				audience.Progress(tool.Progress{Done: 1, Total: 2, Message: " half\n"})
				if r, err := audience.Elicit(ctx, formOf(`{"properties":{"x":{"type":"string"}}}`)); err != nil || r.Action != tool.Accept {
					t.Errorf("%+v, %v", r, err)
				}
			})
		}
		all.Wait()
		return textResult("done"), nil
	}
	got := scene{stdin: strings.NewReader(strings.Repeat("x\ny\n", 3)), verbose: true}.run(t.Context(), t, call)
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
	call := func(ctx context.Context, audience tool.Audience) (*tool.Result, error) {
		withdrawn, withdraw := context.WithCancel(ctx)
		go func() { <-prompt; withdraw() }()
		if _, err := audience.Elicit(withdrawn, q); !errors.Is(err, context.Canceled) {
			t.Errorf("withdrawn: %v", err)
		}
		go func() {
			<-prompt
			io.WriteString(typing, "decline\n")
		}()
		if r, err := audience.Elicit(ctx, q); err != nil || r.Action != tool.Decline {
			t.Errorf("the next one: %+v, %v", r, err)
		}
		go func() { <-prompt; interrupt() }()
		_, err := audience.Elicit(ctx, q)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted: %v", err)
		}
		if _, err := audience.Elicit(ctx, q); err == nil {
			t.Error("asked after the end")
		}
		return nil, fault.New(fault.Interrupted, "interrupted", "").Because(err)
	}
	got := scene{stdin: stdin, stderr: stderr}.run(ctx, t, call)
	stderr.Close()
	if got.code != fault.Interrupted.ExitCode() {
		t.Errorf("%d\n%s", got.code, got.stderr)
	}
}

// TestTold holds what is shown of progress, and where. The connection shows log messages.
func TestTold(t *testing.T) {
	t.Parallel()
	tell := func(_ context.Context, audience tool.Audience) (*tool.Result, error) {
		audience.Message(tool.Message{Level: "warning", Logger: "db", Data: json.RawMessage("\"slow\"")})
		audience.Progress(tool.Progress{Done: 3, Message: strings.Repeat("x\x1b\n", 2000)})
		return textResult("done"), nil
	}
	for name, tc := range map[string]struct {
		scene  scene
		shown  string
		hidden string
	}{
		"no terminal": {scene{absent: true}, "", "3"},
		"JSON":        {scene{width: 90, json: true}, "", "x"},
		"narrow":      {scene{width: 20}, "\rcalling… 3\x1b[K", "x"},
		"wide":        {scene{width: 40}, "\rcalling demo/ask 3  x␛ x␛ x␛ x␛ x␛ x␛ …\x1b[K\r\x1b[K", "slow"},
		"verbose":     {scene{verbose: true}, "demo progress 3: x␛ x␛", "\x1b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tc.scene.run(t.Context(), t, tell)
			if got.code != 0 || !strings.Contains(got.stderr, tc.shown) || strings.Contains(got.stderr, tc.hidden) ||
				len(got.stderr) > 3*maxMemberText {
				t.Errorf("%+v", got)
			}
		})
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
		a := New(Options{Ref: tool.Ref{Server: "demo", Name: "ask"}, Printer: p, Dialog: p.NewDialog(stdin)})
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

// TestAnswers: only what can answer a question passes.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		texts []string
		want  string // of the message; "": they pass
	}{
		"none":          {nil, ""},
		"objects":       {[]string{`{}`, ` {"a": 1} `}, ""},
		"words":         {[]string{"accept", "decline", "cancel"}, ""},
		"another word":  {[]string{"accept", "yes"}, "--elicit yes is not an answer to a question"},
		"a broken one":  {[]string{`{"a":`}, `--elicit '{"a":' is not an answer to a question`},
		"a list":        {[]string{`[1]`}, `--elicit '[1]' is not an answer to a question`},
		"an empty text": {[]string{""}, `--elicit '' is not an answer to a question`},
		"a quoted word": {[]string{`"accept"`}, `--elicit '"accept"' is not an answer to a question`},
		"in upper case": {[]string{"ACCEPT"}, "--elicit ACCEPT is not an answer to a question"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if err := CheckAnswers(tc.texts); err != nil {
				got = err.Error()
				if !fault.Is(err, fault.Usage) {
					t.Errorf("%#v is not a usage error", err)
				}
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestEndKeepsErrors: an error that is not a fault passes, though a question is unanswered.
func TestEndKeepsErrors(t *testing.T) {
	t.Parallel()
	p := output.New(output.Options{Out: io.Discard, Err: io.Discard})
	a := New(Options{Ref: tool.Ref{Server: "demo", Name: "ask"}, Printer: p})
	if _, err := a.Elicit(t.Context(), formOf(whoSchema)); err != nil {
		t.Fatal(err)
	}
	want := errors.New("the index is not fresh")
	if _, err := a.End(nil, want); !errors.Is(err, want) || errors.As(err, new(*fault.Fault)) {
		t.Errorf("got %v", err)
	}
}

// TestCommandOf holds the command that a fault repeats: it can be typed, whatever was asked for.
func TestCommandOf(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ref  tool.Ref
		args string
		want string
	}{
		"a tool":         {tool.Ref{Server: "s", Name: "t"}, `{"a":"b c"}`, `mcpl call s t '{"a":"b c"}'`},
		"no arguments":   {tool.Ref{Server: "s", Name: "t"}, `{}`, `mcpl call s t`},
		"a resource":     {tool.Ref{Server: "s", Name: "a://b c", Kind: tool.Resource}, ``, `mcpl read s 'a://b c'`},
		"a prompt":       {tool.Ref{Server: "s", Name: "p", Kind: tool.Prompt}, `{"a":"b"}`, `mcpl prompt s p '{"a":"b"}'`},
		"long arguments": {tool.Ref{Server: "s", Name: "t"}, `{"a":"` + strings.Repeat("b", maxCommandArgs) + `"}`, `mcpl call s t ...`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := commandOf(tc.ref, []byte(tc.args)); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
