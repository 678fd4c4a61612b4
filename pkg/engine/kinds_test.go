package engine

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-launchpad/mcpl/internal/fixture"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/search"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// library is a world with a server that has something of each kind, and one that has tools alone.
func library(t *testing.T) *world {
	w := newWorld(t, "books", "plain")
	l := fixture.Offers(t, fixture.Listing(t, "lend_book", "find_book"),
		`resource {"uri":"book://catalogue","name":"catalogue","description":"All books there are","mimeType":"text/csv"}`,
		`resource {"uri":"book://rules","name":"rules"}`,
		`resource {"uriTemplate":"book://{isbn}","name":"book","description":"One book"}`,
		`prompt {"name":"recommend","description":"Recommend a book","arguments":[{"name":"taste","required":true},{"name":"pages"}]}`)
	l.Known = tool.Known{Protocol: "2025-06-18", Transport: "stdio"}
	w.servers["books"] = l
	return w
}

func TestSearchKinds(t *testing.T) {
	t.Parallel()
	w := library(t)
	w.search("books plain", "books/find_book", "books/lend_book", "plain/plain_tool")
	for name, test := range map[string]struct {
		q       search.Query
		servers []string
		kinds   []tool.Kind
		want    []string
	}{
		"tools":          {search.Query{Text: "book"}, nil, nil, []string{"tool find_book", "tool lend_book"}},
		"resources":      {search.Query{Text: "book", Method: search.Exact}, nil, []tool.Kind{tool.Resource}, []string{"resource book://catalogue", "resource book://rules", "template book://{isbn}"}},
		"prompts":        {search.Query{Text: "recommend something"}, nil, []tool.Kind{tool.Prompt}, []string{"prompt recommend"}},
		"all":            {search.Query{Text: "recommend book", Limit: 2}, nil, []tool.Kind{tool.Tool, tool.Resource, tool.Prompt}, []string{"prompt recommend", ""}},
		"of one server":  {search.Query{Text: "book", Method: search.Exact}, []string{"plain"}, []tool.Kind{tool.Tool, tool.Resource, tool.Prompt}, nil},
		"by its pattern": {search.Query{Text: "^books/book://r", Method: search.Regex}, nil, []tool.Kind{tool.Resource}, []string{"resource book://rules"}},
	} {
		var got []string
		asked := w.with(func(e *Engine) error {
			request := SearchRequest{Query: test.q, Servers: test.servers, Kinds: test.kinds, Definitions: true}
			found, err := e.Search(t.Context(), request)
			if err != nil {
				return err
			}
			for i, f := range found.Found {
				if i > 0 && f.Score > found.Found[i-1].Score {
					t.Errorf("%s: a better hit comes later", name)
				}
				got = append(got, f.Kind.String()+" "+f.Name)
				if def := f.Definition; def.Name != f.Name || def.Kind != f.Kind {
					t.Errorf("%s: definition %+v", name, def)
				}
			}
			return err
		})
		if len(test.want) == 2 && test.want[1] == "" && len(got) == 2 { // which is second does not matter
			got[1] = ""
		} else {
			slices.Sort(got)
		}
		if diff := cmp.Diff(test.want, got); diff != "" || len(asked) > 0 {
			t.Errorf("%s (asked %v): -want +got\n%s", name, asked, diff)
		}
	}
}

