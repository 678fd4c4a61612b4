package gateway

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// topics returns what the tools of a server are about, in words of their names of at most so many bytes: the words of a
// server itself are not its user's, and a model would follow them.
func topics(server string, tools []offer, most int) string {
	count := make(map[string]int)
	var order []string
	for _, o := range tools {
		if o.ref.Server != server {
			continue
		}
		for _, word := range nameWords(o.ref) {
			if count[word]++; count[word] == 1 {
				order = append(order, word)
			}
		}
	}
	maps.DeleteFunc(count, func(word string, _ int) bool { return isVerb(word) || strings.EqualFold(word, server) })
	order = slices.DeleteFunc(order, func(word string) bool { return count[word] == 0 })
	slices.SortStableFunc(order, func(a, b string) int { return count[b] - count[a] })
	about := ""
	for _, word := range order {
		if len(about)+len(word) > most {
			break
		}
		about = strings.TrimSpace(about + " " + word)
	}
	return about
}

// Bounds of the servers in the description of a tool, in bytes, so that the list of the four tools costs a model at
// most 400 tokens with 5 servers, and 700 with 45: of the topics of a server, and of what all servers take together
// with few of them, and with many for each.
const (
	maxTopics  = 20
	fewServers = 400
	eachServer = 35
)

// withTopics returns the names of servers, with what the entry of each says of it, or with its topics if there is room
// for them.
func withTopics(names []string, l *lists) []string {
	room := max(fewServers, eachServer*len(names))
	for _, name := range names {
		room -= len(name) + len(", ")
	}
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = name
		share := room/(len(names)-i) - len("  ()")
		if words := cmp.Or(l.about[name], topics(name, l.tools, min(share, maxTopics))); words != "" {
			list[i] += " (" + words + ")"
			room -= len(list[i]) - len(name)
		}
	}
	return list
}

// nameWords returns the words of a tool's name that have only letters, in small letters, each once.
func nameWords(ref tool.Ref) (words []string) {
	var spaced strings.Builder
	previous := ' '
	for _, c := range ref.Name {
		if unicode.IsUpper(c) && unicode.IsLower(previous) || !unicode.IsLetter(c) {
			spaced.WriteByte(' ')
		}
		if unicode.IsLetter(c) {
			spaced.WriteRune(unicode.ToLower(c))
		}
		previous = c
	}
	for _, word := range strings.Fields(spaced.String()) {
		if len(word) > 2 && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}

// isVerb reports whether a word says what most tools do, and not what with.
func isVerb(word string) bool {
	switch word {
	case "get", "set", "list", "read", "write", "create", "update", "delete", "remove", "add", "search", "find", "fetch",
		"query", "run", "make", "edit", "move", "copy", "send", "show", "check", "all", "and", "the", "for", "with", "from",
		"new", "has", "tool", "info", "details", "multiple", "batch", "bulk":
		return true
	}
	return false
}
