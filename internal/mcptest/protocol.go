package mcptest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"slices"
	"strings"
)

// The revisions with a handshake, newest first, and the first one without.
const (
	newestLegacy = "2025-11-25"
	modern       = "2026-07-28"
)

func isLegacy(version string) bool {
	return slices.Contains([]string{newestLegacy, "2025-06-18", "2025-03-26", "2024-11-05"}, version)
}

// versions lists the revisions that a server with [Script].Modern supports, as a JSON array.
func (s *server) versions() string {
	if s.script.Modern == "both" {
		return `["` + modern + `","` + newestLegacy + `"]`
	}
	return `["` + modern + `"]`
}

// declared returns the revision that m's _meta names (SEP-2575), or "".
func declared(m message) string {
	var p struct {
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return ""
	}
	return p.Meta.Version
}

// refusal returns the error of a request that comes at the wrong time or in the wrong revision.
func (s *server) refusal(m message) *Error {
	version := declared(m)
	switch {
	case m.Method == "initialize" && s.script.Modern == "only":
		var p struct {
			Version string `json:"protocolVersion"`
		}
		if json.Unmarshal(m.Params, &p) != nil {
			return &Error{Code: codeInvalidParams, Message: "initialize without protocolVersion"}
		}
		return s.badVersion(p.Version)
	case m.Method == "initialize", m.Method == "ping" && s.script.Modern != "only":
		return nil
	case s.script.Modern != "" && version == modern:
		return nil
	case s.script.Modern != "" && version != "":
		return s.badVersion(version)
	case s.script.Modern == "only":
		return &Error{Code: codeInvalidParams, Message: "_meta lacks io.modelcontextprotocol/protocolVersion"}
	case m.Method == "server/discover":
		return &Error{Code: codeUnknownMethod, Message: "method not found: server/discover"}
	case !s.initialized:
		return &Error{Code: codeInvalidRequest, Message: m.Method + " before initialize"}
	}
	return nil
}

func (s *server) badVersion(version string) *Error {
	return &Error{
		Code:    codeBadVersion,
		Message: "unsupported protocol version " + version,
		Data:    Raw(`{"supported":` + s.versions() + `,"requested":` + quote(version) + `}`),
	}
}

// answer gives the ordinary answer to a request.
func (s *server) answer(m message, cancelled <-chan struct{}) {
	switch m.Method {
	case "initialize":
		s.reply(m, s.handshake(m))
	case "server/discover":
		s.reply(m, s.complete(m, `"supportedVersions":`+s.versions()+`,`+s.self()))
	case "ping":
		s.reply(m, "{}")
	case "tools/call":
		s.answerCall(m)
	case "resources/read":
		s.answerRead(m)
	case "prompts/get":
		s.answerPrompt(m)
	case "tasks/get", "tasks/result", "tasks/cancel", "tasks/update":
		s.answerTask(m, cancelled)
	case "subscriptions/listen": // its answer is the end of the stream, and this one has none
	case "logging/setLevel":
		s.reply(m, "{}")
	default:
		s.answerList(m)
	}
}

// handshake is the result of initialize (revision 2025-11-25, basic/lifecycle).
func (s *server) handshake(m message) Raw {
	var p struct {
		Version string `json:"protocolVersion"`
	}
	version := newestLegacy
	if json.Unmarshal(m.Params, &p) == nil && isLegacy(p.Version) {
		version = p.Version
	}
	version = orElse(s.script.Version, version)
	return Raw(`{"protocolVersion":` + quote(version) + `,"serverInfo":` + s.info() + `,` + s.self() + `}`)
}

func (s *server) info() string {
	return s.script.ServerInfo.or(`{"name":"mcptest","version":"1.0.0"}`).line()
}

// self is what both kinds of handshake say about the server.
func (s *server) self() string {
	text := `"capabilities":` + s.script.Capabilities.or(s.capabilities()).line()
	if s.script.Instructions != "" {
		text += `,"instructions":` + quote(s.script.Instructions)
	}
	return text
}

// complete makes members into a result; revision 2026-07-28 adds some of its own.
func (s *server) complete(m message, members string) Raw {
	if declared(m) == modern {
		members = `"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":` + s.info() + `},` + members
	}
	return Raw("{" + members + "}")
}

