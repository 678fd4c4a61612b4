package schema

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// files stands for the file system.
func files(name string) ([]byte, error) {
	switch name {
	case "note.txt":
		return []byte("line 1\n\"line\" 2 <b>\n"), nil
	case "list.json":
		return []byte(" [1, 2]\n"), nil
	case "secret.txt":
		return []byte("hunter2"), nil
	case "binary":
		return []byte{0xff, 0xfe}, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

const argsSchema = `{"properties":{
	"s":{"type":"string"},"i":{"type":"integer"},"n":{"type":"number"},"b":{"type":"boolean"},
	"a":{"type":"array","items":{"type":"string"}},"ints":{"type":"array","items":{"type":"integer"}},
	"o":{"type":"object","properties":{"x":{"type":"integer"},"p":{"properties":{"q":{"type":"boolean"}}}},"additionalProperties":{"type":"number"}},
	"o.dot":{"type":"integer"},"free":{},
	"sn":{"type":["string","null"]},"sni":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"null"}]},
	"si":{"type":["integer","string"]},"sa":{"oneOf":[{"type":"string"},{"type":"array","items":{"type":"integer"}}]},
	"e":{"enum":[1,"2",true,null]},"r":{"$ref":"#/$defs/int"},"help":{"type":"string"},"json":{"type":"boolean"},"x:y":{"type":"integer"},
	"m":{"type":"array","items":{"type":"array","items":{"type":"integer"}}}
},"$defs":{"int":{"type":"integer"}}}`

func TestArguments(t *testing.T) {
	t.Parallel()
	type pairs = []string
	for name, tt := range map[string]struct {
		base  string
		pairs []string
		want  string
	}{
		"nothing":           {"", nil, `{}`},
		"base alone":        {` { "b" : 1e400, "a":[ 1 ] } `, nil, `{"b":1e400,"a":[1]}`},
		"base twice":        {`{"a":1,"b":2,"a":3}`, nil, `{"a":3,"b":2}`},
		"override in place": {`{"i":1,"s":"x"}`, pairs{"b=true", "i=2"}, `{"i":2,"s":"x","b":true}`},
		"leading zeros":     {"", pairs{"s=000123"}, `{"s":"000123"}`},
		"number as string":  {"", pairs{"s=5", "s2=5"}, `{"s":"5","s2":"5"}`},
		"numbers":           {"", pairs{"i=12345678901234567890", "n=1e400"}, `{"i":12345678901234567890,"n":1e400}`},
		"number spelling":   {"", pairs{"n=1.50", "i=5.0", "r=-0"}, `{"n":1.50,"i":5.0,"r":-0}`},
		"no numbers":        {"", pairs{"i=005", "n=+5"}, `{"i":"005","n":"+5"}`},
		"no numbers either": {"", pairs{"i=five", "n= 5"}, `{"i":"five","n":" 5"}`},
		"booleans":          {"", pairs{"b=false", "json=true"}, `{"b":false,"json":true}`},
		"no boolean":        {"", pairs{"b=yes", "s=true"}, `{"b":"yes","s":"true"}`},
		"empty":             {"", pairs{"s=", "i="}, `{"s":"","i":""}`},
		"raw":               {"", pairs{"s:=5", "i:= [1, 2]"}, `{"s":5,"i":[1,2]}`},
		"equals in value":   {"", pairs{"s=a=b:=c"}, `{"s":"a=b:=c"}`},
		"colon in key":      {"", pairs{"x:y=5"}, `{"x:y":5}`},
		"file":              {"", pairs{"s=@note.txt"}, `{"s":"line 1\n\"line\" 2 <b>\n"}`},
		"file as JSON":      {"", pairs{"a=@list.json", "s:=@list.json"}, `{"a":[1,2],"s":[1,2]}`},
		"file for anything": {"", pairs{"free=@list.json"}, `{"free":" [1, 2]\n"}`},
		"literal @":         {"", pairs{"s=@@home", "i=a@b"}, `{"s":"@home","i":"a@b"}`},
		"array":             {"", pairs{`a=["x", "y"]`}, `{"a":["x","y"]}`},
		"array of one":      {"", pairs{"a=x,y"}, `{"a":["x,y"]}`},
		"array repeated":    {`{"a":["old"]}`, pairs{"a=x", "s=1", "a=5", `a=["z"]`}, `{"a":["x","5","z"],"s":"1"}`},
		"integers repeated": {"", pairs{"ints=1", "ints=2"}, `{"ints":[1,2]}`},
		"string or array":   {"", pairs{"sa=x"}, `{"sa":"x"}`},
		"or array repeated": {"", pairs{"sa=x", "sa=y"}, `{"sa":["x","y"]}`},
		"nested arrays":     {"", pairs{"m=[[1],[2]]"}, `{"m":[[1],[2]]}`},
		"object":            {"", pairs{`o={"x": 1}`}, `{"o":{"x":1}}`},
		"dotted":            {`{"o":{"k":1,"x":0}}`, pairs{"o.x=5", "o.p.q=true", "o.z=1"}, `{"o":{"k":1,"x":5,"p":{"q":true},"z":1}}`},
		"dotted known":      {"", pairs{"o.dot=5"}, `{"o.dot":5}`},
		"dotted unknown":    {"", pairs{"u.x=5", "s.x=1", ".x=1", "o.=1"}, `{"u.x":"5","s.x":"1",".x":"1","o.":"1"}`},
		"dotted anything":   {"", pairs{"free.x=5"}, `{"free":{"x":"5"}}`},
		"unions":            {"", pairs{"sn=null", "sni=5", "si=0x1", "free=5"}, `{"sn":null,"sni":5,"si":"0x1","free":"5"}`},
		"unions of strings": {"", pairs{"sn=5", "sni=000", "si=5.5"}, `{"sn":"5","sni":"000","si":"5.5"}`},
		"enum":              {"", pairs{"e=1"}, `{"e":1}`},
		"enum string":       {"", pairs{"e=2"}, `{"e":"2"}`},
		"enum null":         {"", pairs{"e=null"}, `{"e":null}`},
		"anything JSON":     {"", pairs{`free={"a": 1}`}, `{"free":{"a":1}}`},
		"named like flags":  {"", pairs{"help=me"}, `{"help":"me"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Arguments([]byte(argsSchema), []byte(tt.base), tt.pairs, files)
			if err != nil || string(got) != tt.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, tt.want)
			}
		})
	}
}

func TestArgumentsFaults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		base  string
		pairs []string
		typ   fault.Type
		want  []string // message, then the faults
	}{
		"no form":      {"", []string{"x"}, fault.Usage, []string{`"x" is not of the form key=value`}},
		"no key":       {"", []string{"=x"}, fault.Usage, []string{`"=x" is not of the form key=value`}},
		"no key, raw":  {"", []string{":=x"}, fault.Usage, []string{`":=x" is not of the form key=value`}},
		"no file name": {"", []string{"s=@"}, fault.Usage, []string{`"s=@" names no file after the @`}},
		"base broken": {`{"password":hunter2}`, nil, fault.InvalidArguments, []string{
			"the arguments are not one JSON object: the text is not valid JSON (at byte 13 of 20)", " is not valid JSON (at byte 13 of 20) => a JSON object"}},
		"base array": {`["hunter2"]`, nil, fault.InvalidArguments, []string{
			"the arguments are not one JSON object: the text is an array", " is an array => a JSON object"}},
		"all at once": {"", []string{"s:={hunter2", "i=@secret.txt", "b=@gone.txt", "n=@binary", "a:=@secret.txt", "r=1", "r=2", "s=\xff"}, fault.InvalidArguments, []string{
			"7 arguments cannot be used",
			"/s is not valid JSON (at byte 2 of 8)",
			"/i is not valid JSON (at byte 1 of 7)",
			`/b cannot be read from the file "gone.txt": there is no such file (for the text itself write b=@@gone.txt)`,
			"/n is not UTF-8 text",
			"/a is not valid JSON (at byte 1 of 7)",
			"/r is given twice, and takes one value",
			"/s is not UTF-8 text",
		}},
		"one": {"", []string{"o.x:=y"}, fault.InvalidArguments, []string{"The argument o/x is not valid JSON (at byte 1 of 1)", "/o/x is not valid JSON (at byte 1 of 1)"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Arguments([]byte(argsSchema), []byte(tt.base), tt.pairs, files)
			var f *fault.Fault
			if !errors.As(err, &f) || got != nil {
				t.Fatalf("got %s, %v", got, err)
			}
			if diff := cmp.Diff(tt.want, append([]string{f.Message}, lines(f.Arguments)...)); diff != "" || f.Type != tt.typ ||
				f.Help == "" {
				t.Errorf("%s, help %q, -want +got:\n%s", f.Type, f.Help, diff)
			}
			if strings.Contains(f.Message+f.Traceback+f.Help+strings.Join(lines(f.Arguments), ""), "hunter2") {
				t.Error("a value is quoted")
			}
		})
	}
}