// TestKindsOff: a server that is off is off with all it offers; tools are switched one by one, and
// nothing else is.
func TestKindsOff(t *testing.T) {
	t.Parallel()
	w := library(t)
	w.search("books plain", "books/find_book", "books/lend_book", "plain/plain_tool")
	names := func() (got []string) {
		w.with(func(e *Engine) error {
			offers, err := e.Offers(t.Context(), nil, false, tool.Resource, tool.Template, tool.Prompt)
			if err != nil {
				return err
			}
			recs := offers.Records
			for _, r := range recs {
				got = append(got, r.Name)
			}
			found, findErr := e.Search(t.Context(), SearchRequest{Query: search.Query{Text: ".", Method: search.Regex},
				Kinds: []tool.Kind{tool.Resource, tool.Prompt}})
			if len(found.Found) != len(recs) {
				t.Errorf("%d are listed, %d are found", len(recs), len(found.Found))
			}
			return errors.Join(err, findErr)
		})
		return got
	}
	all := []string{"book://catalogue", "book://rules", "book://{isbn}", "recommend"}
	if diff := cmp.Diff(all, names()); diff != "" {
		t.Errorf("all on: -want +got\n%s", diff)
	}
	w.switches.Disabled = []string{"books/recommend", "books/lend_book", "books/book://rules"}
	if diff := cmp.Diff(all, names()); diff != "" {
		t.Errorf("tools of these names off: -want +got\n%s", diff)
	}
	w.switches.Disabled, w.switches.Enabled = nil, []string{"books/find_book"}
	if diff := cmp.Diff(all, names()); diff != "" {
		t.Errorf("only one tool on: -want +got\n%s", diff)
	}
	w.switches.Disabled, w.switches.Enabled = []string{"books"}, nil
	if got := names(); got != nil {
		t.Errorf("server off: %v", got)
	}
	asked := w.with(func(e *Engine) error {
		for _, kind := range []tool.Kind{tool.Resource, tool.Prompt} {
			_, _, err := e.Inspect(t.Context(), tool.Ref{Server: "books", Name: "recommend", Kind: kind})
			if !fault.Is(err, fault.ServerNotFound) {
				t.Errorf("inspect of a %s: %v", kind, err)
			}
		}
		if _, err := e.Offers(t.Context(), []string{"books"}, true, tool.Prompt); !fault.Is(err, fault.ServerNotFound) {
			t.Errorf("offers: %v", err)
		}
		return nil
	})
	if len(asked) > 0 {
		t.Errorf("asked %v", asked)
	}
}

func TestInspectKinds(t *testing.T) {
	t.Parallel()
	w := library(t)
	w.with(func(e *Engine) error {
		for ref, want := range map[tool.Ref]string{
			{Server: "books", Name: "recommend", Kind: tool.Prompt}:          `"arguments":[{"name":"taste","required":true},{"name":"pages"}]`,
			{Server: "books", Name: "book://catalogue", Kind: tool.Resource}: `"mimeType":"text/csv"`,
			{Server: "books", Name: "book://{isbn}", Kind: tool.Resource}:    `"uriTemplate":"book://{isbn}"`,
		} {
			def, _, err := e.Inspect(t.Context(), ref)
			if err != nil || !strings.Contains(string(def.Raw()), want) {
				t.Errorf("%s: %s, %v", ref, def.Raw(), err)
			}
		}
		return nil
	})
	for ref, want := range map[tool.Ref][]string{
		{Server: "books", Name: "recomend", Kind: tool.Prompt}:         {"recommend", "mcpl prompts books", "has no prompt"},
		{Server: "books", Name: "catalogue", Kind: tool.Resource}:      {"book://catalogue", "mcpl resources books --refresh", "has no resource"},
		{Server: "books", Name: "find_book", Kind: tool.Prompt}:        {"", "It is a tool. Use it with: mcpl call books find_book", "has no prompt"},
		{Server: "plain", Name: "book://catalogue", Kind: tool.Prompt}: {"", "mcpl prompts plain", "has no prompt"},
		{Server: "books", Name: "recommend"}:                           {"", "It is a prompt. Use it with: mcpl prompt books recommend", "has no tool"},
		{Server: "books", Name: "book://{isbn}"}:                       {"", "mcpl list books", "has no tool"},
		{Server: "books", Name: "book://rules", Kind: tool.Prompt}:     {"", "mcpl read books book://rules", "has no prompt"},
	} {
		w.with(func(e *Engine) error {
			_, _, err := e.Inspect(t.Context(), ref)
			f := output.InWords(fault.From(err))
			if f == nil || f.Type != fault.ToolNotFound ||
				!strings.Contains(f.Help, want[1]) || !strings.Contains(f.Message, want[2]) ||
				strings.Join(f.Suggestions, " ") != want[0] || f.Tool != ref.Tool() {
				t.Errorf("%s %s: %+v", ref.Kind, ref, f)
			}
			return nil
		})
	}
}

