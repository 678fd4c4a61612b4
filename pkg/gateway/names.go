package gateway

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// name returns the name of a tool or prompt for clients: its own behind its server's namespace, unless the APIs of
// models do not take that, or something else has it already.
func (l *lists) name(namespace string, ref tool.Ref) string {
	full := namespace + ref.Name
	name := clean(full)
	if full == name && name != "" && len(name) <= maxName && !l.taken(ref.Kind, name) {
		return name
	}
	// A hash of both names tells it from the others that are cut or cleaned to the same.
	for of, n := ref.Server+"\x00"+ref.Name, 0; ; n++ {
		hashed := name[:min(len(name), maxName-hashLength-1)] + "_" + hashOf(of)
		if !l.taken(ref.Kind, hashed) {
			return hashed
		}
		of = fmt.Sprintf("%s\x00%d", of, n) // a server has a name that looks like this one
	}
}

// taken reports whether a name of a kind is in use, or is that of a tool of the gateway itself.
func (l *lists) taken(kind tool.Kind, name string) bool {
	_, known := l.byName[exposed{kind, name}]
	return known || kind == tool.Tool && slices.Contains(ownNames(), name)
}

// ownNames returns the names of the gateway's tools that stand beside those of servers.
func ownNames() []string { return []string{enableTools, listAllTools} }

const (
	// maxName is the longest name that the APIs of models take.
	maxName    = 64
	hashLength = 8
)

const base32 = "abcdefghijklmnopqrstuvwxyz234567"

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	hash := make([]byte, hashLength)
	for i := range hash {
		hash[i] = base32[sum[i]%32]
	}
	return string(hash)
}

// clean replaces the characters that the APIs of models do not take in a name.
func clean(name string) string {
	b := []byte(name)
	for i, c := range b {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			b[i] = '_'
		}
	}
	return string(b)
}

// find returns what a name of a kind means: a name that a list shows, also as clients show it, mcp__NAME__ before it.
func (l *lists) find(kind tool.Kind, name string) (tool.Ref, bool) {
	for _, n := range append([]string{name}, tool.Unprefixed(name)...) {
		if ref, ok := l.byName[exposed{kind, n}]; ok {
			return ref, true
		}
	}
	return tool.Ref{}, false
}

// findTool returns the tool that a model means by a name that a list shows, alone or behind the tool's server.
func (l *lists) findTool(name []string) (tool.Ref, bool) {
	if len(name) == 0 {
		return tool.Ref{}, false
	}
	last := name[len(name)-1]
	if len(name) == 2 {
		last = strings.TrimPrefix(last, name[0]+"/") // hits are written so
	}
	isLiteral := func(o offer) bool { return o.ref.Server == name[0] && o.ref.Name == last }
	if len(name) == 2 && slices.ContainsFunc(l.every, isLiteral) {
		return tool.Ref{Server: name[0], Name: last}, true
	}
	ref, ok := l.find(tool.Tool, last)
	return ref, ok && (len(name) == 1 || ref.Server == name[0])
}
