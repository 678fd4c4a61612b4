// Package index is the disk cache of one configuration set: every definition of a tool, resource
// or prompt of every server, what is known of each listing, and a packed form from which searches
// are answered without parsing JSON.
//
//	tool_index.json      every definition, readable: the truth
//	index_metadata.json  per server: fingerprint, times, state, last error
//	search.idx           derived from both; mapped by readers; rebuilt when it does not match
//
// The package reads, checks, writes and locks these files. It decides neither when they are too
// old nor how they are filled (pkg/catalog does), and it never talks to a server.
package index

import (
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// State says how the last attempt to list what a server offers went.
type State string

// The states of a server in the index.
const (
	// Unknown: never asked, or its entry changed since.
	Unknown State = "unknown"
	// Listed: the definitions are what the server answered.
	Listed State = "listed"
	// Failed: the last attempt failed; the definitions are from the last good one.
	Failed State = "error"
)

// Catalog is all that is known of a configuration set's servers, in configuration order.
type Catalog struct {
	Servers []Server
	// Warnings are what was wrong with the configuration when it was last read, ready to show.
	Warnings []string
}

// Server is one server's place in the index.
type Server struct {
	Meta
	Tools []tool.Def
	// Resources, among them the templates, and Prompts.
	Resources, Prompts []tool.Def
}

// kinds returns the kinds in the order in which the index keeps what a server offers.
func kinds() []tool.Kind {
	return []tool.Kind{tool.Tool, tool.Resource, tool.Template, tool.Prompt}
}

// documents calls use for each definition in the order in which the index keeps them.
func (s *Server) documents(use func(tool.Def)) {
	for _, def := range s.Tools {
		use(def)
	}
	for _, kind := range []tool.Kind{tool.Resource, tool.Template} {
		for _, def := range s.Resources {
			if def.Kind == kind {
				use(def)
			}
		}
	}
	for _, def := range s.Prompts {
		use(def)
	}
}

// count returns how many of the definitions are of a kind.
func (s *Server) count(kind tool.Kind) (n int) {
	s.documents(func(def tool.Def) {
		if def.Kind == kind {
			n++
		}
	})
	return n
}

// Meta is what is known of a server beside what it offers.
type Meta struct {
	Name string `json:"name"`
	// Transport is "stdio", "http" or "sse".
	Transport string `json:"transport"`
	// Fingerprint of the resolved entry at the last attempt.
	Fingerprint string `json:"fingerprint"`
	State       State  `json:"state"`
	// ListedAt is when it was last listed what the server offers, TriedAt when that was last tried.
	ListedAt time.Time `json:"listedAt,omitzero"`
	TriedAt  time.Time `json:"triedAt,omitzero"`
	// TTL is how long the listing holds: SaidTTL, the server's own word, or else what its entry
	// says; 0 is unsaid.
	TTL     time.Duration `json:"ttl,omitzero"`
	SaidTTL time.Duration `json:"saidTTL,omitzero"`
	// Took is how long start, handshake and listing took.
	Took time.Duration `json:"took,omitzero"`
	// Known is how the server was reached, the rest what it says of itself.
	Known         tool.Known   `json:"known,omitzero"`
	ServerName    string       `json:"serverName,omitempty"`
	ServerVersion string       `json:"serverVersion,omitempty"`
	Instructions  string       `json:"instructions,omitempty"`
	Notes         []string     `json:"notes,omitempty"`
	Error         *fault.Fault `json:"error,omitempty"`
	// Off says that the entry itself switches the server off ("disabled": true).
	Off bool `json:"off,omitempty"`
}

// Stamp is what the index was made from. While none of it changes, the configuration need not
// be read again.
type Stamp struct {
	// Sources are the configuration and environment files, in order.
	Sources []config.Source `json:"sources"`
	// EnvNames are the process variables that the configuration refers to; EnvDigest
	// identifies the values they had.
	EnvNames  []string `json:"envNames"`
	EnvDigest uint64   `json:"envDigest"`
}

// Find returns the server of that name, or nil.
func (c *Catalog) Find(name string) *Server {
	for i := range c.Servers {
		if c.Servers[i].Name == name {
			return &c.Servers[i]
		}
	}
	return nil
}
