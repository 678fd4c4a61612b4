package verb

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/verb/render"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func TestCallOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "call", map[string]options{
		"a tool": {args: []string{"demo", "add", "a=1"}, want: &callVerb{argued: argued{request: request{words: []string{"demo", "add", "a=1"}}}}},
		"all flags": {args: []string{"s/t", "--stdin", "--args-file", "f", "--no-validate", "--dry-run", "--timeout", "2m", "--max-time", "90", "--elicit", "accept", "--elicit", "{}", "--jq", ".", "--output-dir", "d", "--max-bytes", "7"}, want: &callVerb{
			NoValidate: true, DryRun: true, argued: argued{Stdin: true, ArgsFile: "f", request: request{
				words: []string{"s/t"}, Timeout: 2 * time.Minute, MaxTime: 90 * time.Second, Elicit: []string{"accept", "{}"},
				Delivery: render.Delivery{JQ: ".", OutputDir: "d", MaxBytes: 7}}}}},
		"raw and selected":       {args: []string{"s", "t", "--raw", "--jq", "."}, says: "--raw leaves the result untouched, --jq and --output-dir change it"},
		"a negative size":        {args: []string{"s", "t", "--max-bytes", "-1"}, says: `invalid argument "-1" for "--max-bytes" flag: give a number of bytes like 20000 or 20k, or 0 for no limit`},
		"an answer that is none": {args: []string{"s", "t", "--elicit", "maybe"}, says: "--elicit maybe is not an answer to a question"},
		"no time":                {args: []string{"s", "t", "--timeout", "0"}, says: `invalid argument "0" for "--timeout" flag: give a duration like 30s or 2m`},
	})
}

