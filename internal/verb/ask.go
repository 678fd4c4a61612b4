package verb

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
)

// approvable is something that a person is asked to approve.
type approvable interface {
	ref() string
	write(t *output.Text)
}

// askEach shows things to the person at the terminal and asks whether to approve them, one by one, or once for all of
// them. It calls answered with each answer before it asks on, so that an interruption loses none. A no to several is
// not one to each of them. isPerson is false if no one is at a terminal.
func askEach[T approvable](ctx context.Context, s *Session, list []T, once bool,
	answered func(one T, yes bool) error) (isPerson bool, err error) {
	tty, err := openTerminal()
	if err != nil || s.Globals.JSON || !s.App.ErrTTY.Is {
		return false, nil
	}
	defer tty.Close() // it was only read
	dialog := s.Printer.NewDialog(tty)
	dialog.Open()
	defer dialog.Close()
	size := 1
	if once {
		size = max(1, len(list))
	}
	for group := range slices.Chunk(list, size) {
		what := group[0].ref()
		if len(group) > 1 {
			what = fmt.Sprintf("all %d", len(group))
		}
		for _, one := range group {
			dialog.Show(func(t *output.Text) { one.write(t) })
		}
		yes, err := approves(ctx, dialog, what)
		if err != nil {
			return true, err
		}
		for _, one := range group {
			if !yes && len(group) > 1 {
				break
			}
			if err := answered(one, yes); err != nil {
				return true, err
			}
		}
	}
	return true, nil
}

// approves asks the person at the terminal to approve something.
func approves(ctx context.Context, dialog *output.Dialog, what string) (bool, error) {
	line, err := dialog.Line(ctx, output.Bold("Approve "+what+"?"), " [y/N] ")
	if ctx.Err() != nil {
		return false, fault.New(fault.Interrupted, "interrupted; nothing more was approved", "")
	}
	yes := strings.ToLower(strings.TrimSpace(line))
	return err == nil && (yes == "y" || yes == "yes"), nil
}
