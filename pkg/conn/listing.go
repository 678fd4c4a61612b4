package conn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Bounds of one list: a server may invent pages for ever.
const (
	maxPages = 1000
	maxTools = 100_000
	maxList  = 256 << 20 // bytes
	maxNotes = 100       // about oddities
)

// listGrace bounds the other lists once the tools are listed.
const listGrace = 10 * time.Second

// offered is one of a server's lists.
type offered struct {
	what   string // a word for its entries, as in "tools"
	method string
	key    string // of the result
	kind   tool.Kind
}

// toolList is the list that every server is asked for.
func toolList() offered { return offered{"tools", string(mcp.MethodToolsList), "tools", tool.Tool} }

// promptList is the list of prompts.
func promptList() offered {
	return offered{"prompts", string(mcp.MethodPromptsList), "prompts", tool.Prompt}
}

// otherLists are the lists that the server declares beside its tools.
func (s *session) otherLists() []offered {
	var lists []offered
	if s.offers.Resources != nil {
		lists = append(lists, offered{"resources", string(mcp.MethodResourcesList), "resources", tool.Resource},
			offered{"resource templates", string(mcp.MethodResourcesTemplatesList), "resourceTemplates", tool.Template})
	}
	if s.offers.Prompts != nil {
		lists = append(lists, promptList())
	}
	return lists
}

// list asks for all that the server offers, at once. Only the tools have to be listed.
func (s *session) list(ctx context.Context, limit time.Duration, opt tool.CallOptions) (tool.Listing, error) {
	started := time.Now()
	ctx, c, err := s.begin(ctx, limit, opt, false)
	if err != nil {
		return tool.Listing{}, err // errRetired: a listing waits for no turn
	}
	defer s.end(c)
	rest, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	lists := s.otherLists()
	s.offer.begin(tool.Tool)
	s.offer.begin(tool.Prompt)
	found := make([]collector, len(lists))
	failed := make([]error, len(lists))
	var wg sync.WaitGroup
	for i, l := range lists {
		wg.Go(func() { failed[i] = s.pages(rest, c, l, &found[i]) })
	}
	tools := collector{}
	err, refused := s.pages(ctx, c, toolList(), &tools), (*refusal)(nil)
	if err != nil && (s.offers.Tools != nil || !errors.As(err, &refused)) { // a server without tools may refuse tools/list
		giveUp(nil)
		wg.Wait()
		ph := phase{name: toolList().method, limit: limit, most: maxTime(limit, opt.MaxTime), key: "callTimeout"}
		return tool.Listing{}, s.explain(ctx, err, ph)
	}
	grace := time.AfterFunc(listGrace, func() { giveUp(errTimeout) })
	wg.Wait()
	grace.Stop()

	l := tool.Listing{Known: tool.Known{Protocol: s.version, Transport: string(s.via), Asks: s.router.turns.Load()},
		ServerName: s.info.Name, ServerVersion: s.info.Version, Instructions: s.instructions, Connect: s.connected,
		TTL: tools.ttl}
	if p, ok := s.peer.(*process); ok {
		l.Stderr = p.stderr()
	}
	l.Tools = s.withHeaders(&tools)
	s.offer.listed(tool.Tool, l.Tools)
	l.Notes = tools.notes
	for i, list := range lists {
		if failed[i] != nil {
			note := fmt.Sprintf("its %s could not be listed: %v", list.what, failed[i])
			l.Notes = append(l.Notes, s.server.Mask(note))
		}
		l.Notes = append(l.Notes, found[i].notes...)
		if list.kind == tool.Prompt {
			l.Prompts = found[i].defs
			if failed[i] == nil {
				s.offer.listed(tool.Prompt, l.Prompts)
			}
		} else {
			l.Resources = append(l.Resources, found[i].defs...)
		}
	}
	l.Lists = time.Since(started)
	s.log("listed %d tools, %d resources, %d prompts", len(l.Tools), len(l.Resources), len(l.Prompts))
	return l, nil
}

// pages follows all pages of a list. A server that does not know the method has nothing of the kind.
func (s *session) pages(ctx context.Context, c *call, l offered, col *collector) error {
	cursor := ""
	for page := 1; ; page++ {
		next, err := s.page(ctx, c, l, cursor, col)
		var refused *refusal
		switch {
		case page == 1 && errors.As(err, &refused) && refused.details.Code == mcp.METHOD_NOT_FOUND:
			return nil
		case errors.Is(context.Cause(ctx), errTimeout) && err != nil:
			return fmt.Errorf("%w: %w", errTimeout, err)
		case err != nil:
			return err
		case next == "" || col.stop(l, next, page):
			return nil
		}
		cursor = next
	}
}

