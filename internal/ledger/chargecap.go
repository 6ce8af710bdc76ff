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

// NewChargeCap returns the cap of one charge to a ledger of the dataset id: the share most of its budgets.
func NewChargeCap(id string, most float64, budgets []accountant.Limit, adjacency mechanism.Adjacency) *ChargeCap {
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

// mayTake refuses a ledger that takes more of a dataset's budget than its cap allows, or anything
// before the dataset's registration is confirmed.
func (b *Batch) mayTake(parts []mechanism.Part) error {
	if err := b.confirmed(); err != nil {
		return err
	}
	d := b.amended.dataset
	if d == nil || d.Caps.Ledger == 0 {
		return nil
	}
	share := b.draft.Share(parts)
	if share.Over(d.Caps.Ledger) {
		return refuse(ErrDataset, "the ledger takes %s of the budget of dataset %q; allowed: at most %v, the cap of "+
			"one ledger", share, b.spec().DatasetID, d.Caps.Ledger)
	}
	return nil
}

// ChargeCap returns the cap of one charge to a ledger of the dataset; nil where there is none.
func (s *State) ChargeCap() *ChargeCap {
	d := s.amended.dataset
	if d == nil || d.Caps.Charge == 0 {
		return nil
	}
	g := s.summary.Genesis.Spec
	return NewChargeCap(g.DatasetID, d.Caps.Charge, s.amended.resolution.Limits, g.Adjacency)
}
