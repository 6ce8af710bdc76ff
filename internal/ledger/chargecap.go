// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// ChargeCap bounds what one charge may cost of a dataset's budgets. It holds for what is
// decided anew, and is not asked of entries that are decided again: it protects from
// mistakes, and no answer depends on it. It is safe for concurrent use.
type ChargeCap struct {
	id     string
	most   float64
	prices *budget.Finder
}

// newChargeCap returns the cap of one charge to a ledger of the dataset id: the share most of its budgets.
func newChargeCap(id string, most float64, budgets []accountant.Limit, adjacency mechanism.Adjacency) *ChargeCap {
	return &ChargeCap{id, most, budget.NewFinder(budgets, adjacency)}
}

// Check refuses events that cost more than the cap allows, or that the dataset's guards
// cannot charge.
func (c *ChargeCap) Check(events []mechanism.Event) error {
	if c == nil {
		return nil
	}
	share, reason := c.prices.Share(mechanism.Merge(events))
	switch {
	case reason != "":
		return fmt.Errorf("%w: the cap of one charge to dataset %q cannot be compared with this charge: %s; "+
			"allowed: mechanisms that the dataset's guard can charge", ErrDataset, c.id, reason)
	case share.Over(c.most):
		return fmt.Errorf("%w: the charge costs %s of the budget of dataset %q; allowed: at most %v, the cap of "+
			"one charge", ErrDataset, share, c.id, c.most)
	}
	return nil
}
