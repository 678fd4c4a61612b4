package form

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/internal/verb/render"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/schema"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// prepared answers a question by its --elicit, the last one if there are fewer. An answer that does
// not fit declines; [Audience.End] says so.
func (a *Audience) prepared(q tool.Question) tool.Reply {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := a.asked
	a.asked++
	text := strings.TrimSpace(a.opt.Answers[min(at, len(a.opt.Answers)-1)])
	switch action := tool.Action(text); {
	case action == tool.Decline || action == tool.Cancel:
		return tool.Reply{Action: action}
	case q.URL != "" && text == acceptance(q):
		return tool.Reply{Action: tool.Accept}
	case q.URL != "":
		wrong := fault.Argument{Problem: "is a JSON object",
			Expected: acceptance(q) + ", once the URL was opened: " + fault.Cut(q.URL, maxQuoted)}
		if strings.HasPrefix(text, string(tool.Accept)) {
			wrong.Problem = "does not name the host of the page, which looks like another one"
		}
		a.unfit = append(a.unfit, unfit{q, at, []fault.Argument{wrong}, acceptance(q)})
		return tool.Reply{Action: tool.Decline}
	case action == tool.Accept:
		text = "{}"
	}
	content := withDefaults(q.Schema, json.RawMessage(text))
	if faults := checkAnswer(q.Schema, content); len(faults) > 0 {
		a.unfit = append(a.unfit, unfit{q, at, faults, string(schema.Corrected(q.Schema, []byte(text)))})
		return tool.Reply{Action: tool.Decline}
	}
	return tool.Reply{Action: tool.Accept, Content: content}
}

// acceptance returns the words that accept a page: with its host, if that has letters that look like others.
func acceptance(q tool.Question) string {
	if u, err := url.Parse(q.URL); err == nil && imitable(u.Host) {
		return string(tool.Accept) + " " + u.Host
	}
	return string(tool.Accept)
}

// withDefaults adds to an object the defaults of the members that it lacks.
func withDefaults(inputSchema, object json.RawMessage) json.RawMessage {
	members, _ := schema.Form(inputSchema) // none, if the schema is not a form
	fields, err := tool.SplitObject(object)
	if err != nil {
		return object
	}
	for _, m := range members {
		given := func(f tool.Field) bool { return f.Key == m.Name }
		if m.Default != nil && !slices.ContainsFunc(fields, given) {
			fields = append(fields, tool.Field{Key: m.Name, Value: m.Default})
		}
	}
	return tool.JoinObject(fields)
}

// checkAnswer returns the faults of an answer to a form, none if its schema cannot be used: the server checks it too.
func checkAnswer(inputSchema, object json.RawMessage) []fault.Argument {
	faults, err := schema.Validate(inputSchema, object)
	if err != nil || len(faults) > 0 {
		return faults
	}
	members, _ := schema.Form(inputSchema)
	fields, _ := tool.SplitObject(object) // it is valid
	for _, f := range fields {
		for _, m := range members {
			var text string
			if m.Name != f.Key || json.Unmarshal(f.Value, &text) != nil {
				continue
			}
			if expected := wrongFormat(m.Format, text); expected != "" {
				pointer := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(m.Name) // RFC 6901, section 3
				faults = append(faults, fault.Argument{Pointer: pointer, Problem: "is not of its format", Expected: expected})
			}
		}
	}
	return faults
}

// maxQuoted is how much of a server's text a fault quotes, in bytes.
const maxQuoted = 300

// quoted returns the text of a question, on one line.
func quoted(q tool.Question) string {
	return `"` + render.OneLine(q.Message, maxQuoted) + `"`
}

// unansweredFault says which questions stayed unanswered, and how to answer them.
func (a *Audience) unansweredFault() *fault.Fault {
	var texts, answers, help []string
	for _, q := range a.declined {
		texts = append(texts, quoted(q))
		help = append(help, wanted(q))
		if q.URL != "" {
			answers = append(answers, acceptance(q))
		} else {
			answers = append(answers, string(schema.Example(q.Schema)))
		}
	}
	message := fmt.Sprintf("%s asks %s, and there is no one to answer", a.opt.Ref.Server, texts[0])
	if a.asked > 1 {
		message = fmt.Sprintf("%s asks %d questions, and there is no one to answer: %s", a.opt.Ref.Server, a.asked,
			strings.Join(slices.Compact(texts), "; "))
	}
	if more := a.asked - len(a.declined); more > 0 {
		message += fmt.Sprintf("; and %d more", more)
	}
	return fault.New(fault.ApprovalRequired, message, strings.Join(slices.Compact(help), "\n")+
		"\nAnswer it in the command: "+a.withAnswers(answers)+"\nTo decline it knowingly: --elicit decline")
}

// unfitFault says what is wrong with the answers of --elicit.
func (a *Audience) unfitFault() *fault.Fault {
	var texts []string
	var all []fault.Argument
	answers := slices.Clone(a.opt.Answers)
	for _, u := range a.unfit[:min(len(a.unfit), maxTold)] {
		texts = append(texts, quoted(u.q))
		all = append(all, u.faults...)
		for len(answers) <= u.at && len(answers) < maxTold { // the last one was used again
			answers = append(answers, answers[len(answers)-1])
		}
		answers[min(u.at, len(answers)-1)] = u.mended
	}
	last := a.unfit[min(len(a.unfit), maxTold)-1].q
	f := fault.New(fault.InvalidArguments, fmt.Sprintf("--elicit does not fit what %s asks: %s", a.opt.Ref.Server,
		strings.Join(slices.Compact(texts), "; ")), wanted(last)+"\nTry: "+a.withAnswers(answers))
	f.Arguments = all
	return f
}

// withAnswers returns the command line with these answers. Equal ones at its end become one, since
// the last answer serves for all further questions.
func (a *Audience) withAnswers(answers []string) string {
	for len(answers) > 1 && answers[len(answers)-1] == answers[len(answers)-2] {
		answers = answers[:len(answers)-1]
	}
	line := commandOf(a.opt.Ref, a.opt.Args)
	for _, answer := range answers {
		line += " --elicit " + fault.Quote(answer)
	}
	return line
}

// maxCommandArgs is the size up to which a command to type repeats the arguments, in bytes.
const maxCommandArgs = 1500

// commandOf returns the command line that makes a request, without its flags.
func commandOf(ref tool.Ref, args []byte) string {
	step := schema.Step(ref, args)
	switch {
	case len(args) > maxCommandArgs:
		step.Args = []string{"..."}
	case ref.Kind == tool.Resource:
		step.Verb, step.Args = "read", nil
	case string(args) == "{}":
		step.Args = nil
	}
	return output.Command(step)
}

// wanted says how a question is answered.
func wanted(q tool.Question) string {
	if q.URL != "" {
		return "To open, if you trust it: " + q.URL
	}
	signature := schema.LongSignature(schema.Params(q.Schema))
	return "The answer: " + cmp.Or(signature, "accept or decline, with nothing to fill in")
}
