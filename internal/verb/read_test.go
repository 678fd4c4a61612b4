package verb

import (
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/verb/render"
)

func TestReadOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "read", map[string]options{
		"a resource": {args: []string{"s", "a://b"}, want: &readVerb{request: request{words: []string{"s", "a://b"}}}},
		"raw": {args: []string{"s", "a://b", "--raw"}, want: &readVerb{
			request: request{Delivery: render.Delivery{Raw: true}, words: []string{"s", "a://b"}}}},
		"raw into a folder": {args: []string{"s", "a://b", "--raw", "--output-dir", "d"}, says: "--raw leaves the result untouched, --jq and --output-dir change it"},
	})
}

func TestReadAnswers(t *testing.T) {
	t.Parallel()
	checkAnswers(t, fixture, map[string]answer{
		"a text": {args: strings.Fields("read papers paper://report"), asked: []string{"papers"}, text: "rain & wind\n",
			json: `{"success":true,"result":"rain & wind"}`},
		"raw": {args: strings.Fields("read papers paper://report --raw"), asked: []string{"papers"}, text: `{"contents":[{"uri":"paper://report","mimeType":"text/plain","text":"rain & wind"}]}
`},
		"saved": {args: strings.Fields("read papers paper://report --max-bytes 3"), asked: []string{"papers"}, says: []string{"The result has 11 B. It is whole in:"}},
		"in one word": {args: strings.Fields("read papers/paper://report"), code: 2, text: `error: the server and the URI are two words
hint: Type: mcpl read papers paper://report
`,
			json: `{"success":false,"error":{"type":"UsageError","message":"the server and the URI are two words","traceback":"","help":"Type: mcpl read papers paper://report","server":"papers"}}`},
		"more than one": {args: strings.Fields("read papers paper://report more"), code: 2, text: `error: read takes one URI, "more" is too much
hint: Type: mcpl read papers paper://report
`,
			json: `{"success":false,"error":{"type":"UsageError","message":"read takes one URI, \"more\" is too much","traceback":"","help":"Type: mcpl read papers paper://report","server":"papers"}}`},
		"without a URI": {args: strings.Fields("read papers"), code: 2, text: `error: which resource of papers?
hint: See its resources with: mcpl resources papers
`,
			json: `{"success":false,"error":{"type":"UsageError","message":"which resource of papers?","traceback":"","help":"See its resources with: mcpl resources papers","server":"papers"}}`},
		"nothing at all": {args: []string{"read"}, code: 2, text: `error: which resource?
hint: Name it as SERVER URI. See what there is with: mcpl resources
`,
			json: `{"success":false,"error":{"type":"UsageError","message":"which resource?","traceback":"","help":"Name it as SERVER URI. See what there is with: mcpl resources"}}`},
		"a server without resources": {args: strings.Fields("read demo paper://x"), code: 3, says: []string{`error: demo has no resource "paper://x"`}},
	})
}