func TestCallAnswers(t *testing.T) {
	t.Parallel()
	checkAnswers(t, fixture, map[string]answer{
		"structured": {args: strings.Fields("call demo add a=1"), asked: []string{"demo"}, text: `{
  "sum": 3.0
}
`,
			json: `{"success":true,"result":{"sum":3.0}}`},
		"one object of arguments": {args: strings.Fields(`call demo add {"a":1}`), asked: []string{"demo"}, text: `{
  "sum": 3.0
}
`},
		"an object and pairs": {args: strings.Fields(`call demo add {"a":1} b:=2.0`), asked: []string{"demo"}, text: `{
  "sum": 3.0
}
`},
		"blocks": {args: strings.Fields("call papers cite"), asked: []string{"papers"}, text: `[1]
[image image/png saved as HOME/.cache/mcpl/results/papers-cite-039058c6f2c0.png]
`,
			json: `{"success":true,"result":[{"type":"text","text":"[1]"},{"type":"image","mimeType":"image/png","bytes":3,"file":"HOME/.cache/mcpl/results/papers-cite-039058c6f2c0.png","id":"039058c6f2c0"}],"files":["HOME/.cache/mcpl/results/papers-cite-039058c6f2c0.png"]}`},
		"raw": {args: strings.Fields("call demo add a=1 --raw"), asked: []string{"demo"}, text: `{"content":[{"type":"text","text":"3"}],"structuredContent":{"sum":3.0}}
`,
			json: `{"content":[{"type":"text","text":"3"}],"structuredContent":{"sum":3.0}}`},
		"selected": {args: strings.Fields("call demo add a=1 --jq ."), asked: []string{"demo"}, text: `{
  "sum": 3.0
}
{
  "sum": 3.0
}
`,
			json: `{"success":true,"result":[{"sum":3.0},{"sum":3.0}]}`},
		"a faulty expression": {args: strings.Fields("call demo add a=1 --jq nope"), code: 2, text: `error: --jq nope: unknown expression
hint: Nothing was started. Correct the expression; --jq . shows the whole result.
`,
			json: `{"success":false,"error":{"type":"UsageError","message":"--jq nope: unknown expression","traceback":"","help":"Nothing was started. Correct the expression; --jq . shows the whole result."}}`},
		"an expression that does not fit": {args: strings.Fields("call demo add a=1 --jq .a"), code: 1, asked: []string{"demo"}, says: []string{
			"error: --jq .a does not fit the result: it does not fit", "HOME/.cache/mcpl/results/demo-add-"},
			json: `{"success":false,"error":{"type":"ResultError","message":"--jq .a does not fit the result: it does not fit","traceback":"","help":"The tool has run: look at what it did before you call it again. Its result is in error.result. --jq . shows the result's shape.","server":"demo","tool":"add","result":{"sum":3.0}}}`},
		"too large": {args: strings.Fields("call papers cite --max-bytes 5"), asked: []string{"papers"}, says: []string{"It is whole in:"}},
		"a tool's error": {args: strings.Fields("call demo drop"), code: 1, asked: []string{"demo"}, text: `error: no such table
hint: The tool ran and reported this itself. Check the arguments against: mcpl inspect demo drop
`,
			json: `{"success":false,"error":{"type":"ToolError","message":"no such table","traceback":"","help":"The tool ran and reported this itself. Check the arguments against: mcpl inspect demo drop","server":"demo","tool":"drop","result":"no such table"}}`},
		"a tool's error, raw": {args: strings.Fields("call demo drop --raw"), code: 1, asked: []string{"demo"}, text: `{"content":[{"type":"text","text":"no such table"}],"isError":true}
`},
		"arguments that do not fit": {args: strings.Fields("call demo add b=x"), code: 2, text: `error: 2 arguments do not fit demo/add
  /a: is missing; expected number
  /b: is a string; expected number
hint: Parameters: a: number, b?: number
      Try: mcpl call demo add '{"b":1.0,"a":1}'
`,
			json: `{"success":false,"error":{"type":"InvalidArgumentsError","message":"2 arguments do not fit demo/add","traceback":"","help":"Parameters: a: number, b?: number\nTry: mcpl call demo add '{\"b\":1.0,\"a\":1}'","server":"demo","tool":"add","arguments":[{"pointer":"/a","problem":"is missing","expected":"number"},{"pointer":"/b","problem":"is a string","expected":"number"}]}}`},
		"unchecked": {args: strings.Fields("call demo add b=x --no-validate"), asked: []string{"demo"}, text: `{
  "sum": 3.0
}
`},
		"in two places": {args: strings.Fields(`call demo add {"a":1} --stdin`), code: 2, text: `error: the arguments come from more than one place
hint: Give the JSON object once: on the command line, with --stdin (or -), or with --args-file. key=value pairs may follow it.
`,
			json: `{"success":false,"error":{"type":"UsageError","message":"the arguments come from more than one place","traceback":"","help":"Give the JSON object once: on the command line, with --stdin (or -), or with --args-file. key=value pairs may follow it.","server":"demo","tool":"add"}}`},
		"in two other places": {args: strings.Fields("call demo add --stdin --args-file x"), code: 2, text: `error: the arguments come from more than one place
hint: Give the JSON object once: on the command line, with --stdin (or -), or with --args-file. key=value pairs may follow it.
`},
		"a file that is not there": {args: strings.Fields("call demo add --args-file nosuch"), code: 2, says: []string{"error: the arguments in nosuch cannot be read"}},
		"without a tool":           {args: strings.Fields("call demo"), code: 2, says: []string{"error: which tool of demo?"}},
		"an unknown tool":          {args: strings.Fields("call demo ad"), code: 3, says: []string{`error: demo has no tool "ad"`}},
		"a server that is off":     {args: strings.Fields("call off x"), code: 3, says: []string{"error: off is disabled in its configuration entry"}},
		"a dry run": {args: strings.Fields("call demo add a=1 --dry-run"), text: `server     demo (stdio)
command    demo --token '***'
cwd        DIR
tool       add
arguments  {"a":1}
verdict    the arguments fit; nothing was started
`,
			json: `{"dry_run":true,"server":{"transport":"stdio","command":"demo --token '***'","cwd":"DIR"},"tool":"add","arguments":{"a":1},"valid":true}`},
		"a dry run of wrong arguments": {args: strings.Fields("call demo add b=x --dry-run"), code: 2, text: `server     demo (stdio)
command    demo --token '***'
cwd        DIR
tool       add
arguments  {"b":"x"}
verdict    2 arguments do not fit demo/add
  /a is missing; expected number
  /b is a string; expected number
Parameters: a: number, b?: number
Try: mcpl call demo add '{"b":1.0,"a":1}'
`,
			json: `{"dry_run":true,"server":{"transport":"stdio","command":"demo --token '***'","cwd":"DIR"},"tool":"add","arguments":{"b":"x"},"valid":false,"error":{"type":"InvalidArgumentsError","message":"2 arguments do not fit demo/add","traceback":"","help":"Parameters: a: number, b?: number\nTry: mcpl call demo add '{\"b\":1.0,\"a\":1}'","server":"demo","tool":"add","arguments":[{"pointer":"/a","problem":"is missing","expected":"number"},{"pointer":"/b","problem":"is a string","expected":"number"}]}}`},
		"a dry run of a remote tool": {args: strings.Fields("call web look --dry-run"), text: `server     web (http)
url        https://web.example/mcp
tool       look
arguments  {}
verdict    the arguments fit; nothing was started
`,
			json: `{"dry_run":true,"server":{"transport":"http","url":"https://web.example/mcp"},"tool":"look","arguments":{},"valid":true}`},
		"a dry run of an unknown tool": {args: strings.Fields("call down any --dry-run"), text: `server     down (stdio)
command    down
cwd        DIR
tool       any
arguments  {}
verdict    not checked: the tools of down are not known yet; list them with: mcpl list down --refresh
`,
			json: `{"dry_run":true,"server":{"transport":"stdio","command":"down","cwd":"DIR"},"tool":"any","arguments":{},"unchecked":"the tools of down are not known yet; list them with: mcpl list down --refresh"}`},
		"a dry run without a server": {args: strings.Fields("call nosuch any --dry-run"), code: 3, says: []string{`error: there is no server "nosuch"`}},
		"a dry run of a broken pair": {args: strings.Fields("call demo add a:=x --dry-run"), code: 2, says: []string{"error: The argument a is not valid JSON (at byte 1 of 1)"}},
	})
}

