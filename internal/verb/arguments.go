package verb

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/schema"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// ArgSource has the flags that say where arguments come from.
type ArgSource struct {
	Stdin    bool
	ArgsFile string
}

// flags defines the flags, bound to v.
func (v *ArgSource) flags(fs *pflag.FlagSet) {
	fs.BoolVar(&v.Stdin, "stdin", false, "read the arguments as JSON from stdin (or -)")
	fs.StringVar(&v.ArgsFile, "args-file", "", "read the arguments as JSON from `FILE`")
}

// plan plans a request with the arguments in rest. It leaves arguments from stdin and files to main: a pipe
// can be read only once, and the early path may have to give up after it.
func (v *ArgSource) plan(ctx context.Context, s *Session, ref tool.Ref, rest []string, validate bool) (*engine.Plan, error) {
	fromFile := func(arg string) bool { return arg == "-" || strings.Contains(arg, "=@") }
	if v.Stdin || v.ArgsFile != "" || slices.ContainsFunc(rest, fromFile) {
		if err := s.live(); err != nil {
			return nil, err
		}
	}
	build := func(inputSchema []byte) (json.RawMessage, error) { return v.arguments(s, inputSchema, rest) }
	return s.Engine.Plan(ctx, ref, build, validate)
}

// arguments builds the arguments object from the words behind the tool or prompt on the command line.
func (v *ArgSource) arguments(s *Session, inputSchema []byte, rest []string) (json.RawMessage, error) {
	object := "" // the word that is, or stands for, the JSON object
	if len(rest) > 0 && (rest[0] == "-" || looksLikeJSON(rest[0])) {
		if v.Stdin || v.ArgsFile != "" {
			return nil, severalSources()
		}
		object, rest = rest[0], rest[1:]
	}
	base := []byte(object)
	var err error
	switch {
	case v.Stdin && v.ArgsFile != "":
		return nil, severalSources()
	case v.Stdin || object == "-":
		if base, err = io.ReadAll(s.App.Stdin); err != nil {
			return nil, fault.New(fault.Usage, "stdin cannot be read",
				"Pipe a JSON object into mcpl, or give the arguments on the command line.").Because(err)
		}
	case v.ArgsFile != "":
		if base, err = os.ReadFile(v.ArgsFile); err != nil {
			return nil, fault.New(fault.Usage, "the arguments in "+v.ArgsFile+" cannot be read",
				"Check the path given to --args-file.").Because(err)
		}
	}
	if base = bytes.TrimSpace(bytes.TrimPrefix(base, []byte("\ufeff"))); len(base) == 0 {
		base = nil
	}
	return schema.Arguments(inputSchema, base, rest, os.ReadFile)
}

// severalSources is the fault of arguments from more than one place.
func severalSources() error {
	return fault.New(fault.Usage, "the arguments come from more than one place", "Give the JSON object once: "+
		"on the command line, with --stdin (or -), or with --args-file. key=value pairs may follow it.")
}

// looksLikeJSON tells a JSON argument from a key=value pair, which begins with its key.
func looksLikeJSON(arg string) bool {
	arg = strings.TrimSpace(arg)
	return arg == "" || strings.ContainsRune(`{["`, rune(arg[0])) || !strings.Contains(arg, "=")
}
