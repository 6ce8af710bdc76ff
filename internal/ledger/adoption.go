// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"slices"

	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Share is what parts take of the budget of v of which they take most, rounded up.
func (v View) Share(parts []mechanism.Part) float64 {
	share, _ := budget.NewFinder(v.Resolution.Limits, v.Genesis.Spec.Adjacency).Share(parts)
	return share.Number()
}

// Raised is the spec with the budgets and the plan that are in force after the batch, and
// what they have come to.
func (b *Batch) Raised() (Spec, Resolution) {
	spec := *b.spec()
	spec.Budgets = b.amended.budgets
	return spec, b.amended.resolution
}

// Dataset is the dataset's record as of the batch; nil for a ledger.
func (b *Batch) Dataset() *DatasetStanding { return b.amended.dataset }

// With is a dataset's view with what the answers of its ledger l rest on: a refund there
// makes room that the dataset counts once only. The dataset's guarantee is no better than
// any of its ledgers', apart from a closed one without a budget: the dataset has counted its
// every charge, and so rests on no more than on what was refunded or lost there.
func (v View) With(l View) View {
	v.Assumptions = slices.Clone(v.Assumptions)
	for _, a := range l.Assumptions {
		if a.Kind == Shared {
			v = v.sharing(l, a)
			continue
		}
		a.Text = "ledger " + l.Genesis.Spec.Name + ": " + a.Text
		v.Assumptions = append(v.Assumptions, a)
		if a.Descriptive {
			v.Guarantee = GuaranteeDescriptive
		}
	}
	return v
}
