package auth

import (
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/config"
)

// challenge is a server's word in WWW-Authenticate on the tokens it takes (RFC 6750, 3; RFC 9728, 5.1; MCP
// 2025-11-25, authorization, scope challenge handling).
type challenge struct {
	bearer   bool
	metadata string // the URL of the resource's metadata; may be empty
	scopes   []string
	code     string // the error, as in "insufficient_scope"; may be empty
}

// parseChallenges reads the values of all WWW-Authenticate headers of an answer. The first Bearer challenge counts.
// It passes over text that it does not understand.
func parseChallenges(headers []string) challenge {
	for _, header := range headers {
		for _, c := range splitChallenges(header) {
			if !strings.EqualFold(c.scheme, "Bearer") {
				continue
			}
			return challenge{bearer: true, metadata: c.params["resource_metadata"],
				scopes: scopesIn(c.params["scope"]), code: c.params["error"]}
		}
	}
	return challenge{}
}

// parsedChallenge is one challenge of RFC 9110, 11.6.1. Names of parameters are in small letters.
type parsedChallenge struct {
	scheme string
	params map[string]string
}

// splitChallenges reads one header: challenge = scheme [ token68 / #( token = value ) ].
func splitChallenges(text string) []parsedChallenge {
	var list []parsedChallenge
	for {
		text = strings.TrimLeft(text, " \t,")
		if text == "" {
			return list
		}
		word := text[:config.TokenLength(text)]
		if word == "" { // no challenge can begin here: on to the next comma
			_, text, _ = strings.Cut(text, ",")
			continue
		}
		after := strings.TrimLeft(text[len(word):], " \t")
		if rest, isParam := strings.CutPrefix(after, "="); isParam && !strings.HasPrefix(rest, "=") {
			var value string
			value, text = paramValue(strings.TrimLeft(rest, " \t"))
			if key := strings.ToLower(word); len(list) > 0 {
				if _, twice := list[len(list)-1].params[key]; !twice {
					list[len(list)-1].params[key] = value
				}
			}
			continue
		}
		list = append(list, parsedChallenge{scheme: word, params: map[string]string{}})
		text = after
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
	var list []string
	for _, scope := range strings.Fields(text) {
		if config.IsScope(scope) {
			list = append(list, scope)
		}
	}
	return list
}