// TestCallAsks: what a server asks in the middle of a call is answered at the terminal, by --elicit, or by
// no one.
func TestCallAsks(t *testing.T) {
	t.Parallel()
	question := tool.Question{Message: "Who?", Schema: []byte(`{"type":"object","properties":{"name":{"type":"string"}}}`)}
	for title, tc := range map[string]struct {
		args     string
		terminal bool
		code     int
		says     string
	}{
		"a person":                    {args: "call demo add a=1", terminal: true, says: `accept {"name":"Ada"}`},
		"a person, --elicit":          {args: "call demo add a=1 --elicit decline", terminal: true, says: "decline"},
		"a person, --json":            {args: "call demo add a=1 --json", terminal: true, code: 6, says: `"ApprovalRequiredError"`},
		"no one":                      {args: "call demo add a=1", code: 6, says: "--elicit decline"},
		"an answer that does not fit": {args: `call demo add a=1 --elicit {"nam":1}`, code: 2, says: "--elicit does not fit what demo asks"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			w := fixture(t)
			w.servers["demo"].call = func(ctx context.Context, _ tool.Ref, _ json.RawMessage,
				opt tool.CallOptions) (*tool.Result, error) {
				reply, err := opt.Audience.Elicit(ctx, question)
				text := strings.TrimSpace(string(reply.Action) + " " + string(reply.Content))
				return &tool.Result{Raw: []byte(`{"content":[{"type":"text","text":` + string(tool.Quote(text)) + `}]}`)}, err
			}
			if tc.terminal {
				w.atTerminal(strings.NewReader("Ada\ny\n"))
			}
			got := w.run(t.Context(), strings.Fields(tc.args)...)
			if got.code != tc.code || !strings.Contains(got.stdout+got.stderr, tc.says) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestCallSends holds what reaches the server.
func TestCallSends(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct {
		args  string
		stdin string
		want  string
	}{
		"pairs":             {args: "a=1 b:=2.50", want: `{"a":1,"b":2.50}`},
		"an object":         {args: `{"a":1}`, want: `{"a":1}`},
		"an object, a pair": {args: `{"a":1} b=3`, want: `{"a":1,"b":3}`},
		"stdin":             {args: "--stdin", stdin: "\ufeff {\"a\": 1}\n", want: `{"a":1}`},
		"stdin as a dash":   {args: "- a=2", stdin: `{"a":1}`, want: `{"a":2}`},
		"a file":            {args: "--args-file FILE", want: `{"a":7}`},
		"a file in a pair":  {args: "a:=@FILE2", want: `{"a":8}`},
		"unchecked":         {args: "x=y --no-validate", want: `{"x":"y"}`},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			w := fixture(t)
			w.write("args.json", `{"a":7}`)
			w.write("value.json", "8")
			sent := ""
			w.servers["demo"].call = func(_ context.Context, _ tool.Ref, args json.RawMessage,
				_ tool.CallOptions) (*tool.Result, error) {
				var b bytes.Buffer
				if err := json.Compact(&b, args); err != nil {
					t.Error(err)
				}
				sent = b.String()
				return &tool.Result{Raw: []byte(`{"content":[]}`)}, nil
			}
			w.app.Stdin = strings.NewReader(tc.stdin)
			line := strings.NewReplacer("FILE2", w.dir+"/value.json", "FILE", w.dir+"/args.json").Replace("call demo add " + tc.args)
			if got := w.run(t.Context(), strings.Fields(line)...); got.code != 0 || sent != tc.want {
				t.Errorf("sent %s, want %s: %+v", sent, tc.want, got)
			}
		})
	}
}

// TestCallUnchecked: a schema that cannot be used does not block the call.
func TestCallUnchecked(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"items":`, 300) + "{}" + strings.Repeat("}", 300)
	demo := offering(t, "", `{"name":"odd","inputSchema":{"type":"object","properties":{"a":`+deep+`}}}`)
	demo.call = answering(map[string]string{"odd": `{"content":[]}`})
	w := newWorld(t, `{"mcpServers": {"demo": {"command": "x"}}}`, map[string]*server{"demo": demo}).built()
	got := w.run(t.Context(), "call", "demo", "odd", "a=1")
	if got.code != 0 || !strings.HasPrefix(got.stderr, "note: the arguments are sent unchecked: the schema of demo/odd cannot be used") {
		t.Errorf("%+v", got)
	}
	if got = w.run(t.Context(), "call", "demo", "odd", "a=1", "--dry-run"); !strings.Contains(got.stdout, "not checked: ") {
		t.Errorf("%+v", got)
	}
}
