package config

import (
	"slices"
	"strings"
)

// WhereToGet returns the official page where a person gets the value of a well-known variable, such as GITHUB_TOKEN.
// It is empty for an unknown variable.
func WhereToGet(variable string) string {
	name := strings.ToUpper(variable)
	if name == "SLACK_TEAM_ID" {
		return "https://slack.com/help/articles/221769328-Locate-your-Slack-URL-or-ID"
	}
	if !looksSecret(name) {
		return ""
	}
	service, _, _ := strings.Cut(name, "_")
	if strings.HasPrefix(name, "GOOGLE_MAPS") {
		service = "GOOGLE_MAPS"
	}
	return page(service)
}

// page returns the page of a service's tokens, given the first word of the variable.
func page(service string) string {
	for _, p := range pages() {
		if slices.Contains(p.services, service) {
			return p.url
		}
	}
	return ""
}

// servicePage is a page with tokens, and the services that have it, named as variables begin.
type servicePage struct {
	services []string
	url      string
}

func pages() []servicePage {
	return []servicePage{
		{[]string{"GITHUB", "GH"}, "https://github.com/settings/tokens"},
		{[]string{"GITLAB", "GL"}, "https://gitlab.com/-/user_settings/personal_access_tokens"},
		{[]string{"SLACK"}, "https://api.slack.com/apps"},
		{[]string{"BRAVE"}, "https://brave.com/search/api/"},
		{[]string{"NOTION"}, "https://www.notion.so/profile/integrations"},
		{[]string{"SENTRY"}, "https://sentry.io/settings/account/api/auth-tokens/"},
		{[]string{"LINEAR"}, "https://linear.app/settings/account/security"},
		{[]string{"GOOGLE_MAPS"}, "https://console.cloud.google.com/google/maps-apis/credentials"},
		{[]string{"GOOGLE", "GEMINI"}, "https://aistudio.google.com/apikey"},
		{[]string{"OPENAI"}, "https://platform.openai.com/api-keys"},
		{[]string{"ANTHROPIC"}, "https://console.anthropic.com/settings/keys"},
		{[]string{"EXA"}, "https://dashboard.exa.ai/api-keys"},
		{[]string{"TAVILY"}, "https://app.tavily.com/home"},
		{[]string{"FIRECRAWL"}, "https://www.firecrawl.dev/app/api-keys"},
		{[]string{"PERPLEXITY"}, "https://www.perplexity.ai/settings/api"},
		{[]string{"AIRTABLE"}, "https://airtable.com/create/tokens"},
		{[]string{"STRIPE"}, "https://dashboard.stripe.com/apikeys"},
		{[]string{"FIGMA"}, "https://www.figma.com/developers/api#access-tokens"},
		{[]string{"HF", "HUGGINGFACE", "HUGGING"}, "https://huggingface.co/settings/tokens"},
		{[]string{"CLOUDFLARE"}, "https://dash.cloudflare.com/profile/api-tokens"},
		{[]string{"SUPABASE"}, "https://supabase.com/dashboard/account/tokens"},
		{[]string{"VERCEL"}, "https://vercel.com/account/tokens"},
		{[]string{"ATLASSIAN", "JIRA", "CONFLUENCE"}, "https://id.atlassian.com/manage-profile/security/api-tokens"},
		{[]string{"DISCORD"}, "https://discord.com/developers/applications"},
		{[]string{"REPLICATE"}, "https://replicate.com/account/api-tokens"},
		{[]string{"ELEVENLABS"}, "https://elevenlabs.io/app/settings/api-keys"},
		{[]string{"DATADOG", "DD"}, "https://app.datadoghq.com/organization-settings/api-keys"},
	}
}
