// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"fmt"
	"math"
)

// Bounds on a PrivacyLossTable: its losses, their sizes, and how far its masses may be
// from adding up.
const (
	maxLosses     = 4096
	mostTableLoss = 700
	tableSlack    = 1e-9
)

// PrivacyLossTable is a mechanism known by a table of its privacy losses: L takes
// Losses[i] with probability Masses[i] and is infinite with probability InfiniteMass,
// where P is the output with the record (or on the first of two neighbours) and Q
// without. P and Q must dominate the mechanism at every real ε. The reverse direction
// follows: it has the loss −Losses[i] with probability Masses[i]·e^{−Losses[i]}, and is
// infinite with what is missing from 1.
//
// Masses are taken in proportion, and all losses raised by what Q sums to above 1: both
// by 1e−9 at most, for the rounding of what was printed.
type PrivacyLossTable struct {
	// in nats, −700 … 700, rising; 2 to maxLosses
	Losses Numbers `field:"1" role:"loss" most:"4096"`
	// > 0; as many; with InfiniteMass they sum to 1, Σ p·e^{−l} ≤ 1
	Masses Numbers `field:"2" role:"probability" most:"4096"`
	// P(L = ∞) in (0, 1), or 0
	InfiniteMass float64 `field:"3" role:"probability" range:"(0,1)"`
}

// Kind is "privacy_loss_table".
func (PrivacyLossTable) Kind() string { return "privacy_loss_table" }

func (PrivacyLossTable) number() int { return 19 }

func (PrivacyLossTable) aliases() []string { return []string{"pld"} }

// Check implements Mechanism.
func (p PrivacyLossTable) Check(adj Adjacency) error {
	n := p.Losses.Len()
	if n < 2 || n > maxLosses { // a loss that never varies is a lower one, or a failure
		return &ParameterError{"privacy_loss_table.losses", fmt.Sprintf("%d losses", n),
			fmt.Sprintf("2 to %d losses", maxLosses)}
	}
	last := math.Inf(-1)
	for i, l := range p.Losses.Values() {
		if !(l > last && math.Abs(l) <= mostTableLoss) {
			return &ParameterError{fmt.Sprintf("privacy_loss_table.losses[%d]", i), number(l),
				"rising numbers from -700 to 700; what is beyond belongs to infinite_mass"}
		}
		last = l
	}
	if got := p.Masses.Len(); got != n {
		return &ParameterError{"privacy_loss_table.masses", fmt.Sprintf("%d numbers", got),
			fmt.Sprintf("as many as there are losses: %d", n)}
	}
	for i, m := range p.Masses.Values() {
		if !(m >= smallestNormal && m <= 1+tableSlack) {
			return &ParameterError{fmt.Sprintf("privacy_loss_table.masses[%d]", i), number(m),
				"a number in (0, 1], at least 2.3e-308"}
		}
	}
	if p.InfiniteMass != 0 {
		if err := checkProbability("privacy_loss_table.infinite_mass", p.InfiniteMass, true); err != nil {
			return err
		}
	}
	sumP, sumQ := p.sums()
	if math.Abs(sumP-1) > tableSlack {
		return &ParameterError{"privacy_loss_table.masses", "a sum of " + number(sumP) + " with infinite_mass",
			"a sum of 1, within 1e-9"}
	}
	if sumQ > 1+tableSlack {
		return &ParameterError{"privacy_loss_table.masses", "Σ mass·e^(−loss) = " + number(sumQ),
			"at most 1: no mechanism has such losses"}
	}
	return checkAdjacency(adj)
}

// sums are P's and Q's masses.
func (p PrivacyLossTable) sums() (sumP, sumQ float64) {
	sumP = p.InfiniteMass
	for i, m := range p.Masses.Values() {
		sumP += m
		sumQ += m * math.Exp(-p.Losses.At(i))
	}
	return sumP, sumQ
}

func (p PrivacyLossTable) String() string {
	n := p.Losses.Len()
	if n == 0 {
		return "privacy_loss_table()"
	}
	return fmt.Sprintf("privacy_loss_table(%d losses from %s to %s, infinite with %s)", n,
		atMost(p.Losses.At(0)), atMost(p.Losses.At(n-1)), atMost(p.InfiniteMass))
}

func (PrivacyLossTable) places() place { return onPoissonSample }

func (p PrivacyLossTable) checkSampledUnder(adj Adjacency) error { return checkAddOrRemove(p, adj) }

func (p PrivacyLossTable) failsUnevenly() string { return p.Kind() }
