// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/answers"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
)

func datasetGroup(p *cli.Program) *cobra.Command {
	return cli.Group(p, &cobra.Command{
		Use:   "dataset",
		Short: "Register datasets, whose budgets all their ledgers share",
		Long: `A dataset that is registered has one budget, and every ledger that names it takes its
own budget from that. So the sum over all ledgers holds, however many there are.
docs/datasets.md explains it with an example.`,
		Example: `  accountctl dataset create survey --version 2026 --adjacency add-or-remove-one --privacy-unit user --max-records-per-unit 1 --bound-enforced-by "one row for each account" --budget epsilon=8,delta=1e-5,guard=rdp --server unix:data/accountant.sock
  accountctl dataset list
  accountctl dataset statement survey > privacy.md`,
	},
		cli.Command{Name: "create", Make: datasetCreate},
		cli.Command{Name: "show", Make: datasetShow},
		cli.Command{Name: "list", Make: datasetList},
		cli.Command{Name: "amend", Make: datasetAmend},
		cli.Command{Name: "statement", Make: datasetStatement},
	)
}

// parseReferences reads each ID, or ID@VERSION.
func parseReferences(texts []string) (out []*accountantv1.DatasetReference) {
	for _, t := range texts {
		id, version, _ := strings.Cut(t, "@")
		out = append(out, &accountantv1.DatasetReference{Id: id, Version: version})
	}
	return out
}

// references writes several as flags take them.
func references(list []*accountantv1.DatasetReference) string {
	texts := make([]string, len(list))
	for i, r := range list {
		texts[i] = spelling.Reference(r)
	}
	return strings.Join(texts, ", ")
}

// capsFlags add --max-charge and --max-ledger.
func capsFlags(c *cobra.Command, caps *accountantv1.DatasetCaps) {
	c.Flags().Float64Var(&caps.Charge, "max-charge", 0,
		"the largest `share` of the budget, from 0 to 1, that one charge may cost; 0 for no bound")
	c.Flags().Float64Var(&caps.Ledger, "max-ledger", 0,
		"the largest `share` of the budget, from 0 to 1, that one ledger may take; 0 for no bound")
}

// datasetState is a dataset's in one word.
func datasetState(l *accountantv1.Ledger) string {
	if l.GetDataset().GetNeedsConfirming() && !l.GetClosed() && !l.GetNeedsReconciling() {
		return "waits for another officer's approval"
	}
	return spelling.State(l)
}

// writeDataset writes a dataset for people.
func writeDataset(p *cli.Program, l *accountantv1.Ledger) {
	d, s := l.GetDataset(), l.GetDataset().GetSpec()
	approved := ""
	if by := d.GetConfirmedBy(); by != "" {
		approved = "by " + by
	}
	p.Properties([][2]string{
		{"dataset", spelling.Identifier(s.GetId())},
		{"title", s.GetTitle()},
		{"owners", strings.Join(s.GetOwners(), ", ")},
		{"state", datasetState(l)},
		{"adjacency", spelling.Adjacency(s.GetAdjacency())},
		{"privacy unit", s.GetPrivacyUnit()},
		{"records per unit", fmt.Sprintf("at most %d, by: %s", s.GetMaxRecordsPerUnit(), s.GetBoundEnforcedBy())},
		{"derived from", references(s.GetDerivedFrom())},
		{"budget", budgetText(d)},
		{"independence", s.GetIndependence()},
		{"caps", capsText(s.GetCaps())},
		{"labels", spelling.Labels(s.GetLabels())},
		{"registered", spelling.Time(l.GetCreateTime()) + " by " + l.GetPrincipal()},
		{"approved", approved},
		{"record", l.GetName()},
	})
	cli.Section(p, cli.Columns("VERSION", "DERIVED FROM"), d.GetVersions(), func(v *accountantv1.DatasetVersion) []any {
		return []any{spelling.Reference(v.GetOf()), references(v.GetDerivedFrom())}
	})
	answers.WriteBudgets(p, "BY LEDGERS", l.GetBudgets())
	for _, a := range l.GetAssumptions() {
		text := fmt.Sprintf("Entry %d: %s", a.GetPosition(), cli.Clean(a.GetText()))
		_, _ = fmt.Fprintf(p.Out, "\n%s\n", cli.Wrap(text))
	}
}

func budgetText(d *accountantv1.Dataset) string {
	if of := d.GetBudgetOf(); of != "" {
		return "that of " + of
	}
	var texts []string
	for _, b := range d.GetSpec().GetBudgets() {
		texts = append(texts, spelling.Budget(b))
	}
	return strings.Join(texts, " and ")
}

func capsText(c *accountantv1.DatasetCaps) string {
	var texts []string
	if c.GetCharge() > 0 {
		texts = append(texts, spelling.Share(c.GetCharge())+" for one charge")
	}
	if c.GetLedger() > 0 {
		texts = append(texts, spelling.Share(c.GetLedger())+" for one ledger")
	}
	return strings.Join(texts, ", ")
}
