package config

import (
	"slices"
	"strings"
	"testing"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"A": "va", "B": "${A}", "EMPTY": "", "_x1": "u"}
	lookup := func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	tests := []struct {
		in, out, names, missing string
		strange                 bool
	}{
		{in: "", out: ""},
		{in: "plain $A {A} $", out: "plain $A {A} $"},
		{in: "${A}", out: "va", names: "A"},
		{in: "<${A}|${_x1}>", out: "<va|u>", names: "A _x1"},
		{in: "${B}", out: "${A}", names: "B"}, // values are not expanded again
		{in: "${EMPTY}.", out: ".", names: "EMPTY"},
		{in: "${N}", out: "${N}", names: "N", missing: "N"},
		{in: "${N:-d}", out: "d", names: "N"},
		{in: "${N:-}", out: "", names: "N"},
		{in: "${EMPTY:-d}", out: "d", names: "EMPTY"},
		{in: "${A:-d}", out: "va", names: "A"},
		{in: "${N:-${A}}", out: "va", names: "A N"},
		{in: "${N:-${M:-x}y}z", out: "xyz", names: "M N"},
		{in: "${N:-${M}}", out: "${M}", names: "M N", missing: "M"},
		{in: "${A:-${M}}", out: "va", names: "M A"}, // M is not missed
		{in: "${N:-a:-b}", out: "a:-b", names: "N"},
		{in: "${N:-$A{}", out: "$A{", names: "N"},
		{in: "$${A}", out: "${A}"},
		{in: "$${${A}", out: "${va", names: "A"},
		{in: "$$${A}", out: "$${A}"},
		{in: "${", out: "${", strange: true},
		{in: "${}", out: "${}", strange: true},
		{in: "${A", out: "${A", strange: true},
		{in: "${1A}", out: "${1A}", strange: true},
		{in: "${A-B}", out: "${A-B}", strange: true},
		{in: "${input:my-key} ${A}", out: "${input:my-key} va", names: "MY_KEY A", missing: "MY_KEY"},
		{in: "${input:a}${env:A}", out: "vava", names: "A"},
		{in: "${input:}${env:}", out: "${input:}${env:}", strange: true},
		{in: "${N:-a", out: "${N:-a", strange: true},
		{in: "${N:-${A}", out: "${N:-${A}", strange: true},
		{in: "${A}${N:-${M}", out: "va${N:-${M}", names: "A", strange: true},
	}
	for _, test := range tests {
		x := expand(test.in, lookup)
		if x.text != test.out || strings.Join(x.names, " ") != test.names || strings.Join(x.missing, " ") != test.missing ||
			x.strange != test.strange {
			t.Errorf("%s: %+v", test.in, x)
		}
	}
}

func TestExpandValues(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"A": "va", "B": "vb", "EMPTY": ""}
	x := expand("${A}${N:-${B}}${EMPTY:-x}${A:-${B}}", func(name string) (string, bool) { v, ok := vars[name]; return v, ok })
	if want := []KeyValue{{"A", "va"}, {"B", "vb"}, {"B", "vb"}, {"A", "va"}}; !slices.Equal(x.values, want) {
		t.Errorf("values %v", x.values)
	}
}

func TestExpandDeep(t *testing.T) {
	t.Parallel()
	none := func(string) (string, bool) { return "", false }
	within := strings.Repeat("${A:-", maxNesting) + "x" + strings.Repeat("}", maxNesting)
	if x := expand(within, none); x.text != "x" || x.strange {
		t.Errorf("%+v", x)
	}
	if x := expand("${A:-"+within+"}", none); !x.strange {
		t.Errorf("%+v", x)
	}
	huge := strings.Repeat("${A:-", 1<<18)
	if x := expand(huge, none); x.text != huge || !x.strange {
		t.Error("an unclosed text does not stay as it is")
	}
}

func TestOnlyReferences(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": true, "${A}": true, "${A}${B}": true, "x${A}": false, "${A}x": false,
		"${A:-x}": false, "$A": false, "${}": false, "${A": false} {
		if onlyReferences(text) != want {
			t.Errorf("%q: not %v", text, want)
		}
	}
}
