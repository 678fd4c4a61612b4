package search

import "strings"

// related calls use for each stem that may stand for word. stem is the stem of word.
func related(word, stem string, use func(other string, weak bool)) {
	line, ok := tableLine(relatedTable, word)
	if !ok {
		line, ok = tableLine(relatedTable, ":"+stem)
	}
	for ok && line != "" {
		var other string
		other, line, _ = strings.Cut(line, " ")
		s, weak := strings.CutPrefix(other, "~")
		use(s, weak)
	}
}

// tableLine finds the line of a sorted table that starts with key and a space, by bisection, and returns the rest of
// it.
func tableLine(table, key string) (string, bool) {
	for table != "" {
		mid := strings.LastIndexByte(table[:len(table)/2], '\n') + 1
		end := mid + strings.IndexByte(table[mid:], '\n')
		name, rest, _ := strings.Cut(table[mid:end], " ")
		switch strings.Compare(key, name) {
		case 0:
			return rest, true
		case -1:
			table = table[:mid]
		default:
			table = table[end+1:]
		}
	}
	return "", false
}
