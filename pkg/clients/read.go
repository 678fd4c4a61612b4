package clients

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
)

// reader reads the fields of one entry and gathers what is to be said about it. Texts that it
// returns have mcpl's references.
type reader struct {
	env    config.Env
	client client
	place  place
	fields map[string]any
	reason string
	notes  []string
}

// skip says that the entry cannot be taken. The first reason counts.
func (r *reader) skip(format string, args ...any) {
	if r.reason == "" {
		r.reason = fmt.Sprintf(format, args...)
	}
}

func (r *reader) note(format string, args ...any) {
	if note := fmt.Sprintf(format, args...); !slices.Contains(r.notes, note) {
		r.notes = append(r.notes, note)
	}
}

// scalar returns the text of a string, a number or a boolean.
func scalar(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool, int64, float64:
		return fmt.Sprint(v), true
	}
	return "", false
}

// plain returns a text as it stands, "" where there is none.
func (r *reader) plain(key string) string {
	value := r.fields[key]
	text, ok := value.(string)
	if value != nil && !ok {
		r.skip("its %q is no text", key)
	}
	return text
}

// string returns a text.
func (r *reader) string(key string) string { return r.client.text(r, r.plain(key)) }

// strings returns a list of texts.
func (r *reader) strings(key string) []string {
	value := r.fields[key]
	list, ok := value.([]any)
	if value != nil && !ok {
		r.skip("its %q is no list", key)
	}
	var texts []string
	for _, v := range list {
		text, ok := scalar(v)
		if !ok {
			r.skip("its %q holds something else than texts", key)
		}
		texts = append(texts, r.client.text(r, text))
	}
	return texts
}

// pairs returns an object of texts, sorted by name. null leaves a name away.
func (r *reader) pairs(key string) []config.KeyValue {
	value := r.fields[key]
	object, ok := value.(map[string]any)
	if value != nil && !ok {
		r.skip("its %q is no object", key)
	}
	var pairs []config.KeyValue
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if object[name] == nil {
			continue
		}
		text, ok := scalar(object[name])
		if !ok {
			r.skip("%q of its %q is no text", name, key)
		}
		pairs = append(pairs, config.KeyValue{Name: name, Value: r.client.text(r, text)})
	}
	return pairs
}

// is reports whether a boolean has a value.
func (r *reader) is(key string, want bool) bool {
	value, ok := r.fields[key].(bool)
	return ok && value == want
}

// duration returns a number of units, 0 where there is none that can be used.
func (r *reader) duration(key string, unit time.Duration) time.Duration {
	text, _ := scalar(r.fields[key])
	n, err := strconv.ParseFloat(text, 64)
	if d := n * float64(unit); err == nil && d >= float64(time.Millisecond) && d < math.MaxInt64/2 {
		return time.Duration(d).Round(time.Millisecond)
	}
	return 0
}

// cwd returns where the server starts. In a project's file it is meant from the project.
func (r *reader) cwd() string {
	dir := r.string("cwd")
	if dir == "" || filepath.IsAbs(dir) || strings.HasPrefix(dir, "~") || strings.HasPrefix(dir, "${") {
		return dir
	}
	if r.place.project == "" {
		r.note("its cwd %s is relative, and will be meant from the folder of the file it goes to", dir)
		return dir
	}
	return filepath.Join(r.place.project, dir)
}

// common reads the entry that most clients have: command, args, env, cwd; url or (Windsurf)
// serverUrl, headers; type; disabled.
func common(r *reader) config.Entry {
	d := config.Entry{Command: r.string("command"), Args: r.strings("args"), Env: r.pairs("env"), Cwd: r.cwd(),
		URL: r.string("url"), Headers: r.pairs("headers"), Disabled: r.is("disabled", true) || r.is("enabled", false)}
	if url := r.string("serverUrl"); d.URL == "" {
		d.URL = url
	}
	if d.URL != "" && strings.EqualFold(r.plain("type"), "sse") {
		d.Transport = config.SSE
	}
	if d.Command != "" && d.URL != "" {
		r.skip("it has both a command and a url")
	}
	d.OAuth = r.oauth()
	if file := r.plain("envFile"); file != "" {
		r.note("its envFile is not read here: name it with --env-file %s", file)
	}
	r.filters("disabledTools", "includeTools", "excludeTools", "enabled_tools", "disabled_tools")
	return d
}

