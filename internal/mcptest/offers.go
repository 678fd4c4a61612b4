package mcptest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// codeUnknownResource is the error of a resource that is not there (revision 2025-11-25,
// server/resources, error handling).
const codeUnknownResource = -32002

// capabilities are those that the script has something for.
func (s *server) capabilities() Raw {
	text := `{"tools":{"listChanged":true}`
	if s.script.Resources != nil || s.script.Templates != nil {
		text += `,"resources":{"listChanged":true}`
	}
	if s.script.Prompts != nil {
		text += `,"prompts":{"listChanged":true}`
	}
	for _, t := range s.offered() {
		if t.Task != nil {
			text += `,"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}`
			break
		}
	}
	return Raw(text + "}")
}

// answerList answers with a list, or says that there is no such method.
func (s *server) answerList(m message) {
	var defs []string
	key := ""
	switch m.Method {
	case "tools/list":
		key = "tools"
		for _, t := range s.offered() {
			defs = append(defs, t.def())
		}
	case "resources/list":
		key = "resources"
		for _, r := range s.script.Resources {
			defs = append(defs, r.Def.or(Raw(`{"uri":`+quote(r.URI)+`,"name":`+quote(r.URI)+`}`)).line())
		}
	case "resources/templates/list":
		key = "resourceTemplates"
		for _, t := range s.script.Templates {
			defs = append(defs, t.line())
		}
	case "prompts/list":
		key = "prompts"
		for _, p := range s.script.Prompts {
			defs = append(defs, p.Def.or(Raw(`{"name":`+quote(p.Name)+`,"arguments":`+p.Arguments.or("[]").line()+`}`)).line())
		}
	}
	if key == "" || key != "tools" && defs == nil {
		s.fail(m, Error{Code: codeUnknownMethod, Message: "method not found: " + m.Method})
		return
	}
	page, ok := s.page(m, key, defs)
	if !ok {
		s.fail(m, Error{Code: codeInvalidParams, Message: "unknown cursor"})
		return
	}
	s.reply(m, page)
}

// page returns one page of a list. Cursors are "page-2" and so on.
func (s *server) page(m message, key string, defs []string) (Raw, bool) {
	var p struct {
		Cursor *string `json:"cursor"`
	}
	if m.Params != nil && json.Unmarshal(m.Params, &p) != nil {
		return "", false
	}
	n := 1
	if p.Cursor != nil {
		var err error
		if n, err = strconv.Atoi(strings.TrimPrefix(*p.Cursor, "page-")); err != nil || n < 2 {
			return "", false
		}
	}
	size := s.script.PageSize
	if size <= 0 {
		size = max(len(defs), 1)
	}
	from := min((n-1)*size, len(defs))
	to := min(from+size, len(defs))
	members := quote(key) + `:[` + strings.Join(defs[from:to], ",") + `]`
	switch {
	case s.script.Cursor == "repeat":
		members += `,"nextCursor":"page-2"`
	case s.script.Cursor == "endless" || to < len(defs):
		members += fmt.Sprintf(`,"nextCursor":"page-%d"`, n+1)
	}
	if s.script.TTLMs != nil {
		members += fmt.Sprintf(`,"ttlMs":%d,"cacheScope":"private"`, *s.script.TTLMs)
	}
	return s.complete(m, members), true
}

// behaviour is what the tool, resource or prompt that m asks for does.
func (s *server) behaviour(m message) Behaviour {
	if t := s.called(m); t != nil {
		return t.Behaviour
	}
	if r := s.read(m); r != nil {
		return r.Behaviour
	}
	if p := s.got(m); p != nil {
		return p.Behaviour
	}
	return Behaviour{}
}

// named returns the name or URI in the params of a request.
func named(m message) (name, uri string) {
	var p struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return "", ""
	}
	return p.Name, p.URI
}

// called returns the tool that a tools/call names, or nil.
func (s *server) called(m message) *Tool {
	name, _ := named(m)
	tools := s.offered()
	for i := range tools {
		if m.Method == "tools/call" && tools[i].callName() == name {
			return &tools[i]
		}
	}
	return nil
}

// read returns the resource that a resources/read names, or nil.
func (s *server) read(m message) *Resource {
	_, uri := named(m)
	for i := range s.script.Resources {
		if m.Method == "resources/read" && s.script.Resources[i].URI == uri {
			return &s.script.Resources[i]
		}
	}
	return nil
}

// got returns the prompt that a prompts/get names, or nil.
func (s *server) got(m message) *Prompt {
	name, _ := named(m)
	for i := range s.script.Prompts {
		if m.Method == "prompts/get" && s.script.Prompts[i].Name == name {
			return &s.script.Prompts[i]
		}
	}
	return nil
}

// answerCall answers a tools/call.
func (s *server) answerCall(m message) {
	switch t := s.called(m); {
	case t == nil:
		s.fail(m, Error{Code: codeInvalidParams, Message: "unknown tool"})
	case t.Task != nil && (declared(m) == modern || wantsTask(m)):
		s.startTask(m, t)
	default:
		if t.Then != nil {
			s.mu.Lock()
			s.tools = t.Then
			s.mu.Unlock()
		}
		s.reply(m, s.complete(m, t.result(m)))
	}
}

// offered returns the tools that the server has now.
func (s *server) offered() []Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools
}

// answerRead answers a resources/read.
func (s *server) answerRead(m message) {
	_, uri := named(m)
	r := s.read(m)
	switch {
	case r == nil && s.script.Templates != nil:
		r = &Resource{Text: "this is " + uri}
	case r == nil:
		s.fail(m, Error{Code: codeUnknownResource, Message: "Resource not found"})
		return
	}
	content := `"mimeType":"text/plain","text":` + quote(r.Text)
	if r.Blob {
		content = `"mimeType":"application/octet-stream","blob":"` + base64.StdEncoding.EncodeToString(Blob()) + `"`
	}
	s.reply(m, s.complete(m, `"contents":[{"uri":`+quote(uri)+`,`+content+`}]`))
}

// answerPrompt answers a prompts/get.
func (s *server) answerPrompt(m message) {
	p := s.got(m)
	if p == nil {
		s.fail(m, Error{Code: codeInvalidParams, Message: "unknown prompt"})
		return
	}
	text := orElse(p.Text, arguments(m))
	s.reply(m, s.complete(m, `"messages":[{"role":"user","content":{"type":"text","text":`+quote(text)+`}}]`))
}
