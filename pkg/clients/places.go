package clients

import "path/filepath"

// mcpServers is where most clients have their servers.
func mcpServers() [][]string { return [][]string{{"mcpServers"}} }

// claudeCode keeps servers in ~/.claude.json, or in .claude.json in the folder that CLAUDE_CONFIG_DIR names: those of
// all projects at the top, those of one project under its folder, which win (https://code.claude.com/docs/en/mcp). A
// project's .mcp.json is a file that mcpl reads by itself.
func claudeCode(f finder) []place {
	var keys [][]string
	for dir := range f.env.Upwards() {
		keys = append(keys, []string{"projects", filepath.ToSlash(dir), "mcpServers"})
		if native := filepath.FromSlash(dir); native != filepath.ToSlash(dir) {
			keys = append(keys, []string{"projects", native, "mcpServers"})
		}
	}
	return []place{{path: filepath.Join(f.variable("CLAUDE_CONFIG_DIR", f.env.Home), ".claude.json"),
		keys: append(keys, mcpServers()...)}}
}

// claudeDesktop has one file (https://modelcontextprotocol.io/quickstart/user). There is no
// official version for Linux; the builds made for it use the folder of its kind.
func claudeDesktop(f finder) []place {
	return []place{{path: filepath.Join(f.appData(), "Claude", "claude_desktop_config.json"), keys: mcpServers()}}
}

// cursor has a file for the user and one for a project, which wins (https://cursor.com/docs/mcp).
func cursor(f finder) []place {
	return append(f.project(mcpServers(), ".cursor", "mcp.json"),
		place{path: f.home(".cursor", "mcp.json"), keys: mcpServers()})
}

// vscode has mcp.json in the workspace and in the user's profile
// (https://code.visualstudio.com/docs/copilot/reference/mcp-configuration). Profiles other than
// the default one have names that mean nothing outside of VS Code.
func vscode(f finder) []place {
	keys := [][]string{{"servers"}}
	return append(f.project(keys, ".vscode", "mcp.json"),
		place{path: filepath.Join(f.appData(), "Code", "User", "mcp.json"), keys: keys})
}

// windsurf has one file, and its plugin for other editors one a folder higher
// (https://docs.windsurf.com/windsurf/cascade/mcp, https://docs.windsurf.com/plugins/cascade/mcp).
func windsurf(f finder) []place {
	return []place{
		{path: f.home(".codeium", "windsurf", "mcp_config.json"), keys: mcpServers()},
		{path: f.home(".codeium", "mcp_config.json"), keys: mcpServers()},
	}
}

// codex has config.toml in a project, which wins, and in CODEX_HOME or ~/.codex
// (https://developers.openai.com/codex/mcp).
func codex(f finder) []place {
	keys := [][]string{{"mcp_servers"}}
	return append(f.project(keys, ".codex", "config.toml"),
		place{path: filepath.Join(f.variable("CODEX_HOME", f.home(".codex")), "config.toml"), keys: keys})
}

// gemini has settings.json in a project, which wins, and in the home folder
// (https://geminicli.com/docs/tools/mcp-server).
func gemini(f finder) []place {
	return append(f.project(mcpServers(), ".gemini", "settings.json"),
		place{path: f.home(".gemini", "settings.json"), keys: mcpServers()})
}

// opencode has opencode.json or .jsonc in a project, at its top or in .opencode, and in
// ~/.config/opencode, on every system (https://opencode.ai/docs/config). Since its version 2 the
// servers stand under mcp.servers (https://opencode.ai/v2/docs/mcp-servers).
func opencode(f finder) []place {
	keys := [][]string{{"mcp", "servers"}, {"mcp"}}
	var places []place
	for _, dir := range [][]string{{".opencode"}, {}} {
		for _, name := range []string{"opencode.json", "opencode.jsonc"} {
			places = append(places, f.project(keys, append(dir[:len(dir):len(dir)], name)...)...)
		}
	}
	for _, name := range []string{"opencode.json", "opencode.jsonc", "config.json"} {
		places = append(places, place{path: filepath.Join(f.configHome(), "opencode", name), keys: keys})
	}
	return places
}

// zed has settings.json in a project, which wins, and the user's: %APPDATA%\Zed on Windows, else
// $XDG_CONFIG_HOME/zed or ~/.config/zed (https://zed.dev/docs/configuring-zed).
func zed(f finder) []place {
	keys := [][]string{{"context_servers"}}
	user := filepath.Join(f.configHome(), "zed", "settings.json")
	if f.env.GOOS == "windows" {
		user = filepath.Join(f.appData(), "Zed", "settings.json")
	}
	return append(f.project(keys, ".zed", "settings.json"), place{path: user, keys: keys})
}
