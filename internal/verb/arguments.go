package verb

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/schema"
)

// ArgSource are the flags that say where arguments come from.
type ArgSource struct {
	Stdin    bool
	ArgsFile string
}

func (v *ArgSource) flags(fs *pflag.FlagSet) {
	fs.BoolVar(&v.Stdin, "stdin", false, "read the arguments as JSON from stdin (or -)")
	fs.StringVar(&v.ArgsFile, "args-file", "", "read the arguments as JSON from `FILE`")
}

// readable leaves arguments that come from stdin or files to main: pipes can be read only once, and not
// by the early path.
func (v *ArgSource) readable(s *Session, rest []string) error {
	if v.Stdin || v.ArgsFile != "" || slices.ContainsFunc(rest, func(arg string) bool {
		return arg == "-" || strings.Contains(arg, "=@")
	}) {
		return s.live()
	}
	return nil
}

// arguments builds the arguments object from what follows the tool or prompt on the command line.
func (v *ArgSource) arguments(s *Session, inputSchema []byte, rest []string) (json.RawMessage, error) {
	var base []byte
	sources := 0
	if len(rest) > 0 && (rest[0] == "-" || looksLikeJSON(rest[0])) {
		sources++
		if rest[0] != "-" {
			base = []byte(rest[0])
		}
	}
	fromStdin := v.Stdin || (len(rest) > 0 && rest[0] == "-")
	if v.Stdin {
		sources++
	}
	if v.ArgsFile != "" {
		sources++
	}
	if sources > 1 {
		return nil, fault.New(fault.Usage, "the arguments come from more than one place",
			"Give the JSON object once: on the command line, with --stdin (or -), or with --args-file. key=value pairs may follow it.")
	}
	if sources == 1 && !v.Stdin && v.ArgsFile == "" {
		rest = rest[1:]
	}
	var err error
	switch {
	case fromStdin:
		if base, err = io.ReadAll(s.App.Stdin); err != nil {
			return nil, fault.New(fault.Usage, "stdin cannot be read", "Pipe a JSON object into mcpl, or give the arguments on the command line.").Because(err)
		}
	case v.ArgsFile != "":
		if base, err = os.ReadFile(v.ArgsFile); err != nil {
			return nil, fault.New(fault.Usage, "the arguments in "+v.ArgsFile+" cannot be read", "Check the path given to --args-file.").Because(err)
		}
	}
	base = bytes.TrimSpace(bytes.TrimPrefix(base, []byte("\ufeff")))
	if len(base) == 0 {
		base = nil
	}
	return schema.Arguments(inputSchema, base, rest, os.ReadFile)
}

// looksLikeJSON tells a JSON argument from a key=value pair: pairs begin with a key.
func looksLikeJSON(arg string) bool {
	arg = strings.TrimSpace(arg)
	return arg == "" || strings.ContainsRune(`{["`, rune(arg[0])) || !strings.Contains(arg, "=")
}
