package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
)

// Somebody waits at a prompt, and reads no more names than this.
const (
	completionPatience = time.Second
	completionNames    = 100
)

// CompleteLedger asks the daemon which names begin like the first argument. Whatever
// fails, there is nothing to complete.
func (p *Program) CompleteLedger(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	var found []string
	if len(args) == 0 {
		ctx, cancel := context.WithTimeout(c.Context(), completionPatience)
		defer cancel()
		_ = p.With(c, func(daemon *client.Client) error {
			for l, err := range daemon.ListLedgers(ctx, begun) {
				if err != nil || len(found) == completionNames {
					return err
				}
				found = append(found, l.GetName())
			}
			return nil
		})
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}
