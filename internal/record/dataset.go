// SPDX-License-Identifier: Apache-2.0

package record

import (
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

// checkDataset checks that a record is a dataset's by its name and by what is in it, or by neither.
func checkDataset(s ledger.Spec) error {
	if is := ledger.IsDataset(s.Name); is != (s.Dataset != nil) {
		return invalid("name", wire.Quote(s.Name), "a dataset's record begins with dataset:, and nothing else does")
	}
	if s.Dataset == nil {
		return nil
	}
	if shared := s.Dataset.BudgetOf != ""; shared != (s.Policy == ledger.Descriptive) || s.Policy == ledger.Planned ||
		shared && !ledger.IsDataset(s.Dataset.BudgetOf) {
		return invalid("budget_of", wire.Quote(s.Dataset.BudgetOf), "a dataset's record without budgets, or none with")
	}
	return wire.CheckDataset(s)
}