// def is the tool's definition as it is listed.
func (t Tool) def() string {
	if t.Def != "" {
		return t.Def.line()
	}
	return `{"name":` + quote(t.Name) + `,"description":` + quote(t.Description) +
		`,"inputSchema":` + t.InputSchema.or(`{"type":"object"}`).line() + `}`
}

// callName is the name to call t by.
func (t Tool) callName() string {
	var d struct {
		Name string `json:"name"`
	}
	if t.Name == "" && json.Unmarshal([]byte(t.Def), &d) == nil {
		return d.Name
	}
	return t.Name
}

// result returns the members of the result of a call of t.
func (t Tool) result(m message) string {
	var blocks []string
	text := func(s string) { blocks = append(blocks, `{"type":"text","text":`+quote(s)+`}`) }
	if t.Text != "" {
		text(t.Text)
	}
	if t.Bytes > 0 {
		text(strings.Repeat("mcptest ", t.Bytes/8+1)[:t.Bytes])
	}
	if v, ok := os.LookupEnv(t.Env); ok {
		text(t.Env + "=" + v)
	} else if t.Env != "" {
		text(t.Env + " is not set")
	}
	if t.Cwd {
		dir, err := os.Getwd()
		if err != nil {
			dir = err.Error()
		}
		text(dir)
	}
	for _, k := range t.Kinds {
		blocks = append(blocks, block(k))
	}
	if t.Replies {
		for _, reply := range m.replies {
			text(reply)
		}
	}
	if blocks == nil && t.Structured == "" {
		text(arguments(m))
	}
	members := `"content":[` + strings.Join(blocks, ",") + `]`
	if t.Structured != "" {
		members += `,"structuredContent":` + t.Structured.line()
	}
	if t.IsError {
		members += `,"isError":true`
	}
	return members
}

// arguments returns the arguments of a tools/call, byte for byte, or "none".
func arguments(m message) string {
	var p struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(m.Params, &p) != nil || p.Arguments == nil {
		return "none"
	}
	return string(p.Arguments)
}

// block returns a content block of that kind, or "".
func block(kind string) string {
	b64 := base64.StdEncoding.EncodeToString
	switch kind {
	case "text":
		return `{"type":"text","text":"a text block"}`
	case "image":
		return `{"type":"image","mimeType":"image/png","data":"` + b64(PNG()) + `"}`
	case "audio":
		return `{"type":"audio","mimeType":"audio/wav","data":"` + b64(WAV()) + `"}`
	case "resource":
		return `{"type":"resource","resource":{"uri":"test://note","mimeType":"text/plain","text":"a text resource"}}`
	case "blob":
		return `{"type":"resource","resource":{"uri":"test://blob","mimeType":"application/octet-stream","blob":"` +
			b64(Blob()) + `"}}`
	case "resource_link":
		return `{"type":"resource_link","uri":"test://linked","name":"linked","mimeType":"text/plain"}`
	}
	return ""
}

// PNG returns the picture of "image" blocks: one red pixel.
func PNG() []byte {
	img := image.NewRGBA(image.Rect(0, 0, 1, 1))
	img.Set(0, 0, color.RGBA{R: 255, A: 255})
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil { // a bytes.Buffer takes everything
		panic(err)
	}
	return b.Bytes()
}

// WAV returns the sound of "audio" blocks: the 44 bytes of header of an empty one.
func WAV() []byte {
	return []byte("RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00" +
		"\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\x00\x00\x00\x00")
}

// Blob returns the content of "blob" blocks: every byte once.
func Blob() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// tools makes the generated tools; a nil g makes none.
func (g *Generate) tools() []Tool {
	if g == nil {
		return nil
	}
	tools := make([]Tool, g.Count)
	for i := range tools {
		n := i + 1
		text := fmt.Sprintf("Generated tool number %d, which gives its arguments back. ", n)
		if pad := g.DescriptionBytes - len(text); pad > 0 {
			text += strings.Repeat("x", pad)
		}
		tools[i] = Tool{
			Name:        fmt.Sprintf("%s_%05d", orElse(g.Prefix, "tool"), n),
			Description: text,
			InputSchema: nested(g.Depth),
		}
	}
	return tools
}

// nested returns an object schema with that many objects inside each other.
func nested(depth int) Raw {
	const open, shut = `{"type":"object","properties":{"inner":`, `}}`
	return Raw(strings.Repeat(open, depth) + `{"type":"object"}` + strings.Repeat(shut, depth))
}
