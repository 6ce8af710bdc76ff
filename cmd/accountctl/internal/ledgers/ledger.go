// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/budgets"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
)

func ledgerGroup(p *cli.Program) *cobra.Command {
	return cli.Group(p, &cobra.Command{
		Use:   "ledger",
		Short: "Create, show, follow, correct and close ledgers",
		Long: `A ledger keeps what differentially private mechanisms were run on one dataset.
It is never deleted and its name is never used again; closing it is final.`,
		Example: `  accountctl ledger create team/mnist --adjacency add-or-remove-one
  accountctl ledger create shared --adjacency add-or-remove-one --budget epsilon=8,delta=1e-5,guard=rdp --expected-run workload.json
  accountctl ledger list --prefix team/`,
	},
		cli.Command{Name: "create", Make: ledgerCreate},
		cli.Command{Name: "show", Make: ledgerShow},
		cli.Command{Name: "list", Make: ledgerList},
		cli.Command{Name: "entries", Make: entries},
		cli.Command{Name: "history", Make: history},
		cli.Command{Name: "forecast", Make: forecast},
		cli.Command{Name: "watch", Make: watch},
		cli.Command{Name: "refusals", Make: ledgerRefusals},
		cli.Command{Name: "refund", Make: budgets.Refund},
		cli.Command{Name: "reconcile", Make: ledgerReconcile},
		cli.Command{Name: "acknowledge", Make: ledgerAcknowledge},
		cli.Command{Name: "close", Make: ledgerClose},
	)
}

// writeLedger writes a ledger's state for people.
func writeLedger(p *cli.Program, l *accountantv1.Ledger) {
	spec := l.GetSpec()
	state := spelling.State(l)
	if l.GetNeedsReconciling() {
		state += ": it has lost entries, by a restore or a failover; it takes nothing until ledger reconcile"
	}
	p.Properties([][2]string{
		{"ledger", p.Short(l.GetName(), 60)},
		{"state", state},
		{"policy", spelling.Policy(spec)},
		{"adjacency", spelling.Adjacency(spec.GetAdjacency())},
		{"privacy unit", spec.GetPrivacyUnit()},
		{"dataset", strings.TrimSpace(spelling.Identifier(spec.GetDatasetId()) + " " + spec.GetDatasetVersion())},
		{"owner", spec.GetOwner()},
		{"parent", spec.GetParent()},
		{"labels", spelling.Labels(spec.GetLabels())},
		{"created", spelling.Time(l.GetCreateTime()) + " by " + l.GetPrincipal()},
		{"entries", fmt.Sprint(l.GetPosition())},
		{"mechanisms", fmt.Sprintf("%d distinct, %d in all", l.GetDistinctMechanisms(), l.GetTotalCount())},
		{"head", p.Short(fmt.Sprintf("%x", l.GetHeadHash()), 24)},
		{"created in store", l.GetStoreId()},
	})
	writeBalance(p, l)
}
