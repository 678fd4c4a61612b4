package render

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/results"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct {
		args []string
		want Delivery
		says string // the message of the fault, if they are refused
	}{
		"none":             {want: Delivery{}},
		"all but raw":      {args: []string{"--jq", ".", "--output-dir", "d", "--max-bytes", "5"}, want: Delivery{JQ: ".", OutputDir: "d", MaxBytes: 5}},
		"raw":              {args: []string{"--raw", "--max-bytes", "5"}, want: Delivery{Raw: true, MaxBytes: 5}},
		"raw and selected": {args: []string{"--raw", "--jq", "."}, says: "--raw leaves the result untouched, --jq and --output-dir change it"},
		"raw and saved":    {args: []string{"--raw", "--output-dir", "d"}, says: "--raw leaves the result untouched, --jq and --output-dir change it"},
		"no limit":         {args: []string{"--max-bytes", "0"}, want: Delivery{MaxBytes: -1}},
		"thousands":        {args: []string{"--max-bytes", "10k"}, want: Delivery{MaxBytes: 10_000}},
		"millions":         {args: []string{"--max-bytes", "2 MB"}, want: Delivery{MaxBytes: 2_000_000}},
		"a negative size":  {args: []string{"--max-bytes", "-1"}, says: `invalid argument "-1" for "--max-bytes" flag: give a number of bytes like 20000 or 20k, or 0 for no limit`},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			var v Delivery
			fs := pflag.NewFlagSet("mcpl", pflag.ContinueOnError)
			v.Flags(fs)
			err := fs.Parse(tc.args)
			if err == nil {
				err = v.Check()
			}
			switch {
			case err == nil && (tc.says != "" || v != tc.want):
				t.Errorf("got %+v", v)
			case err != nil && err.Error() != tc.says:
				t.Errorf("got %v", err)
			}
		})
	}
}

// outcome is what became of a result.
type outcome struct {
	exit int
	err  error
	text string // what was printed, with the folder as DIR and the digests of files as DIGEST
	dir  string
}

// deliver answers with a result of s/t in a folder of its own.
func (v Delivery) deliver(t *testing.T, kind tool.Kind, raw string, asJSON bool) outcome {
	t.Helper()
	var out bytes.Buffer
	dir := t.TempDir()
	tty := output.Terminal{Is: true, Width: 120}
	printer := output.New(output.Options{Out: &out, Err: &out, JSON: asJSON, OutTTY: tty})
	to := Destination{Printer: printer, MaxBytes: 1000,
		Store: results.Store{Dir: filepath.Join(dir, "large"), Now: time.Now}}
	if v.OutputDir != "" {
		v.OutputDir = filepath.Join(dir, v.OutputDir)
	}
	if err := v.Prepare(&to, parseQuery); err != nil {
		return outcome{err: err, dir: dir}
	}
	res := &tool.Result{Raw: json.RawMessage(raw), IsError: strings.Contains(raw, `"isError":true`)}
	exit, err := v.Answer(t.Context(), to, tool.Ref{Server: "s", Name: "t", Kind: kind}, res)
	text := strings.ReplaceAll(out.String(), dir, "DIR")
	return outcome{exit, err, regexp.MustCompile(`\b[0-9a-f]{12}\b`).ReplaceAllString(text, "DIGEST"), dir}
}

