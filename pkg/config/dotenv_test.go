package config

import (
	"strings"
	"testing"
)

func TestDotenv(t *testing.T) {
	t.Parallel()
	v := &variables{lookup: func(name string) (string, bool) { return "process", name == "P" }}
	tests := []struct{ text, name, want string }{
		{"A=1", "A", "1"},
		{"\n# c\n  export A = 1 # c\n", "A", "1"},
		{"A: yaml", "A", "yaml"},
		{"A=\nB=2", "A", ""},
		{"A=\nB=2", "B", "2"},
		{"A=1\r\nB=2\rC=3", "B", "2"},
		{"A=1\r\nB=2\rC=3", "C", "3"},
		{"A=1\nA=2", "A", "2"},
		{"A=\"x # no comment\" # c\nB=2", "A", "x # no comment"},
		{"A=\"x # no comment\" # c\nB=2", "B", "2"},
		{`A="two\nlines \"quoted\" x"`, "A", "two\nlines \"quoted\" x"},
		{"A=\"two\nlines\"\nB=2", "A", "two\nlines"},
		{"A=\"two\nlines\"\nB=2", "B", "2"},
		{"A='single\nlines\\n'", "A", "single\nlines\\n"},
		{"A=pa$WORD$1$", "A", "pa$WORD$1$"}, // godotenv alone would give "pa"
		{`A="pa$WORD"`, "A", "pa$WORD"},
		{"A=${P}/x", "A", "process/x"},
		{`A="${P}/x"`, "A", "process/x"},
		{"A='${P}/x'", "A", "${P}/x"},
		{"A=${X:-d}", "A", "d"},
		{"A=1\nB=${A}2", "B", "12"},
		{"P=1\nB=${P}", "B", "process"},
		{`A="\${P} \$P"`, "A", "${P} $P"},
		{`A=\${P}`, "A", "${P}"},
		{`A='\${P}'`, "A", `\${P}`},
		{"A=$${P}", "A", "${P}"},
		{"A=a=b:c", "A", "a=b:c"},
		{"A=ü€", "A", "ü€"},
		{"wrong line\nA=1", "A", "1"},
		{"A=\"unclosed\nB=2", "B", "2"},
	}
	for _, test := range tests {
		f, _ := v.parse("f", test.text)
		got, ok := f.values[test.name]
		if !ok || got.text != test.want || got.from != "f" {
			t.Errorf("%q: %s is %q, want %q", test.text, test.name, got.text, test.want)
		}
	}
}

func TestDotenvProblems(t *testing.T) {
	t.Parallel()
	v := &variables{lookup: func(string) (string, bool) { return "", false }}
	tests := []struct {
		text    string
		line    int
		message string
	}{
		{"A=1\nhunter2 hunter2\nB=2\nhunter2", 2, "(and 1 more)"},
		{"=hunter2", 1, "NAME=value"},
		{"hunter2-x=1", 1, "NAME=value"},
		{"A=1\n\n# c\nB=\"hunter2\nC=1", 4, "NAME=value"},
		{"A='x' hunter2", 1, "NAME=value"},
		{"\"hunter2\nA=1\"", 1, "NAME=value"},
		{"A=hunter2${hunter2}", 1, "has no value"},
		{"A=1\nB=\"x\ny\"\nC=${D}\nD=1", 4, "has no value"},
		{"\x00\xff hunter2", 1, "NAME=value"},
	}
	for _, test := range tests {
		_, problems := v.parse("/p/.env", test.text)
		if len(problems) == 0 {
			t.Errorf("%q: no problem", test.text)
			continue
		}
		p := problems[0]
		if p.Line != test.line || p.File != "/p/.env" || p.Fix == "" || !strings.Contains(p.Message, test.message) {
			t.Errorf("%q: %+v", test.text, p)
		}
		if strings.Contains(p.Message+p.Fix, "hunter2") {
			t.Errorf("%q: quoted in %+v", test.text, p)
		}
	}
}

// TestEnvFileOrder: the process environment beats the first file, which beats the second; a
// broken file does not hide the others.
func TestEnvFileOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.vars["A"] = "process"
	w.write(".env", "\ufeffA=first\nB=first\nbroken\n")
	w.write("~/.claude/.env", "A=second\nB=second\nC=${B}-second")
	c := w.entry(`{"command": "x", "args": ["${A}", "${B}", "${C}"]}`)
	if got := strings.Join(c.Servers[0].Args, " "); got != "process first first-second" {
		t.Errorf("args %s", got)
	}
	if len(c.Problems) != 1 || c.Problems[0].File != w.path(".env") || c.Problems[0].Line != 3 {
		t.Errorf("problems\n%s", problems(c))
	}
	w.write(".env", "\xff\xfeA\x00")
	c = w.load(Selection{})
	if got := strings.Join(c.Servers[0].Args, " "); got != "process second second-second" || !strings.Contains(problems(c), "UTF-16") {
		t.Errorf("args %s, problems\n%s", got, problems(c))
	}
}
