package cause

import (
	"net"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// missingModule finds a module that is not installed, or a script that is not there: Node's and Python's words.
func missingModule(text, low string) (string, bool) {
	if name, ok := missingPackage(text, low); ok {
		return name, true
	}
	for _, words := range []string{"cannot find module ", "cannot find package ", "no module named ",
		"cannot load such file -- ", "can't open file "} {
		if i := strings.Index(low, words); i >= 0 && len(low) == len(text) {
			return unquoted(text[i+len(words):]), true
		}
	}
	return "", containsAny(low, "err_module_not_found", "module_not_found", "modulenotfounderror", "npm error code e404",
		"npm err! code e404", "no solution found when resolving")
}

// missingPackage finds a package that its registry does not have: the words of npm and of uv.
func missingPackage(text, low string) (string, bool) {
	if before, _, ok := strings.Cut(text, "' is not in this registry"); ok {
		return strings.TrimSuffix(before[strings.LastIndexByte(before, '\'')+1:], "@*"), true
	}
	if _, rest, ok := strings.Cut(low, "no matching version found for "); ok && len(low) == len(text) {
		return unquoted(text[len(text)-len(rest):]), true
	}
	if _, rest, ok := strings.Cut(text, "Because "); ok {
		name, what, _ := strings.Cut(rest, " ")
		return name, strings.HasPrefix(what, "was not found in the package")
	}
	return "", false
}

// oldRuntime finds a global or a syntax that only newer versions of Node have.
func oldRuntime(text, low string) (string, bool) {
	if _, rest, ok := strings.Cut(text, "ReferenceError: "); ok {
		name, _, missing := strings.Cut(rest, " is not defined")
		return "Node.js", missing && slices.Contains([]string{"File", "Blob", "FormData", "Headers", "Request", "Response",
			"ReadableStream", "WebSocket", "CustomEvent", "fetch", "crypto", "navigator", "structuredClone"}, name)
	}
	return "Node.js", containsAny(low, "requires node.js", "requires node ", "requires node version",
		"is not supported by this version of node", "err_unknown_builtin_module", "no such built-in module: node:")
}

// brokenAddon finds compiled code that was not built for this machine or this version of its language.
func brokenAddon(_, low string) (string, bool) {
	return "", containsAny(low, "native addon", "different node.js version", "node_module_version", "invalid elf header",
		"wrong elf class", "could not locate the bindings file", "err_dlopen_failed", "cannot open shared object file") ||
		strings.Contains(low, "glibc") && containsAny(low, "version `glibc", "not found", "missing", "required", "too old")
}

// wantsSetup finds what a server wants to be run with once, as in "Please run with 'auth' argument first".
func wantsSetup(text, low string) (string, bool) {
	i := strings.Index(low, "run ")
	if i < 0 || len(low) != len(text) ||
		!containsAny(low, "first", "before", "please run", "you need to run", "must run") {
		return "", false
	}
	rest := text[i+len("run "):]
	start := strings.IndexAny(rest, "'`\"")
	if start < 0 {
		return "", false
	}
	return unquoted(rest[start:]), true
}

// wrongArgument finds a complaint about the command line.
func wrongArgument(_, low string) (string, bool) {
	return "", strings.Contains(low, "argument") && complains(low) ||
		containsAny(low, "number of arguments", "too few arguments", "too many arguments", "not enough arguments",
			"unknown command", "unknown option", "unknown flag", "unknown argument", "unrecognized argument",
			"unrecognized option", "unexpected argument", "invalid argument", "unknown subcommand", "no such command",
			"no such option", "is not provided by package")
}

// usage finds a usage text.
func usage(_, low string) (string, bool) { return "", isUsage(low) }

func isUsage(low string) bool {
	return strings.HasPrefix(low, "usage:") || strings.HasPrefix(low, "usage ")
}

// refused finds an address at which nothing listens: the words of Node, of Go, and of others.
func refused(text, low string) (string, bool) {
	if _, rest, ok := strings.Cut(text, "ECONNREFUSED "); ok {
		return address(rest), true
	}
	if _, rest, ok := strings.Cut(text, "dial tcp "); ok && strings.Contains(rest, ": connection refused") {
		return address(rest), true
	}
	return "", containsAny(low, "econnrefused", "connection refused")
}

// unknownHost finds a host without an address: the words of Node, of Go, and of others.
func unknownHost(text, low string) (string, bool) {
	for _, words := range []string{"ENOTFOUND ", "EAI_AGAIN "} {
		if _, rest, ok := strings.Cut(text, words); ok {
			return address(rest), true
		}
	}
	if before, _, ok := strings.Cut(text, ": no such host"); ok {
		_, host, _ := strings.Cut(before, "lookup ")
		return address(host), true
	}
	// The code is a word: FileNotFoundError has it within another.
	code := slices.ContainsFunc(strings.FieldsFunc(low, func(r rune) bool { return !unicode.IsLetter(r) }),
		func(word string) bool { return word == "enotfound" })
	return "", code || containsAny(low, "eai_again", "name or service not known", "name resolution",
		"nodename nor servname")
}

// otherNetwork finds other failures on the way to a service.
func otherNetwork(text, low string) (string, bool) {
	for _, words := range []string{"ETIMEDOUT ", "EHOSTUNREACH ", "ENETUNREACH ", "ECONNRESET "} {
		if _, rest, ok := strings.Cut(text, words); ok {
			return address(rest), true
		}
	}
	return "", containsAny(low, "fetch failed", "etimedout", "econnreset", "ehostunreach", "enetunreach",
		"network is unreachable", "no route to host", "socket hang up", "self-signed certificate",
		"self signed certificate", "certificate has expired", "unable to verify the first certificate",
		"unable to get local issuer certificate", "certificate verify failed", "i/o timeout")
}

// address returns the address at the start of a text: a host, or host and port.
func address(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;)'\"}", r) })
	if end >= 0 {
		text = text[:end]
	}
	text = strings.TrimRight(text, ":.")
	if !strings.ContainsAny(text, ".:") && text != "localhost" && !strings.Contains(text, "-") && !isHostName(text) {
		return ""
	}
	return text
}