// page asks for one page and collects the definitions from the raw result.
func (s *session) page(ctx context.Context, c *call, l offered, cursor string, col *collector) (
	next string, err error) {
	var params []tool.Field
	if cursor != "" {
		params = append(params, tool.Field{Key: "cursor", Value: tool.Quote(cursor)})
	}
	raw, err := s.request(ctx, c, l.method, params)
	if err != nil {
		return "", err
	}
	var result map[string]json.RawMessage
	var defs []json.RawMessage
	err = json.Unmarshal(raw, &result)
	for key, into := range map[string]any{l.key: &defs, "nextCursor": &next} {
		if part := result[key]; part != nil && err == nil {
			err = json.Unmarshal(part, into)
		}
	}
	if err != nil {
		return "", &breach{what: "its answer to " + l.method + " is not what the protocol says", cause: err}
	}
	if ttl := ttlOf(result["ttlMs"]); ttl > 0 {
		col.ttl = ttl
	}
	for _, def := range defs {
		col.add(l, def)
	}
	return next, nil
}

// ttlOf reads a ttlMs. It ignores an invalid one, and returns at most one year.
func ttlOf(raw json.RawMessage) time.Duration {
	const year = 365 * 24 * time.Hour
	var ms float64
	if json.Unmarshal(raw, &ms) != nil || ms <= 0 {
		return 0
	}
	return time.Duration(min(ms, float64(year/time.Millisecond)) * float64(time.Millisecond))
}

// withHeaders returns the tools that may be used. Over HTTP from 2026-07-28 on some want arguments repeated in headers
// (x-mcp-header). withHeaders remembers those, and omits tools whose headers are invalid: "Clients using Streamable
// HTTP MUST exclude it from tools/list" (SEP-2243).
func (s *session) withHeaders(col *collector) []tool.Def {
	if !s.modern() || !s.overHTTP() {
		return col.defs
	}
	var usable []tool.Def
	for _, def := range col.defs {
		if !bytes.Contains(def.InputSchema, []byte(`"x-mcp-header"`)) {
			usable = append(usable, def)
			continue
		}
		definition := &mcp.Tool{Name: def.Name, RawInputSchema: def.InputSchema}
		if err := mcp.ValidateParamHeaderAnnotations(definition); err != nil {
			s.headerTools.Delete(def.Name)
			col.note("the tool %q is left out, since its headers cannot be sent: %v", def.Name, err)
			continue
		}
		s.headerTools.Store(def.Name, definition)
		usable = append(usable, def)
	}
	return usable
}

// collector collects definitions over pages and notes what is odd about them.
type collector struct {
	defs    []tool.Def
	count   int // of all definitions, also of those left out
	size    int // of them, in bytes
	ttl     time.Duration
	notes   []string
	names   map[string]bool
	cursors map[string]bool
}

func (c *collector) add(l offered, raw json.RawMessage) {
	c.count++
	c.size += len(raw)
	def, err := tool.Parse(l.kind, raw)
	if err != nil {
		c.note("number %d of its %s was left out: %v", c.count, l.what, err)
		return
	}
	if most := longestName(def.Kind); len(def.Name) > most {
		c.note("a %s was left out: its name has %d bytes, more than %d", def.Kind, len(def.Name), most)
		return
	}
	if c.names[def.Name] {
		c.note("the %s %q is defined more than once; the first definition counts", l.kind, def.Name)
		return
	}
	if c.names == nil {
		c.names = make(map[string]bool)
	}
	c.names[def.Name] = true
	c.defs = append(c.defs, def)
}

// longestName returns how long a name may be, in bytes. Every hit shows it whole. The protocol has 128 characters for
// tools (MCP 2025-11-25, server/tools, "Tool Names"); the names of resources are URIs.
func longestName(kind tool.Kind) int {
	if kind == tool.Resource || kind == tool.Template {
		return 4096
	}
	return 256
}

// note adds a note, up to maxNotes.
func (c *collector) note(format string, args ...any) {
	if len(c.notes) < maxNotes {
		c.notes = append(c.notes, fmt.Sprintf(format, args...))
	}
}

// stop reports whether page is the last to ask for although the server offers next.
func (c *collector) stop(l offered, next string, pages int) bool {
	switch {
	case c.cursors[next]:
		c.notes = append(c.notes, fmt.Sprintf(
			"page %d of its %s points back to an earlier one; what came until then is kept", pages, l.what))
	case pages >= maxPages || len(c.defs) >= maxTools || c.size >= maxList:
		c.notes = append(c.notes, fmt.Sprintf("its %s have no end; the first %d are kept", l.what, len(c.defs)))
	default:
		if c.cursors == nil {
			c.cursors = make(map[string]bool)
		}
		c.cursors[next] = true
		return false
	}
	return true
}
