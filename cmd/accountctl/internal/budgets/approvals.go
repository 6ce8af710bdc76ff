// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/wire/wirejson"
)

func approvals(p *cli.Program) *cobra.Command {
	return cli.Group(p, &cobra.Command{
		Use:   "approvals",
		Short: "List, approve and withdraw what others have proposed",
		Long: `Where the access policy asks for two people, one officer proposes a raise, a refund,
a freed reservation, a reconciling or a change of a dataset (with --propose), and another
person, who is an officer too, approves it. The approval does it, decided on the ledger as it then is.
docs/access.md says more.`,
		Example: `  accountctl approvals list
  accountctl approvals approve team/mnist --proposal 12`,
	},
		cli.Command{Name: "list", Make: approvalsList},
		cli.Command{Name: "approve", Make: approve},
		cli.Command{Name: "withdraw", Make: withdraw},
	)
}

func approvalsList(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "list [NAME]",
		Short: "List the open proposals of a ledger, or of all",
		Long: `List what was proposed and neither approved nor withdrawn: of one ledger, or of all
ledgers and datasets that you may see. A dataset's record is called dataset:ID.`,
		Example: `  accountctl approvals list
  accountctl approvals list team/mnist --output json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: p.CompleteLedger,
	}
	output := cli.OutputFlag(c, cli.FormatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		return p.With(c, func(daemon *client.Client) error {
			var found []*accountantv1.Ledger
			for name, err := range namesOf(c.Context(), daemon, args) {
				if err != nil {
					return err
				}
				answer, err := daemon.GetLedger(c.Context(), name)
				if err != nil {
					return err
				}
				if l := answer.GetLedger(); len(l.GetProposals()) > 0 {
					found = append(found, l)
				}
			}
			if output.Value == cli.FormatJSON {
				return writeProposalsJSON(p, found)
			}
			return writeProposals(p, found)
		})
	}
	return c
}

// namesOf yields the ledger that is given, or all and all records of datasets.
func namesOf(ctx context.Context, daemon *client.Client, args []string) func(func(string, error) bool) {
	return func(yield func(string, error) bool) {
		if len(args) > 0 {
			yield(args[0], nil)
			return
		}
		for _, prefix := range []string{"", ledger.DatasetsPrefix} {
			for l, err := range daemon.ListLedgers(ctx, prefix) {
				if !yield(l.GetName(), err) {
					return
				}
			}
		}
	}
}

// writeProposalsJSON writes the proposals of each ledger, and nothing else of the ledgers.
func writeProposalsJSON(p *cli.Program, ledgers []*accountantv1.Ledger) error {
	type of struct {
		Name      string            `json:"name"`
		Proposals []json.RawMessage `json:"proposals"`
	}
	all := []of{}
	for _, l := range ledgers {
		one := of{Name: l.GetName()}
		for _, proposal := range l.GetProposals() {
			text, err := wirejson.Marshal(proposal)
			if err != nil {
				return err
			}
			one.Proposals = append(one.Proposals, text)
		}
		all = append(all, one)
	}
	return p.WriteObject(map[string][]of{"ledgers": all})
}

func writeProposals(p *cli.Program, ledgers []*accountantv1.Ledger) error {
	t := p.Table()
	t.Row("LEDGER", "PROPOSAL", "BY", "UNTIL", "WHAT")
	for _, l := range ledgers {
		for _, proposal := range l.GetProposals() {
			until := spelling.Time(proposal.GetExpireTime())
			if time.Now().After(proposal.GetExpireTime().AsTime()) {
				until += " (over)"
			}
			t.Row(l.GetName(), proposal.GetPosition(), proposal.GetPrincipal(), until,
				spelling.Proposed(proposal.GetPropose()))
		}
	}
	_ = t.Flush() // the writer keeps the error
	if len(ledgers) == 0 {
		p.Note("nothing that you may see waits for approval")
	}
	return nil
}

func approve(p *cli.Program) *cobra.Command {
	w := calls.Write{Action: &accountantv1.Approve{}, Done: "approved and done"}
	return w.Command(p, &cobra.Command{
		Use:   "approve NAME --proposal POSITION [--comment TEXT]",
		Short: "Do what another person has proposed",
		Long: `Approve a proposal, which does what it proposes, decided on the ledger as it is now.
You must be an officer, and another person than the proposer. "accountctl approvals list" shows the positions of
proposals.`,
		Example: `  accountctl approvals approve team/mnist --proposal 12`,
	})
}

func withdraw(p *cli.Program) *cobra.Command {
	w := calls.Write{Action: &accountantv1.Withdraw{}, Done: "withdrawn"}
	return w.Command(p, &cobra.Command{
		Use:     "withdraw NAME --proposal POSITION [--reason REASON]",
		Short:   "Take back a proposal",
		Long:    `Take back a proposal, your own or another officer's, so that nobody can approve it.`,
		Example: `  accountctl approvals withdraw team/mnist --proposal 12 --reason "the wrong entry"`,
	})
}
