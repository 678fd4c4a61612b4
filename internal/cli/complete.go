package cli

import (
	"github.com/spf13/cobra"

	"github.com/mcp-launchpad/mcpl/pkg/index"
)

// Completion answers from the index as it is: a shell that waits for a server is no help.

func (t *tree) completeServer(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return t.names(cmd, false), cobra.ShellCompDirectiveNoFileComp
}

// completeTool completes a server and then one of its tools.
func (t *tree) completeTool(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var words []string
	if sn, done := t.opt.App.Cached(t.globals); sn != nil {
		defer done()
		switch len(args) {
		case 0:
			words = serverNames(sn)
		case 1:
			words = toolNames(sn, args[0], "")
		default:
			return nil, cobra.ShellCompDirectiveDefault
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// completeNames completes servers and SERVER/TOOL.
func (t *tree) completeNames(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return t.names(cmd, true), cobra.ShellCompDirectiveNoFileComp
}

func (t *tree) names(_ *cobra.Command, tools bool) []string {
	sn, done := t.opt.App.Cached(t.globals)
	if sn == nil {
		return nil
	}
	defer done()
	words := serverNames(sn)
	if tools {
		for _, s := range sn.Servers() {
			words = append(words, toolNames(sn, s.Name, s.Name+"/")...)
		}
	}
	return words
}

func serverNames(sn *index.Snapshot) []string {
	var words []string
	for _, s := range sn.Servers() {
		words = append(words, s.Name)
	}
	return words
}

func toolNames(sn *index.Snapshot, server, prefix string) []string {
	recs, err := sn.Records(server)
	if err != nil {
		return nil
	}
	var words []string
	for _, rec := range recs {
		words = append(words, cobra.CompletionWithDesc(prefix+rec.Name, index.FirstSentences(rec.Description, 60)))
	}
	return words
}
