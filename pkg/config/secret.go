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

// minSecret is the length of the shortest value that is masked, in bytes. Shorter ones are part of too many words.
const minSecret = 4

// minLine is the length of the shortest line, in bytes, that is masked by itself in a secret of several lines.
const minLine = 8

// looksSecret reports whether a variable, header, flag or parameter of that name holds a secret. In doubt it says yes.
func looksSecret(name string) bool {
	name = strings.ToUpper(name)
	for _, harmless := range []string{"KEYWORD", "KEYBOARD", "MONKEY", "MAX_TOKEN", "MAX-TOKEN", "MAXTOKEN"} {
		name = strings.ReplaceAll(name, harmless, "")
	}
	name = strings.ReplaceAll(strings.ReplaceAll(name, "AUTHORIZATION", "AUTH"), "AUTHOR", "")
	parts := []string{"TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "PASSCODE", "AUTH", "CREDENTIAL",
		"COOKIE", "SIGNATURE", "SESSION", "JWT", "BEARER", "DSN", "WEBHOOK"}
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) }) ||
		slices.ContainsFunc([]string{"PAT", "PWD", "PW", "PASS", "SIG"},
			func(w string) bool { return slices.Contains(words, w) })
}

// IsPlain reports whether a variable is one that every process has and whose value is public. Masking such a value
// would only spoil paths.
func IsPlain(name string) bool {
	name = strings.ToUpper(name)
	if strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "DBUS_") || strings.HasPrefix(name, "GNOME_") ||
		strings.HasSuffix(name, "_SOCK") {
		return true
	}
	switch name {
	case "HOME", "PWD", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "TZ", "TMPDIR", "TMP", "TEMP", "HOSTNAME",
		"USERPROFILE", "USERNAME", "APPDATA", "LOCALAPPDATA", "PROGRAMFILES", "SYSTEMROOT",
		"OLDPWD", "DESKTOP_SESSION", "GDMSESSION", "SESSION_MANAGER", "SESSIONNAME", "TERM_SESSION_ID":
		return true
	}
	return false
}

// secretList collects secret values.
type secretList []string

// add adds a value that looks secret by its name. For "Bearer x" it also adds x. Everything in a text is secret
// except references to variables.
func (l *secretList) add(value string) {
	bare := value
	if scheme, rest, ok := strings.Cut(value, " "); ok && !strings.ContainsAny(scheme, "${}:=") && !IsPEM(value) {
		bare = strings.TrimSpace(rest)
	}
	if !onlyReferences(bare) {
		*l = append(*l, value, bare)
	}
}

// masked returns the values in the entry that mcpl shows to no one: the secrets, the values of all variables and
// headers (anything may be in there), and arguments that look random.
func (d Entry) masked() []string {
	l := secretList(d.secrets())
	for _, p := range d.Headers {
		if !isTrivial(p.Value) {
			l.add(p.Value)
		}
	}
	for _, p := range d.Env {
		if !IsPlain(p.Name) && !isTrivial(p.Value) && !onlyReferences(p.Value) {
			l = append(l, p.Value)
		}
	}
	for _, arg := range d.Args {
		l.shaped(arg)
	}
	return l
}

// secrets returns the values in the entry that look secret by name, flag or form.
func (d Entry) secrets() []string {
	var l secretList
	for _, p := range slices.Concat(d.Env, d.Headers) {
		if looksSecret(p.Name) {
			l.add(p.Value)
		}
	}
	if d.OAuth != nil {
		l.add(d.OAuth.ClientSecret)
		if IsPEM(d.OAuth.PrivateKey) {
			l.add(d.OAuth.PrivateKey)
		}
	}
	for i, arg := range d.Args {
		if i > 0 && isSecretFlag(d.Args[i-1]) && !strings.HasPrefix(arg, "-") {
			l.add(arg)
		}
		if flag, value, ok := strings.Cut(arg, " "); ok && isSecretFlag(flag) {
			l.add(strings.TrimSpace(value))
		}
		l.assigned(arg)
		if head, tail, ok := cutLast(arg, ":"); ok && isAccount(head) {
			l.add(tail)
		}
	}
	d.mapTexts(func(_, text string) string {
		l.inText(text)
		return text
	})
	return l
}

// assigned adds the value of --token=x, TOKEN=x, "Authorization: x" and --env=TOKEN=x.
func (l *secretList) assigned(arg string) {
	for nested := false; ; nested = true {
		i := strings.IndexAny(arg, "=:")
		switch {
		case i <= 0, strings.ContainsAny(arg[:i], "/{[;"), nested && strings.Contains(arg[:i], " "):
			return
		case looksSecret(arg[:i]):
			l.add(strings.TrimSpace(arg[i+1:]))
			return
		case arg[i] == ':':
			return
		}
		arg = arg[i+1:]
	}
}

// urlEnds are the characters that end a URL within a text.
const urlEnds = " \t\r\n\"'`<>\\"

