package example

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"image/png"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// clock stands still on a Tuesday in winter.
func clock() time.Time { return time.Date(2026, 1, 6, 12, 0, 0, 0, time.UTC) }

// TestServe drives the server over pipes, as a client does. There is one server for all that
// needs one, since the SDK allows one per process.
func TestServe(t *testing.T) {
	c, progress := connect(t, Options{Now: clock, Notes: filepath.Join(t.TempDir(), "state", "notes.json")})
	t.Run("definitions", func(t *testing.T) { checkDefinitions(t, c) })
	tests := []struct {
		tool, args, want string
	}{
		{"current_time", `{"timezone":"Asia/Tokyo"}`,
			`{"timezone":"Asia/Tokyo","time":"2026-01-06T21:00:00+09:00","weekday":"Tuesday","utc_offset":"+09:00"}`},
		{"current_time", `{}`, `{"timezone":"UTC","time":"2026-01-06T12:00:00Z","weekday":"Tuesday","utc_offset":"+00:00"}`},
		{"current_time", `{"timezone":"Tokyo"}`, `error: unknown time zone "Tokyo": give an IANA name`},
		{"current_time", `{"zone":"UTC"}`, `error: `},
		{"convert_time", `{"time":"15:30","from":"Europe/Berlin","to":["America/New_York"]}`,
			`{"source":{"timezone":"Europe/Berlin","time":"2026-01-06T15:30:00+01:00","weekday":"Tuesday","utc_offset":"+01:00"},` +
				`"times":[{"timezone":"America/New_York","time":"2026-01-06T09:30:00-05:00","weekday":"Tuesday","utc_offset":"-05:00"}]}`},
		{"convert_time", `{"time":"soon","to":["UTC"]}`, `error: cannot read the time "soon"`},
		{"text_stats", `{"text":"One. Two two!\nThree","top":1}`,
			`{"characters":19,"words":4,"lines":2,"sentences":3,"reading_seconds":2,"top_words":[{"word":"two","count":2}]}`},
		{"change_case", `{"text":"parse HTTPResponse","style":"snake"}`, `parse_http_response`},
		{"change_case", `{"text":"x","style":"odd"}`, `error: `},
		{"replace_text", `{"text":"a1 b2","pattern":"([a-z])([0-9])","replacement":"$2$1"}`, `{"replacements":2,"text":"1a 2b"}`},
		{"replace_text", `{"text":"A.a$","pattern":"A.","replacement":"$1","options":{"literal":true,"ignore_case":true}}`,
			`{"replacements":1,"text":"$1a$"}`},
		{"replace_text", `{"text":"","pattern":"("}`, `error: the pattern is not a regular expression`},
		{"diff_text", `{"before":"a\nb\n","after":"a\nc\n"}`, "--- before\n+++ after\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"},
		{"diff_text", `{"before":"a","after":"a"}`, "The texts are equal."},
		{"format_json", `{"json":"{\"b\":1.50,\"a\":[ ]}","sort_keys":true,"indent":1}`, "{\n \"a\": [],\n \"b\": 1.50\n}"},
		{"format_json", `{"json":"{\n  \"a\" 1}"}`, "error: not JSON: invalid character '1' after object key at line 2, column 7"},
		{"query_json", `{"json":"{\"a\":[1, {\"b\" : 2}]}","pointer":"/a/1"}`, `{"b" : 2}`},
		{"query_json", `{"json":"{\"a\":1}","pointer":"a.b"}`, `error: a JSON pointer begins with /: did you mean "/a/b"?`},
		{"query_json", `{"json":"{\"a\":1,\"b\":2}","pointer":"/c"}`, `error: nothing at /c: the object there has the keys: a, b`},
		{"hash_text", `{"text":"abc"}`, `{"algorithm":"sha256","bytes":3,"hex":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}`},
		{"hash_text", `{"text":"abc","algorithm":"md5"}`, `{"algorithm":"md5","bytes":3,"hex":"900150983cd24fb0d6963f7d28e17f72"}`},
		{"hash_text", `{"text":"abc","algorithm":"crc32"}`, `{"algorithm":"crc32","bytes":3,"hex":"352441c2"}`},
		{"encode_base64", `{"text":"hé?"}`, `aMOpPw==`},
		{"encode_base64", `{"text":"hé?","url_safe":true}`, `aMOpPw`},
		{"decode_base64", `{"data":"aMOpPw"}`, `hé?`},
		{"decode_base64", `{"data":"a*"}`, `error: not Base64: wrong character or length at character 2`},
		{"decode_base64", `{"data":"_w=="}`, `hex:ff`},
		{"calculate", `{"expression":"2*(x+1)^2","variables":{"x":2}}`, `{"value":18}`},
		{"calculate", `{"expression":"2 +"}`, `error: cannot evaluate "2 +": at character 4: expected a number, a name or (, found the end`},
		{"convert_units", `{"value":-40,"from":"F","to":"C"}`, `"kind":"temperature","unit":"C"`},
		{"convert_units", `{"value":1,"from":"mi","to":"km"}`, `{"kind":"length","unit":"km","value":1.609344}`},
		{"convert_units", `{"value":1,"from":"mi","to":"kg"}`, `error: mi is a unit of length and kg one of mass; of length there are: m, km`},
		{"convert_units", `{"value":1,"from":"parsec","to":"kg"}`, `error: unknown unit "parsec"; there are`},
		{"list_notes", `{}`, `{"notes":[]}`},
		{"add_note", `{"title":"Milk","tags":["shop"]}`, `{"id":1,"title":"Milk","text":"","tags":["shop"],"created":"2026-01-06T12:00:00Z"}`},
		{"add_note", `{"title":"Tea","text":"green"}`, `"id":2`},
		{"search_notes", `{"query":"GREEN tea"}`, `{"notes":[{"id":2,`},
		{"list_notes", `{"tag":"shop"}`, `{"notes":[{"id":1,"title":"Milk"`},
		{"list_notes", `{"limit":1}`, `{"notes":[{"id":2,"title":"Tea"`},
		{"delete_note", `{"id":1}`, `Deleted note 1, "Milk".`},
		{"delete_note", `{"id":1}`, `error: there is no note 1`},
		{"draw_chart", `{"points":[{"label":"a","value":1},{"label":"b","value":-2}],"width":64,"height":64}`, "Bars from left to right:\na: 1\nb: -2"},
		{"draw_chart", `{"points":[{"label":"a","value":1e308},{"label":"b","value":-1e308}]}`, "error: the values are too far apart"},
	}
	for _, tt := range tests {
		t.Run(tt.tool+tt.args, func(t *testing.T) {
			got := callTool(t, c, tt.tool, tt.args, nil)
			text := got.Content[0].(mcp.TextContent).Text
			if got.IsError {
				text = "error: " + text
			}
			if !strings.HasPrefix(text, tt.want) && !(strings.HasPrefix(tt.want, `"`) && strings.Contains(text, tt.want)) {
				t.Errorf("got  %s\nwant %s", text, tt.want)
			}
		})
	}
	t.Run("image", func(t *testing.T) { checkImage(t, c) })
	t.Run("uuid", func(t *testing.T) {
		got := callTool(t, c, "generate_uuid", `{"count":2,"version":7}`, nil)
		ids := got.StructuredContent.(map[string]any)["uuids"].([]any)
		if len(ids) != 2 || ids[0] == ids[1] || ids[0].(string)[14] != '7' {
			t.Errorf("got %v", ids)
		}
	})
	t.Run("progress", func(t *testing.T) {
		callTool(t, c, "count_down", `{"steps":3,"delay_ms":20}`, &mcp.Meta{ProgressToken: "tok"})
		for i := 1; i <= 3; i++ {
			n := <-progress
			if f := n.Params.AdditionalFields; f["progressToken"] != "tok" || f["progress"] != float64(i) || f["total"] != 3.0 {
				t.Errorf("got %v", f)
			}
		}
	})
}

