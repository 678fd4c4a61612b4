package config

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// minSecret is the shortest value that is masked, in bytes: shorter ones are part of too much.
const minSecret = 4

// minLine is the shortest line of a secret in several lines that is masked by itself, in bytes.
const minLine = 8

// looksSecret reports whether a variable, header, flag or parameter of that name holds a secret.
// It would rather hide too much.
func looksSecret(name string) bool {
	name = strings.ToUpper(name)
	for _, harmless := range []string{"KEYWORD", "KEYBOARD", "MONKEY", "MAX_TOKEN", "MAX-TOKEN", "MAXTOKEN"} {
		name = strings.ReplaceAll(name, harmless, "")
	}
	name = strings.ReplaceAll(strings.ReplaceAll(name, "AUTHORIZATION", "AUTH"), "AUTHOR", "")
	for _, part := range []string{"TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "PASSCODE", "AUTH", "CREDENTIAL",
		"COOKIE", "SIGNATURE", "SESSION", "JWT", "BEARER", "DSN"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return slices.ContainsFunc(strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' || r == '.' }), func(word string) bool {
		return word == "PAT" || word == "PWD" || word == "PASS" || word == "SIG"
	})
}

// isPlain reports whether a variable is one of those that every process has and whose value is
// no secret, so that masking it would only spoil paths.
func isPlain(name string) bool {
	switch strings.ToUpper(name) {
	case "HOME", "PWD", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "TZ", "TMPDIR", "TMP", "TEMP", "HOSTNAME",
		"USERPROFILE", "USERNAME", "APPDATA", "LOCALAPPDATA", "PROGRAMFILES", "SYSTEMROOT",
		"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR":
		return true
	}
	return false
}

// hasTokenPrefix reports whether a word begins as the tokens of a well-known service do.
func hasTokenPrefix(word string) bool {
	if len(word) < 16 {
		return false
	}
	for _, prefix := range []string{"ghp_", "gho_", "ghs_", "ghu_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "xapp-", "sk-", "sk_", "rk_",
		"pk_live_", "AKIA", "AIza", "ya29.", "eyJ", "ntn_", "lin_api_", "lin_oauth_", "sntrys_", "sntryu_", "tvly-", "fc-", "figd_", "hf_", "r8_",
		"pplx-", "npm_", "dop_v1_", "sbp_", "BSA"} {
		if strings.HasPrefix(word, prefix) {
			return true
		}
	}
	return false
}

// secretList gathers secret values.
type secretList []string

// add takes a value that looks secret by its name. "Bearer x" also gives x. What a text holds
// besides references to variables is secret; the references are not.
func (l *secretList) add(value string) {
	bare := value
	if scheme, rest, ok := strings.Cut(value, " "); ok && !strings.ContainsAny(scheme, "${}:=") {
		bare = strings.TrimSpace(rest)
	}
	if !onlyReferences(bare) {
		*l = append(*l, value, bare)
	}
}

// secrets returns the values in the entry that look secret by name, flag or form.
func (e entry) secrets() []string {
	var l secretList
	for _, p := range slices.Concat(e.env, e.headers) {
		if looksSecret(p.Name) {
			l.add(p.Value)
		}
	}
	l.add(e.clientSecret)
	if IsPEM(e.privateKey) {
		l.add(e.privateKey)
	}
	for i, arg := range e.args {
		if i > 0 && strings.HasPrefix(e.args[i-1], "-") && !strings.HasPrefix(arg, "-") &&
			!strings.ContainsAny(e.args[i-1], "= ") && looksSecret(e.args[i-1]) {
			l.add(arg)
		}
		l.assigned(arg)
	}
	e.each(func(_, text string) string {
		l.inURL(text)
		for _, word := range strings.FieldsFunc(text, notInToken) {
			if hasTokenPrefix(word) {
				l.add(word)
			}
		}
		return text
	})
	return l
}

// assigned takes the value of --token=x, TOKEN=x and "Authorization: x".
func (l *secretList) assigned(arg string) {
	i := strings.IndexAny(arg, "=:")
	if i > 0 && looksSecret(arg[:i]) && !strings.Contains(arg[:i], "/") {
		l.add(strings.TrimSpace(arg[i+1:]))
	}
}

// inURL takes the password and the secret parameters of a URL in text.
func (l *secretList) inURL(text string) {
	_, rest, ok := strings.Cut(text, "://")
	if !ok {
		return
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	if at := strings.LastIndexByte(rest[:end], '@'); at >= 0 {
		user, password, _ := strings.Cut(rest[:at], ":")
		l.add(password)
		plainUser, err1 := url.PathUnescape(user)
		plain, err2 := url.PathUnescape(password)
		if err1 == nil && err2 == nil && password != "" && !onlyReferences(password) {
			l.add(plain)
			l.add(base64.StdEncoding.EncodeToString([]byte(plainUser + ":" + plain)))
		}
	}
	_, query, _ := strings.Cut(rest, "?")
	query, _, _ = strings.Cut(query, "#")
	for parameter := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(parameter, "=")
		if !looksSecret(name) {
			continue
		}
		l.add(value)
		if plain, err := url.QueryUnescape(value); err == nil {
			l.add(plain)
		}
	}
}

func notInToken(r rune) bool {
	return r != '_' && r != '-' && r != '.' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// replacer returns what replaces secrets in each of their spellings by "***", the longest first.
// It is nil where there are none.
func replacer(secrets []string) *strings.Replacer {
	var all []string
	for _, secret := range secrets {
		all = append(all, spellings(strings.TrimSpace(secret))...)
	}
	all = slices.DeleteFunc(all, func(s string) bool { return len(s) < minSecret })
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	var pairs []string
	for _, secret := range slices.Compact(all) {
		pairs = append(pairs, secret, "***")
	}
	if pairs == nil {
		return nil
	}
	return strings.NewReplacer(pairs...)
}

// spellings returns the ways in which a secret may be written: plain, in a URL, in JSON with and
// without the HTML escapes of Go; and each line of one that has several, as keys do.
func spellings(secret string) []string {
	switch secret {
	case "true", "false", "null":
		return nil
	}
	all := []string{secret, url.QueryEscape(secret), url.PathEscape(secret)}
	if html, err := json.Marshal(secret); err == nil {
		all = append(all, string(html[1:len(html)-1]))
	}
	all = append(all, strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(secret))
	if strings.Contains(secret, "\n") {
		for line := range strings.Lines(secret) {
			if line = strings.TrimSpace(line); len(line) >= minLine && !strings.HasPrefix(line, "-----") {
				all = append(all, line)
			}
		}
	}
	return all
}

// maxHidden is how many secrets that came later are remembered.
const maxHidden = 16

// hidden are secrets of a server that came after its entry was read. A nil one has none, and takes none.
type hidden struct {
	mu     sync.Mutex
	list   []string // the last ones
	masker *strings.Replacer
}

func (h *hidden) add(secrets []string) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	before := len(h.list)
	for _, secret := range secrets {
		if secret != "" && !slices.Contains(h.list, secret) {
			h.list = append(h.list, secret)
		}
	}
	if len(h.list) > before {
		h.list = h.list[max(0, len(h.list)-maxHidden):]
		h.masker = replacer(h.list)
	}
}

// replacer is nil where there are no secrets.
func (h *hidden) replacer() *strings.Replacer {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.masker
}
