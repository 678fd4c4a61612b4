package config

import "strings"

// WhereToGet returns the official page where a person gets the value of a well-known variable,
// such as GITHUB_TOKEN, or "" for one that is not known.
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
	switch service {
	case "GITHUB", "GH":
		return "https://github.com/settings/tokens"
	case "GITLAB", "GL":
		return "https://gitlab.com/-/user_settings/personal_access_tokens"
	case "SLACK":
		return "https://api.slack.com/apps"
	case "BRAVE":
		return "https://brave.com/search/api/"
	case "NOTION":
		return "https://www.notion.so/profile/integrations"
	case "SENTRY":
		return "https://sentry.io/settings/account/api/auth-tokens/"
	case "LINEAR":
		return "https://linear.app/settings/account/security"
	case "GOOGLE_MAPS":
		return "https://console.cloud.google.com/google/maps-apis/credentials"
	case "GOOGLE", "GEMINI":
		return "https://aistudio.google.com/apikey"
	case "OPENAI":
		return "https://platform.openai.com/api-keys"
	case "ANTHROPIC":
		return "https://console.anthropic.com/settings/keys"
	case "EXA":
		return "https://dashboard.exa.ai/api-keys"
	case "TAVILY":
		return "https://app.tavily.com/home"
	case "FIRECRAWL":
		return "https://www.firecrawl.dev/app/api-keys"
	case "PERPLEXITY":
		return "https://www.perplexity.ai/settings/api"
	case "AIRTABLE":
		return "https://airtable.com/create/tokens"
	case "STRIPE":
		return "https://dashboard.stripe.com/apikeys"
	case "FIGMA":
		return "https://www.figma.com/developers/api#access-tokens"
	default:
		return morePages(service)
	}
}

// morePages continues page with services that are met less often.
func morePages(service string) string {
	switch service {
	case "HF", "HUGGINGFACE", "HUGGING":
		return "https://huggingface.co/settings/tokens"
	case "CLOUDFLARE":
		return "https://dash.cloudflare.com/profile/api-tokens"
	case "SUPABASE":
		return "https://supabase.com/dashboard/account/tokens"
	case "VERCEL":
		return "https://vercel.com/account/tokens"
	case "ATLASSIAN", "JIRA", "CONFLUENCE":
		return "https://id.atlassian.com/manage-profile/security/api-tokens"
	case "DISCORD":
		return "https://discord.com/developers/applications"
	case "REPLICATE":
		return "https://replicate.com/account/api-tokens"
	case "ELEVENLABS":
		return "https://elevenlabs.io/app/settings/api-keys"
	case "DATADOG", "DD":
		return "https://app.datadoghq.com/organization-settings/api-keys"
	default:
		return ""
	}
}
