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

// reader reads the fields of one entry and collects notes about it. The texts that it returns have mcpl's references.
type reader struct {
	env    config.Env
	client client
	place  place
	fields map[string]any
	reason string
	notes  []string
}

// skip records why the entry cannot be imported. The first reason counts.
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

// get returns a field of type T. If the field has another type, the entry cannot be imported. kind names the type.
func get[T any](r *reader, key, kind string) T {
	value := r.fields[key]
	typed, ok := value.(T)
	if value != nil && !ok {
		r.skip("its %q is not %s", key, kind)
	}
	return typed
}

// plain returns a text as it stands. It is empty if there is none.
func (r *reader) plain(key string) string { return get[string](r, key, "a string") }

// string returns a text.
func (r *reader) string(key string) string { return r.client.text(r, r.plain(key)) }

// strings returns a list of texts.
func (r *reader) strings(key string) []string {
	var texts []string
	for _, v := range get[[]any](r, key, "an array") {
		text, ok := scalar(v)
		if !ok {
			r.skip("its %q holds values that are not strings", key)
		}
		texts = append(texts, r.client.text(r, text))
	}
	return texts
}

// pairs returns an object of texts, sorted by name, without the names whose value is null.
func (r *reader) pairs(key string) []config.KeyValue {
	object := get[map[string]any](r, key, "an object")
	var pairs []config.KeyValue
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if object[name] == nil {
			continue
		}
		text, ok := scalar(object[name])
		if !ok {
			r.skip("%q of its %q is not a string", name, key)
		}
		pairs = append(pairs, config.KeyValue{Name: name, Value: r.client.text(r, text)})
	}
	return pairs
}

// isOff reports whether the entry is switched off.
func (r *reader) isOff() bool { return r.fields["disabled"] == true || r.fields["enabled"] == false }

// duration returns a number of units. It is zero if the field holds no usable number.
func (r *reader) duration(key string, unit time.Duration) time.Duration {
	text, _ := scalar(r.fields[key])
	n, err := strconv.ParseFloat(text, 64)
	d := time.Duration(0)
	if n *= float64(unit); err == nil && n >= float64(time.Millisecond) && n < math.MaxInt64/2 {
		d = time.Duration(n).Round(time.Millisecond)
	}
	return d
}

// cwd returns the folder that the server starts in. In a project's file a relative path starts from the project.
func (r *reader) cwd() string {
	dir := r.string("cwd")
	if dir == "" || filepath.IsAbs(dir) || strings.HasPrefix(dir, "~") || strings.HasPrefix(dir, "${") {
		return dir
	}
	if r.place.project == "" {
		r.note("its cwd %s is relative, and will start from the folder of the file that it goes to", dir)
		return dir
	}
	return filepath.Join(r.place.project, dir)
}

// common reads the entry that most clients have: command, args, env, cwd; url or (Windsurf)
// serverUrl, headers; type; disabled.
func common(r *reader) config.Entry {
	d := config.Entry{Command: r.string("command"), Args: r.strings("args"), Env: r.pairs("env"), Cwd: r.cwd(),
		URL: r.string("url"), Headers: r.pairs("headers"), Disabled: r.isOff()}
	if url := r.string("serverUrl"); d.URL == "" {
		d.URL = url
	}
	if d.URL != "" {
		d.Transport = config.RemoteTransport(r.plain("type"))
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

// plainServer is common with a timeout, which counts milliseconds as in mcpl's own files.
func plainServer(r *reader) config.Entry {
	d := common(r)
	if d.CallTimeout = r.duration("timeout", time.Millisecond); d.CallTimeout > 0 && d.CallTimeout < time.Second {
		n := d.CallTimeout.Milliseconds()
		r.note("its timeout of %d is not imported: as milliseconds it is hardly meant. For seconds put \"callTimeout\": "+
			"\"%ds\" into the new entry", n, n)
		d.CallTimeout = 0
	}
	return d
}

// oauth returns the login of an entry in Claude Code's form: its clientId and callbackPort, and clientSecret. It is
// nil if the entry has none.
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

// filters adds notes about lists of tools, which mcpl does not import.
func (r *reader) filters(keys ...string) {
	for _, key := range keys {
		if list, ok := r.fields[key].([]any); ok && len(list) > 0 {
			r.note("its %s is not imported: switch single tools off with the verb disable", key)
		}
	}
}

// codexServer reads an entry of Codex. Its fields are those of McpServerConfig in codex-rs/config/src/mcp_types.rs of
// https://github.com/openai/codex. Its env_vars only let variables through that a server of mcpl has anyway.
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

// geminiServer reads an entry of Gemini CLI: httpUrl is Streamable HTTP; url may be either kind of HTTP, which mcpl
// finds out by itself; the timeout counts milliseconds.
func geminiServer(r *reader) config.Entry {
	d := plainServer(r)
	if url := r.string("httpUrl"); url != "" {
		d.URL, d.Transport = url, config.HTTP
	}
	return d
}

// opencodeServer reads an entry of OpenCode: the command is a list, the variables are its
// environment. Its timeout concerns listing, not calls.
func opencodeServer(r *reader) config.Entry {
	d := config.Entry{Env: r.pairs("environment"), Cwd: r.cwd(), URL: r.string("url"), Headers: r.pairs("headers"),
		Disabled: r.isOff()}
	if words := r.strings("command"); len(words) > 0 {
		d.Command, d.Args = words[0], words[1:]
	}
	if r.fields["type"] == "remote" {
		d.Command, d.Args, d.Env = "", nil, nil
	}
	return d
}

// zedServer reads an entry of Zed. Older files have path, args and env below command. An extension's server has
// settings only.
func zedServer(r *reader) config.Entry {
	if inner, ok := r.fields["command"].(map[string]any); ok {
		enabled := r.fields["enabled"]
		r.fields = maps.Clone(inner)
		r.fields["command"], r.fields["enabled"] = inner["path"], enabled
	}
	if r.fields["command"] == nil && r.fields["url"] == nil &&
		(r.fields["source"] == "extension" || r.fields["settings"] != nil) {
		r.skip("it belongs to an extension of Zed, which alone knows its command")
	}
	return plainServer(r)
}