// connect serves in this process and returns a client, and the progress that it receives.
func connect(t *testing.T, opts Options) (*client.Client, <-chan mcp.JSONRPCNotification) {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	ended := make(chan error, 1)
	go func() { // ends when the client closes its pipe; Cleanup waits for it
		err := Serve(context.Background(), toServer, fromServer, opts)
		fromServer.Close()
		ended <- err
	}()
	c := client.NewClient(transport.NewIO(toClient, fromClient, io.NopCloser(strings.NewReader(""))))
	t.Cleanup(func() {
		c.Close()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	progress := make(chan mcp.JSONRPCNotification, 10)
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		if n.Method == "notifications/progress" {
			progress <- n
		}
	})
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var req mcp.InitializeRequest
	req.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	if r, err := c.Initialize(t.Context(), req); err != nil || r.ServerInfo.Name != "mcpl-example" || r.ServerInfo.Version != "dev" {
		t.Fatalf("%v: %+v", err, r)
	}
	return c, progress
}

func callTool(t *testing.T, c *client.Client, tool, args string, meta *mcp.Meta) *mcp.CallToolResult {
	t.Helper()
	var req mcp.CallToolRequest
	req.Params.Name, req.Params.Arguments, req.Params.Meta = tool, json.RawMessage(args), meta
	r, err := c.CallTool(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// checkDefinitions holds what the demo's search and inspect rest on: every tool and every
// parameter is described, and what the annotations claim is complete.
func checkDefinitions(t *testing.T, c *client.Client) {
	list, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) < 12 {
		t.Errorf("%d tools", len(list.Tools))
	}
	structured := 0
	for _, tool := range list.Tools {
		a := tool.Annotations
		if tool.Title == "" || len(tool.Description) < 40 || len(tool.Description) > 300 ||
			a.ReadOnlyHint == nil || a.DestructiveHint == nil || a.IdempotentHint == nil || a.OpenWorldHint == nil {
			t.Errorf("%s: %+v", tool.Name, tool)
		}
		if writes := strings.HasSuffix(tool.Name, "_note"); *a.ReadOnlyHint == writes {
			t.Errorf("%s: readOnlyHint %v", tool.Name, *a.ReadOnlyHint)
		}
		if tool.OutputSchema.Type != "" {
			structured++
		}
		for name, p := range tool.InputSchema.Properties {
			if text, _ := p.(map[string]any)["description"].(string); text == "" {
				t.Errorf("%s: %s has no description", tool.Name, name)
			}
		}
	}
	if structured < 8 {
		t.Errorf("%d tools with an output schema", structured)
	}
}

func checkImage(t *testing.T, c *client.Client) {
	r := callTool(t, c, "draw_chart", `{"points":[{"label":"a","value":1},{"label":"b","value":2}],"color":"green"}`, nil)
	if len(r.Content) != 2 {
		t.Fatalf("%d blocks", len(r.Content))
	}
	block := r.Content[1].(mcp.ImageContent)
	raw, err := base64.StdEncoding.DecodeString(block.Data)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if b := img.Bounds(); b.Dx() != 320 || b.Dy() != 160 || block.MIMEType != "image/png" {
		t.Errorf("%v %s", b, block.MIMEType)
	}
	if _, g, _, _ := img.At(250, 20).RGBA(); g>>8 != 153 { // near the top of the taller bar
		t.Errorf("green is %d", g>>8)
	}
	if r, _, _, _ := img.At(20, 20).RGBA(); r>>8 != 255 { // above the shorter one
		t.Errorf("red is %d", r>>8)
	}
}

// TestCancelled stops a countdown that would take an hour and a half.
func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := countDown(ctx, 600, 10*time.Second); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
