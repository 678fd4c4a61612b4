package verb

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/gateway/tokens"
	"github.com/mcp-launchpad/mcpl/pkg/humanize"
	"github.com/mcp-launchpad/mcpl/pkg/output"
)

// tokenAction is what serve token does with a name.
type tokenAction struct{ action, name string }

// completeServe completes the actions of serve token.
func completeServe(_ *Names, args []string) ([]string, bool) {
	switch len(args) {
	case 0:
		return []string{"token"}, false
	case 1:
		return []string{"add", "list", "revoke"}, false
	}
	return nil, false
}

// tokenUsage shows how to type serve token.
const tokenUsage = "Type: mcpl serve token add NAME   or: mcpl serve token revoke NAME   or: mcpl serve token list"

// maxTokenName bounds the name of a token, in bytes.
const maxTokenName = 64

func (a *tokenAction) parse(words []string) error {
	a.action = "list"
	if len(words) > 0 {
		a.action, words = words[0], words[1:]
	}
	wanted := 1
	switch a.action {
	case "list":
		wanted = 0
	case "add", "revoke":
	default:
		return fault.New(fault.Usage, fmt.Sprintf("unknown token command %q", a.action), tokenUsage)
	}
	if len(words) != wanted {
		return fault.New(fault.Usage, fmt.Sprintf("serve token %s takes %s, and %d are given",
			a.action, humanize.Plural(wanted, "name"), len(words)), tokenUsage)
	}
	if wanted == 1 {
		if a.name = words[0]; a.name == "" || len(a.name) > maxTokenName {
			return fault.New(fault.Usage, fmt.Sprintf("a token's name has 1 to %d bytes", maxTokenName), tokenUsage)
		}
	}
	return nil
}

// tokens returns the tokens of the gateway over HTTP.
func (s *Session) tokens() tokens.Store {
	return tokens.Store{Path: filepath.Join(s.App.Env.StateDir(), "gateway-tokens.json"), Now: s.App.Now}
}

// needToken makes the first token, if there is none, and shows it once.
func (s *Session) needToken(ctx context.Context) error {
	list, err := s.tokens().List()
	if err != nil || len(list) > 0 {
		return err
	}
	token, err := s.tokens().Add(ctx, "default")
	if err != nil {
		return err
	}
	s.Printer.Notice("clients need this token; it is not shown again")
	s.Printer.Aside(token)
	return nil
}

func (a *tokenAction) run(ctx context.Context, s *Session) error {
	store := s.tokens()
	switch a.action {
	case "add":
		token, err := store.Add(ctx, a.name)
		if err != nil {
			return err
		}
		return s.Printer.Answer(&tokenAnswer{Name: a.name, Token: token})
	case "revoke":
		revoked, err := store.Revoke(ctx, a.name)
		if err != nil {
			return err
		}
		if !revoked {
			return fault.New(fault.Usage, fmt.Sprintf("there is no token %q", a.name), "").
				Then("See the tokens with", fault.Step{Verb: "serve", Args: []string{"token", "list"}})
		}
		return s.Printer.Answer(&tokenAnswer{Name: a.name, Revoked: true})
	}
	list, err := store.List()
	if err != nil {
		return err
	}
	lines := make([]tokenLine, len(list))
	for i, t := range list {
		lines[i] = tokenLine{t.Name, t.Created}
	}
	return s.Printer.Answer(&tokenAnswer{Tokens: &lines, now: s.App.Now()})
}

// tokenAnswer is the answer of serve token.
type tokenAnswer struct {
	Name    string       `json:"name,omitempty"`
	Token   string       `json:"token,omitempty"`
	Revoked bool         `json:"revoked,omitempty"`
	Tokens  *[]tokenLine `json:"tokens,omitempty"`

	now time.Time
}

type tokenLine struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
}

// WriteText implements [output.Document].
func (a *tokenAnswer) WriteText(t *output.Text) {
	switch {
	case a.Token != "":
		t.Line(a.Token)
		t.Line()
		t.Wrap("", `It is not shown again. Clients send it as "Authorization: Bearer TOKEN", or use the path /api/mcp/TOKEN.`)
	case a.Revoked:
		t.Line("The token ", output.Bold(a.Name), " is revoked: the next request with it is refused.")
	case len(*a.Tokens) == 0:
		t.Wrap("", "There is no token. Make one with: mcpl serve token add NAME")
	default:
		rows := [][]any{dim("NAME", "CREATED")}
		for _, line := range *a.Tokens {
			rows = append(rows, []any{output.Bold(line.Name), humanize.Ago(a.now, line.Created)})
		}
		t.Table("", rows)
	}
}