// TestPlanKinds: prompts are checked as tools are; resources are read by any URI of a server that
// has some.
func TestPlanKinds(t *testing.T) {
	t.Parallel()
	w := library(t)
	for name, test := range map[string]struct {
		ref   tool.Ref
		args  string
		fault fault.Type
		says  string // by the fault
		sent  string
	}{
		"prompt":              {ref: tool.Ref{Name: "recommend", Kind: tool.Prompt}, args: `{"taste":"odd"}`, sent: `{"kind":"prompt","name":"recommend","args":"{\"taste\":\"odd\"}"}`},
		"prompt without":      {ref: tool.Ref{Name: "recommend", Kind: tool.Prompt}, args: `{}`, fault: fault.InvalidArguments, says: "Parameters: taste: string"},
		"prompt with more":    {ref: tool.Ref{Name: "recommend", Kind: tool.Prompt}, args: `{"taste":"odd","x":"1"}`, fault: fault.InvalidArguments, says: "taste: string, pages?: string"},
		"prompt with numbers": {ref: tool.Ref{Name: "recommend", Kind: tool.Prompt}, args: `{"taste":1}`, fault: fault.InvalidArguments, says: "taste"},
		"no prompt":           {ref: tool.Ref{Name: "find_book", Kind: tool.Prompt}, fault: fault.ToolNotFound, says: "no prompt"},
		"resource":            {ref: tool.Ref{Name: "book://rules", Kind: tool.Resource}, sent: `{"kind":"resource","name":"book://rules","args":""}`},
		"one of a template":   {ref: tool.Ref{Name: "book://123", Kind: tool.Resource}, sent: `{"kind":"resource","name":"book://123","args":""}`},
		"one that is linked":  {ref: tool.Ref{Name: "x-y+z.1:7", Kind: tool.Resource}, sent: `{"kind":"resource","name":"x-y+z.1:7","args":""}`},
		"a template":          {ref: tool.Ref{Name: "book://{isbn}", Kind: tool.Resource}, fault: fault.Usage, says: "Fill in"},
		"no URI":              {ref: tool.Ref{Name: "rules", Kind: tool.Resource}, fault: fault.ToolNotFound, says: "book://rules"},
		"no scheme":           {ref: tool.Ref{Name: "://rules", Kind: tool.Resource}, fault: fault.ToolNotFound},
		"no letter":           {ref: tool.Ref{Name: "1a:rules", Kind: tool.Resource}, fault: fault.ToolNotFound},
		"no resources at all": {ref: tool.Ref{Server: "plain", Name: "book://rules", Kind: tool.Resource}, fault: fault.ToolNotFound, says: "mcpl resources plain"},
	} {
		if test.ref.Server == "" {
			test.ref.Server = "books"
		}
		w.called = tool.CallOptions{}
		w.with(func(e *Engine) error {
			build := func([]byte) (json.RawMessage, error) { return json.RawMessage(test.args), nil }
			plan, err := e.Plan(t.Context(), test.ref, build, true)
			if test.fault != "" {
				f := output.InWords(fault.From(err))
				if f == nil || f.Type != test.fault || !strings.Contains(f.Message+f.Help, test.says) ||
					f.Tool != "" || f.Server != test.ref.Server {
					t.Errorf("%s: %+v", name, f)
				}
				return nil
			}
			if err != nil {
				return err
			}
			res, err := e.Call(t.Context(), plan, tool.CallOptions{Timeout: time.Minute})
			if err == nil && string(res.Raw) != test.sent {
				t.Errorf("%s: sent %s", name, res.Raw)
			}
			want := tool.CallOptions{Timeout: time.Minute, Repeatable: true, ReadOnly: true,
				Known: tool.Known{Protocol: "2025-06-18", Transport: "stdio"}}
			if !reflect.DeepEqual(w.called, want) {
				t.Errorf("%s: %+v", name, w.called)
			}
			return err
		})
	}
	w.with(func(e *Engine) error {
		broken := errors.New("no such file")
		_, err := e.Plan(t.Context(), tool.Ref{Server: "books", Name: "recommend", Kind: tool.Prompt}, func([]byte) (json.RawMessage, error) {
			return nil, fault.New(fault.InvalidArguments, "cannot be built", "").Because(broken)
		}, true)
		if f := output.InWords(fault.From(err)); !errors.Is(err, broken) || f.Server != "books" || f.Tool != "" {
			t.Errorf("arguments that cannot be built: %+v", f)
		}
		return nil
	})
}

