package conn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// invoke sends tools/call, prompts/get or resources/read, as the kind of ref says, and returns the raw result.
func (s *session) invoke(ctx context.Context, ref tool.Ref, args json.RawMessage, limit time.Duration,
	opt tool.CallOptions) (res *tool.Result, err error) {
	method, params := requestFor(ref, args)
	err = s.pinned(ctx, method, ref, limit, opt, func(ctx context.Context, c *call) (err error) {
		started := time.Now()
		if res, err = s.repeated(ctx, c, method, params, opt.Task); err == nil {
			s.log("%s answered in %s, %d bytes", ref.Name, seconds(time.Since(started)), len(res.Raw))
		}
		return err
	})
	return res, err
}

// pinned makes a call of ref around work, which sends its requests, if the server still has the definition that the
// call was checked with.
func (s *session) pinned(ctx context.Context, method string, ref tool.Ref, limit time.Duration, opt tool.CallOptions,
	work func(context.Context, *call) error) error {
	var other *redefined
	f := s.inCall(ctx, method, ref, limit, opt, func(ctx context.Context, c *call) error {
		if err := s.checkPin(ctx, c, ref, opt); errors.As(err, &other) {
			return nil
		} else if err != nil {
			return err
		}
		s.learnHeader(ref, opt.HeaderSchema)
		return work(ctx, c)
	})
	switch {
	case f != nil:
		return f.On(s.server.Name, ref.Name)
	case other != nil:
		return s.redefined(other, ref)
	}
	return nil
}

// verbatim sends one request as it is and returns its result as it came.
func (s *session) verbatim(ctx context.Context, method string, params json.RawMessage, limit time.Duration,
	opt tool.CallOptions) (raw json.RawMessage, err error) {
	fields, err := tool.SplitObject(orEmpty(params))
	if err != nil {
		return nil, fault.New(fault.InvalidArguments, fmt.Sprintf("the params of %s are not a JSON object", method),
			"Give an object, or no params.").On(s.server.Name, "").Because(err)
	}
	if s.modern() && (method == methodSubscribe || method == methodUnsubscribe) {
		return s.hearOf(ctx, method, fields)
	}
	var refused *refusal
	err = s.pinned(ctx, method, s.refIn(method, fields), limit, opt, func(ctx context.Context, c *call) (err error) {
		s.router.about(fields, c)
		asTask := opt.Task && !slices.ContainsFunc(fields, func(f tool.Field) bool { return f.Key == "task" })
		if opt.Resolve || asTask && s.takesTasks() {
			var res *tool.Result
			if res, err = s.rounds(ctx, c, method, fields, asTask); err == nil {
				raw = res.Raw
			}
		} else {
			raw, err = s.handedOn(ctx, c, method, fields, opt)
		}
		if errors.As(err, &refused) {
			return nil
		}
		return err
	})
	if refused != nil {
		return nil, refused.upstream()
	}
	return raw, err
}

// handedOn sends a request and returns what its caller can make use of: input that the server requires, but a task only
// if the caller follows it.
func (s *session) handedOn(ctx context.Context, c *call, method string, params []tool.Field, opt tool.CallOptions) (
	json.RawMessage, error) {
	raw, err := s.request(ctx, c, method, params)
	var head *resultHead
	if err != nil || opt.Tasks || json.Unmarshal(raw, &head) != nil || head == nil || !s.isTask(method, head, false) {
		return raw, err
	}
	return s.follow(ctx, c, raw)
}

// refIn returns what a request calls. It is empty if that has no definition.
func (s *session) refIn(method string, params []tool.Field) tool.Ref {
	ref := tool.Ref{Server: s.server.Name}
	switch method {
	case methodCall:
	case methodPrompt:
		ref.Kind = tool.Prompt
	default:
		return tool.Ref{}
	}
	for _, p := range params {
		if p.Key == "name" {
			ref.Name = tool.Text(p.Value)
		}
	}
	return ref
}

// inCall makes a call of ref, which may be empty, around work, which sends its requests. It returns the fault of the
// error of work.
func (s *session) inCall(ctx context.Context, method string, ref tool.Ref, limit time.Duration, opt tool.CallOptions,
	work func(context.Context, *call) error) *fault.Fault {
	ph := phase{name: method, limit: limit, most: maxTime(limit, opt.MaxTime), flag: "--timeout", key: "callTimeout",
		ref: ref}
	inCall, c, err := s.begin(ctx, limit, opt, true)
	if err != nil {
		return s.explain(ctx, err, ph)
	}
	defer s.end(c)
	if !opt.ReadOnly {
		s.changes.Store(true)
	}
	s.awaitStream(inCall)
	err = work(inCall, c)
	var refused *refusal
	if c.answered = err == nil || errors.As(err, &refused); err == nil {
		return nil
	}
	return s.explain(inCall, err, ph)
}

