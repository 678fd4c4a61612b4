package conn

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// asciiURL returns the address of a web page with its host in ASCII, as DNS has it: in ex<U+0430>mple.com a letter of
// another alphabet looks like one of ours, in xn--exmple-4nf.com nothing does. A browser goes to the same place.
func asciiURL(u *url.URL) string {
	ascii := *u
	// The full stops of other scripts separate labels too (UTS #46, section 2.3).
	labels := strings.Split(strings.NewReplacer("。", ".", "．", ".", "｡", ".").Replace(u.Host), ".")
	for i, label := range labels {
		port := ""
		if at := strings.LastIndexByte(label, ':'); at >= 0 && i == len(labels)-1 {
			label, port = label[:at], label[at:]
		}
		if strings.ContainsFunc(label, func(r rune) bool { return r >= utf8.RuneSelf }) {
			labels[i] = "xn--" + punycode(strings.Map(unicode.ToLower, label)) + port
		}
	}
	ascii.Host = strings.Join(labels, ".")
	return ascii.String()
}

// punycode encodes a label (RFC 3492, section 6.3, with the parameters of section 5).
func punycode(label string) string {
	const first, damp = 128, 700
	runes := []rune(label)
	var out []byte
	for _, r := range runes {
		if r < first {
			out = append(out, byte(r))
		}
	}
	done, basic := len(out), len(out)
	if basic > 0 {
		out = append(out, '-')
	}
	n, delta, bias := rune(first), 0, 72
	for done < len(runes) {
		next := rune(utf8.MaxRune)
		for _, r := range runes {
			if r >= n {
				next = min(next, r)
			}
		}
		delta += int(next-n) * (done + 1)
		n = next
		for _, r := range runes {
			if r < n {
				delta++
			}
			if r == n {
				out = appendDelta(out, delta, bias)
				if bias = adapted(delta/2, done+1); done == basic {
					bias = adapted(delta/damp, done+1)
				}
				delta = 0
				done++
			}
		}
		delta++
		n++
	}
	return string(out)
}

// The parameters of Punycode.
const (
	base, least, most = 36, 1, 26
	skew              = 38
)

// appendDelta writes a number in digits of a base that varies.
func appendDelta(out []byte, q, bias int) []byte {
	const digits = "abcdefghijklmnopqrstuvwxyz0123456789"
	for k := base; ; k += base {
		t := min(max(k-bias, least), most)
		if q < t {
			return append(out, digits[q])
		}
		out = append(out, digits[t+(q-t)%(base-t)])
		q = (q - t) / (base - t)
	}
}

// adapted returns the next bias.
func adapted(delta, points int) int {
	delta += delta / points
	k := 0
	for ; delta > (base-least)*most/2; k += base {
		delta /= base - least
	}
	return k + (base-least+1)*delta/(delta+skew)
}
