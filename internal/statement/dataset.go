// SPDX-License-Identifier: Apache-2.0

package statement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// ofDataset is what a dataset's statement is about.
func ofDataset(s *accountantv1.Statement) about {
	d := s.GetDataset().GetSpec()
	whose := s.GetLedger().GetSpec() // of whose budget it is
	title := "dataset " + spelling.Identifier(d.GetId())
	if whose.GetDatasetId() != d.GetId() {
		title += ", which shares the budget of dataset " + spelling.Identifier(whose.GetDatasetId())
	}
	records := fmt.Sprintf("at most %d, enforced by: %s", d.GetMaxRecordsPerUnit(), d.GetBoundEnforcedBy())
	return about{title: title, heading: "The dataset", charged: "What was charged to all ledgers so far",
		source: "the record of dataset " + code(whose.GetDatasetId()),
		fields: []field{
			{"dataset", spelling.Identifier(d.GetId())},
			{"title", d.GetTitle()},
			{"owners", strings.Join(d.GetOwners(), ", ")},
			{"versions that share the budget", versions(s)},
			{"unit of privacy", cmp.Or(d.GetPrivacyUnit(), "not given: one record")},
			{"records of one unit", records},
			{"neighbouring datasets", spelling.Adjacency(d.GetAdjacency())},
			{"guarantee", s.GetGuarantee() + ": " + spelling.Guarantees[s.GetGuarantee()]},
			{"budgets for all ledgers", budgetList(s.GetLedger())},
		}}
}

// versions are all that share the budget, of this and of other datasets, as their ledgers name them.
func versions(s *accountantv1.Statement) string {
	var list []string
	for _, v := range s.GetDataset().GetVersions() {
		list = append(list, spelling.Reference(v.GetOf()))
	}
	for _, l := range s.GetLedgers() { // a derived dataset lists only its own
		if of := spelling.Reference(l.GetOf()); !slices.Contains(list, of) {
			list = append(list, of)
		}
	}
	return strings.Join(list, ", ")
}

// ledgersTable lists the ledgers of a dataset.
func ledgersTable(list []*accountantv1.DatasetLedger) string {
	if len(list) == 0 {
		return "\n## The ledgers of this budget\n\nNo ledger takes its budget from this dataset yet.\n"
	}
	var b strings.Builder
	fmt.Fprint(&b, "\n## The ledgers of this budget\n\n| ledger | version | policy | state | applications | share of "+
		"the budget | guarantee |\n|---|---|---|---|---|---|---|\n")
	for _, l := range list {
		state := "open"
		if l.GetClosed() {
			state = "closed"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d | %s | %s |\n", Escape(l.GetName()),
			Escape(spelling.Reference(l.GetOf())), strings.ToLower(l.GetPolicy().String()), state, l.GetTotalCount(),
			spelling.Share(l.GetShare()), l.GetGuarantee())
	}
	return b.String()
}
