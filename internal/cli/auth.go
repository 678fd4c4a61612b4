package cli

import (
	"github.com/spf13/cobra"

	"github.com/mcp-launchpad/mcpl/internal/verb"
)

func (t *tree) auth() *cobra.Command {
	cmd := t.command(new(verb.Auth), "setup", &cobra.Command{
		Use:   "auth [login|logout|status] [SERVER]",
		Short: "Log in to servers that want it, and out again",
		Long: `Servers over HTTP may want a login (OAuth). A call to one says so, with the
command to type; nothing but auth login opens a browser.

  login   log in by the browser; without SERVER, to the only one that wants it
  logout  forget the login, and revoke it where the server can do that
  status  show what is known of each login (default)

A login is renewed by itself for as long as the server allows. It is kept in the
keyring of the system, or where there is none in a file that only you can read.

With --no-browser the address is printed on stderr. Open it anywhere; the
browser ends at an address of this machine. On another machine that page does
not load: paste its address here.`,
		Example: `  mcpl auth login notes
  mcpl auth login notes --no-browser
  mcpl auth login notes --scope "read write"
  mcpl --json auth status`,
	})
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return []string{"login", "logout", "status"}, cobra.ShellCompDirectiveNoFileComp
		}
		return t.completeServer(cmd, args[1:], typed)
	}
	return cmd
}
