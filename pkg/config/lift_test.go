package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// testKey is a private key as a variable holds it.
const testKey = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END PRIVATE KEY-----\n"

func TestLift(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.vars = map[string]string{"GITLAB_TOKEN": "another", "SET_TOKEN": "set-value"}
	target, err := w.Target(Selection{}, "")
	if err != nil {
		t.Fatal(err)
	}
	const token = "ghp_0123456789abcdef"
	for name, tc := range map[string]struct {
		entry Entry
		want  string // the entry, and what was found
	}{
		"a variable":            {Entry{Env: []KeyValue{{"GITHUB_TOKEN", token}}}, `env GITHUB_TOKEN=${GITHUB_TOKEN} | env GITHUB_TOKEN GITHUB_TOKEN`},
		"one that is set":       {Entry{Env: []KeyValue{{"SET_TOKEN", "set-value"}}}, `env SET_TOKEN=${SET_TOKEN} | env SET_TOKEN SET_TOKEN set`},
		"one set to other":      {Entry{Env: []KeyValue{{"GITLAB_TOKEN", token}}}, `env GITLAB_TOKEN=${SRV_GITLAB_TOKEN} | env GITLAB_TOKEN SRV_GITLAB_TOKEN`},
		"a reference":           {Entry{Env: []KeyValue{{"GITHUB_TOKEN", "${X}"}}}, `env GITHUB_TOKEN=${X} |`},
		"settings":              {Entry{Env: []KeyValue{{"AUTH", "true"}, {"SESSION_TTL", "3600"}, {"KEY_FILE", "/a/b"}, {"X_CREDENTIALS", `C:\k.json`}, {"PIN_KEY", "123"}}}, `env AUTH=true env SESSION_TTL=3600 env KEY_FILE=/a/b env X_CREDENTIALS=C:\k.json env PIN_KEY=123 |`},
		"a password in a URL":   {Entry{Env: []KeyValue{{"DATABASE", "postgres://me:pass%20word@db/x"}}}, `env DATABASE=postgres://me:${SRV_PASSWORD}@db/x | env DATABASE SRV_PASSWORD`},
		"a token by its form":   {Entry{Env: []KeyValue{{"PLAIN", "x " + token}}}, `env PLAIN=x ${SRV_TOKEN} | env PLAIN SRV_TOKEN`},
		"a bearer":              {Entry{Headers: []KeyValue{{"Authorization", "Bearer abcd"}, {"X-Api-Key", "abcd1"}, {"Accept", "abcd"}}}, `header Authorization=Bearer ${SRV_TOKEN} header X-Api-Key=${SRV_API_KEY} header Accept=abcd | header Authorization SRV_TOKEN, header X-Api-Key SRV_API_KEY`},
		"an argument of a flag": {Entry{Args: []string{"--api-key", "abcdef", "--api-key-file", "./f", "--verbose"}}, `--api-key ${SRV_API_KEY} --api-key-file ./f --verbose | args[1] SRV_API_KEY`},
		"a flag with a value":   {Entry{Args: []string{"--token=abcdef", "-e", "MY_TOKEN=xyzw", "--header", "Authorization: Bearer abcdefg"}}, `--token=${SRV_TOKEN} -e MY_TOKEN=${MY_TOKEN} --header Authorization: Bearer ${SRV_TOKEN_2} | args[0] SRV_TOKEN, args[2] MY_TOKEN, args[4] SRV_TOKEN_2`},
		"a URL's parameter":     {Entry{URL: "https://u:pass@h/p?api_key=abcdef&q=1"}, `https://u:${SRV_PASSWORD}@h/p?api_key=${SRV_API_KEY}&q=1 | url SRV_API_KEY, url SRV_PASSWORD`},
		"the same secret twice": {Entry{Args: []string{"--token=" + token}, Env: []KeyValue{{"MY_TOKEN", token}}}, `--token=${SRV_TOKEN} env MY_TOKEN=${MY_TOKEN} | env MY_TOKEN MY_TOKEN, args[0] SRV_TOKEN`},
		"a URL's path":          {Entry{URL: "https://h/s/a3f5c9e17b2d4860a3f5c9e17b2d4860/mcp"}, `https://h/s/${SRV_TOKEN}/mcp | url SRV_TOKEN`},
		"JSON":                  {Entry{Args: []string{"--config", `{"apiKey":"abcd","b":"a\"b"}`}}, `--config {"apiKey":"${SRV_APIKEY}","b":"a\"b"} | args[1] SRV_APIKEY`},
		"JSON with a quote":     {Entry{Args: []string{`--config={"apiKey":"ab\"cd"}`}}, `--config={"apiKey":"${SRV_APIKEY}"} | args[0] SRV_APIKEY`},
		"JSON in a variable":    {Entry{Env: []KeyValue{{"CONFIG", `{"password":"abcd"}`}}}, `env CONFIG={"password":"${SRV_PASSWORD}"} | env CONFIG SRV_PASSWORD`},
		"two assignments":       {Entry{Args: []string{"--env=API_TOKEN=abcd", "--pw", "efgh"}}, `--env=API_TOKEN=${API_TOKEN} --pw ${SRV_PW} | args[0] API_TOKEN, args[2] SRV_PW`},
		"a connection string":   {Entry{Env: []KeyValue{{"DB", "Server=a;Password=abcdefg;X=y"}}}, `env DB=Server=a;Password=${SRV_PASSWORD};X=y | env DB SRV_PASSWORD`},
		"a URL in JSON":         {Entry{Args: []string{`{"url":"https://h/x?api_key=Zk3J9sQ2mN8vB4xP2","b":[1,2]}`}}, `{"url":"https://h/x?api_key=${SRV_API_KEY}","b":[1,2]} | args[0] SRV_API_KEY`},
		"a URL in other text":   {Entry{Args: []string{`say 'https://h/x?api_key=Zk3J9sQ2mN8vB4xP2' {https://h?token=abcdefg} and`}}, `say 'https://h/x?api_key=${SRV_API_KEY}' {https://h?token=${SRV_TOKEN}} and | args[0] SRV_API_KEY, args[0] SRV_TOKEN`},
		"a URL before a flag":   {Entry{Args: []string{`https://h/x?api_key=abcdef --b`}}, `https://h/x?api_key=${SRV_API_KEY} --b | args[0] SRV_API_KEY`},
		"a key":                 {Entry{Env: []KeyValue{{"PRIVATE_KEY", testKey}, {"PEM", testKey}}}, `env PRIVATE_KEY=${PRIVATE_KEY} env PEM=${PEM} | env PRIVATE_KEY PRIVATE_KEY, env PEM PEM`},
		"a service account":     {Entry{Env: []KeyValue{{"ACCOUNT", `{"a":1e999,"private_key":` + jsonString(testKey) + `,"b":[{"secret": "two\/ words"}]}`}}}, `env ACCOUNT={"a":1e999,"private_key":"${SRV_PRIVATE_KEY}","b":[{"secret": "${SRV_SECRET}"}]} | env ACCOUNT SRV_PRIVATE_KEY, env ACCOUNT SRV_SECRET`},
		"JSON in JSON":          {Entry{Args: []string{`{"in":"{\"private_key\":\"a\\nb c\",\"b\":1}"}`}}, `{"in":"{\"private_key\":\"${SRV_PRIVATE_KEY}\",\"b\":1}"} | args[0] SRV_PRIVATE_KEY`},
		"a passphrase":          {Entry{Env: []KeyValue{{"PASSPHRASE", " four words of it "}}}, `env PASSPHRASE=${PASSPHRASE} | env PASSPHRASE PASSPHRASE`},
		"a flag in one":         {Entry{Args: []string{"--secret abcdefg"}}, `--secret ${SRV_SECRET} | args[0] SRV_SECRET`},
		"an empty value":        {Entry{Env: []KeyValue{{"GITHUB_TOKEN", ""}}}, `env GITHUB_TOKEN= |`},
	} {
		before := fmt.Sprint(tc.entry)
		d, literals := w.Trial(target).Lift("srv", tc.entry)
		var found []string
		words := slices.Clone(d.Args)
		for _, p := range d.Env {
			words = append(words, "env "+p.Name+"="+p.Value)
		}
		for _, p := range d.Headers {
			words = append(words, "header "+p.Name+"="+p.Value)
		}
		if d.URL != "" {
			words = append(words, d.URL)
		}
		for _, l := range literals {
			text := l.Where + " " + l.Variable
			if l.Set {
				text += " set"
			}
			found = append(found, text)
		}
		got := strings.TrimSpace(strings.Join(words, " ") + " | " + strings.Join(found, ", "))
		if got != strings.TrimSpace(tc.want) {
			t.Errorf("%s\ngot  %s\nwant %s", name, got, tc.want)
		}
		if fmt.Sprint(tc.entry) != before {
			t.Errorf("%s: the entry that was given changed", name)
		}
	}
}