// parseQuery stands for jq.
func parseQuery(expr string) (Query, error) {
	if expr == ".[" {
		return nil, errors.New("unknown")
	}
	return func(_ context.Context, value json.RawMessage) ([]json.RawMessage, error) {
		switch expr {
		case "none":
			return nil, nil
		case "twice":
			return []json.RawMessage{value, []byte(`"x"`)}, nil
		}
		return nil, errors.New("it is a list")
	}, nil
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	const (
		image  = `{"type":"image","mimeType":"image/png","data":"AQID"}`
		file   = `{"type":"image","mimeType":"image/png","bytes":3,"file":"DIR/large/s-t-DIGEST.png","id":"DIGEST"}`
		report = `{"content":[{"type":"text","text":" it broke\n"}],"isError":true}`
	)
	for title, tc := range map[string]struct {
		flags Delivery
		kind  tool.Kind
		raw   string
		text  string
		json  string
		exit  int
		says  string // the message of the fault
	}{
		"text":             {raw: `{"content":[{"type":"text","text":"a\nb"}]}`, text: "a\nb\n", json: `{"success":true,"result":"a\nb"}`},
		"JSON in text":     {raw: `{"content":[{"type":"text","text":" {\"b\": 1.0} "}]}`, text: "{\n  \"b\": 1.0\n}\n", json: `{"success":true,"result":{"b": 1.0}}`},
		"broken JSON":      {raw: `{"content":[{"type":"text","text":"{\"b\""}]}`, text: "{\"b\"\n", json: `{"success":true,"result":"{\"b\""}`},
		"structured":       {raw: `{"content":[{"type":"text","text":"x"},` + image + `],"structuredContent":{"a":1}}`, text: "{\n  \"a\": 1\n}\n[image image/png saved as DIR/large/s-t-DIGEST.png]\n", json: `{"success":true,"result":{"a":1},"files":["DIR/large/s-t-DIGEST.png"]}`},
		"nothing":          {raw: `{"content":null}`, text: "(the tool answered without content)\n", json: `{"success":true,"result":[]}`},
		"blocks":           {raw: `{"content":[{"type":"text","text":"x"},{"type":"audio","mimeType":"audio/wav","data":"AQ=="},{"type":"resource_link","name":"n","uri":"u:v"},{"type":"new","x":1}]}`, text: "x\n[audio audio/wav saved as DIR/large/s-t-DIGEST.wav]\n[link n u:v]\n{\n  \"type\": \"new\",\n  \"x\": 1\n}\n", json: `{"success":true,"result":[{"type":"text","text":"x"},{"type":"audio","mimeType":"audio/wav","bytes":1,"file":"DIR/large/s-t-DIGEST.wav","id":"DIGEST"},{"type":"resource_link","name":"n","uri":"u:v"},{"type":"new","x":1}],"files":["DIR/large/s-t-DIGEST.wav"]}`},
		"raw":              {flags: Delivery{Raw: true}, raw: `{"content": [] }`, text: "{\"content\": [] }\n", json: `{"content": [] }`},
		"raw error":        {flags: Delivery{Raw: true}, raw: report, text: report + "\n", json: report, exit: 1},
		"an error":         {raw: report, says: "it broke"},
		"a silent error":   {raw: `{"content":[],"isError":true}`, says: "s/t reported an error without saying which"},
		"a coded error":    {raw: `{"structuredContent":{"code":7},"isError":true}`, says: `{"code":7}`},
		"no result":        {raw: `{"content":7}`, says: "s answered with a result that is not what the protocol says"},
		"selected":         {flags: Delivery{JQ: "twice"}, raw: `{"structuredContent":[1,2]}`, text: "[\n  1,\n  2\n]\nx\n", json: `{"success":true,"result":[[1,2],"x"]}`},
		"nothing selected": {flags: Delivery{JQ: "none"}, raw: `{"structuredContent":[1]}`, text: "", json: `{"success":true,"result":[]}`},
		"a faulty filter":  {flags: Delivery{JQ: ".["}, raw: `{"structuredContent":[1]}`, says: "--jq '.[': unknown"},
		"no such member":   {flags: Delivery{JQ: ".a"}, raw: `{"structuredContent":[1]}`, says: "--jq .a does not fit the result: it is a list"},
		"saved": {flags: Delivery{OutputDir: "o"}, raw: `{"content":[` + image + `,{"type":"text","text":"x"}]}`, text: "[image image/png saved as DIR/o/s-t-DIGEST.png]\nx\n",
			json: `{"success":true,"result":[{"type":"image","mimeType":"image/png","bytes":3,"file":"DIR/o/s-t-DIGEST.png"},{"type":"text","text":"x"}],"files":["DIR/o/s-t-DIGEST.png"]}`},
		"a saved resource": {flags: Delivery{OutputDir: "o"}, kind: tool.Resource, raw: `{"contents":[{"uri":"a:b","mimeType":"application/x+json","blob":"e30="}]}`, text: "[resource application/x+json saved as DIR/o/s-t-DIGEST.json]\n",
			json: `{"success":true,"result":[{"uri":"a:b","mimeType":"application/x+json","bytes":2,"file":"DIR/o/s-t-DIGEST.json"}],"files":["DIR/o/s-t-DIGEST.json"]}`},
		"not base64": {flags: Delivery{OutputDir: "o"}, raw: `{"content":[{"type":"image","data":"!"}]}`, says: "s sent an image with data that is not base64"},
		"two not base64": {flags: Delivery{OutputDir: "o"}, raw: `{"content":[{"type":"audio","data":"!"},` + image + `,{"type":"image","data":"!"}]}`,
			says: "s sent 2 binaries, the first an audio, with data that is not base64"},
		"twice the same": {raw: `{"content":[` + image + `,` + image + `]}`, text: strings.Repeat("[image image/png saved as DIR/large/s-t-DIGEST.png]\n", 2),
			json: `{"success":true,"result":[` + file + `,` + file + `],"files":["DIR/large/s-t-DIGEST.png"]}`},
		"too large": {flags: Delivery{MaxBytes: 10}, raw: `{"structuredContent":{"name":"a long text","list":[1,2]}}`, text: `The result has 35 B. It is whole in:
  DIR/large/s-t-DIGEST.json
Its structure:
  {
    "name": "string, 11 B, 1 line",
    "list": [
      "list, 2 items, 5 B",
      1
    ]
  }
The first of its 7 lines:
  {
    "name": "a long text",
    "list": [
      1,
      2
    ]
  }
See more with: mcpl result DIGEST --jq EXPR (or --grep RE)
`, json: `{"success":true,"spilled":{"id":"DIGEST","file":"DIR/large/s-t-DIGEST.json","bytes":35,"structure":{"name":"string, 11 B, 1 line","list":["list, 2 items, 5 B",1]},"lines":7,"first":"{\n  \"name\": \"a long text\",\n  \"list\": [\n    1,\n    2\n  ]\n}","help":"See more with: mcpl result DIGEST --jq EXPR (or --grep RE)"}}`},
		"a large text": {flags: Delivery{MaxBytes: 3, OutputDir: "o"}, raw: `{"content":[{"type":"text","text":"one\ntwo"}]}`, text: `The result has 7 B. It is whole in:
  DIR/o/s-t-DIGEST.txt
Its structure:
  "string, 7 B, 2 lines"
The first of its 2 lines:
  one
  two
Read the file, or select what you need with --jq EXPR.
`},
		"a prompt": {kind: tool.Prompt, raw: `{"messages":[{"role":"user","content":{"type":"text","text":"x"}}]}`, text: "user:\nx\n", json: `{"success":true,"result":{"messages":[{"role":"user","content":{"type":"text","text":"x"}}]}}`},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			got := tc.flags.deliver(t, tc.kind, tc.raw, false)
			if diff := cmp.Diff(tc.text, got.text); diff != "" || got.exit != tc.exit {
				t.Errorf("exit code %d, %v, -want +got\n%s", got.exit, got.err, diff)
			}
			if said := fault.From(got.err); (said != nil) != (tc.says != "") || said != nil && said.Message != tc.says {
				t.Errorf("got %v, want %q", got.err, tc.says)
			}
			if tc.json == "" {
				return
			}
			if got = tc.flags.deliver(t, tc.kind, tc.raw, true); got.text != tc.json+"\n" || got.exit != tc.exit {
				t.Errorf("exit code %d\ngot  %swant %s", got.exit, got.text, tc.json)
			}
		})
	}
}

