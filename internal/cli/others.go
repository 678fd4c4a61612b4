package cli

import (
	"github.com/spf13/cobra"

	"github.com/mcp-launchpad/mcpl/internal/verb"
)

func (t *tree) resources() *cobra.Command {
	cmd := t.command(new(verb.Resources), "others", &cobra.Command{
		Use:   "resources [SERVER]",
		Short: "List the resources of the servers (starts no server)",
		Long: `Resources lists what can be read, by its URI, and templates of such URIs: of all
servers or of one. It answers from the index, as list does. Find one with:
mcpl search --kind resource WORDS`,
		Example: `  mcpl resources
  mcpl --json resources everything`,
	})
	cmd.ValidArgsFunction = t.completeServer
	return cmd
}

func (t *tree) read() *cobra.Command {
	cmd := t.command(new(verb.Read), "others", &cobra.Command{
		Use:   "read SERVER URI",
		Short: "Read one resource (starts its server only)",
		Long: `Read prints the text of a resource as it is. Of what is no text it tells the
type and the size, and saves it with --output-dir. A URI need not be listed: it
may be made from a template by filling in what stands in braces, or come from
the result of a tool.`,
		Example: `  mcpl read everything demo://resource/static/document/features.md
  mcpl --json read everything demo://resource/dynamic/text/1
  mcpl read everything demo://resource/dynamic/blob/1 --output-dir .`,
	})
	cmd.ValidArgsFunction = t.completeResource
	return cmd
}

func (t *tree) prompts() *cobra.Command {
	cmd := t.command(new(verb.Prompts), "others", &cobra.Command{
		Use:   "prompts [SERVER]",
		Short: "List the prompts of the servers (starts no server)",
		Long: `Prompts lists the prompts of all servers or of one, with their arguments. It
answers from the index, as list does. Find one with: mcpl search --kind prompt
WORDS`,
		Example: `  mcpl prompts
  mcpl --json prompts everything`,
	})
	cmd.ValidArgsFunction = t.completeServer
	return cmd
}

func (t *tree) prompt() *cobra.Command {
	cmd := t.command(new(verb.Prompt), "others", &cobra.Command{
		Use:   "prompt SERVER NAME [ARGS]",
		Short: "Get one prompt (starts its server only)",
		Long: `Prompt fills in a prompt of a server and prints its messages. ARGS are as in
call: one JSON object, or pairs key=value, key:=json, key=@file. All arguments
of prompts are strings.`,
		Example: `  mcpl prompt everything simple-prompt
  mcpl --json prompt everything args-prompt city=Oslo`,
	})
	cmd.ValidArgsFunction = t.completePrompt
	return cmd
}

// completeResource completes a server that is on and then one of its URIs.
func (t *tree) completeResource(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return t.completeOffer(args, (*verb.Names).Resources, cobra.ShellCompDirectiveNoFileComp)
}

// completePrompt completes a server that is on and then one of its prompts.
func (t *tree) completePrompt(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return t.completeOffer(args, (*verb.Names).Prompts, cobra.ShellCompDirectiveDefault) // values may be files
}
