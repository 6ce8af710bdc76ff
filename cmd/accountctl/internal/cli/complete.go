package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"

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
		_ = p.With(c, func(daemon *client.Client) error {
			found = names(c.Context(), daemon, begun)
			return nil
		})
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// names lists the first ledgers whose names begin like that, or those that were found in time.
func names(ctx context.Context, daemon *client.Client, begun string) (found []string) {
	ctx, cancel := context.WithTimeout(ctx, completionPatience)
	defer cancel()
	for l, err := range daemon.ListLedgers(ctx, begun) {
		if err != nil || len(found) == completionNames {
			break
		}
		found = append(found, l.GetName())
	}
	return found
}

// orMeant adds to the error that a ledger is not there which one was probably meant.
func orMeant(c *cobra.Command, daemon *client.Client, err error) error {
	var e *client.Error
	name := c.Flags().Arg(0)
	if name == "" || !errors.As(err, &e) || e.Code != codes.NotFound || !strings.Contains(e.Error(), name) {
		return err
	}
	// A mistake is rarely in the first letter.
	if meant := Meant(name, names(c.Context(), daemon, name[:1])); meant != "" {
		return fmt.Errorf("%w; %s", err, strings.TrimSpace(meant))
	}
	return err
}
