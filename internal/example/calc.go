package example

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNesting bounds the depth of an expression, and with it the stack.
const maxNesting = 200

// calculate evaluates an arithmetic expression. Grammar, from weak to strong:
//
//	sum     = product { ("+" | "-") product }
//	product = signed { ("*" | "/" | "%") signed }
//	signed  = { "+" | "-" } power
//	power   = atom [ "^" signed ]          so 2^-1 is right, and -2^2 is -4
//	atom    = number | name | name "(" sum { "," sum } ")" | "(" sum ")"
func calculate(expression string, variables map[string]float64) (float64, error) {
	p := &calculator{text: expression, variables: variables}
	v, err := p.sum()
	if err != nil {
		return 0, err
	}
	if p.skip(); p.pos < len(p.text) {
		return 0, p.fail("an operator or the end")
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, errors.New("the result is not a finite number")
	}
	return v, nil
}

type calculator struct {
	text      string
	pos       int
	depth     int
	variables map[string]float64
}

func (p *calculator) skip() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

// operator consumes one of the given characters and returns it, or 0.
func (p *calculator) operator(any string) byte {
	p.skip()
	if p.pos < len(p.text) && strings.IndexByte(any, p.text[p.pos]) >= 0 {
		p.pos++
		return p.text[p.pos-1]
	}
	return 0
}

// fail describes what is wrong at the current position.
func (p *calculator) fail(expected string) error {
	p.skip()
	found := "the end"
	if p.pos < len(p.text) {
		r, _ := utf8.DecodeRuneInString(p.text[p.pos:])
		found = strconv.QuoteRune(r)
	}
	return fmt.Errorf("at character %d: expected %s, found %s", utf8.RuneCountInString(p.text[:p.pos])+1, expected, found)
}

func (p *calculator) sum() (float64, error) {
	if p.depth++; p.depth > maxNesting {
		return 0, fmt.Errorf("the expression is nested more than %d deep", maxNesting)
	}
	defer func() { p.depth-- }()
	v, err := p.product()
	for err == nil {
		var w float64
		switch p.operator("+-") {
		case '+':
			w, err = p.product()
			v += w
		case '-':
			w, err = p.product()
			v -= w
		default:
			return v, nil
		}
	}
	return 0, err
}

func (p *calculator) product() (float64, error) {
	v, err := p.signed()
	for err == nil {
		var w float64
		op := p.operator("*/%")
		if op == 0 {
			return v, nil
		}
		w, err = p.signed()
		switch {
		case err != nil:
		case op == '*':
			v *= w
		case w == 0:
			err = errors.New("division by zero")
		case op == '/':
			v /= w
		default:
			v = math.Mod(v, w)
		}
	}
	return 0, err
}

func (p *calculator) signed() (float64, error) {
	sign := 1.0
	for {
		switch p.operator("+-") {
		case '-':
			sign = -sign
		case 0:
			v, err := p.power()
			return sign * v, err
		}
	}
}

func (p *calculator) power() (float64, error) {
	v, err := p.atom()
	if err != nil || p.operator("^") == 0 {
		return v, err
	}
	if p.depth++; p.depth > maxNesting {
		return 0, fmt.Errorf("the expression is nested more than %d deep", maxNesting)
	}
	defer func() { p.depth-- }()
	w, err := p.signed()
	return math.Pow(v, w), err
}

func (p *calculator) atom() (float64, error) {
	if p.operator("(") != 0 {
		v, err := p.sum()
		if err == nil && p.operator(")") == 0 {
			err = p.fail("an operator or )")
		}
		return v, err
	}
	p.skip()
	rest := p.text[p.pos:]
	first, _ := utf8.DecodeRuneInString(rest)
	switch {
	case first >= '0' && first <= '9', first == '.':
		return p.number()
	case unicode.IsLetter(first), first == '_':
		end := strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
		if end < 0 {
			end = len(rest)
		}
		return p.named(rest[:end])
	}
	return 0, p.fail("a number, a name or (")
}

func (p *calculator) number() (float64, error) {
	end := p.pos
	for end < len(p.text) {
		c := p.text[end]
		exponentSign := (c == '+' || c == '-') && (p.text[end-1] == 'e' || p.text[end-1] == 'E')
		if !(c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || end > p.pos && exponentSign) {
			break
		}
		end++
	}
	v, err := strconv.ParseFloat(p.text[p.pos:end], 64)
	if err != nil {
		at := utf8.RuneCountInString(p.text[:p.pos]) + 1
		return 0, fmt.Errorf("at character %d: %q is not a number that fits", at, p.text[p.pos:end])
	}
	p.pos = end
	return v, nil
}

// named evaluates a variable, a constant or a function call.
func (p *calculator) named(name string) (float64, error) {
	start := p.pos
	p.pos += len(name)
	if p.operator("(") == 0 {
		if v, ok := p.variables[name]; ok {
			return v, nil
		}
		switch name {
		case "pi":
			return math.Pi, nil
		case "e":
			return math.E, nil
		}
		p.pos = start
		return 0, p.fail(fmt.Sprintf("pi, e, a function or one of the given variables, not %q", name))
	}
	var args []float64
	for {
		v, err := p.sum()
		if err != nil {
			return 0, err
		}
		args = append(args, v)
		switch p.operator(",)") {
		case ')':
			return call(name, args)
		case 0:
			return 0, p.fail("an operator, a comma or )")
		}
	}
}

// call evaluates a function.
func call(name string, args []float64) (float64, error) {
	if name == "min" || name == "max" {
		v := args[0]
		for _, w := range args[1:] {
			if name == "min" {
				v = min(v, w)
			} else {
				v = max(v, w)
			}
		}
		return v, nil
	}
	var f func(float64) float64
	switch name {
	case "sqrt":
		f = math.Sqrt
	case "abs":
		f = math.Abs
	case "round":
		f = math.Round
	case "floor":
		f = math.Floor
	case "ceil":
		f = math.Ceil
	case "sin":
		f = math.Sin
	case "cos":
		f = math.Cos
	case "tan":
		f = math.Tan
	case "exp":
		f = math.Exp
	case "ln":
		f = math.Log
	case "log":
		f = math.Log10
	default:
		return 0, fmt.Errorf("no function %q; there are sqrt, abs, round, floor, ceil, min, max, sin, cos, tan, exp, ln "+
			"and log", name)
	}
	if len(args) != 1 {
		return 0, fmt.Errorf("%s takes one value, not %d", name, len(args))
	}
	v := f(args[0])
	if math.IsNaN(v) {
		return 0, fmt.Errorf("%s(%v) is not a number", name, args[0])
	}
	return v, nil
}
