package archtest

// room is a row of the table of rooms: what a package may import of ours, and why these and no
// more. The failure message shows the why, so that whoever wants another arrow reads the rule first.
type room struct {
	imports []string
	why     string
}

// rooms is the table of docs/architecture.md.
var rooms = map[string]room{
	"cmd/mcpl": {
		imports: []string{"internal/cli", "internal/early", "internal/example", "internal/verb", "pkg/auth", "pkg/config",
			"pkg/conn", "pkg/engine", "pkg/fault", "pkg/gateway", "pkg/gateway/jwt", "pkg/gateway/otlp", "pkg/gateway/redis",
			"pkg/gateway/web",
			"pkg/host", "pkg/output", "pkg/proc"},
		why: "main is the only place that chooses: what reaches servers in this process, where logins are kept, which streams " +
			"are written. Every other package gets its choice as a value, so a test can choose otherwise",
	},
	"internal/archtest": {
		why: "the rules judge the other packages from outside; code that imported this one could not be judged by it",
	},
	"internal/authtest": {
		why: "a server that tests log in to must not share code with the client that they test: a mistake in both " +
			"would pass",
	},
	"internal/benchcli": {
		imports: []string{"internal/mcptest"},
		why:     "it measures whole processes, mcpl's included, and needs only a server to measure them against",
	},
	"internal/benchgateway": {
		imports: []string{"internal/mcptest", "pkg/config", "pkg/conn", "pkg/engine", "pkg/host", "pkg/tool"},
		why: "its yardstick is the host's own call, with connections as main makes them; the gateway that it measures is a " +
			"whole process",
	},
	"internal/cli": {
		imports: []string{"internal/verb", "pkg/fault", "pkg/hidden", "pkg/proc"},
		why: "the command tree is made of the table of verbs and explains mistakes; what a verb does, and how it is " +
			"explained and completed, is in internal/verb, so that the early start runs it without cobra. A stranger's query " +
			"runs in a process of its own",
	},
	"internal/conformance": {
		why: "the suite's client types commands as a user would; with an import it would test code, not the program",
	},
	"internal/early": {
		imports: []string{"internal/verb"},
		why: "it runs before the other packages are initialised; every import is paid for by each search, so it " +
			"has the verbs and nothing beside them",
	},
	"internal/eval": {
		imports: []string{"pkg/search", "pkg/tool"},
		why:     "it judges the ranking alone: no index, no configuration, no engine that could blur a figure",
	},
	"internal/eval/related": {
		why: "it makes a source file of pkg/search: what it imported it would need to build itself",
	},
	"internal/example": {
		imports: []string{"pkg/atomicfile"},
		why: "the example is a server like a stranger's: what it shared with mcpl would hide what a stranger meets. How a " +
			"file is replaced is no part of that",
	},
	"internal/fixture": {
		imports: []string{"pkg/config", "pkg/tool"},
		why:     "tests of the index's users share their configurations and listings; it knows what both are made of, no more",
	},
	"internal/mcptest": {
		why: "a test server that used our wire code would misread the protocol in the same way as the code under test",
	},
	"internal/verb": {
		imports: []string{"internal/verb/form", "internal/verb/render", "pkg/approval", "pkg/atomicfile",
			"pkg/auth/login", "pkg/catalog", "pkg/clients", "pkg/config", "pkg/daemon", "pkg/engine", "pkg/fault",
			"pkg/gateway", "pkg/gateway/telemetry", "pkg/gateway/tokens", "pkg/hidden", "pkg/host", "pkg/humanize",
			"pkg/index", "pkg/output", "pkg/pin", "pkg/policy", "pkg/results", "pkg/schema", "pkg/search", "pkg/state", "pkg/tool", "pkg/trust",
			"pkg/typegen"},
		why: "a verb asks the engine and prints. It does not import pkg/conn or pkg/auth: those need net/http, and " +
			"with it a search would start slower. What needs them comes from main as a function",
	},
	"internal/verb/form": {
		imports: []string{"internal/verb/render", "pkg/fault", "pkg/output", "pkg/schema", "pkg/tool"},
		why:     "a form knows a question and a terminal; whose call the question belongs to is the verb's business",
	},
	"internal/verb/render": {
		imports: []string{"pkg/fault", "pkg/hidden", "pkg/humanize", "pkg/output", "pkg/results", "pkg/tool"},
		why:     "a result is rendered from its bytes alone, so that every verb that gets one shows it alike",
	},
	"pkg/approval": {
		imports: []string{"pkg/atomicfile", "pkg/canonical", "pkg/fault", "pkg/policy", "pkg/tool"},
		why: "what is asked and decided about a call is kept by itself: which calls need it is the policy's business, and " +
			"whether a call may be made the gate's",
	},
	"pkg/atomicfile": {
		imports: []string{"pkg/fault"},
		why:     "every package that keeps a file replaces, locks and reads it in the same way",
	},
	"pkg/auth": {
		imports: []string{"pkg/atomicfile", "pkg/auth/login", "pkg/config", "pkg/fault"},
		why: "a login depends on the entry of a server and on nothing that uses it; pkg/conn declares the Tokens that it " +
			"needs and main joins the two, so that either is tested without the other",
	},
	"pkg/auth/login": {
		imports: []string{"pkg/config"},
		why: "verbs speak of logins before net/http is initialised; a function here that asked a server would cost " +
			"every search its start time",
	},
	"pkg/canonical": {
		why: "a leaf: hashes of definitions and signatures over arguments need one form of JSON, wherever they are made",
	},
	"pkg/catalog": {
		imports: []string{"pkg/config", "pkg/fault", "pkg/index", "pkg/pin", "pkg/tool"},
		why: "it decides when the index is too old and who may read it; what is searched in it, and how servers are " +
			"reached, it need not know",
	},
	"pkg/cause": {
		why: "it guesses by words alone, so that each record of what a server wrote is a test without a process; what to do " +
			"about a cause depends on the entry, which it does not know",
	},
	"pkg/clients": {
		imports: []string{"pkg/config", "pkg/fault"},
		why:     "it translates other clients' files into entries of ours; what becomes of an entry is not its business",
	},
	"pkg/config": {
		imports: []string{"pkg/atomicfile", "pkg/fault", "pkg/policy"},
		why:     "everything above reads configuration, so configuration reads nothing of theirs",
	},
	"pkg/conn": {
		imports: []string{"pkg/canonical", "pkg/cause", "pkg/config", "pkg/fault", "pkg/proc", "pkg/tool"},
		why: "a connection speaks the protocol and keeps nothing: without the index and the daemon it works the same " +
			"in the command, in the daemon and in a test",
	},
	"pkg/daemon": {
		imports: []string{"pkg/config", "pkg/engine", "pkg/fault", "pkg/hidden", "pkg/host", "pkg/tool"},
		why: "the daemon is a host with a socket, and main says what starts the servers of the host. Without pkg/conn " +
			"its client stays small enough for the early start",
	},
	"pkg/engine": {
		imports: []string{"pkg/approval", "pkg/canonical", "pkg/catalog", "pkg/config", "pkg/fault", "pkg/index", "pkg/pin",
			"pkg/policy", "pkg/schema", "pkg/search", "pkg/tool"},
		why: "the use cases know neither terminals nor sockets nor connections: every face uses them, and each " +
			"brings its own Caller. They keep nothing of a request: what is kept is in the catalog",
	},
	"pkg/fault": {
		why: "a leaf: every package makes faults, so this one can import none of them",
	},
	"pkg/gateway": {
		imports: []string{"pkg/approval", "pkg/catalog", "pkg/engine", "pkg/fault", "pkg/hidden", "pkg/humanize", "pkg/mcp",
			"pkg/policy", "pkg/results", "pkg/schema", "pkg/search", "pkg/tool"},
		why: "it is a face of the engine: it decides what a client sees and relays the rest. How messages travel is the " +
			"business of its doors, and an SDK's messages would lose bytes of other people's",
	},
	"pkg/gateway/redis": {
		why: "what replicas share is an interface of the gateway; the library behind it, and that it may fail, stay here",
	},
	"pkg/gateway/jwt": {
		imports: []string{"pkg/config", "pkg/fault", "pkg/gateway"},
		why: "an issuer's tokens are judged apart from the gateway's own, and apart from HTTP's doors: it needs net/http for " +
			"the issuer's keys, which no verb may",
	},
	"pkg/gateway/otlp": {
		imports: []string{"pkg/gateway", "pkg/tool"},
		why:     "it needs net/http, which no verb has: main gives it to the gateway as two functions",
	},
	"pkg/gateway/telemetry": {
		imports: []string{"pkg/atomicfile", "pkg/fault", "pkg/gateway", "pkg/hidden"},
		why: "what is seen of calls is made of their records, which hold nothing secret; a gateway does not know who looks, " +
			"and a verb opens the file without net/http",
	},
	"pkg/gateway/tokens": {
		imports: []string{"pkg/atomicfile", "pkg/fault"},
		why:     "who may use a gateway is kept by itself: what asks for a token, and what a token opens, is the business of others",
	},
	"pkg/gateway/web": {
		imports: []string{"pkg/gateway", "pkg/gateway/telemetry", "pkg/mcp", "pkg/tool"},
		why: "it knows headers, bodies and streams, and the gateway none of these; apart from it, no verb needs net/http " +
			"and a search starts without it",
	},
	"pkg/hidden": {
		why: "a leaf: text, JSON, log, completion and files share one table of characters, so that none of them forgets one",
	},
	"pkg/host": {
		imports: []string{"pkg/catalog", "pkg/config", "pkg/engine", "pkg/fault", "pkg/tool", "pkg/trust"},
		why: "warm servers are supervised in one place, whatever door a request comes through: sockets, HTTP and frames " +
			"belong to the doors, and how a server is started comes from main. Of the engine it needs the Caller; it " +
			"tells a catalog when lists are due",
	},
	"pkg/humanize": {
		why: "a leaf: whoever writes for people writes numbers alike",
	},
	"pkg/index": {
		imports: []string{"pkg/atomicfile", "pkg/config", "pkg/fault", "pkg/packed", "pkg/schema", "pkg/search", "pkg/tool"},
		why: "the files on disk hold ranked records and signatures, so that a search reads them without the engine; " +
			"of the configuration it needs the sources and variables that an index depends on",
	},
	"pkg/mcp": {
		imports: []string{"pkg/tool"},
		why:     "what the protocol says of messages is the same in every face; what a face does with them is not its business",
	},
	"pkg/output": {
		imports: []string{"pkg/fault", "pkg/hidden", "pkg/tool"},
		why: "the only writer to the terminal knows how an answer looks and not where it came from; verbs give it " +
			"values to print",
	},
	"pkg/policy": {
		imports: []string{"pkg/tool"},
		why:     "rules are pure functions of a name and its annotations, so that every face decides alike; where they stand is not theirs",
	},
	"pkg/pin": {
		imports: []string{"pkg/atomicfile", "pkg/canonical", "pkg/fault", "pkg/hidden", "pkg/tool"},
		why: "what has changed of a definition is judged from its bytes alone, wherever it was listed; who approves a " +
			"change, and what is done with it, is decided above",
	},
	"pkg/proc": {
		why: "a leaf: servers are not the only children; a worker of another kind starts and ends the same way",
	},
	"pkg/packed": {
		why: "a leaf: the packed index and the rankings inside it are written and read by two packages",
	},
	"pkg/results": {
		imports: []string{"pkg/atomicfile", "pkg/fault", "pkg/humanize", "pkg/tool"},
		why: "every face keeps what is too large for its reader in one store, with one kind of ID; how a face shows the ID " +
			"is its own business",
	},
	"pkg/schema": {
		imports: []string{"pkg/fault", "pkg/tool"},
		why:     "schemas are pure functions of bytes; without I/O they are fuzzed and used in the index and before a call",
	},
	"pkg/search": {
		imports: []string{"pkg/packed"},
		why:     "the ranking has no I/O, clock or state, so that the same bytes rank alike on disk, in memory and in eval",
	},
	"pkg/state": {
		imports: []string{"pkg/atomicfile", "pkg/config", "pkg/fault", "pkg/tool"},
		why: "what is on and off is asked by every face before a call; it must not depend on one of them. Of the " +
			"configuration it needs the lenient parser alone: a person edits both",
	},
	"pkg/tool": {
		why: "a leaf: the nouns that all packages share must not lead from one package to another",
	},
	"pkg/typegen": {
		imports: []string{"pkg/tool"},
		why:     "types are pure functions of schemas: every face, and the check against the compiler, use them without I/O",
	},
	"pkg/trust": {
		imports: []string{"pkg/atomicfile", "pkg/config", "pkg/fault"},
		why: "an approval is of an entry as configuration has it; configuration asks for it through an interface, so that " +
			"no one can read a project's servers and forget to ask",
	},
}

