// SPDX-License-Identifier: Apache-2.0

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
	if len(args) == 0 && p.Choose(c) == nil { // a completion is no run, which chooses before
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

// explained adds to an error about the ledger NAME what helps: which one was probably meant if it
// is not there, and who closed it if it is closed.
func explained(c *cobra.Command, daemon *client.Client, err error) error {
	var e *client.Error
	if !errors.As(err, &e) {
		return err
	}
	name := ""
	for of := range strings.SplitSeq(c.Flags().Arg(0), ",") { // the longest: one name may be a part of another
		if len(of) > len(name) && strings.Contains(e.Error(), of) {
			name = of
		}
	}
	if name == "" {
		return err
	}
	switch {
	case e.Code == codes.FailedPrecondition && strings.Contains(e.Error(), "ledger is closed"):
		if by := closedBy(c.Context(), daemon, name); by != "" {
			return worded{by, err}
		}
	case e.Code == codes.NotFound && c.Parent().Name() == "dataset": // the daemon says how to list them
	case e.Code == codes.NotFound:
		// A mistake is rarely in the first letter.
		if meant := Meant(name, names(c.Context(), daemon, name[:1])); meant != "" {
			return fmt.Errorf("%w; %s", err, strings.TrimSpace(meant))
		}
		return fmt.Errorf("%w; allowed: a ledger that exists: accountctl ledger list shows them", err)
	}
	return err
}

// closedBy says who closed a ledger, when and why; "" if that cannot be found.
func closedBy(ctx context.Context, daemon *client.Client, name string) string {
	answer, err := daemon.GetLedger(ctx, name)
	if err != nil {
		return ""
	}
	for e, err := range daemon.Entries(ctx, name, client.EntriesOptions{Start: answer.GetLedger().GetPosition()}) {
		if err != nil || e.GetClose() == nil {
			return ""
		}
		on := e.GetTime().AsTime().Format("2006-01-02, 15:04 UTC")
		text := fmt.Sprintf("the ledger %q was closed on %s by %s", name, on, e.GetPrincipal())
		if reason := e.GetClose().GetReason(); reason != "" {
			text += " (reason given: " + reason + ")"
		}
		return text + "; closing is final, create a new ledger"
	}
	return ""
}

// worded is an error in words that say more than its own.
type worded struct {
	text string
	error
}

func (w worded) Error() string { return w.text }
func (w worded) Unwrap() error { return w.error }
