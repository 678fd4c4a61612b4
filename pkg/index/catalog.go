// Package index is the disk cache of one configuration set: every definition of a tool, resource or prompt of every
// server, the facts of each listing, and a packed form that answers searches without parsing JSON.
//
//	tool_index.json      every definition, readable: the truth
//	index_metadata.json  per server: fingerprint, times, state, last error
//	search.idx           derived from both; mapped by readers; rebuilt when it does not match
//
// Readers call [Store.Open] and search the [Snapshot]. A writer takes the lock ([Store.Lock]), reads the [Catalog]
// with [Store.Load] and replaces the files with [Store.Save]. The package does not decide when the files are too old
// and does not fill them (pkg/catalog does), and it never talks to a server.
package index

import (
	"slices"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// State is the outcome of the last attempt to list what a server offers.
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

// Catalog is everything known of a configuration set's servers, in configuration order.
type Catalog struct {
	Servers []Server
	// Warnings lists what was wrong with the configuration when it was last read, ready to show.
	Warnings []string
	// BeforeApprovals says that the index is of an mcpl that did not ask for approvals. Save does not write it.
	BeforeApprovals bool
}

// Server is one server's place in the index.
type Server struct {
	Meta
	Tools []tool.Def
	// Resources holds the templates too.
	Resources, Prompts []tool.Def
}

// kinds returns the kinds in the order in which the index keeps definitions.
func kinds() []tool.Kind {
	return []tool.Kind{tool.Tool, tool.Resource, tool.Template, tool.Prompt}
}

// documents calls use for each definition in the order in which the index keeps them.
func (s *Server) documents(use func(tool.Def)) {
	all := slices.Concat(s.Tools, s.Resources, s.Prompts)
	for _, kind := range kinds() {
		for _, def := range all {
			if def.Kind == kind {
				use(def)
			}
		}
	}
}

// Facts are what a [Snapshot] knows of a server.
type Facts struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	// ListedAt is the time of the last listing, TriedAt that of the last attempt.
	ListedAt time.Time `json:"listedAt,omitzero"`
	TriedAt  time.Time `json:"triedAt,omitzero"`
	// TTL is how long the listing holds. Zero means that neither the server nor its entry says.
	TTL time.Duration `json:"ttl,omitzero"`
	// Known says how the server was last reached. ServerName and Instructions are the server's own words, of which a
	// snapshot has the beginning.
	Known        tool.Known   `json:"known,omitzero"`
	ServerName   string       `json:"serverName,omitempty"`
	Instructions string       `json:"instructions,omitempty"`
	Notes        []string     `json:"notes,omitempty"`
	Error        *fault.Fault `json:"error,omitempty"`
	// Off says that the entry itself switches the server off ("disabled": true).
	Off bool `json:"off,omitempty"`
	// Pin is the entry's word on definitions that have changed. It may be empty.
	Pin config.Pins `json:"pin,omitempty"`
	// Pins is the key of what the server has offered so far, empty if that was not kept. Changes is how many changes of
	// it a person had not seen when it was listed.
	Pins    string `json:"pins,omitempty"`
	Changes int    `json:"changes,omitempty"`
}

// Waits reports whether a person has to approve the server before it is used.
func (f *Facts) Waits() bool { return f.Error != nil && f.Error.Type == fault.ApprovalRequired }

// Meta is everything known of a server except its definitions.
type Meta struct {
	Facts
	// Transport is "stdio", "http" or "sse".
	Transport string `json:"transport"`
	// Fingerprint of the resolved entry at the last attempt.
	Fingerprint string `json:"fingerprint"`
	// SaidTTL is the TTL by the server's own word, which wins over the entry's.
	SaidTTL time.Duration `json:"saidTTL,omitzero"`
	// Took is the duration of start, handshake and listing.
	Took          time.Duration `json:"took,omitzero"`
	ServerVersion string        `json:"serverVersion,omitempty"`
}

// Stamp identifies what the index was made from. While it stays the same, the configuration need not be read again.
type Stamp struct {
	// Sources are the configuration and environment files, in order.
	Sources []config.Source `json:"sources"`
	// EnvNames are the process variables that the configuration refers to. EnvDigest identifies the values they had.
	EnvNames  []string `json:"envNames"`
	EnvDigest uint64   `json:"envDigest"`
	// Approvals identifies what was approved then; see config.Approver. It is empty if nothing needs an approval.
	Approvals string `json:"approvals,omitempty"`
}

// Find returns the server of that name. It is nil if there is none.
func (c *Catalog) Find(name string) *Server {
	for i := range c.Servers {
		if c.Servers[i].Name == name {
			return &c.Servers[i]
		}
	}
	return nil
}
