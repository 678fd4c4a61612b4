//go:build !race

package schema

import (
	"encoding/json"
	"fmt"
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
	list := func(n int, format string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = strings.ReplaceAll(format, "#", fmt.Sprint(i))
		}
		return strings.Join(parts, ",")
	}
	return map[string]func(n int) string{
		"required properties": func(n int) string {
			return `{"properties":{` + list(n, `"p#":{"type":"string"}`) + `},"required":[` + list(n, `"p#"`) + `]}`
		},
		"required properties with items": func(n int) string {
			return `{"properties":{` + list(n, `"p#":{"type":"array","items":{"type":"string"}}`) + `},"required":[` + list(n, `"p#"`) + `]}`
		},
		"required names alone": func(n int) string { return `{"required":[` + list(n, `"p#"`) + `]}` },
		"optional beside required": func(n int) string {
			return `{"properties":{` + list(n, `"o#":{}`) + `},"required":[` + list(n, `"p#"`) + `]}`
		},
		"parts":    func(n int) string { return `{"allOf":[` + list(n, `{"required":["p#"]}`) + `]}` },
		"branches": func(n int) string { return `{"anyOf":[` + list(n, `{"required":["p#"]}`) + `]}` },
		"values": func(n int) string {
			return `{"properties":{"x":{"enum":[` + list(n, `"v#"`) + `]}},"required":["x"]}`
		},
		"patterns": func(n int) string { return `{"patternProperties":{` + list(n, `"^p#$":{"minLength":5}`) + `}}` },
		"references to the whole": func(n int) string {
			return `{"properties":{` + list(n, `"p#":{"$ref":"#/"}`) + `},"required":[` + list(n, `"p#"`) + `]}`
		},
		"references within each other": func(n int) string {
			nested := strings.Repeat(`{"x":`, 150) + `{` + list(n, `"d#":{"type":"string"}`) + `}` + strings.Repeat("}", 150)
			return `{"properties":{` + list(150, `"p#":{"$ref":"#/n`+strings.Repeat("/x", 2)+`"}`) + `},"n":` + nested + `}`
		},
		"branches of one definition": func(n int) string {
			return `{"anyOf":[` + list(n, `{"$ref":"#/$defs/d","title":"#"}`) + `],"$defs":{"d":{"properties":{` +
				list(n, `"p#":{"items":{"type":"string"}}`) + `},"required":["p0"]}}}`
		},
		"members of a long name": func(n int) string {
			return `{"properties":{"` + strings.Repeat("x", 10*n) + `":{"properties":{` + list(n, `"p#":{"type":"string"}`) + `}}}}`
		},
	}
}

// TestF3WorkGrowsWithTheSchema allows eight times the schema 2.5 times the work at each doubling. The measure is the
// processor time of the thread, so that other processes do not count. The race detector's own work would.
func TestF3WorkGrowsWithTheSchema(t *testing.T) {
	args := []byte(`{"x":"a","p0":5,"y":[1,{"z":"b"}]}`)
	ops := map[string]func(schema []byte){
		"params":  func(schema []byte) { Signature(Params(schema)) },
		"example": func(schema []byte) { Example(schema) },
		"check": func(schema []byte) {
			if faults, err := Validate(schema, args); err == nil && len(faults) > 0 {
				Fault(tool.Ref{Server: "s", Name: "t"}, schema, args, faults)
			}
		},
		"arguments": func(schema []byte) {
			_, _ = Arguments(schema, nil, []string{"p1=x", "a.b.c=y", "x=v5"}, os.ReadFile) // any outcome will do
		},
	}
	const n, times = 300, 8
	for title, make := range hostile() {
		small, large := []byte(make(n)), []byte(make(n*times))
		if !json.Valid(small) {
			t.Fatalf("%s: not JSON: %s", title, small)
		}
		for op, do := range ops {
			t.Run(title+"/"+op, func(t *testing.T) {
				if ratio := work(do, large) / work(do, small); ratio > 2.5*2.5*2.5 {
					t.Errorf("%d times the schema take %.0f times the work", times, ratio)
				}
			})
		}
	}
}

// work returns the least processor time of a few runs, but at least what can be measured.
func work(do func([]byte), schema []byte) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	least := math.Inf(1)
	for range 2 {
		before := threadTime()
		do(schema)
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
