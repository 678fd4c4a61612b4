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
	// Variable is the one to hold it instead.
	Variable string `json:"variable"`
	// Set says that the variable has this very value already.
	Set bool `json:"set"`

	value string
}

// Lift returns the entry with its literal secrets replaced by references to variables, and what
// they were. A variable is named as the one of the server's process where there is one, else
// after the server. One that has another value already, or that Keep gave to another secret, is
// passed over.
//
// What counts as secret is what the rest of mcpl masks, less switches, small numbers and paths
// of files.
func (t *Trial) Lift(server string, d Entry) (Entry, []Literal) {
	d.Args, d.Env, d.Headers = slices.Clone(d.Args), slices.Clone(d.Env), slices.Clone(d.Headers)
	var found []Literal
	lift := func(where string, text *string, one entry, named string) {
		var pairs []string
		for _, secret := range liftable(one, *text) {
			variable := t.variable(server, cmp.Or(named, labelOf(*text, secret, server)), secret, found)
			value, set := t.variables.text(variable)
			found = append(found, Literal{Where: where, Variable: variable, Set: set && value == secret, value: secret})
			pairs = append(pairs, secret, "${"+variable+"}")
		}
		if pairs != nil {
			*text = strings.NewReplacer(pairs...).Replace(*text)
		}
	}
	for i := range d.Env {
		p, named := &d.Env[i], ""
		if looksSecret(p.Name) {
			if isLocation(p.Name, p.Value) {
				continue
			}
			named = variableName(p.Name)
		}
		lift("env "+p.Name, &p.Value, entry{env: []KeyValue{*p}}, named)
	}
	for i := range d.Headers {
		p, named := &d.Headers[i], ""
		if looksSecret(p.Name) {
			named = variableName(server + "_" + strings.TrimPrefix(strings.ToUpper(p.Name), "X-"))
		}
		if strings.EqualFold(p.Name, "Authorization") {
			named = variableName(server + "_TOKEN")
		}
		lift("header "+p.Name, &p.Value, entry{headers: []KeyValue{*p}}, named)
	}
	written := slices.Clone(d.Args) // the flag before a value decides about it, and may be lifted itself
	for i := range d.Args {
		one, named := entry{args: written[i : i+1]}, ""
		if i > 0 && strings.HasPrefix(written[i-1], "-") && !strings.Contains(written[i-1], "=") && looksSecret(written[i-1]) {
			one, named = entry{args: written[i-1 : i+1]}, variableName(server+"_"+written[i-1])
			if isLocation(written[i-1], written[i]) {
				continue
			}
		}
		lift("args["+strconv.Itoa(i)+"]", &d.Args[i], one, named)
	}
	if d.OAuth != nil && d.OAuth.ClientSecret != "" {
		login := *d.OAuth
		lift("oauth.clientSecret", &login.ClientSecret, entry{oauthTexts: oauthTexts{clientSecret: login.ClientSecret}}, variableName(server+"_CLIENT_SECRET"))
		d.OAuth = &login
	}
	lift("url", &d.URL, entry{url: d.URL}, "")
	lift("command", &d.Command, entry{command: d.Command}, "")
	return d, found
}

// liftable returns the secrets of an entry of one text that can be taken out of that text,
// longest first. None is a part of another.
func liftable(one entry, text string) []string {
	var list []string
	for _, secret := range one.secrets() {
		secret = strings.TrimSpace(secret)
		if len(secret) >= minSecret && !isSwitch(secret) && strings.Contains(text, secret) {
			list = append(list, secret)
		}
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	list = slices.Compact(list)
	// Of "Bearer x" only x is the secret.
	list = slices.DeleteFunc(slices.Clone(list), func(whole string) bool {
		return slices.ContainsFunc(list, func(bare string) bool { return strings.HasSuffix(whole, " "+bare) })
	})
	var apart []string
	for _, secret := range list {
		if !slices.ContainsFunc(apart, func(longer string) bool { return strings.Contains(longer, secret) }) {
			apart = append(apart, secret)
		}
	}
	return apart
}

// isSwitch reports whether a value is one of a setting, whatever its name: DISABLE_AUTH=true,
// SESSION_TIMEOUT=3600.
func isSwitch(value string) bool {
	switch strings.ToLower(value) {
	case "true", "false", "null", "none", "auto":
		return true
	}
	_, err := strconv.ParseFloat(value, 64)
	return err == nil && len(value) < 6
}

// isLocation reports whether a variable or flag whose name speaks of secrets only says in which
// file they are.
func isLocation(name, value string) bool {
	name = strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	for _, end := range []string{"PATH", "FILE", "DIR", "FOLDER", "CREDENTIALS"} {
		if strings.HasSuffix(name, end) {
			for _, start := range []string{"/", "~/", "./", "../", `\\`} {
				if strings.HasPrefix(value, start) {
					return true
				}
			}
			return len(value) > 2 && value[1] == ':' && (value[2] == '\\' || value[2] == '/')
		}
	}
	return false
}

// labelOf names the variable for a secret after what stands before it in its text, as in
// --api-key=x, TOKEN=x and ?key=x.
func labelOf(text, secret, server string) string {
	at := strings.Index(text, secret)
	before := strings.TrimRight(text[:at], "=: \"'")
	for _, scheme := range []string{"Bearer", "Basic", "Token"} {
		before = strings.TrimRight(strings.TrimSuffix(before, scheme), "=: \"'")
	}
	word := before[1+strings.LastIndexFunc(before, notInToken):]
	switch {
	case strings.EqualFold(word, "Authorization"):
		return variableName(server + "_TOKEN")
	case looksSecret(word) && word == strings.ToUpper(word) && NameLength(word) == len(word):
		return word // it is the name of a variable already, as in -e TOKEN=x
	case looksSecret(word):
		return variableName(server + "_" + word)
	case strings.HasPrefix(text[at+len(secret):], "@"):
		return variableName(server + "_PASSWORD")
	}
	return variableName(server + "_TOKEN")
}

// variableName makes a name of a variable: capitals, digits and single underscores.
func variableName(text string) string {
	words := strings.FieldsFunc(strings.ToUpper(text), func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') })
	name := strings.Join(words, "_")
	if name == "" || name[0] <= '9' {
		name = "MCP_" + name
	}
	return name
}

// variable returns the first free name for a secret: base, then one with the server's name, then
// numbered ones.
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
	name := base
	if prefix := variableName(server) + "_"; !free(name) && !strings.HasPrefix(base, prefix) {
		base = prefix + base
		name = base
	}
	for n := 2; !free(name); n++ {
		name = base + "_" + strconv.Itoa(n)
	}
	return name
}

// Keep gives the variables of these literals to them, for what is lifted later.
func (t *Trial) Keep(literals []Literal) { t.kept = append(t.kept, literals...) }
