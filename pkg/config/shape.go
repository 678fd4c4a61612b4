package config

import (
	"slices"
	"strings"
)

// This file knows secrets by how they look, without a name that says what they are.

// hasTokenPrefix reports whether a word begins as the tokens of a well-known service do.
func hasTokenPrefix(word string) bool {
	if len(word) < 16 {
		return false
	}
	prefixes := []string{"ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "xoxa-",
		"xoxr-", "xoxe", "xapp-", "sk-", "sk_", "rk_", "pk_live_", "whsec_", "AKIA", "ASIA", "AIza", "ya29.", "eyJ", "ntn_",
		"lin_api_", "lin_oauth_", "sntrys_", "sntryu_", "tvly-", "fc-", "figd_", "hf_", "r8_", "pplx-", "npm_", "pypi-",
		"dckr_pat_", "dop_v1_", "sbp_", "BSA", "napi_", "nvapi-", "gsk_", "xai-", "glsa_", "shpat_", "ATATT", "lsv2_", "SG.",
		"hvs.", "phx_", "rnd_"}
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(word, prefix) })
}

// isPrivateKey reports whether a text is a private key in PEM.
func isPrivateKey(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "-----BEGIN ") && strings.Contains(text, "PRIVATE KEY-----")
}

// minToken is the length of the shortest token behind a colon that is taken for one, in bytes. An argument without a
// name has to be longer than minRandom.
const (
	minToken  = 16
	minRandom = 20
)

// shaped adds what an argument holds that is random: alone, behind the last colon or behind an equals sign. Paths,
// packages and URLs hold nothing of that kind; see inURL.
func (l *secretList) shaped(arg string) {
	if strings.Contains(arg, "://") || strings.Contains(arg, "sha256:") || strings.Contains(arg, "sha512-") {
		return
	}
	if _, tail, ok := cutLast(arg, ":"); ok && len(tail) >= minToken && looksRandom(tail) {
		l.add(tail)
	}
	value := arg
	for {
		_, after, assigned := strings.Cut(value, "=")
		if !assigned || strings.Trim(after, "=") == "" { // "=" also fills up base64
			break
		}
		value = after // --env=NAME=VALUE has two
	}
	if len(value) > minRandom && looksRandom(value) {
		l.add(value)
	}
}

func cutLast(s, separator string) (before, after string, found bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(separator):], true
}

// isAccount reports whether text begins with the identifier of an account or key of Twilio, whose secret follows
// behind a colon: AC or SK, and digits and letters.
func isAccount(text string) bool {
	id, _, _ := strings.Cut(text, "/")
	rest := strings.TrimPrefix(strings.TrimPrefix(id, "AC"), "SK")
	return len(rest) >= 8 && len(rest) < len(id) && strings.IndexFunc(rest, isNeither) < 0
}

func isNeither(r rune) bool { return !isDigit(r) && !isLower(r) && !isUpper(r) }
func isDigit(r rune) bool   { return r >= '0' && r <= '9' }
func isLower(r rune) bool   { return r >= 'a' && r <= 'z' }
func isUpper(r rune) bool   { return r >= 'A' && r <= 'Z' }

// looksRandom reports whether a word is made of random characters, as tokens are. In those, letters and digits and
// small and capital letters change at nearly every second place; in words, names, versions and dates hardly ever.
func looksRandom(word string) bool {
	if strings.HasPrefix(word, "/") || strings.HasPrefix(word, ".") || strings.HasPrefix(word, "~") ||
		strings.HasPrefix(word, "@") || strings.ContainsAny(word, " \\${}()[]<>,;'\"") {
		return false
	}
	pairs, changes := 0, 0
	before := rune(0)
	for _, r := range word {
		if !isNeither(r) && before != 0 && !isNeither(before) {
			pairs++
			if isDigit(r) != isDigit(before) || isLower(before) && isUpper(r) {
				changes++
			}
		}
		before = r
	}
	// Of random hexadecimal digits half of the places change, of base64 nearly half, of base32 a third.
	return pairs >= minToken/2 && changes*4 >= pairs
}

// isTrivial reports whether a value is one that settings of all kinds have. Masking it would only spoil texts.
func isTrivial(value string) bool {
	if len(value) < minSetting || isSwitch(value) {
		return true
	}
	return slices.Contains([]string{"debug", "warning", "verbose", "silent", "production", "development", "staging",
		"testing", "default", "enabled", "disabled", "always", "localhost", "127.0.0.1", "application/json",
		"text/event-stream"}, strings.ToLower(value))
}

// minSetting is the length of the shortest value without a telling name that is masked, in bytes.
const minSetting = 6
