package cause

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// failure is a record of testdata/failures.json: what a server wrote that did not work. Its source says whether it was
// "recorded" from the package, started without a token and without a network, or "described" in a review.
type failure struct {
	Name  string    `json:"name"`
	Exit  *int      `json:"exit"` // nil if it did not end
	Error *struct { // its answer to tools/list
		Message string `json:"message"`
	} `json:"error"`
	Lines [][3]any `json:"lines"` // seconds since the start, "out" or "err", the text
}

// evidence returns what mcpl knows of the server.
func (f failure) evidence() Evidence {
	e := Evidence{Ended: f.Exit != nil}
	if f.Error != nil {
		e.Stderr = f.Error.Message
	}
	for _, l := range f.Lines {
		switch text := l[2].(string); {
		case l[1] == "err":
			e.Stderr += text + "\n"
		case strings.Contains(text, `"jsonrpc"`):
			e.Messages += text + "\n"
		default:
			e.Stdout += text + "\n"
		}
	}
	return e
}

// TestServersTable holds the causes of the 23 failures in servers.md, and of two with a wrong token.
func TestServersTable(t *testing.T) {
	t.Parallel()
	want := map[string]Cause{
		"airtable":          {Kind: Variable, Line: "Error: airtable-mcp-server: No API key provided. Set it in the `AIRTABLE_API_KEY` environment variable", Names: []string{"AIRTABLE_API_KEY"}},
		"brave-search":      {Kind: Variable, Line: "Error: BRAVE_API_KEY environment variable is required", Names: []string{"BRAVE_API_KEY"}},
		"gitlab":            {Kind: Variable, Line: "GITLAB_PERSONAL_ACCESS_TOKEN environment variable is not set", Names: []string{"GITLAB_PERSONAL_ACCESS_TOKEN"}},
		"google-maps":       {Kind: Variable, Line: "GOOGLE_MAPS_API_KEY environment variable is not set", Names: []string{"GOOGLE_MAPS_API_KEY"}},
		"slack":             {Kind: Variable, Line: "Please set SLACK_BOT_TOKEN and SLACK_TEAM_ID environment variables", Names: []string{"SLACK_BOT_TOKEN", "SLACK_TEAM_ID"}},
		"hubspot":           {Kind: Variable, Line: "Error: HubSpot access token is required. Set PRIVATE_APP_ACCESS_TOKEN in your environment variables and retry.", Names: []string{"PRIVATE_APP_ACCESS_TOKEN"}},
		"stripe":            {Kind: Variable, Line: "Stripe API key not provided. Please either pass it as an argument --api-key=$KEY or set the STRIPE_SECRET_KEY environment variable.", Names: []string{"STRIPE_SECRET_KEY"}},
		"supabase":          {Kind: Variable, Line: "Please provide a personal access token (PAT) with the --access-token flag or set the SUPABASE_ACCESS_TOKEN environment variable", Names: []string{"SUPABASE_ACCESS_TOKEN"}},
		"postman":           {Kind: Variable, Line: "Invalid environment variables for Postman MCP server: { _errors: [], POSTMAN_API_KEY: { _errors: [ 'Required' ] } }", Names: []string{"POSTMAN_API_KEY"}},
		"apify-actors":      {Kind: Variable, Line: "ERROR APIFY_TOKEN is required but not set in the environment variables or in ~/.apify/auth.json", Names: []string{"APIFY_TOKEN"}},
		"github-mcp-server": {Kind: Variable, Line: "Error: GITHUB_PERSONAL_ACCESS_TOKEN not set", Names: []string{"GITHUB_PERSONAL_ACCESS_TOKEN"}},
		"postgres":          {Kind: Argument, Line: "Please provide a database URL as a command-line argument"},
		"firebase":          {Kind: Host, Line: "request to https://firebaseremoteconfig.googleapis.com/ failed, reason: getaddrinfo ENOTFOUND firebaseremoteconfig.googleapis.com", Name: "firebaseremoteconfig.googleapis.com"},
		"sentry":            {Kind: Variable, Line: "Error: No access token was provided.", Names: []string{"SENTRY_ACCESS_TOKEN"}},
		"elasticsearch":     {Kind: Setting, Line: "Elasticsearch URL cannot be empty"},
		"gdrive":            {Kind: Setup, Line: "Credentials not found. Please run with 'auth' argument first.", Name: "auth"},
		"cloudflare":        {Kind: Argument, Line: "[DEBUG 2026-11-22T07:27:09.431Z] Uncaught exception: Error: Unknown command: undefined. Expected 'init' or 'run'."},
		"neon":              {Kind: Argument, Line: "Invalid number of arguments"},
		"heroku":            {Kind: Module, Line: "Fatal error in main(): Cannot find module '/app/_heroku_mcp-server/node_modules/@modelcontextprotocol/sdk/dist/esm/server/mcp' imported from /app/_heroku_mcp-server/node_modules/@heroku/mcp-server/dist/index.js", Name: "/app/_heroku_mcp-server/node_modules/@modelcontextprotocol/sdk/dist/esm/server/mcp"},
		"auth0":             {Kind: Addon, Line: `Error: Failed to load keytar native addon, checked ["../build/Release","../prebuilds/linux-x64","./prebuilds/linux-x64"] on prebuilds/linux-x64`},
		"twilio":            {Kind: Setting, Line: "Error: Invalid AccountSid"},
		"redis":             {Kind: Refused, Line: "[Redis Error] Error: connect ECONNREFUSED 127.0.0.1:6379", Name: "127.0.0.1:6379"},
		"figma-developer":   {Kind: HTTP, Line: "[INFO] StreamableHTTP endpoint available at http://127.0.0.1:3333/mcp", Name: "http://127.0.0.1:3333/mcp"},
		"stripe-with-token": {Kind: Host, Line: "[cause]: Error: getaddrinfo ENOTFOUND mcp.stripe.com", Name: "mcp.stripe.com"},
		"apify-with-token":  {Kind: Host, Line: "Cause:Error: getaddrinfo ENOTFOUND api.apify.com", Name: "api.apify.com"},
	}
	text, err := os.ReadFile(filepath.Join("testdata", "failures.json"))
	if err != nil {
		t.Fatal(err)
	}
	var failures []failure
	if err := json.Unmarshal(text, &failures); err != nil {
		t.Fatal(err)
	}
	if len(failures) != 25 || len(want) != 25 {
		t.Errorf("%d records, %d causes", len(failures), len(want))
	}
	for _, f := range failures {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			if got, _ := Find(f.evidence()); !reflect.DeepEqual(got, want[f.Name]) {
				t.Errorf("got  %+v\nwant %+v", got, want[f.Name])
			}
		})
	}
}
