package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/proc"
)

// Bounds of a query that runs apart.
const (
	// queryMemory bounds the memory that it takes beside that of a process which has just begun, in bytes.
	queryMemory = 512 << 20
	// querySeconds bounds its time on processors. It is a backstop: whoever asks ends it sooner.
	querySeconds = 5
	// maxValues bounds what it returns, in bytes, and maxComplaint what it says is wrong.
	maxValues    = 16 << 20
	maxComplaint = 1000
)

// answerQuery is the only argument of a process that answers one query.
const answerQuery = "answer-query"

// Apart runs jq expressions of strangers. An expression may run and take memory without end, and neither one of its
// steps nor the writing of what it returns can be interrupted. So each runs in a process of its own: this program,
// without an environment, that reads the expression and the value from stdin. On Linux the memory of that process is
// bounded, and everywhere it is killed when the context ends. The zero value is ready.
type Apart struct{ spawner proc.Spawner }

// Close ends what is left. It is called when no query runs.
func (a *Apart) Close() { a.spawner.Close() }

// apartQuery is what such a process reads.
type apartQuery struct {
	Query string          `json:"query"`
	Value json.RawMessage `json:"value"`
}

// apartAnswer is what it writes.
type apartAnswer struct {
	Values []json.RawMessage `json:"values,omitempty"`
	Error  string            `json:"error,omitempty"`
}

// Query returns what a jq expression makes of a JSON value, in order, of at most 16 MB. If ctx ends first, the error is
// the cause of that.
func (a *Apart) Query(ctx context.Context, expr string, value json.RawMessage) ([]json.RawMessage, error) {
	asked, err := json.Marshal(apartQuery{expr, value})
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// One processor at a time: the others are for the clients that ask for something else.
	p, err := a.spawner.Start(&exec.Cmd{Path: self, Args: []string{os.Args[0], answerQuery},
		Env: []string{"GOMAXPROCS=1", fmt.Sprintf("GOMEMLIMIT=%d", queryMemory/4*3)}}, proc.Options{})
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, p.Kill)
	_, _ = io.Copy(p.Stdin, bytes.NewReader(asked)) // if it does not read, it has ended, which shows below
	_ = p.Stdin.Close()                             // the same
	said, err := io.ReadAll(io.LimitReader(p.Stdout, maxValues+1))
	stop()
	p.Kill() // it has no more to say
	p.Close(proc.CloseOptions{})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var answer apartAnswer
	switch {
	case err != nil:
		return nil, err
	case len(said) > maxValues:
		return nil, fmt.Errorf("the expression returns more than %d MB", maxValues>>20)
	case json.Unmarshal(said, &answer) != nil:
		return nil, fmt.Errorf("the expression took more than %d MB of memory, or could not be run at all", queryMemory>>20)
	case answer.Error != "":
		return nil, errors.New(answer.Error)
	}
	return answer.Values, nil
}

// Answers answers a query on stdin and stdout, and returns the exit code, if args say that this process was started for
// that. Else it returns false at once.
func Answers(ctx context.Context, args []string, in io.Reader, out io.Writer) (code int, ok bool) {
	if len(args) != 1 || args[0] != answerQuery {
		return 0, false
	}
	values, err := answered(ctx, in)
	answer := apartAnswer{Values: values}
	if err != nil {
		answer.Error = fault.Cut(err.Error(), maxComplaint)
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if enc.Encode(answer) != nil {
		return 1, true
	}
	return 0, true
}

// answered runs the query that stands on a stream.
func answered(ctx context.Context, in io.Reader) ([]json.RawMessage, error) {
	if err := proc.Limit(queryMemory, querySeconds); err != nil {
		return nil, err
	}
	var asked apartQuery
	if err := json.NewDecoder(in).Decode(&asked); err != nil {
		return nil, err
	}
	query, err := Query(asked.Query)
	if err != nil {
		return nil, err
	}
	return query(ctx, asked.Value)
}
