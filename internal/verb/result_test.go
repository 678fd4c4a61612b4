package verb

import (
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/verb/render"
	"github.com/mcp-launchpad/mcpl/pkg/results"
)

func TestResultOptions(t *testing.T) {
	t.Parallel()
	lines, err := results.ParseSelection("2:", "(?i)x")
	if err != nil {
		t.Fatal(err)
	}
	checkOptions(t, "result", map[string]options{
		"an ID": {args: []string{"4466be3b7a0e"}, want: &resultVerb{id: "4466be3b7a0e"}},
		"all flags": {args: []string{"a", "--jq", ".", "--lines", "2:", "--grep", "(?i)x", "--max-bytes", "0"}, want: &resultVerb{
			id: "a", Lines: "2:", Grep: "(?i)x", selected: lines, Delivery: render.Delivery{JQ: ".", MaxBytes: -1}}},
		"nothing":                {says: "result takes one ID"},
		"two":                    {args: []string{"a", "b"}, says: "result takes one ID"},
		"not a range":            {args: []string{"a", "--lines", "x"}, says: `"x" is not a range of lines: a line is a number, but not 0`},
		"backwards":              {args: []string{"a", "--lines", "5:2"}, says: `"5:2" is not a range of lines: it ends before it begins`},
		"backwards from the end": {args: []string{"a", "--lines", "-2:-5"}, says: `"-2:-5" is not a range of lines: it ends before it begins`},
		"no pattern":             {args: []string{"a", "--grep", "("}, says: "\"(\" is not a pattern: error parsing regexp: missing closing ): `(`"},
	})
}

// keeping returns a world that has kept a text, an object, and a binary, with their IDs.
func keeping(t *testing.T) *world {
	t.Helper()
	w := fixture(t)
	for ext, content := range map[string]string{".txt": "one\ntwo\nthree", ".json": `{"rows":[1,2.0],"x":"y"}`, ".png": "\x89PNG\x00"} {
		if _, err := w.app.results().Put("demo", "add", []byte(content), ext); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func TestResultAnswers(t *testing.T) {
	t.Parallel()
	const text, object, picture = "result 058053d87c81", "result f43eae88d627", "result ad91235e8822"
	checkAnswers(t, keeping, map[string]answer{
		"a text": {args: strings.Fields(text), text: "one\ntwo\nthree\n", json: `{"success":true,"id":"058053d87c81","result":"one\ntwo\nthree"}`},
		"some lines": {args: strings.Fields(text + " --lines 2:"), text: "two\nthree\n",
			json: `{"success":true,"id":"058053d87c81","result":"two\nthree"}`},
		"lines that match": {args: strings.Fields(text + " --grep ^t"), text: "2:two\n3:three\n",
			json: `{"success":true,"id":"058053d87c81","result":"2:two\n3:three"}`},
		"an object": {args: strings.Fields(object), text: `{
  "rows": [
    1,
    2.0
  ],
  "x": "y"
}
`, json: `{"success":true,"id":"f43eae88d627","result":{"rows":[1,2.0],"x":"y"}}`},
		"lines of an object":    {args: strings.Fields(object + " --lines 3:4"), text: "    1,\n    2.0\n"},
		"selected":              {args: strings.Fields(object + " --jq . --grep x"), text: "7:    \"x\": \"y\"\n14:    \"x\": \"y\"\n"},
		"a faulty expression":   {args: strings.Fields(object + " --jq nope"), code: 2, says: []string{"error: --jq nope: unknown expression"}},
		"one that does not fit": {args: strings.Fields(object + " --jq .a"), code: 2, says: []string{"error: --jq .a does not fit the result"}},
		"too large": {args: strings.Fields(text + " --max-bytes 5"), says: []string{"The result has 13 B. It is whole in:", "results/demo-add-058053d87c81.txt"},
			json: `{"success":true,"id":"058053d87c81","spilled":{"id":"058053d87c81","file":"HOME/.cache/mcpl/results/demo-add-058053d87c81.txt","bytes":13,"structure":"string, 13 B, 3 lines","lines":3,"first":"one\ntwo\nthree","help":"See more with: mcpl result 058053d87c81 --jq EXPR (or --grep RE)"}}`},
		"a binary": {args: strings.Fields(picture), text: "[a file of 5 B]\nHOME/.cache/mcpl/results/demo-add-ad91235e8822.png\n",
			json: `{"success":true,"id":"ad91235e8822","result":{"bytes":5,"file":"HOME/.cache/mcpl/results/demo-add-ad91235e8822.png"}}`},
		"lines behind the end": {args: strings.Fields(text + " --lines 99999:100000"), code: 2, text: `error: the result has 3 lines, and --lines begins behind them
hint: See the last ones with: mcpl result 058053d87c81 --lines -40:
`},
		"lines of a binary": {args: strings.Fields(picture + " --lines 1"), code: 2, says: []string{"is binary"}},
		"an unknown ID":     {args: strings.Fields("result 000000000000"), code: 3, says: []string{`error: there is no result "000000000000"`}},
	})
}