// library says which rooms may import a library, and why no others.
type library struct {
	rooms []string
	why   string
}

// libraries are the ones that have rooms; of an import path the longest prefix counts.
var libraries = map[string]library{
	"github.com/mark3labs/mcp-go/client": {[]string{"pkg/conn"}, "one package speaks to servers"},
	"github.com/mark3labs/mcp-go/server": {[]string{"internal/example"}, "mcpl is a client; only its example is a server"},
	"github.com/mark3labs/mcp-go/":       {[]string{"pkg/conn", "internal/example"}, "it costs 4 ms at the start of a process"},
	"github.com/spf13/cobra":             {[]string{"internal/cli"}, "verbs run without the command tree, at the early start"},
	"github.com/santhosh-tekuri/":        {nil, "its init compiles schemas; pkg/schema uses google/jsonschema-go"},
	"github.com/itchyny/gojq":            {[]string{"internal/cli"}, "it costs start time; verbs get the filter as a function"},
	"golang.org/x/oauth2":                {[]string{"pkg/auth"}, "one package holds tokens"},
	"github.com/golang-jwt/jwt/v5": {[]string{"internal/authtest", "pkg/auth", "pkg/gateway/jwt"},
		"one package signs and another checks; the test server does both"},
	"github.com/zalando/go-keyring":  {[]string{"pkg/auth"}, "one package holds tokens"},
	"github.com/redis/go-redis/":     {[]string{"pkg/gateway/redis"}, "replicas share through an interface"},
	"github.com/alicebob/miniredis/": {[]string{"pkg/gateway/redis"}, "a Redis for the tests of its client"},
	"github.com/cli/browser":         {[]string{"cmd/mcpl"}, "a browser belongs to a person at a terminal, not to a package"},
}

// late are the packages that cost a process its start time, or come late in initialisation.
// internal/early must not reach them.
var late = []string{"net/http", "text/template", "html/template", "crypto/tls", "github.com/spf13/cobra",
	"github.com/mark3labs/mcp-go/mcp", "github.com/mark3labs/mcp-go/client", "github.com/santhosh-tekuri/jsonschema/v6"}

// printers may write to the process's streams themselves: they are programs of their own.
var printers = []string{"cmd/mcpl", "internal/benchcli", "internal/benchgateway", "internal/conformance",
	"internal/eval", "internal/eval/related", "internal/mcptest"}
