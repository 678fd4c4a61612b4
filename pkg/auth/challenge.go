package auth

import (
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/config"
)

// challenge is a server's word in WWW-Authenticate on the tokens it takes (RFC 6750, 3; RFC 9728, 5.1; MCP
// 2025-11-25, authorization, scope challenge handling).
type challenge struct {
	metadata string // the URL of the resource's metadata; may be empty
	scopes   []string
	code     string // the error, as in "insufficient_scope"; may be empty
}

// parseChallenges reads the values of all WWW-Authenticate headers of an answer. The first Bearer challenge counts.
// It passes over text that it does not understand.
func parseChallenges(headers []string) challenge {
	for _, header := range headers {
		if params := bearerParams(header); params != nil {
			return challenge{metadata: params["resource_metadata"], scopes: scopesIn(params["scope"]), code: params["error"]}
		}
	}
	return challenge{}
}

// bearerParams returns the parameters of the first Bearer challenge of a header, their names in small letters. It is
// nil if there is no such challenge. challenge = scheme [ token68 / #( token = value ) ] (RFC 9110, 11.6.1).
func bearerParams(text string) (params map[string]string) {
	for {
		text = strings.TrimLeft(text, " \t,")
		if text == "" {
			return params
		}
		word := text[:config.TokenLength(text)]
		if word == "" { // no challenge can begin here: on to the next comma
			_, text, _ = strings.Cut(text, ",")
			continue
		}
		text = strings.TrimLeft(text[len(word):], " \t")
		rest, isParam := strings.CutPrefix(text, "=")
		switch {
		case isParam && !strings.HasPrefix(rest, "="):
			var value string
			value, text = paramValue(strings.TrimLeft(rest, " \t"))
			if _, twice := params[strings.ToLower(word)]; params != nil && !twice {
				params[strings.ToLower(word)] = value
			}
		case params != nil: // the next challenge
			return params
		case strings.EqualFold(word, "Bearer"):
			params = map[string]string{}
		}
	}
}

// paramValue reads a token or a quoted string.
func paramValue(text string) (value, rest string) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexAny(text, ", \t")
		if end < 0 {
			end = len(text)
		}
		return text[:end], text[end:]
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '"':
			return b.String(), text[i+1:]
		case text[i] == '\\' && i+1 < len(text):
			i++
			fallthrough
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String(), ""
}

// scopesIn splits a list of scopes (RFC 6749, 3.3) and drops words that cannot be scopes.
func scopesIn(text string) []string {
	return slices.DeleteFunc(strings.Fields(text), func(scope string) bool { return !config.IsScope(scope) })
}
