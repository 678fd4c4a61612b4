package example

import (
	"fmt"
	"strings"
)

// maxDiffCells bounds the table that the comparison fills: 16 MB of it.
const maxDiffCells = 4 << 20

// edit is a line of a diff: ' ' in both texts, '-' in the old one, '+' in the new one.
type edit struct {
	op   byte
	line string
}

// unifiedDiff compares two texts by lines. Equal texts give "".
func unifiedDiff(before, after string, context int) (string, error) {
	if before == after {
		return "", nil
	}
	a, b := diffLines(before), diffLines(after)
	edits, err := compare(a, b)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	out.WriteString("--- before\n+++ after\n")
	for from := 0; ; {
		first := nextChange(edits, from)
		if first == len(edits) {
			return out.String(), nil
		}
		// A hunk ends where the next change is too far away to share its context.
		last := first
		for next := first; next < len(edits) && next-last <= 2*context+1; next = nextChange(edits, next+1) {
			last = next
		}
		from = min(last+context+1, len(edits))
		writeHunk(&out, edits, max(first-context, 0), from)
	}
}

// diffLines is like lines, but tells a last line without a break from one with it.
func diffLines(text string) []string {
	l := lines(text)
	if len(l) > 0 && !strings.HasSuffix(text, "\n") {
		l[len(l)-1] += "\n\\ No newline at end of text"
	}
	return l
}

func nextChange(edits []edit, i int) int {
	for i < len(edits) && edits[i].op == ' ' {
		i++
	}
	return i
}

func writeHunk(out *strings.Builder, edits []edit, from, to int) {
	oldLine, newLine := 1, 1
	for _, e := range edits[:from] {
		if e.op != '+' {
			oldLine++
		}
		if e.op != '-' {
			newLine++
		}
	}
	oldCount, newCount := 0, 0
	var body strings.Builder
	for _, e := range edits[from:to] {
		if e.op != '+' {
			oldCount++
		}
		if e.op != '-' {
			newCount++
		}
		body.WriteByte(e.op)
		body.WriteString(e.line)
		body.WriteByte('\n')
	}
	// An empty side is named by the line before it.
	if oldCount == 0 {
		oldLine--
	}
	if newCount == 0 {
		newLine--
	}
	fmt.Fprintf(out, "@@ -%d,%d +%d,%d @@\n%s", oldLine, oldCount, newLine, newCount, body.String())
}

// compare finds a shortest list of edits from a to b: those of the parts that differ, between the
// common beginning and the common end.
func compare(a, b []string) ([]edit, error) {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	from, to := a[head:len(a)-tail], b[head:len(b)-tail]
	if (len(from)+1)*(len(to)+1) > maxDiffCells {
		return nil, fmt.Errorf("the texts differ in too many lines (%d and %d): compare smaller parts", len(from), len(to))
	}
	edits := same(nil, a[:head])
	edits = walk(edits, from, to, commonLengths(from, to))
	return same(edits, a[len(a)-tail:]), nil
}

// same appends lines that both texts have.
func same(edits []edit, lines []string) []edit {
	for _, line := range lines {
		edits = append(edits, edit{' ', line})
	}
	return edits
}

// commonLengths returns a table with rows of len(b)+1: at i, j is the length of the longest common subsequence of
// a[i:] and b[j:].
func commonLengths(a, b []string) []int32 {
	width := len(b) + 1
	common := make([]int32, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i*width+j] = common[(i+1)*width+j+1] + 1
			} else {
				common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
			}
		}
	}
	return common
}

// walk appends the edits from a to b that a longest common subsequence leaves.
func walk(edits []edit, a, b []string, common []int32) []edit {
	width := len(b) + 1
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			edits = append(edits, edit{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[(i+1)*width+j] >= common[i*width+j+1]:
			edits = append(edits, edit{'-', a[i]})
			i++
		default:
			edits = append(edits, edit{'+', b[j]})
			j++
		}
	}
	return edits
}
