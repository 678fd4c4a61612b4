package clients

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// EntryName is the name of mcpl's entry in the files of other clients.
const EntryName = "mcpl"

// Outlet is a client that can start mcpl serve, and the file that says so.
type Outlet struct {
	Client string
	// Path is absolute. The file need not exist.
	Path string
	// Next says what a person does for the client to read the file.
	Next string

	section string
	typed   bool // entries have a "type"
}

// outlets lists the clients that mcpl can be put into. Sources of the formats: https://code.claude.com/docs/en/mcp
// (user scope), https://modelcontextprotocol.io/quickstart/user, https://cursor.com/docs/mcp,
// https://code.visualstudio.com/docs/copilot/reference/mcp-configuration, https://developers.openai.com/codex/mcp.
func outlets() []Outlet {
	return []Outlet{
		{Client: "claude-code", section: "mcpServers", typed: true, Next: "Start Claude Code anew; /mcp shows the entry."},
		{Client: "claude-desktop", section: "mcpServers", Next: "Quit Claude Desktop and start it again: it reads the file " +
			"at its start."},
		{Client: "cursor", section: "mcpServers", typed: true, Next: "Cursor shows the entry in its settings, under MCP; " +
			"switch it on there if it is off."},
		{Client: "vscode", section: "servers", typed: true, Next: `Start it in VS Code: the command "MCP: List Servers" ` +
			"shows it."},
		{Client: "codex", section: "mcp_servers", Next: "Start Codex anew; /mcp shows the entry."},
	}
}

// OutletNames returns the names of the clients that mcpl can be put into.
func OutletNames() []string {
	var names []string
	for _, o := range outlets() {
		names = append(names, o.Client)
	}
	return names
}

// OutletOf returns the outlet of a client: the file of its user, or the one that to names.
func OutletOf(env config.Env, name, to string) (Outlet, error) {
	i := slices.IndexFunc(outlets(), func(o Outlet) bool { return o.Client == name })
	if i < 0 {
		return Outlet{}, fault.New(fault.Usage, fmt.Sprintf("unknown client %q", name),
			"Name one of: "+strings.Join(OutletNames(), ", "))
	}
	o := outlets()[i]
	if to != "" {
		if o.Path = to; !filepath.IsAbs(to) {
			o.Path = filepath.Join(env.Dir, to)
		}
		return o, nil
	}
	known := all()[slices.IndexFunc(all(), func(c client) bool { return c.name == name })]
	for _, p := range known.places(finder{env}) {
		if p.project == "" {
			o.Path = p.path
		}
	}
	return o, nil
}

// isTOML reports whether the client's file is TOML. The others' are JSON, with comments or without.
func (o Outlet) isTOML() bool { return o.Client == "codex" }

// Edit is what has to change in a client's file.
type Edit struct {
	Before, After []byte
	// Entry is the command line that the file has then.
	Entry config.Launch
	// Diff are the lines of the entry, in the form of the file: with "+" if they are added, "-" if they go, and " " if
	// they stay. Secrets of an earlier command line are masked. It is empty if nothing changes.
	Diff []string
}

// Plan returns the edit that puts a command line into the bytes of the client's file, which are nil if it does not
// exist. Other fields of an entry that is there stay. If the file is damaged, or has an entry of that name for another
// kind of server, the error is a fault.Config.
func (o Outlet) Plan(data []byte, command string, args []string) (*Edit, error) {
	entry := config.Launch{Command: command, Args: args}
	if o.typed {
		entry.Type = "stdio"
	}
	for _, word := range append([]string{command}, args...) {
		// Claude Code, Cursor and VS Code expand variables, and none of the formats has bytes that are not UTF-8.
		if strings.Contains(word, "${") || !utf8.ValidString(word) {
			return nil, fault.New(fault.Config, fmt.Sprintf("%q cannot be in an entry: clients would read it differently", word),
				"Give the file or folder a name of plain text, without ${")
		}
	}
	old, err := o.entry(data)
	if err != nil {
		return nil, err
	}
	e := &Edit{Before: data, Entry: entry}
	if o.isTOML() {
		e.After, err = setTOML(o.Path, data, entry)
	} else {
		e.After, err = config.SetLaunch(o.Path, data, o.section, EntryName, entry)
	}
	if err != nil {
		return nil, err
	}
	if string(e.After) != string(data) {
		e.Diff = o.diff(old, entry)
	}
	return e, nil
}

// entry returns the command line of the entry that is there, nil if there is none.
func (o Outlet) entry(data []byte) (*config.Launch, error) {
	parse := parseJSON
	switch {
	case o.isTOML():
		parse = parseTOML
	case len(strings.TrimSpace(string(data))) == 0:
		return nil, nil
	}
	data = []byte(strings.TrimPrefix(string(data), byteOrderMark))
	servers, err := parse(place{path: o.Path, keys: [][]string{{o.section}}}, data)
	if err != nil {
		return nil, err
	}
	var old *config.Launch
	for _, s := range servers {
		if s.name != EntryName {
			continue
		}
		// The last entry of a name counts.
		command, ok := s.fields["command"].(string)
		if !ok || s.fields["url"] != nil {
			return nil, fault.New(fault.Config, fmt.Sprintf("%s has an entry %q that is not the command line of a server",
				o.Path, EntryName), "Remove that entry or give it another name, and type the command again.")
		}
		old = &config.Launch{Command: command}
		old.Type, _ = scalar(s.fields["type"])
		list, _ := s.fields["args"].([]any)
		for _, arg := range list {
			text, _ := scalar(arg)
			old.Args = append(old.Args, text)
		}
	}
	return old, nil
}

// byteOrderMark begins a UTF-8 file of some Windows editors.
const byteOrderMark = "\xef\xbb\xbf"

// diff returns the lines of an entry that is written in place of old, which is nil if there is none.
func (o Outlet) diff(old *config.Launch, entry config.Launch) []string {
	lines, indent, frame := config.Launch.Lines, "  ", []string{fmt.Sprintf("%q: {", EntryName), "}"}
	if o.isTOML() {
		lines, indent, frame = tomlLines, "", []string{tomlHeader}
	}
	mark, after := "+ ", lines(entry)
	var before []string
	if old != nil {
		mark, before = "  ", lines(old.Masked())
	}
	out := []string{mark + frame[0]}
	for _, line := range after {
		key := strings.Fields(line)[0]
		i := slices.IndexFunc(before, func(was string) bool { return strings.Fields(was)[0] == key })
		sign := "+ "
		switch {
		case i >= 0 && before[i] == line:
			sign = "  "
		case i >= 0:
			out = append(out, "- "+indent+before[i])
		}
		out = append(out, sign+indent+line)
	}
	for _, line := range frame[1:] {
		out = append(out, mark+line)
	}
	return out
}
