// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
)

func ledgerClose(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "close NAME [--reason REASON] [--yes]",
		Short: "Close a ledger for good",
		Long: `Close a ledger: it takes no more charges. Queries go on. Closing is final.

What open reservations hold is charged, because nobody knows whether it was used.
The shares of child ledgers are charged too, in full: the children stay open, and
nothing comes back when they are closed later. So close the children first.

On a terminal the command shows what it will charge, and asks. Elsewhere it needs
--yes.

Where the daemon knows callers by a socket's user or by a certificate, only the
principal that created the ledger may close it, or somebody on the daemon's own
socket.`,
		Example: `  accountctl ledger close team/mnist --reason "model released"
  accountctl ledger close team/mnist --reason "model released" --yes`,
	}
	yes := c.Flags().BoolP("yes", "y", false, "close it without asking")
	w := calls.Write{Action: &accountantv1.Close{}, Done: "closed"}
	w.Read = func(c *cobra.Command, args []string) error {
		if *yes {
			return nil
		}
		return confirmClose(p, c, args[0])
	}
	return w.Command(p, c)
}

// confirmClose shows what closing a ledger charges, and asks on a terminal whether to
// go on. A ledger that is closed already is left to the daemon, which may have closed
// it for an earlier attempt of this command.
func confirmClose(p *cli.Program, c *cobra.Command, name string) error {
	answer, err := cli.Ask(p, c,
		func(ctx context.Context, daemon *client.Client) (*accountantv1.GetLedgerResponse, error) {
			return wholeLedger(ctx, daemon, name)
		})
	l := answer.GetLedger()
	if err != nil || l.GetClosed() {
		return err
	}
	if !cli.IsTerminal(p.In) || !cli.IsTerminal(p.Err) {
		p.Warn(closingWarnings(l))
		return cli.Usage(c, "ledger %s was not closed, since closing is final and nobody can be asked here; "+
			"allowed: with --yes", cli.Clean(name))
	}
	if err := writeClosing(p.Err, l); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(p.Err, "Close ledger %s? [y/N] ", cli.Clean(name))
	line, err := bufio.NewReader(p.In).ReadString('\n')
	if err != nil && err != io.EOF {
		return err
	}
	if reply := strings.ToLower(strings.TrimSpace(line)); reply != "y" && reply != "yes" {
		return fmt.Errorf("ledger %s was not closed", name)
	}
	return nil
}

// split tells the reservations that a ledger's own jobs hold from the shares of children.
func split(l *accountantv1.Ledger) (own, children []*accountantv1.Reservation) {
	for _, r := range l.GetReservations() {
		if r.GetChild() == "" {
			own = append(own, r)
		} else {
			children = append(children, r)
		}
	}
	return own, children
}

// closingWarnings says in a line each what closing a ledger charges that is not charged yet.
func closingWarnings(l *accountantv1.Ledger) (lines []string) {
	own, children := split(l)
	for _, r := range own {
		lines = append(lines,
			fmt.Sprintf("ledger close: reservation %d of %s is charged: %s", r.GetPosition(), r.GetPrincipal(),
				spelling.Events(r.GetRest())))
	}
	for _, r := range children {
		lines = append(lines,
			fmt.Sprintf("ledger close: the share of the open child ledger %s is charged in full: %s", r.GetChild(),
				spelling.Events(r.GetRest())))
	}
	return lines
}

// writeClosing writes for people what closing a ledger does.
func writeClosing(w io.Writer, l *accountantv1.Ledger) error {
	name := cli.Clean(l.GetSpec().GetName())
	if _, err := fmt.Fprintf(w, "Closing ledger %s is final: it takes no more charges, and nothing opens it again. "+
		"Questions about it go on.\n", name); err != nil {
		return err
	}
	own, children := split(l)
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	if len(own) > 0 {
		_, _ = fmt.Fprintln(t,
			"\nThese open reservations are charged, whether they were used or not:\n  RESERVATION\tBY\tHOLDS")
	}
	for _, r := range own {
		_, _ = fmt.Fprintf(t, "  %d\t%s\t%s\n", r.GetPosition(), cli.Clean(r.GetPrincipal()),
			cli.Clean(spelling.Events(r.GetRest())))
	}
	if len(children) > 0 {
		_, _ = fmt.Fprintln(t,
			"\nIt has open child ledgers. They stay open, their shares are charged in full, and nothing comes back\n"+
				"when they are closed later. Close them first to get back what they do not use:\n  CHILD\tSHARE")
	}
	for _, r := range children {
		_, _ = fmt.Fprintf(t, "  %s\t%s\n", cli.Clean(r.GetChild()), cli.Clean(spelling.Events(r.GetRest())))
	}
	if len(own)+len(children) > 0 {
		_, _ = fmt.Fprintln(t)
	}
	return t.Flush()
}
