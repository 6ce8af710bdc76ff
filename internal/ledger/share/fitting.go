// SPDX-License-Identifier: Apache-2.0

package share

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// Refused is why the ledger above c refuses its share. That it has not as much left is said in the numbers of c's own
// budget, which its creator gave, and with the largest such budget that fits.
func (c Child) Refused(refusal error, above ledger.View) error {
	refusal = c.inItsWords(refusal, above)
	if s := above.Genesis.Spec; s.Dataset != nil {
		return fmt.Errorf("dataset %s: %w", s.DatasetID, refusal)
	}
	return fmt.Errorf("parent: %s: %w", above.Genesis.Spec.Name, refusal)
}

func (c Child) inItsWords(refusal error, parent ledger.View) error {
	var e *budget.Error
	if !errors.As(refusal, &e) || c.Spec.Policy != ledger.Filtered || parent.Genesis.Spec.Policy != ledger.Filtered {
		return refusal
	}
	for i, limit := range c.Resolution.Limits {
		b := c.Spec.Budgets[i]
		b.Order = limit.Order
		if _, ok := shareOf(parent, b); !ok {
			continue
		}
		allowed := "nothing any more"
		if most, ok := largest(parent, b, e); ok {
			allowed = "at most " + most.String()
		}
		return &inItsWords{e, fmt.Sprintf("%v: a ledger with the budget %v needs more than is left of %s; allowed: %s",
			budget.ErrExceeded, b, e.Broken[0].Budget, allowed)}
	}
	return refusal
}

// inItsWords is a refusal in other words.
type inItsWords struct {
	refusal *budget.Error
	text    string
}

func (e *inItsWords) Error() string { return e.text }
func (e *inItsWords) Unwrap() error { return e.refusal }

// shareOf is what a parent would set aside for a budget, and false if it cannot.
func shareOf(parent ledger.View, b accountant.Budget) (mechanism.Mechanism, bool) {
	limit, err := b.Resolve(mechanism.Composition{})
	if err != nil {
		return nil, false
	}
	for _, m := range limit.Declared(b) {
		if cannot(parent, m) == "" {
			return m, true
		}
	}
	return nil, false
}

// largest is b with the largest bound of three digits whose share is not more than what a refusal of b says is left,
// nor than the cap of one ledger.
func largest(parent ledger.View, b accountant.Budget, e *budget.Error) (accountant.Budget, bool) {
	bound := func(b *accountant.Budget) *float64 {
		for _, x := range []*float64{&b.Epsilon, &b.Mu} {
			if *x != 0 {
				return x
			}
		}
		return &b.Rho
	}
	with := func(x float64) accountant.Budget {
		changed := b
		*bound(&changed) = x
		return changed
	}
	fits := func(x float64) bool {
		m, ok := shareOf(parent, with(x))
		return ok && room(parent, m, e)
	}
	low, high := 0.0, *bound(&b)
	for range 40 {
		if x := low + (high-low)/2; fits(x) {
			low = x
		} else {
			high = x
		}
	}
	rounded, err := strconv.ParseFloat(num.FormatDown(low, 3), 64)
	return with(rounded), err == nil && rounded > 0 && fits(rounded)
}

// room reports whether a parent has room for m: in every budget that a refusal says is broken, and below the cap.
func room(parent ledger.View, m mechanism.Mechanism, e *budget.Error) bool {
	for i, limit := range parent.Resolution.Limits {
		value, delta, reason := limit.Shares(m, parent.Genesis.Spec.Adjacency, nil)
		if reason != "" || value == nil {
			return false
		}
		needs := accountant.Part(limit.Value, value, true)
		if d := parent.Dataset; d != nil && d.Caps.Ledger > 0 && needs > d.Caps.Ledger*limit.Value {
			return false
		}
		for _, s := range e.Broken {
			if s.Index == i && (s.Reason != "" || s.Unit != "δ" && needs > s.Left ||
				s.Unit == "δ" && accountant.Part(limit.Delta, delta, true) > s.Left) {
				return false
			}
		}
	}
	return true
}
