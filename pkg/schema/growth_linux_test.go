//go:build !race

package schema

import (
	"encoding/json"
	"math"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// hostile returns schemas that grow with n, by what grows in them.
func hostile() map[string]func(n int) string {
	return map[string]func(n int) string{
		"required properties": func(n int) string {
			return `{"properties":{` + repeated(n, `"p#":{"type":"string"}`) + `},"required":[` + repeated(n, `"p#"`) + `]}`
		},
		"required properties with items": func(n int) string {
			return `{"properties":{` + repeated(n, `"p#":{"type":"array","items":{"type":"string"}}`) + `},"required":[` + repeated(n, `"p#"`) + `]}`
		},
		"required names alone": func(n int) string { return `{"required":[` + repeated(n, `"p#"`) + `]}` },
		"optional beside required": func(n int) string {
			return `{"properties":{` + repeated(n, `"o#":{}`) + `},"required":[` + repeated(n, `"p#"`) + `]}`
		},
		"parts":    func(n int) string { return `{"allOf":[` + repeated(n, `{"required":["p#"]}`) + `]}` },
		"branches": func(n int) string { return `{"anyOf":[` + repeated(n, `{"required":["p#"]}`) + `]}` },
		"values": func(n int) string {
			return `{"properties":{"x":{"enum":[` + repeated(n, `"v#"`) + `]}},"required":["x"]}`
		},
		"patterns": func(n int) string { return `{"patternProperties":{` + repeated(n, `"^p#$":{"minLength":5}`) + `}}` },
		"references to the whole": func(n int) string {
			return `{"properties":{` + repeated(n, `"p#":{"$ref":"#/"}`) + `},"required":[` + repeated(n, `"p#"`) + `]}`
		},
		"references within each other": func(n int) string {
			nested := strings.Repeat(`{"x":`, 150) + `{` + repeated(n, `"d#":{"type":"string"}`) + `}` + strings.Repeat("}", 150)
			return `{"properties":{` + repeated(150, `"p#":{"$ref":"#/n`+strings.Repeat("/x", 2)+`"}`) + `},"n":` + nested + `}`
		},
		"branches of one definition": func(n int) string {
			return `{"anyOf":[` + repeated(n, `{"$ref":"#/$defs/d","title":"#"}`) + `],"$defs":{"d":{"properties":{` +
				repeated(n, `"p#":{"items":{"type":"string"}}`) + `},"required":["p0"]}}}`
		},
		"members of a long name": func(n int) string {
			return `{"properties":{"` + strings.Repeat("x", 10*n) + `":{"properties":{` + repeated(n, `"p#":{"type":"string"}`) + `}}}}`
		},
	}
}

// TestF3WorkGrowsWithTheSchema allows eight times the schema 2.5 times the work at each doubling. The measure is the
// processor time of the thread, so that other processes do not count. The race detector's own work would.
func TestF3WorkGrowsWithTheSchema(t *testing.T) {
	ops := map[string]func(schema, args []byte){
		"params":  func(schema, _ []byte) { Signature(Params(schema)) },
		"example": func(schema, _ []byte) { Example(schema) },
		"check": func(schema, args []byte) {
			if faults, err := Validate(schema, args); err == nil && len(faults) > 0 {
				Fault(tool.Ref{Server: "s", Name: "t"}, schema, args, faults)
			}
		},
		"arguments": func(schema, _ []byte) {
			_, _ = Arguments(schema, nil, []string{"p1=x", "a.b.c=y", "x=v5"}, os.ReadFile) // any outcome will do
		},
	}
	const n, times = 300, 8
	grow := func(title, op string, make func(n int) (schema, args string)) {
		schema, args := make(n)
		small := input{[]byte(schema), []byte(args)}
		schema, args = make(n * times)
		large := input{[]byte(schema), []byte(args)}
		if !json.Valid(small.schema) {
			t.Fatalf("%s: not JSON: %s", title, small.schema)
		}
		t.Run(title+"/"+op, func(t *testing.T) {
			if ratio := work(ops[op], large) / work(ops[op], small); ratio > 2.5*2.5*2.5 {
				t.Errorf("%d times the input take %.0f times the work", times, ratio)
			}
		})
	}
	for title, make := range hostile() {
		for op := range ops {
			grow(title, op, func(n int) (string, string) { return make(n), `{"x":"a","p0":5,"y":[1,{"z":"b"}]}` })
		}
	}
	for title, make := range choices() { // whose arguments grow too
		grow("choice of "+title, "check", make)
	}
}

type input struct{ schema, args []byte }

// work returns the least processor time of a few runs, but at least what can be measured.
func work(do func(schema, args []byte), in input) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	least := math.Inf(1)
	for range 2 {
		before := threadTime()
		do(in.schema, in.args)
		least = min(least, threadTime()-before)
	}
	return max(least, 0.004)
}

func threadTime() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(1, &used); err != nil { // RUSAGE_THREAD
		panic(err)
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}
