package config

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Literal is a secret that stands in an entry itself, not behind a variable.
type Literal struct {
	// Where is the place in the entry: "env GITHUB_TOKEN", "header Authorization", "args[2]" ...
	Where string `json:"where"`
	// Variable is the variable to hold it instead.
	Variable string `json:"variable"`
	// Set says that the variable already has this very value.
	Set bool `json:"set"`

	value string
}

// Lift returns the entry with its literal secrets replaced by references to variables, and the secrets. If a secret
// stands in an environment variable of the server, its variable has that name, else a name made of the server's. Lift
// passes over a variable that has another value already, or that Keep gave to another secret.
//
// Secrets are the values that the rest of mcpl masks, except switches, small numbers and paths of files.
func (t *Trial) Lift(server string, d Entry) (Entry, []Literal) {
	d.Args, d.Env, d.Headers = slices.Clone(d.Args), slices.Clone(d.Env), slices.Clone(d.Headers)
	l := lifting{trial: t, server: server}
	for i := range d.Env {
		l.env(&d.Env[i])
	}
	for i := range d.Headers {
		l.header(&d.Headers[i])
	}
	written := slices.Clone(d.Args) // the flag before a value decides about it, and may be lifted itself
	for i := range d.Args {
		l.arg(written, i, &d.Args[i])
	}
	if d.OAuth != nil && d.OAuth.ClientSecret != "" {
		login := *d.OAuth
		one := Entry{OAuth: &OAuth{ClientSecret: login.ClientSecret}}
		l.lift("oauth.clientSecret", &login.ClientSecret, one, l.named("CLIENT_SECRET"))
		d.OAuth = &login
	}
	l.lift("url", &d.URL, Entry{URL: d.URL}, "")
	l.lift("command", &d.Command, Entry{Command: d.Command}, "")
	return d, l.found
}

// lifting takes the secrets out of one entry.
type lifting struct {
	trial  *Trial
	server string
	found  []Literal
}

// named returns a variable's name that begins with the server's.
func (l *lifting) named(what string) string { return variableName(l.server + "_" + what) }

// lift replaces the secrets in a text. one is an entry that holds only this text, in the place that makes it a
// secret. If variable is empty, the text before a secret names its variable.
func (l *lifting) lift(where string, text *string, one Entry, variable string) {
	l.replace(where, text, liftable(one, *text), variable)
}

// replace puts variables in the places of secrets in a text.
func (l *lifting) replace(where string, text *string, secrets []string, variable string) {
	var pairs []string
	for _, secret := range secrets {
		base := cmp.Or(variable, labelOf(*text, secret, l.server))
		name := l.trial.variable(l.server, base, secret, l.found)
		value, set := l.trial.variables.text(name)
		l.found = append(l.found, Literal{Where: where, Variable: name, Set: set && value == secret, value: secret})
		pairs = append(pairs, secret, "${"+name+"}")
	}
	if pairs != nil {
		*text = strings.NewReplacer(pairs...).Replace(*text)
	}
}

// env lifts a variable of the server: as a whole if it is secret by its name or is a key, byte for byte.
func (l *lifting) env(p *KeyValue) {
	where, one := "env "+p.Name, Entry{Env: []KeyValue{*p}}
	switch {
	case !looksSecret(p.Name) && !isPrivateKey(p.Value):
		l.lift(where, &p.Value, one, "")
	case !isLocation(p.Name, p.Value) && liftable(one, p.Value) != nil:
		l.replace(where, &p.Value, []string{p.Value}, variableName(p.Name))
	}
}

func (l *lifting) header(p *KeyValue) {
	variable := ""
	switch {
	case strings.EqualFold(p.Name, "Authorization"):
		variable = l.named("TOKEN")
	case looksSecret(p.Name):
		variable = l.named(strings.TrimPrefix(strings.ToUpper(p.Name), "X-"))
	}
	l.lift("header "+p.Name, &p.Value, Entry{Headers: []KeyValue{*p}}, variable)
}

// arg lifts the argument at position i, which text holds. written holds all arguments as they were.
func (l *lifting) arg(written []string, i int, text *string) {
	one, variable := Entry{Args: written[i : i+1]}, ""
	if i > 0 && isSecretFlag(written[i-1]) {
		if isLocation(written[i-1], written[i]) {
			return
		}
		one, variable = Entry{Args: written[i-1 : i+1]}, l.named(written[i-1])
	}
	l.lift("args["+strconv.Itoa(i)+"]", text, one, variable)
}

