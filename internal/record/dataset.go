// SPDX-License-Identifier: Apache-2.0

package record

import (
	recordv1 "github.com/dpaccountant/accountant/gen/accountant/record/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

// datasetForm converts what a dataset's record keeps beside a spec.
var datasetForm = wire.FormOf[ledger.Dataset, *recordv1.Dataset]()

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
