package search

import "strings"

// A word is corrected only if neither it nor its stem stands in any document. Candidates are the words of about the
// same length with the same first letter, or with the query's second one, which covers a first letter that was
// omitted, doubled or swapped.

// minCorrectable is the length of the shortest words that are corrected. In words of this length a changed letter
// does not count as a slip: too many of them are words of their own.
const minCorrectable = 4

// isCorrectable reports whether a word may be corrected, and may be a correction: ASCII letters only, and long enough
// to tell a slip from another word.
func isCorrectable(w string) bool {
	return len(w) >= minCorrectable && len(w) <= 24 && isLetters(w)
}

func isLetters(w string) bool {
	return !strings.ContainsFunc(w, func(r rune) bool { return r < 'a' || r > 'z' })
}

func similarKey(first byte, length int) string {
	return keySimilar + string([]byte{first, byte(length)})
}

// maxCorrections bounds how many corrections of one word are tried.
const maxCorrections = 3

// corrections returns the words of the index that are nearest to w, and their distance in slips. Words of eight
// letters and more may have two slips, shorter words one.
func (r *reader) corrections(w string) (near []string, slips int, err error) {
	if !isCorrectable(w) {
		return nil, 0, nil
	}
	slips = 1
	if len(w) >= 8 {
		slips = 2
	}
	firsts := []byte{w[0], w[1]}
	if w[0] == w[1] {
		firsts = firsts[:1]
	}
	for _, first := range firsts {
		for n := len(w) - slips; n <= len(w)+slips; n++ {
			list, err := r.lookup(similarKey(first, n))
			if err != nil {
				return nil, 0, err
			}
			for ; len(list) >= n; list = list[n:] {
				d := distance(w, string(list[:n]), slips)
				if d == 1 && len(w) == minCorrectable && n == len(w) && !swapped(w, string(list[:n])) {
					continue // cake is not a misspelt cafe
				}
				if d < slips {
					near, slips = near[:0], d
				}
				if d == slips && len(near) < maxCorrections {
					near = append(near, string(list[:n]))
				}
			}
		}
	}
	return near, slips, nil
}

// swapped reports whether two words of one length and a distance of 1 have the same letters.
func swapped(x, y string) bool {
	for i := range len(x) - 1 {
		if x[i] != y[i] {
			return x[i] == y[i+1] && x[i+1] == y[i]
		}
	}
	return false
}

// distance counts the letters to insert, delete, change, or swap with the next one, that turn x into y (optimal
// string alignment). Anything above limit gives limit+1. Both are shorter than 32 bytes.
func distance(x, y string, limit int) int {
	if len(x)-len(y) > limit || len(y)-len(x) > limit {
		return limit + 1
	}
	var rows [3][32]int
	before, above, row := &rows[0], &rows[1], &rows[2]
	for j := range len(y) + 1 {
		above[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > limit {
			return limit + 1
		}
		before, above, row = above, row, before
	}
	return min(above[len(y)], limit+1)
}
