package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// job is what the suite asks of a client, in its environment.
type job struct {
	scenario, revision, url string
	// Context is what the suite tells the client beside the URL.
	context struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		PrivateKey   string `json:"private_key_pem"`
		ToolCalls    []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
}

// newest is the first revision without the handshake of those before it.
const newest = "2026-07-28"

// metadataURL is the address of client metadata that auth/basic-cimd expects.
const metadataURL = "https://conformance-test.local/client-metadata.json"

func jobOf(getenv func(string) string, url string) (job, error) {
	j := job{scenario: getenv("MCP_CONFORMANCE_SCENARIO"), revision: getenv("MCP_CONFORMANCE_PROTOCOL_VERSION"), url: url}
	if j.scenario == "" || url == "" {
		return job{}, errors.New("-client is for the suite: it wants MCP_CONFORMANCE_SCENARIO and a URL")
	}
	if text := getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &j.context); err != nil {
			return job{}, fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
		}
	}
	return j, nil
}

// entry is the server's entry in the configuration.
func (j job) entry() map[string]any {
	entry := map[string]any{"type": "http", "url": j.url}
	if j.revision == newest {
		entry["protocol"] = newest
	}
	oauth := map[string]any{}
	switch j.scenario {
	case "auth/basic-cimd":
		oauth["clientMetadataUrl"] = metadataURL
	case "auth/pre-registration":
		oauth["clientId"], oauth["clientSecret"] = j.context.ClientID, j.context.ClientSecret
	case "auth/client-credentials-basic":
		oauth["grant"] = "client_credentials"
		oauth["clientId"], oauth["clientSecret"] = j.context.ClientID, j.context.ClientSecret
	case "auth/client-credentials-jwt":
		oauth["grant"], oauth["clientId"] = "client_credentials", j.context.ClientID
		oauth["privateKey"] = j.context.PrivateKey
	}
	if len(oauth) > 0 {
		entry["oauth"] = oauth
	}
	return entry
}

// play does what the scenario wants to see. In a scenario that it does not know it lists the tools
// and calls each of them.
func (j job) play(ctx context.Context, u *user) error {
	switch j.scenario {
	case "initialize", "request-metadata":
		return u.steps(ctx, list())
	case "tools_call":
		return u.steps(ctx, list(), call("add_numbers", "a=5", "b=3"))
	case "sse-retry":
		return u.steps(ctx, list(), call("test_reconnection"))
	case "json-schema-ref-no-deref":
		// Its server cannot call tools: everything that reads the schema, up to the call itself.
		return u.steps(ctx, list(), []string{"inspect", server, "lookup_user", "--example"},
			call("lookup_user", "id=ada", "--dry-run"))
	case "elicitation-sep1034-client-defaults":
		return u.steps(ctx, list(), call("test_client_elicitation_defaults", "--elicit", "{}"))
	case "sep-2322-client-request-state":
		yes := `{"confirmed":true}`
		return u.steps(ctx, list(), call("test_mrtr_echo_state", "--elicit", yes), call("test_mrtr_unrelated"),
			call("test_mrtr_no_state", "--elicit", yes), call("test_mrtr_no_result_type"))
	case "http-standard-headers":
		return u.steps(ctx, list(), call("test_headers"), call("my-hyphenated-tool"), []string{"resources", server},
			[]string{"read", server, "file:///path/to/file%20name.txt"},
			[]string{"read", server, "https://example.com/resource?id=123"},
			[]string{"prompts", server}, []string{"prompt", server, "test_prompt"})
	case "http-custom-headers":
		return j.customHeaders(ctx, u)
	case "json-schema-2020-12-preservation":
		return u.echoSchema(ctx)
	}
	if strings.HasPrefix(j.scenario, "auth/") {
		return u.steps(ctx, call("test-tool"), list())
	}
	return u.each(ctx)
}

// list is the command that lists the server's tools anew, call one that calls a tool.
func list() []string { return []string{"list", server, "--refresh"} }

func call(tool string, args ...string) []string {
	return append([]string{"call", server, tool}, args...)
}

// steps types commands one after the other, all of them, and returns every failure.
func (u *user) steps(ctx context.Context, commands ...[]string) error {
	var failures []error
	for _, args := range commands {
		if _, err := u.do(ctx, args...); err != nil {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

// customHeaders makes the calls that the suite names. One of them has a null that the tool's schema
// does not allow, which only --no-validate sends.
func (j job) customHeaders(ctx context.Context, u *user) error {
	commands := [][]string{list()}
	for _, c := range j.context.ToolCalls {
		commands = append(commands, call(c.Name, string(c.Arguments), "--no-validate"))
	}
	return u.steps(ctx, commands...)
}

// echoSchema gives the schema of one tool, as mcpl shows it, to another.
func (u *user) echoSchema(ctx context.Context) error {
	if err := u.steps(ctx, list()); err != nil {
		return err
	}
	def, err := u.inspect(ctx, "json_schema_2020_12_tool")
	if err != nil {
		return err
	}
	args, err := json.Marshal(map[string]json.RawMessage{"schema": def.InputSchema})
	if err != nil {
		return err
	}
	return u.steps(ctx, call("json_schema_echo", string(args)))
}
