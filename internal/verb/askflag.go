package verb

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/schema"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// fromFlags answers a question by its --elicit, the last one where there are fewer. An answer that
// does not fit declines, and is told at the end.
func (a *audience) fromFlags(q tool.Question) tool.Reply {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := a.asked
	a.asked++
	text := strings.TrimSpace(a.flags.Elicit[min(at, len(a.flags.Elicit)-1)])
	switch action := tool.Action(text); {
	case action == tool.Decline || action == tool.Cancel:
		return tool.Reply{Action: action}
	case q.URL != "" && action == tool.Accept:
		return tool.Reply{Action: tool.Accept}
	case q.URL != "":
		a.unfit = append(a.unfit, unfit{q: q, at: at, mended: string(tool.Accept),
			faults: []fault.Argument{{Problem: "is a JSON object", Expected: "accept, once the URL was opened: " + cutText(q.URL, maxQuoted)}}})
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

// withDefaults adds to an object the defaults of the members that it lacks.
func withDefaults(inputSchema, object json.RawMessage) json.RawMessage {
	members, _ := schema.Form(inputSchema) // of a schema that is no form none are known
	fields, err := tool.SplitObject(object)
	if err != nil {
		return object
	}
	for _, m := range members {
		has := slices.ContainsFunc(fields, func(f tool.Field) bool { return f.Key == m.Name })
		if m.Default != nil && !has {
			fields = append(fields, tool.Field{Key: m.Name, Value: m.Default})
		}
	}
	return tool.JoinObject(fields)
}

// checkAnswer returns what is wrong with the answer to a form. A schema that cannot be used leaves it
// unchecked: the server checks it too.
func checkAnswer(inputSchema, object json.RawMessage) []fault.Argument {
	faults, err := schema.Validate(inputSchema, object)
	if err != nil || len(faults) > 0 {
		return faults
	}
	members, _ := schema.Form(inputSchema)
	fields, _ := tool.SplitObject(object) // it was validated
	for _, f := range fields {
		for _, m := range members {
			var text string
			if m.Name != f.Key || json.Unmarshal(f.Value, &text) != nil {
				continue
			}
			if expected := wrongFormat(m.Format, text); expected != "" {
				faults = append(faults, fault.Argument{Pointer: "/" + pointerEscape.Replace(m.Name), Problem: "is not of its format", Expected: expected})
			}
		}
	}
	return faults
}

// maxQuoted is how much of a server's text an error quotes, in bytes.
const maxQuoted = 300

// quoted is what a question asks, on one line.
func quoted(q tool.Question) string {
	return `"` + oneLine(q.Message, maxQuoted) + `"`
}

// unansweredFault tells which questions nobody has answered, and how to.
func (a *audience) unansweredFault() *fault.Fault {
	var texts, answers, help []string
	for _, q := range a.declined {
		texts = append(texts, quoted(q))
		if q.URL != "" {
			answers = append(answers, string(tool.Accept))
			help = append(help, "To open, if you trust it: "+q.URL)
			continue
		}
		answers = append(answers, string(schema.Example(q.Schema, false)))
		help = append(help, "The answer: "+orNothing(schema.LongSignature(q.Schema)))
	}
	message := fmt.Sprintf("%s asks %s, and nobody is there to answer", a.plan.Ref.Server, texts[0])
	if a.asked > 1 {
		message = fmt.Sprintf("%s asks %d questions, and nobody is there to answer: %s", a.plan.Ref.Server, a.asked, strings.Join(slices.Compact(texts), "; "))
	}
	if more := a.asked - len(a.declined); more > 0 {
		message += fmt.Sprintf("; and %d more", more)
	}
	f := fault.New(fault.ApprovalRequired, message, strings.Join(slices.Compact(help), "\n")+
		"\nAnswer it in the command: "+a.withAnswers(answers)+"\nTo decline it knowingly: --elicit decline")
	return f.Trace(a.plan.Ref.Server + " was told that it is declined")
}

// unfitFault tells what is wrong with the answers of --elicit.
func (a *audience) unfitFault() *fault.Fault {
	var texts []string
	var all []fault.Argument
	answers := slices.Clone(a.flags.Elicit)
	for _, u := range a.unfit[:min(len(a.unfit), maxTold)] {
		texts = append(texts, quoted(u.q))
		all = append(all, u.faults...)
		for len(answers) <= u.at && len(answers) < maxTold { // the last one was used again
			answers = append(answers, answers[len(answers)-1])
		}
		answers[min(u.at, len(answers)-1)] = u.mended
	}
	last := a.unfit[min(len(a.unfit), maxTold)-1].q
	help := "The answer: " + orNothing(schema.LongSignature(last.Schema)) + "\nTry: "
	if last.URL != "" {
		help = "To open, if you trust it: " + last.URL + "\nTry: "
	}
	f := fault.New(fault.InvalidArguments, fmt.Sprintf("--elicit does not fit what %s asks: %s", a.plan.Ref.Server, strings.Join(slices.Compact(texts), "; ")),
		help+a.withAnswers(answers))
	f.Arguments = all
	return f.Trace(a.plan.Ref.Server + " was told that it is declined")
}

// withAnswers is the command line with these answers. Equal ones at the end are one: the last answer
// serves for all further questions.
func (a *audience) withAnswers(answers []string) string {
	for len(answers) > 1 && answers[len(answers)-1] == answers[len(answers)-2] {
		answers = answers[:len(answers)-1]
	}
	line := commandOf(a.plan)
	for _, answer := range answers {
		line += " --elicit " + fault.Quote(answer)
	}
	return line
}

// maxCommandArgs is up to which size arguments are repeated in a command to type.
const maxCommandArgs = 1500

// commandOf is the command line that makes a request, without its flags.
func commandOf(plan *engine.Plan) string {
	switch {
	case len(plan.Args) > maxCommandArgs:
		return output.Command(schema.Step(plan.Ref, []byte("...")))
	case plan.Ref.Kind == tool.Resource:
		return useOf(plan.Ref)
	case string(plan.Args) == "{}":
		return strings.TrimSuffix(output.Command(schema.Step(plan.Ref, plan.Args)), " '{}'")
	}
	return output.Command(schema.Step(plan.Ref, plan.Args))
}

// orNothing is the signature of a form, also of an empty one.
func orNothing(signature string) string {
	if signature == "" {
		return "yes or no, with no more to say"
	}
	return signature
}
