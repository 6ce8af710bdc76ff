// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"testing"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// The work to find a price belongs to the mechanism, whatever else was priced within the same
// interrupt or before: a ledger that is read again comes to the same sum.
func TestPriceWorkIsTheMechanisms(t *testing.T) {
	g := mechanism.Gaussian{NoiseMultiplier: 0.625}
	one := mechanism.RandomAllocation{Steps: 91, Mechanism: g}
	two := mechanism.RandomAllocation{Steps: 182, Selected: 2, Mechanism: g} // two choices of one of 91
	limits := []accountant.Limit{{Guard: accountant.GuardRDP, Order: 2.5, Value: 1}}
	adj := mechanism.AddOrRemoveOne
	in := new(num.Interrupt)
	a, b := NewFinder(limits, adj).Find(one, in).Work, NewFinder(limits, adj).Find(two, in).Work
	if again := NewFinder(limits, adj).Find(two, nil).Work; a < LeastWork || b < LeastWork || again != b {
		t.Errorf("work %d; %d after it, and %d alone", a, b, again)
	}
}