// TestLongError: a long report is cut in the message, and whole in the result.
func TestLongError(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 3000)
	got := Delivery{}.deliver(t, tool.Tool, `{"content":[{"type":"text","text":"`+long+`"}],"isError":true}`, false)
	f := fault.From(got.err)
	if len(f.Message) > maxErrorText+len("…") || !strings.HasSuffix(f.Message, "ä…") {
		t.Errorf("%d bytes, %.20s", len(f.Message), f.Message)
	}
	if whole := f.Result.(json.RawMessage); string(whole) != `"`+long+`"` {
		t.Errorf("the result has %d bytes", len(whole))
	}
	if !strings.Contains(f.Help, "--raw") || f.Next[0].Step.Tool != "t" {
		t.Errorf("%+v", f)
	}
}

// TestSavedFiles holds what is in the files, and what becomes of old ones.
func TestSavedFiles(t *testing.T) {
	t.Parallel()
	got := Delivery{OutputDir: "o"}.deliver(t, tool.Tool, `{"content":[{"type":"image","mimeType":"image/jpeg; q=1","data":"AQID"}]}`, false)
	files, err := filepath.Glob(filepath.Join(got.dir, "o", "s-t-*.jpg"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v, %v", files, err, got.err)
	}
	info, err := os.Stat(files[0])
	data, errRead := os.ReadFile(files[0])
	if err != nil || errRead != nil || !bytes.Equal(data, []byte{1, 2, 3}) || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, %v, %v", info, data, err, errRead)
	}
}

