package cli

import (
	"github.com/spf13/cobra"

	"github.com/mcp-launchpad/mcpl/internal/verb"
	"github.com/mcp-launchpad/mcpl/pkg/clients"
)

func (t *tree) config() *cobra.Command {
	cmd := t.command(new(verb.Config), "setup", &cobra.Command{
		Use:   "config",
		Short: "Show, check and change the configuration",
		Long: `Config shows which files are used and why, where each server comes from, which
variables are set or missing (never their values), the settings in force, and
every problem found.

Its own verbs change a configuration file. Comments, order and indentation stay,
the file is replaced as a whole or not at all, and what comes out is read and
compared before.`,
		Example: `  mcpl config
  mcpl --json config --config other.json
  mcpl config import --dry-run
  mcpl config add memory -- npx -y @modelcontextprotocol/server-memory`,
	})
	cmd.AddCommand(t.configImport(), t.configAdd(), t.configRemove())
	return cmd
}

func (t *tree) configImport() *cobra.Command {
	cmd := t.command(new(verb.ConfigImport), "", &cobra.Command{
		Use:   "import [NAME...]",
		Short: "Take servers over from other clients",
		Long: `Import finds the servers that other clients have in files of their own, shows
what it would take and what not and why, asks, and writes them into the
configuration in force; where there is none, into .mcp.json at the root of the
repository, outside of one into ~/.claude/mcp.json. The other clients' files
are only read. The clients are claude-code, claude-desktop, cursor, vscode,
windsurf, codex, gemini, opencode and zed.

A literal secret is not copied: a variable takes its place, and the answer says
which one to set where. --keep-secrets copies it. A server that is there
already, under whatever name, is left out; one whose name another server has
gets the client's name behind its own.`,
		Example: `  mcpl config import --dry-run
  mcpl config import --from cursor,vscode
  mcpl --json config import github --from claude-desktop --yes`,
	})
	_ = cmd.RegisterFlagCompletionFunc("from", cobra.FixedCompletions(clients.Names(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (t *tree) configAdd() *cobra.Command {
	cmd := t.command(new(verb.ConfigAdd), "", &cobra.Command{
		Use:                   "add NAME -- COMMAND ARGS...",
		DisableFlagsInUseLine: true, // behind -- they would be the command's
		Short:                 "Put a server into the configuration",
		Long: `Add puts a server into the configuration in force; where there is none, into
.mcp.json at the root of the repository, outside of one into ~/.claude/mcp.json.
What stands behind -- is its command; --url names a server that runs elsewhere.

Keep secrets out of the command line: write ${NAME}, in single quotes, and put
NAME=... into an environment file.`,
		Example: `  mcpl config add memory -- npx -y @modelcontextprotocol/server-memory
  mcpl config add github --env 'GITHUB_PERSONAL_ACCESS_TOKEN=${GITHUB_TOKEN}' \
      -- mcp-server-github
  mcpl config add docs --url https://example.com/mcp \
      --header 'Authorization=Bearer ${DOCS_TOKEN}'`,
	})
	_ = cmd.RegisterFlagCompletionFunc("transport", cobra.FixedCompletions([]string{"http", "sse"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (t *tree) configRemove() *cobra.Command {
	cmd := t.command(new(verb.ConfigRemove), "", &cobra.Command{
		Use:   "remove NAME",
		Short: "Take a server out of the configuration",
		Long: `Remove takes a server's entry out of the file that defines it. Comments beside
it stay. To switch a server off and keep its entry, use mcpl disable.`,
		Example: `  mcpl config remove memory
  mcpl config remove memory --to ~/.claude/mcp.json`,
	})
	cmd.ValidArgsFunction = t.completeServer
	return cmd
}
