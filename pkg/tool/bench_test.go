package tool

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// definition is a tool as servers send it, with n parameters.
func definition(n int) []byte {
	properties := make([]string, n)
	for i := range properties {
		properties[i] = fmt.Sprintf(`"parameter_%d":{"type":"string","description":"The \"%d\"th of many\nparameters."}`, i, i)
	}
	return fmt.Appendf(nil, `{"name":"create_issue","title":"Create an issue","description":"Creates an issue in a `+
		`repository and returns it.","inputSchema":{"type":"object","properties":{%s},"required":["parameter_0"]},`+
		`"annotations":{"readOnlyHint":false},"_meta":{"version":1}}`, strings.Join(properties, ","))
}

// BenchmarkSplitObject reads the members of a definition of about 0.5, 5 and 50 KB.
func BenchmarkSplitObject(b *testing.B) {
	for _, n := range []int{5, 60, 600} {
		raw := definition(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if members, err := SplitObject(raw); err != nil || len(members) != 6 {
					b.Fatal(members, err)
				}
			}
		})
	}
}

// BenchmarkListing reads a list of 1,000 tools as pkg/conn does: split, then parsed one by one.
func BenchmarkListing(b *testing.B) {
	list := append(append([]byte("["), bytes.Repeat(append(definition(5), ','), 999)...), append(definition(5), ']')...)
	b.ReportAllocs()
	b.SetBytes(int64(len(list)))
	for b.Loop() {
		raws, err := SplitArray(list)
		if err != nil || len(raws) != 1000 {
			b.Fatal(len(raws), err)
		}
		for _, raw := range raws {
			if _, err := Parse(Tool, raw); err != nil {
				b.Fatal(err)
			}
		}
	}
}