// TestUse31ResultIsKept: what fails after the tool has run keeps its result, in the fault for readers of JSON, in a
// file for others, and says that the tool has run.
func TestUse31ResultIsKept(t *testing.T) {
	t.Parallel()
	const raw = `{"structuredContent":[1,2.0]}`
	for title, tc := range map[string]struct {
		flags Delivery
		raw   string
		want  string // the result that is kept
		exit  int
	}{
		"jq that does not fit":   {Delivery{JQ: ".a"}, raw, `[1,2.0]`, 1},
		"not base64":             {Delivery{OutputDir: "o"}, `{"content":[{"type":"image","data":"!"}]}`, `[{"type":"image","data":"!"}]`, 1},
		"not what protocol says": {Delivery{}, `{"content":7}`, `{"content":7}`, 4},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			f := fault.From(tc.flags.deliver(t, tool.Tool, tc.raw, true).err)
			if string(f.Result.(json.RawMessage)) != tc.want || f.Type.ExitCode() != tc.exit ||
				!strings.Contains(f.Help, "The tool has run") || !strings.Contains(f.Help, "error.result") {
				t.Errorf("as JSON: %+v", f)
			}
			got := tc.flags.deliver(t, tool.Tool, tc.raw, false)
			f = fault.From(got.err)
			files, err := filepath.Glob(filepath.Join(got.dir, "large", "s-t-*.json"))
			if err != nil || len(files) != 1 || !strings.Contains(f.Help, files[0]) {
				t.Fatalf("as text: %q, %+v", files, f)
			}
			if data, err := os.ReadFile(files[0]); err != nil || string(data) != tc.want {
				t.Errorf("the file has %s, %v", data, err)
			}
		})
	}
}

// TestOneBrokenBinary: a binary that is not base64 costs neither the others nor the answer's size.
func TestOneBrokenBinary(t *testing.T) {
	t.Parallel()
	const raw = `{"content":[{"type":"audio","data":"!"},{"type":"image","mimeType":"image/png","data":"AQID"}]}`
	got := Delivery{OutputDir: "o"}.deliver(t, tool.Tool, raw, true)
	f := fault.From(got.err)
	files, err := filepath.Glob(filepath.Join(got.dir, "o", "s-t-*.png"))
	if err != nil || len(files) != 1 || f.Type != fault.Result {
		t.Fatalf("%q, %v, %v", files, err, f)
	}
	want := `[{"type":"audio","data":"!"},{"type":"image","mimeType":"image/png","bytes":3,"file":"` + files[0] + `"}]`
	if kept := string(f.Result.(json.RawMessage)); kept != want {
		t.Errorf("result %s, want %s", kept, want)
	}
}

