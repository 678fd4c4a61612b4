package verb

import (
	"slices"
	"strings"
)

// Spec registers a verb: its name, its help, and how the ways into mcpl treat it. [Table] has all of
// them; internal/cli makes the command tree of it, and internal/early finds there what it may answer.
type Spec struct {
	// Name is one word, or two for a verb of another one: "search", "config add".
	Name string
	// Group is the heading that help lists the verb under. A verb of another one has none.
	Group Group
	// Hidden keeps the verb out of help.
	Hidden bool
	// New returns the verb for one run. Its flags are at their defaults once [Verb.Flags] has bound them.
	New func() Verb
	// Early says that the index alone can answer the verb, or show that its arguments are wrong.
	Early bool
	// Daemon says what the verb has to do with the daemon.
	Daemon DaemonUse
	// Unsure says that the verb runs though it cannot be read what is switched off. Nothing is on then.
	Unsure bool
	// Tools says that a tools.toml in the working directory is the configuration, before others that are found.
	Tools bool
	// Aliases are other words for the verb. They do not run it: the answer to them names the verb.
	Aliases []Alias
	// Complete completes the arguments. If nil, the shell completes files.
	Complete Completer
	// Values complete the values of flags, by the flag's name.
	Values map[string]Completer

	// The help, as plain text of at most 80 columns.
	Use     string // the last word of the name, and the arguments
	Short   string // without a period
	Long    string // may be empty
	Example string // each line indented by two spaces
}

// Group is a heading of the help.
type Group string

// The groups, in the order of the help.
const (
	Tools  Group = "Tools"
	Offers Group = "Resources and prompts"
	Setup  Group = "Setup"
)

// DaemonUse is what a verb has to do with the daemon.
type DaemonUse int

const (
	// NoDaemon is for verbs that start servers themselves, to see them start, or need none.
	NoDaemon DaemonUse = iota
	// UseDaemon is for verbs that ask the daemon for servers that are warm, if it runs.
	UseDaemon
	// StartDaemon is for verbs that start the daemon, since the servers they start are worth keeping.
	StartDaemon
)

// Alias is words that stand for a verb.
type Alias struct {
	Words string // with spaces between
	Args  string // what follows the verb then, like "--refresh"
}

// Table returns all verbs. A verb of another one stands after that.
func Table() []Spec {
	return []Spec{
		searchSpec(), inspectSpec(), typesSpec(), callSpec(), resultSpec(), listSpec(),
		resourcesSpec(), readSpec(), promptsSpec(), promptSpec(),
		trustSpec(), untrustSpec(),
		configSpec(), configImportSpec(), configAddSpec(), configRemoveSpec(),
		authSpec(), doctorSpec(), enableSpec(), disableSpec(), approvalsSpec(), instructionsSpec(),
		serveSpec(), serveInstallSpec(), completionSpec(), daemonSpec(), versionSpec(), refreshSpec(),
	}
}

// Find returns the verb of that name.
func Find(name string) (Spec, bool) {
	for _, spec := range Table() {
		if spec.Name == name {
			return spec, true
		}
	}
	return Spec{}, false
}

// Meant returns the command that people and agents mean by another word, like "list --refresh" for "reload", or "".
func Meant(word string) string {
	word = strings.ToLower(word)
	for _, spec := range Table() {
		for _, alias := range spec.Aliases {
			if slices.Contains(strings.Fields(alias.Words), word) {
				return strings.TrimSpace(spec.Name + " " + alias.Args)
			}
		}
	}
	return ""
}