// inURLs adds the secrets in the URLs of a text. If the text begins with a URL, only a blank behind its host ends it:
// people write passwords into them as they are.
func (l *secretList) inURLs(text string) {
	before, rest, ok := strings.Cut(text, "://")
	ends := urlEnds
	if strings.IndexFunc(before, notInScheme) < 0 {
		ends = " \t\r\n"
	}
	for ok {
		start := 0
		if ends != urlEnds {
			start = firstOf(rest, "/?#")
		}
		end := start + firstOf(rest[start:], ends)
		l.inURL(rest[:end])
		_, rest, ok = strings.Cut(rest[end:], "://")
		ends = urlEnds
	}
}

// firstOf returns where the first of some characters stands in a text, or the text's length.
func firstOf(text, chars string) int {
	if i := strings.IndexAny(text, chars); i >= 0 {
		return i
	}
	return len(text)
}

func notInScheme(r rune) bool { return notInToken(r) && r != '+' }

// inURL adds the password, the random parts of the path and the secret parameters of a URL, of which rest is what
// follows its scheme.
func (l *secretList) inURL(rest string) {
	end := firstOf(rest, "/?#")
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
	tail := rest[end:]
	query := firstOf(tail, "?#")
	l.inPath(rest[:end], tail[:query])
	// A login may leave its token behind the "#".
	for _, parameter := range strings.FieldsFunc(tail[query:], func(r rune) bool { return r == '#' || r == '&' }) {
		name, value, _ := strings.Cut(parameter, "=")
		name = name[1+strings.LastIndexByte(name, '?'):]
		if !looksSecret(name) {
			continue
		}
		if !strings.Contains(value, "${") { // braces are not written in URLs, but around them
			value = value[:firstOf(value, "{}")]
		}
		l.add(value)
		if plain, err := url.QueryUnescape(value); err == nil {
			l.add(plain)
		}
	}
}

// maskPasswords replaces the password in each URL of a text, however short: its place says what it is.
func maskPasswords(text string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "://")
		if !ok {
			break
		}
		end := firstOf(rest, "/?# \t\r\n\"'`<>")
		b.WriteString(before + "://")
		at := strings.LastIndexByte(rest[:end], '@')
		user, password, _ := strings.Cut(rest[:max(at, 0)], ":")
		if password != "" && !onlyReferences(password) {
			b.WriteString(user + ":***")
			rest = rest[at:]
		}
		text = rest
	}
	b.WriteString(text)
	return b.String()
}

func notInToken(r rune) bool {
	return r != '_' && r != '-' && r != '.' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// replacer returns a replacer of secrets, in each of their spellings, by "***", the longest first. It is nil if there
// are no secrets.
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

// spellings returns the ways to write a secret: plain, in a URL, in JSON with and without the HTML escapes of Go, in
// JSON in a string of JSON, and each line of a secret of several lines, such as a key.
func spellings(secret string) []string {
	switch secret {
	case "true", "false", "null":
		return nil
	}
	plain := inQuotes(secret)
	html, _ := json.Marshal(secret) // a string cannot fail
	all := []string{secret, url.QueryEscape(secret), url.PathEscape(secret), plain, inQuotes(plain),
		string(html[1 : len(html)-1]), inQuotes(string(html[1 : len(html)-1]))}
	if strings.Contains(secret, "\n") {
		for line := range strings.Lines(secret) {
			if line = strings.TrimSpace(line); len(line) >= minLine && !strings.HasPrefix(line, "-----") {
				all = append(all, line)
			}
		}
	}
	return all
}

// inQuotes returns a text as it stands between the quotes of a JSON string.
func inQuotes(text string) string {
	quoted := jsonString(text)
	return quoted[1 : len(quoted)-1]
}

// The numbers of secrets of either kind that hidden remembers.
const (
	maxHidden    = 16
	maxInherited = 256
)

// hidden holds secrets of a server that came after its entry was read. A nil one is empty and stays so.
type hidden struct {
	mu               sync.Mutex
	later, inherited []string // the latest ones
	masker           *strings.Replacer
}

// fork returns a copy that others do not add to.
func (h *hidden) fork() *hidden {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return &hidden{later: slices.Clone(h.later), inherited: slices.Clone(h.inherited), masker: h.masker}
}

// add adds secrets that came later, such as tokens.
func (h *hidden) add(secrets []string) {
	if h != nil {
		h.extend(&h.later, maxHidden, secrets)
	}
}

// inherit adds the secrets among the variables ("NAME=value") that a process inherits: those that look secret by name
// or form.
func (h *hidden) inherit(environ []string) {
	if h == nil {
		return
	}
	var l secretList
	for _, assignment := range environ {
		name, value, _ := strings.Cut(assignment, "=")
		if IsPlain(name) {
			continue
		}
		if looksSecret(name) && !isSwitch(value) {
			l.add(value)
		}
		l.inText(value)
	}
	h.extend(&h.inherited, maxInherited, l)
}

func (h *hidden) extend(list *[]string, most int, secrets []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := len(*list)
	for _, secret := range secrets {
		if secret != "" && !slices.Contains(*list, secret) {
			*list = append(*list, secret)
		}
	}
	if len(*list) > before {
		*list = (*list)[max(0, len(*list)-most):]
		h.masker = replacer(slices.Concat(h.later, h.inherited))
	}
}

// replacer returns a replacer of these secrets. It is nil if there are none.
func (h *hidden) replacer() *strings.Replacer {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.masker
}