// isHostName reports whether a word can be the name of a machine.
func isHostName(word string) bool {
	return word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return r != '-' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	})
}

// servesHTTP finds that a server offers itself over HTTP, and where. A line with a URL says more than one with a port.
func servesHTTP(lines []line) (c Cause, found bool) {
	for _, l := range lines {
		if !strings.Contains(l.low, "http") && !namesPort(l.low) || !containsAny(l.low, "listening", "running on",
			"running at", "available at", "serving", "started on", "started at", "server at", "mode on") {
			continue
		}
		if where, ok := httpURL(l.text); ok {
			return Cause{Kind: HTTP, Line: cut(l.text), Name: where}, true
		}
		if where, ok := portIn(l.low); ok && !found {
			if port, isPort := strings.CutPrefix(where, "port "); isPort && strings.HasSuffix(l.low, " /sse") {
				where = "http://127.0.0.1:" + port + "/sse"
			}
			c, found = Cause{Kind: HTTP, Line: cut(l.text), Name: where}, true
		}
	}
	return c, found
}

// namesPort reports whether a line says that a server waits at a port, as servers over HTTP do without naming HTTP.
func namesPort(low string) bool {
	return strings.Contains(low, "on port ") && !containsAny(low, "websocket", "debugger", "inspector", "callback")
}

// httpURL finds a URL with a port.
func httpURL(text string) (string, bool) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("\"'<>(),", r)
	}) {
		if u, err := url.Parse(strings.TrimRight(word, ".")); err == nil && u.Scheme == "http" && u.Port() != "" {
			return u.String(), true
		}
	}
	return "", false
}

// portIn finds the number of a port: "port 3333", "127.0.0.1:3333".
func portIn(low string) (string, bool) {
	if _, rest, ok := strings.Cut(low, "port "); ok {
		if digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]; digits != "" {
			return "port " + digits, true
		}
	}
	for word := range strings.FieldsSeq(low) {
		host, port, err := net.SplitHostPort(strings.TrimRight(word, "."))
		if err == nil && host != "" && port != "" && strings.Trim(port, "0123456789") == "" {
			return "port " + port, true
		}
	}
	return "", false
}

// wrongSetting finds a complaint about a setting whose name is not that of a variable.
func wrongSetting(_, low string) (string, bool) {
	return "", complains(low) || containsAny(low, "cannot be empty", "must not be empty", "invalid ", "not configured",
		"unauthorized", "authentication failed", "no api key", "no access token", "credentials")
}

// reportsError finds an error of any kind.
func reportsError(_, low string) (string, bool) {
	return "", containsAny(low, "error", "fatal", "panic:", "exception", "cannot ", "can't ", "could not ", "unable to ",
		"failed", "denied", "not found", "no such file", "not supported", "unsupported", "unexpected")
}

// unquoted returns the text within the quotes that text begins with, or its first word.
func unquoted(text string) string {
	if text == "" {
		return ""
	}
	if strings.ContainsRune("'`\"", rune(text[0])) {
		inner, _, _ := strings.Cut(text[1:], text[:1])
		return inner
	}
	word, _, _ := strings.Cut(text, " ")
	return strings.TrimRight(word, ".,;")
}