// requestFor returns the request for what ref names.
func requestFor(ref tool.Ref, args json.RawMessage) (method string, params []tool.Field) {
	switch ref.Kind {
	case tool.Resource, tool.Template:
		return methodRead, []tool.Field{{Key: "uri", Value: tool.Quote(ref.Name)}}
	case tool.Prompt:
		method = methodPrompt
	default:
		method = methodCall
	}
	params = []tool.Field{{Key: "name", Value: tool.Quote(ref.Name)}}
	if args != nil {
		params = append(params, tool.Field{Key: "arguments", Value: args})
	}
	return method, params
}

// repeated makes a call, and makes it again if the server only wanted it otherwise: as a task, with arguments repeated
// in headers, or after the user has opened pages.
func (s *session) repeated(ctx context.Context, c *call, method string, params []tool.Field, task bool) (
	*tool.Result, error) {
	res, err := s.rounds(ctx, c, method, params, task)
	var refused *refusal
	if !errors.As(err, &refused) {
		return res, err
	}
	switch refused.details.Code {
	case mcp.METHOD_NOT_FOUND:
		// "If taskSupport is "required", ... servers MUST return a -32601 error" (MCP 2025-11-25, tasks)
		if task || method != methodCall || !s.takesTasks() {
			return nil, err
		}
		task = true
	case mcp.HEADER_MISMATCH:
		if method != methodCall || !s.learnHeaders(ctx, c) {
			return nil, err
		}
	case mcp.URL_ELICITATION_REQUIRED:
		if stay := s.openPages(ctx, c, refused); stay != nil {
			return nil, stay
		}
	default:
		return nil, err
	}
	return s.rounds(ctx, c, method, params, task)
}

// learnHeader notes the headers that the schema of a tool marks, for its calls.
func (s *session) learnHeader(ref tool.Ref, schema string) {
	if schema == "" || !s.modern() || !s.overHTTP() {
		return
	}
	definition := &mcp.Tool{Name: ref.Name, RawInputSchema: json.RawMessage(schema)}
	if mcp.ValidateParamHeaderAnnotations(definition) == nil {
		s.headerTools.Store(ref.Name, definition)
	}
}

// learnHeaders lists the tools, since some definitions want arguments repeated in headers (x-mcp-header, MCP
// 2026-07-28, HTTP only). It reports whether the call that was refused for their lack may be made again.
func (s *session) learnHeaders(ctx context.Context, c *call) bool {
	var tools collector
	if !s.modern() || s.pages(ctx, c, toolList(), &tools) != nil {
		return false
	}
	s.withHeaders(&tools)
	return true
}

// openPages asks the user to open the pages that a refused call names (MCP 2025-11-25, client/elicitation, URL
// elicitation required error). It returns why the call cannot be made again, or nil.
func (s *session) openPages(ctx context.Context, c *call, refused *refusal) error {
	var asked struct {
		Elicitations []json.RawMessage `json:"elicitations"`
	}
	if json.Unmarshal(refused.upstream().Data, &asked) != nil || len(asked.Elicitations) == 0 {
		return refused
	}
	closed := &unopened{cause: refused}
	declined := false
	for _, params := range asked.Elicitations {
		q, wrong := questionIn(s.server.Name, params)
		if wrong != "" || q.URL == "" {
			return refused
		}
		closed.pages = append(closed.pages, q)
		declined = declined || s.ask(ctx, c, q).Action != tool.Accept
	}
	if declined {
		return closed
	}
	return nil
}

// unopened is the error of a call that waits for pages that the user has not opened.
type unopened struct {
	pages []tool.Question
	cause *refusal
}

func (u *unopened) Error() string { return u.cause.Error() }

// resultIn reads a result. The result of a tool may say that the tool failed.
func resultIn(method string, raw json.RawMessage) (*tool.Result, error) {
	if method != methodCall {
		return &tool.Result{Raw: raw}, nil
	}
	var head *struct {
		IsError json.RawMessage `json:"isError"`
	}
	if err := json.Unmarshal(raw, &head); err != nil || head == nil {
		return nil, &breach{what: "its answer to tools/call is not what the protocol says", cause: err}
	}
	return &tool.Result{Raw: raw, IsError: string(head.IsError) == "true"}, nil
}