// TestLiftKeepsApart holds that two secrets get two variables, and one secret one.
func TestLiftKeepsApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	target, err := w.Target(Selection{}, "")
	if err != nil {
		t.Fatal(err)
	}
	trial := w.Trial(target)
	var got []string
	for _, value := range []string{"first-one", "second-one", "first-one"} {
		_, literals := trial.Lift("b-c", Entry{Env: []KeyValue{{"TOKEN", value}}})
		if len(literals) != 1 {
			t.Fatalf("found %+v", literals)
		}
		got = append(got, literals[0].Variable)
		trial.Keep(literals)
	}
	if fmt.Sprint(got) != "[TOKEN B_C_TOKEN TOKEN]" {
		t.Errorf("variables %v", got)
	}
}

// FuzzLift: filled in again with what was lifted, an entry says what it said before.
func FuzzLift(f *testing.F) {
	for _, seed := range [][3]string{{"GITHUB_TOKEN", "ghp_0123456789abcdef", "s"}, {"A", "https://u:p@h?token=x&token=xx", "TOKEN"}, {"KEY", "Bearer Bearer x", ""}, {"AUTH", "${A}b", "1"}} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, name, text, server string) {
		if strings.Contains(text, "${") || strings.Contains(text, "$$") || strings.HasSuffix(text, "$") {
			return // a reference means something else before and after
		}
		env := Env{Lookup: func(string) (string, bool) { return "", false }}
		trial := env.Trial(&Target{Sources: &Sources{}})
		d, literals := trial.Lift(server, Entry{Command: text, Args: []string{"--" + name, text, name + "=" + text},
			Env: []KeyValue{{name, text}}, URL: text, Headers: []KeyValue{{name, text}}})
		lookup := func(variable string) (string, bool) {
			for _, l := range literals {
				if l.Variable == variable {
					return l.value, true
				}
			}
			return "", false
		}
		for where, lifted := range map[string]string{"command": d.Command, "args[1]": d.Args[1], "env": d.Env[0].Value,
			"url": d.URL, "headers": d.Headers[0].Value} {
			if got := expand(lifted, lookup).text; got != text && !strings.Contains(text, "$") {
				t.Errorf("%s: %q became %q, which is %q", where, text, lifted, got)
			}
		}
	})
}
