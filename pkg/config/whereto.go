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
	for line := range strings.Lines(tokenPages) {
		if services := strings.Fields(line); slices.Contains(services, service) {
			return services[len(services)-1]
		}
	}
	return ""
}

// tokenPages lists the pages of tokens, each behind the services that have it, named as variables begin.
const tokenPages = `GITHUB GH https://github.com/settings/tokens
GITLAB GL https://gitlab.com/-/user_settings/personal_access_tokens
SLACK https://api.slack.com/apps
BRAVE https://brave.com/search/api/
NOTION https://www.notion.so/profile/integrations
SENTRY https://sentry.io/settings/account/api/auth-tokens/
LINEAR https://linear.app/settings/account/security
GOOGLE_MAPS https://console.cloud.google.com/google/maps-apis/credentials
GOOGLE GEMINI https://aistudio.google.com/apikey
OPENAI https://platform.openai.com/api-keys
ANTHROPIC https://console.anthropic.com/settings/keys
EXA https://dashboard.exa.ai/api-keys
TAVILY https://app.tavily.com/home
FIRECRAWL https://www.firecrawl.dev/app/api-keys
PERPLEXITY https://www.perplexity.ai/settings/api
AIRTABLE https://airtable.com/create/tokens
STRIPE https://dashboard.stripe.com/apikeys
FIGMA https://www.figma.com/developers/api#access-tokens
HF HUGGINGFACE HUGGING https://huggingface.co/settings/tokens
CLOUDFLARE https://dash.cloudflare.com/profile/api-tokens
SUPABASE https://supabase.com/dashboard/account/tokens
VERCEL https://vercel.com/account/tokens
ATLASSIAN JIRA CONFLUENCE https://id.atlassian.com/manage-profile/security/api-tokens
DISCORD https://discord.com/developers/applications
REPLICATE https://replicate.com/account/api-tokens
ELEVENLABS https://elevenlabs.io/app/settings/api-keys
DATADOG DD https://app.datadoghq.com/organization-settings/api-keys`