// TestInterruptedComputation: what does not look at its context ends with it all the same, and the result is kept.
func TestInterruptedComputation(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	at, never := make(chan bool, 2), make(chan bool)
	t.Cleanup(func() { close(never) })
	to := Destination{Printer: output.New(output.Options{Out: io.Discard, Err: io.Discard, JSON: true}),
		Query: func(context.Context, json.RawMessage) ([]json.RawMessage, error) {
			at <- true
			<-never
			return nil, nil
		}}
	grep, err := results.ParseSelection("", "x")
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 3)
	v := Delivery{JQ: "gsub"}
	go func() {
		_, err := v.Answer(ctx, to, tool.Ref{Server: "s", Name: "t"}, &tool.Result{Raw: []byte(`{"structuredContent":[1]}`)})
		failed <- err
	}()
	go func() { failed <- v.AnswerKept(ctx, to, results.Entry{}, []byte("x"), results.Selection{}) }()
	<-at
	<-at
	cancel()
	failed <- (&Delivery{}).AnswerKept(ctx, to, results.Entry{}, []byte("x"), grep)
	kept := 0
	for range cap(failed) {
		f := fault.From(<-failed)
		if f == nil || f.Type != fault.Interrupted {
			t.Fatalf("%v", f)
		}
		if f.Result != nil {
			kept++
		}
	}
	if kept != 1 {
		t.Errorf("%d results are kept, not that of the call alone", kept)
	}
}

// TestKeptBinariesAreStored: a result in a fault has files in the place of its images, as one in an answer has.
func TestKeptBinariesAreStored(t *testing.T) {
	t.Parallel()
	const image = `{"content":[{"type":"image","mimeType":"image/png","data":"AQID"}]`
	for title, tc := range map[string]struct {
		flags Delivery
		raw   string
	}{"jq that does not fit": {Delivery{JQ: ".a"}, image + `}`}, "an error": {Delivery{}, image + `,"isError":true}`}} {
		f := fault.From(tc.flags.deliver(t, tool.Tool, tc.raw, true).err)
		if kept := string(f.Result.(json.RawMessage)); !strings.HasPrefix(kept, `[{"type":"image","mimeType":"image/png","bytes":3,`) {
			t.Errorf("%s: %s", title, kept)
		}
	}
}

// tinyPNG is a picture of one pixel.
const tinyPNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

// TestUse34BinariesStayOut: no answer holds base64, wherever in the result it stands, but a file's name. A
// string that no binary can be stays.
func TestUse34BinariesStayOut(t *testing.T) {
	t.Parallel()
	const saved = `{"mimeType":"image/png","bytes":70,"file":"DIR/large/s-t-DIGEST.png","id":"DIGEST"}`
	const inText = `"file": "DIR/large/s-t-DIGEST.png"`
	long := strings.Repeat("A", 400)
	for title, tc := range map[string]struct{ raw, json, text string }{
		"in structured content": {`{"structuredContent":{"shot":"` + tinyPNG + `","n":1}}`, `{"shot":` + saved + `,"n":1}`, inText},
		"a data URL":            {`{"structuredContent":["data:image/png;base64,` + tinyPNG + `"]}`, `[` + saved + `]`, inText},
		"with escapes":          {`{"structuredContent":["` + strings.ReplaceAll(tinyPNG, "/", `\/`) + `"]}`, `[` + saved + `]`, inText},
		"the data of a block": {`{"content":[{"type":"image","mimeType":"image/png","data":"AQID"}],"structuredContent":{"content":[{"type":"image","data":"AQID"}]}}`,
			`{"content":[{"type":"image","data":{"mimeType":"image/png","bytes":3,"file":"DIR/large/s-t-DIGEST.png","id":"DIGEST"}}]}`, inText},
		"as the only text":    {`{"content":[{"type":"text","text":"` + tinyPNG + `"}]}`, saved, inText},
		"as a key":            {`{"structuredContent":{"` + tinyPNG + `" : 1}}`, `{"` + tinyPNG + `" : 1}`, tinyPNG},
		"an opaque token":     {`{"structuredContent":{"next":"` + long + `"}}`, `{"next":"` + long + `"}`, long},
		"no base64 after all": {`{"structuredContent":{"a":"iVBORw0KGgo` + long[:60] + `"}}`, `{"a":"iVBORw0KGgo` + long[:60] + `"}`, long[:60]},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			got := Delivery{}.deliver(t, tool.Tool, tc.raw, true)
			if !strings.HasPrefix(got.text, `{"success":true,"result":`+tc.json) {
				t.Errorf("as JSON: %v\ngot  %swant %s", got.err, got.text, tc.json)
			}
			if got = (Delivery{}).deliver(t, tool.Tool, tc.raw, false); !strings.Contains(got.text, tc.text) {
				t.Errorf("as text: %s", got.text)
			}
		})
	}
}