// isSecretFlag reports whether an argument is a flag whose value, the next argument, is a secret.
func isSecretFlag(arg string) bool {
	return strings.HasPrefix(arg, "-") && !strings.ContainsAny(arg, "= ") && looksSecret(arg)
}

// liftable returns the secrets of an entry with one text that can be taken out of that text, longest first. No secret
// is a part of another.
func liftable(one Entry, text string) []string {
	var list []string
	for _, secret := range one.secrets() {
		secret = strings.TrimSpace(secret)
		if len(secret) >= minSecret && !isSwitch(secret) && strings.Contains(text, secret) {
			list = append(list, secret)
		}
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	list = slices.Compact(list)
	// In "Bearer x" only x is the secret. Other words before a blank belong to it.
	list = slices.DeleteFunc(slices.Clone(list), func(whole string) bool {
		return slices.ContainsFunc(list, func(bare string) bool {
			scheme, isLonger := strings.CutSuffix(whole, " "+bare)
			return isLonger && slices.Contains(schemes(), strings.TrimSpace(scheme))
		})
	})
	var apart []string
	for _, secret := range list {
		if !slices.ContainsFunc(apart, func(longer string) bool { return strings.Contains(longer, secret) }) {
			apart = append(apart, secret)
		}
	}
	return apart
}

// isSwitch reports whether a value is that of a setting, whatever its name: DISABLE_AUTH=true, SESSION_TIMEOUT=3600.
func isSwitch(value string) bool {
	switch strings.ToLower(value) {
	case "true", "false", "null", "none", "auto":
		return true
	}
	_, err := strconv.ParseFloat(value, 64)
	return err == nil && len(value) < 6
}

// isLocation reports whether a variable or flag with a secret's name only says which file holds the secret.
func isLocation(name, value string) bool {
	name = strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	ends := func(end string) bool { return strings.HasSuffix(name, end) }
	starts := func(start string) bool { return strings.HasPrefix(value, start) }
	return slices.ContainsFunc([]string{"PATH", "FILE", "DIR", "FOLDER", "CREDENTIALS"}, ends) &&
		(slices.ContainsFunc([]string{"/", "~/", "./", "../", `\\`}, starts) ||
			len(value) > 2 && value[1] == ':' && (value[2] == '\\' || value[2] == '/'))
}

// schemes are the words that stand before secrets in headers.
func schemes() []string {
	return []string{"Bearer", "bearer", "Basic", "basic", "Token", "token", "Bot", "ApiKey", "Api-Key"}
}

// labelOf names the variable for a secret after the text before it, as in --api-key=x, TOKEN=x and ?key=x.
func labelOf(text, secret, server string) string {
	at := strings.Index(text, secret)
	before := strings.TrimRight(text[:at], "=: \"'\\")
	for _, scheme := range schemes() {
		before = strings.TrimRight(strings.TrimSuffix(before, scheme), "=: \"'\\")
	}
	word := before[1+strings.LastIndexFunc(before, notInToken):]
	what := "TOKEN"
	switch {
	case strings.EqualFold(word, "Authorization"):
	case looksSecret(word) && word == strings.ToUpper(word) && NameLength(word) == len(word):
		return word // already a variable's name, as in -e TOKEN=x
	case looksSecret(word):
		what = word
	case strings.HasPrefix(text[at+len(secret):], "@"):
		what = "PASSWORD"
	}
	return variableName(server + "_" + what)
}

func variableName(text string) string { return VariableName(text, "MCP_") }

// VariableName makes a variable's name of any words: capitals, digits and single underscores. If it would not begin
// with a letter, it begins with prefix.
func VariableName(words, prefix string) string {
	parts := strings.FieldsFunc(strings.ToUpper(words),
		func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') })
	name := strings.Join(parts, "_")
	if name == "" || name[0] <= '9' {
		return prefix + name
	}
	return name
}

// variable returns the first free name for a secret: base, then one with the server's name, then numbered ones.
func (t *Trial) variable(server, base, secret string, found []Literal) string {
	free := func(name string) bool {
		for _, l := range slices.Concat(t.kept, found) {
			if l.Variable == name {
				return l.value == secret
			}
		}
		value, set := t.variables.text(name)
		return !set || value == secret
	}
	if prefix := variableName(server) + "_"; !free(base) && !strings.HasPrefix(base, prefix) {
		base = prefix + base
	}
	name := base
	for n := 2; !free(name); n++ {
		name = base + "_" + strconv.Itoa(n)
	}
	return name
}

// Keep gives the variables of these literals to them, so that a later Lift chooses others.
func (t *Trial) Keep(literals []Literal) { t.kept = append(t.kept, literals...) }