// oauth returns the login of an entry as Claude Code has it: its clientId and callbackPort, and what else
// mcpl knows under the same name. nil where there is none.
func (r *reader) oauth() *config.OAuth {
	fields, _ := r.fields["oauth"].(map[string]any)
	text := func(key string) string {
		value, _ := fields[key].(string)
		return r.client.text(r, value)
	}
	o := config.OAuth{ClientID: text("clientId"), ClientSecret: text("clientSecret")}
	if port, ok := scalar(fields["callbackPort"]); ok {
		if n, err := strconv.Atoi(port); err == nil && n > 0 && n <= 65535 {
			o.RedirectPort = n
		}
	}
	if o.ClientID == "" && o.ClientSecret == "" && o.RedirectPort == 0 {
		return nil
	}
	return &o
}

// filters notes lists of tools, which are not taken along.
func (r *reader) filters(keys ...string) {
	for _, key := range keys {
		if list, ok := r.fields[key].([]any); ok && len(list) > 0 {
			r.note("its %s is not taken along: switch tools off with mcpl disable SERVER/TOOL", key)
		}
	}
}

// codexServer reads an entry of Codex. Its fields are those of McpServerConfig in
// codex-rs/config/src/mcp_types.rs of https://github.com/openai/codex. Its env_vars only let
// variables through that a server of mcpl has anyway.
func codexServer(r *reader) config.Entry {
	d := common(r)
	d.Headers = r.pairs("http_headers")
	for _, p := range r.pairs("env_http_headers") {
		d.Headers = append(d.Headers, config.KeyValue{Name: p.Name, Value: "${" + p.Value + "}"})
	}
	if variable := r.plain("bearer_token_env_var"); variable != "" {
		d.Headers = append(d.Headers, config.KeyValue{Name: "Authorization", Value: "Bearer ${" + variable + "}"})
	}
	d.ConnectTimeout = r.duration("startup_timeout_sec", time.Second)
	if d.ConnectTimeout == 0 {
		d.ConnectTimeout = r.duration("startup_timeout_ms", time.Millisecond)
	}
	d.CallTimeout = r.duration("tool_timeout_sec", time.Second)
	return d
}

// geminiServer reads an entry of Gemini CLI: httpUrl is Streamable HTTP; url may be either kind
// of HTTP, which mcpl finds out by itself; the timeout counts milliseconds.
func geminiServer(r *reader) config.Entry {
	d := common(r)
	if url := r.string("httpUrl"); url != "" {
		d.URL, d.Transport = url, config.HTTP
	}
	d.CallTimeout = r.duration("timeout", time.Millisecond)
	return d
}

// opencodeServer reads an entry of OpenCode: the command is a list, the variables are its
// environment. Its timeout concerns listing, not calls.
func opencodeServer(r *reader) config.Entry {
	d := config.Entry{Env: r.pairs("environment"), Cwd: r.cwd(), URL: r.string("url"), Headers: r.pairs("headers"),
		Disabled: r.is("enabled", false) || r.is("disabled", true)}
	if words := r.strings("command"); len(words) > 0 {
		d.Command, d.Args = words[0], words[1:]
	}
	if r.fields["type"] == "remote" {
		d.Command, d.Args, d.Env = "", nil, nil
	}
	return d
}

// zedServer reads an entry of Zed: as most have it, in older files with path, args and env below
// command. An extension's server has settings only.
func zedServer(r *reader) config.Entry {
	if inner, ok := r.fields["command"].(map[string]any); ok {
		enabled := r.fields["enabled"]
		r.fields = maps.Clone(inner)
		r.fields["command"], r.fields["enabled"] = inner["path"], enabled
	}
	if r.fields["command"] == nil && r.fields["url"] == nil && (r.fields["source"] == "extension" || r.fields["settings"] != nil) {
		r.skip("it belongs to an extension of Zed, which alone knows its command")
	}
	return common(r)
}
