package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func (p *program) ledgerClose() *cobra.Command {
	c := &cobra.Command{
		Use:   "close NAME",
		Short: "Close a ledger for good",
		Long: `Close a ledger: it takes no more charges. Queries go on. Closing is final.

What open reservations hold is charged, because nobody knows whether it was used.
The shares of child ledgers are charged too, in full: the children stay open, and
nothing comes back when they are closed later. So close the children first.

On a terminal the command shows what it will charge, and asks. Elsewhere it needs
--yes. In this version it only warns where --yes is missing; the next one will
refuse.

Where the daemon knows callers by a socket's user or by a certificate, only the
principal that created the ledger may close it, or somebody on the daemon's own
socket.

` + requestIDHelp,
		Example: `  accountctl ledger close team/mnist --reason "model released"
  accountctl ledger close team/mnist --reason "model released" --yes`,
		Args:              names("NAME"),
		ValidArgsFunction: p.completeLedger,
	}
	reason := c.Flags().String("reason", "", "why; kept in the ledger")
	yes := c.Flags().BoolP("yes", "y", false, "close it without asking")
	id := requestIDFlag(c)
	output := outputFlag(c, formatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		key, err := requestID(c, *id)
		if err != nil {
			return err
		}
		if !*yes {
			if err := p.confirmClose(c, args[0]); err != nil {
				return err
			}
		}
		answer, err := ask(p, c, func(ctx context.Context, daemon *client.Client) (*accountantv1.CloseLedgerResponse, error) {
			return daemon.CloseLedgerOnce(ctx, args[0], key, *reason)
		})
		if err != nil {
			return resumable(err, key)
		}
		if output.value == formatJSON {
			return p.writeJSON(answer)
		}
		return p.writeReceipt("closed", answer.GetReceipt(), answer.GetReplayed())
	}
	return c
}

// confirmClose shows what closing a ledger charges, and asks on a terminal whether to
// go on. A ledger that is closed already is left to the daemon, which may have closed
// it for an earlier attempt of this command.
func (p *program) confirmClose(c *cobra.Command, name string) error {
	answer, err := ask(p, c, func(ctx context.Context, daemon *client.Client) (*accountantv1.GetLedgerResponse, error) {
		return wholeLedger(ctx, daemon, name)
	})
	l := answer.GetLedger()
	if err != nil || l.GetClosed() {
		return err
	}
	if !isTerminal(p.in) || !isTerminal(p.err) {
		p.warn(append(closingWarnings(l), "ledger close: --yes is missing; this version closes the ledger all the same, the next one will not"))
		return nil
	}
	if err := writeClosing(p.err, l); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(p.err, "Close ledger %s? [y/N] ", clean(name))
	line, err := bufio.NewReader(p.in).ReadString('\n')
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
		lines = append(lines, fmt.Sprintf("ledger close: reservation %d of %s is charged: %s", r.GetPosition(), r.GetPrincipal(), eventsText(r.GetRest())))
	}
	for _, r := range children {
		lines = append(lines, fmt.Sprintf("ledger close: the share of the open child ledger %s is charged in full: %s", r.GetChild(), eventsText(r.GetRest())))
	}
	return lines
}

// writeClosing writes for people what closing a ledger does.
func writeClosing(w io.Writer, l *accountantv1.Ledger) error {
	name := clean(l.GetSpec().GetName())
	if _, err := fmt.Fprintf(w, "Closing ledger %s is final: it takes no more charges, and nothing opens it again. Questions about it go on.\n", name); err != nil {
		return err
	}
	own, children := split(l)
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	if len(own) > 0 {
		_, _ = fmt.Fprintln(t, "\nThese open reservations are charged, whether they were used or not:\n  RESERVATION\tBY\tHOLDS")
	}
	for _, r := range own {
		_, _ = fmt.Fprintf(t, "  %d\t%s\t%s\n", r.GetPosition(), clean(r.GetPrincipal()), clean(eventsText(r.GetRest())))
	}
	if len(children) > 0 {
		_, _ = fmt.Fprintln(t, "\nIt has open child ledgers. They stay open, their shares are charged in full, and nothing comes back\n"+
			"when they are closed later. Close them first to get back what they do not use:\n  CHILD\tSHARE")
	}
	for _, r := range children {
		_, _ = fmt.Fprintf(t, "  %s\t%s\n", clean(r.GetChild()), clean(eventsText(r.GetRest())))
	}
	if len(own)+len(children) > 0 {
		_, _ = fmt.Fprintln(t)
	}
	return t.Flush()
}