// TestUse34LargeResults: above the limit a JSON answer describes the result, also that of an error; text and raw never
// do, unless the flag asks for it.
func TestUse34LargeResults(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("line\\n", 300)
	raw := `{"content":[{"type":"text","text":"` + long + `"}]}`
	failed := `{"content":[{"type":"text","text":"` + long + `"}],"isError":true}`
	for title, tc := range map[string]struct {
		flags  Delivery
		raw    string
		json   bool
		spills bool
	}{
		"JSON":            {Delivery{}, raw, true, true},
		"text":            {Delivery{}, raw, false, false},
		"raw":             {Delivery{Raw: true}, raw, true, false},
		"switched off":    {Delivery{MaxBytes: -1}, raw, true, false},
		"a higher limit":  {Delivery{MaxBytes: 10_000}, raw, true, false},
		"text, asked for": {Delivery{MaxBytes: 100}, raw, false, true},
		"an error":        {Delivery{}, failed, true, true},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			got := tc.flags.deliver(t, tool.Tool, tc.raw, tc.json)
			said := got.text
			if f := fault.From(got.err); f != nil {
				data, err := json.Marshal(f.Result)
				if err != nil {
					t.Fatal(err)
				}
				said = string(data)
			}
			if spills := strings.Contains(said, "--lines 21:60"); spills != tc.spills || spills == (len(said) >= 1500) {
				t.Errorf("%d bytes: %.300s", len(said), said)
			}
		})
	}
}

// TestF16NowhereToKeep: if the store cannot be written, the answer is whole, with a notice.
func TestF16NowhereToKeep(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	to := Destination{Printer: output.New(output.Options{Out: &out, Err: &errs, JSON: true}), MaxBytes: 10,
		Store: results.Store{Dir: "\x00", Now: time.Now}}
	res := &tool.Result{Raw: json.RawMessage(`{"content":[{"type":"image","mimeType":"image/png","data":"AQID"}]}`)}
	if _, err := new(Delivery).Answer(t.Context(), to, tool.Ref{Server: "s", Name: "t"}, res); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"data":"AQID"`) || !strings.Contains(errs.String(), "results cannot be kept in ") {
		t.Errorf("%s%s", &out, &errs)
	}
}

// TestUse31FolderIsMadeFirst: --output-dir is made and tried before anything starts.
func TestUse31FolderIsMadeFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var to Destination
	if err := (&Delivery{OutputDir: file}).Prepare(&to, nil); !fault.Is(err, fault.Config) ||
		!strings.Contains(fault.From(err).Help, "Nothing was started") {
		t.Errorf("a file as the folder: %v", err)
	}
	deep := filepath.Join(dir, "a", "b")
	err := (&Delivery{OutputDir: deep}).Prepare(&to, nil)
	if entries, errRead := os.ReadDir(deep); err != nil || errRead != nil || len(entries) != 0 {
		t.Errorf("%v, %v, %v", err, entries, errRead)
	}
	if err := os.Remove(deep); err != nil { // the probe is gone
		t.Error(err)
	}
}

// TestUse31LostAnswer: a result that stdout does not take stays in a file.
func TestUse31LostAnswer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	to := Destination{Printer: output.New(output.Options{JSON: true}), Store: results.Store{Dir: dir, Now: time.Now}}
	var v Delivery
	ref := tool.Ref{Server: "s", Name: "t"}
	res := &tool.Result{Raw: json.RawMessage(`{"structuredContent":[1]}`)}
	f := fault.From(v.Lost(to, ref, res, &output.LostError{Err: errors.New("no space")}))
	if f.Type != fault.Result || !strings.Contains(f.Help, dir) || !strings.Contains(f.Traceback, "no space") {
		t.Errorf("%+v", f)
	}
	to.Store.Dir = filepath.Join(dir, "\x00")
	if f = fault.From(v.Lost(to, ref, res, &output.LostError{Err: errors.New("no space")})); !strings.Contains(f.Traceback, "[1]") {
		t.Errorf("nowhere to keep it: %+v", f)
	}
}