// TestTask: what has to be called as a task is.
func TestTask(t *testing.T) {
	t.Parallel()
	for execution, want := range map[string]bool{
		`{"taskSupport":"required"}`: true, `{"taskSupport":"optional"}`: false, `{"taskSupport":7}`: false, `"required"`: false, `null`: false,
	} {
		w := newWorld(t, "s")
		w.servers["s"] = fixture.Tools(t, `{"name":"s_tool","execution":`+execution+`}`)
		w.with(func(e *Engine) error {
			plan, err := e.Plan(t.Context(), tool.Ref{Server: "s", Name: "s_tool"}, noArguments, true)
			if err == nil {
				_, err = e.Call(t.Context(), plan, tool.CallOptions{})
			}
			return err
		})
		if w.called.Task != want {
			t.Errorf("%s: %+v", execution, w.called)
		}
	}
}

// TestFailedKinds: a server of which only prompts are known is stale when it fails, not unknown.
func TestFailedKinds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a", "b")
	w.servers["a"] = fixture.Offers(t, tool.Listing{}, `prompt {"name":"p"}`)
	w.search("a b", "b/b_tool")
	w.down["a"] = fault.New(fault.ServerConnection, "a is down", "wait").On("a", "")
	w.down["b"] = w.down["a"]
	w.servers["b"] = tool.Listing{}
	w.configure("a", `b: {"command": "other"}`, "c")
	w.down["c"] = w.down["a"]
	w.with(func(e *Engine) error {
		offers, err := e.Offers(t.Context(), []string{"a"}, true, tool.Prompt)
		if err != nil || len(offers.Records) != 1 {
			t.Errorf("prompts of a: %+v, %v", offers, err)
		}
		offers, err = e.Offers(t.Context(), nil, false, tool.Prompt)
		if err != nil || len(offers.Unsearched) != 1 || offers.Unsearched[0].Server != "c" {
			t.Errorf("failed: %+v, %v", offers, err)
		}
		if _, err := e.Offers(t.Context(), []string{"c"}, false, tool.Prompt); !fault.Is(err, fault.ServerConnection) {
			t.Errorf("prompts of c: %v", err)
		}
		if _, err := e.ListServer(t.Context(), "a", false); err != nil {
			t.Errorf("tools of a: %v", err)
		}
		ref := tool.Ref{Server: "a", Name: "q", Kind: tool.Prompt}
		if _, _, err := e.Inspect(t.Context(), ref); !fault.Is(err, fault.ToolNotFound) {
			t.Errorf("another prompt of a: %v", err)
		}
		ref.Server = "c"
		if _, _, err := e.Inspect(t.Context(), ref); !fault.Is(err, fault.ServerConnection) {
			t.Errorf("a prompt of c: %v", err)
		}
		_, err = e.Offers(t.Context(), []string{"none"}, false, tool.Prompt)
		if !fault.Is(err, fault.ServerNotFound) {
			t.Errorf("prompts of none: %v", err)
		}
		return nil
	})
}
