// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"math"
	"math/big"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// Gauge measures how much applications of mechanisms are of each limit, or of the plan: what an Account that
// holds nothing else has used of them. It is for those who look back at what a ledger allowed, and decides
// nothing. It remembers what each mechanism costs. It is not for concurrent use.
type Gauge struct {
	terms  Terms
	prices *Finder
	known  map[mechanism.Mechanism]Price
}

// NewGauge measures by these terms.
func NewGauge(t Terms) *Gauge {
	return &Gauge{terms: t, prices: NewFinder(t.Limits, t.Adjacency), known: map[mechanism.Mechanism]Price{}}
}

// Shares are what parts use of each limit, of its value or of its δ, whichever is more; of a plan it is one
// share, of all its applications together. Each is rounded up, and infinite where it cannot be told. There are
// none where nothing is limited. The interrupt, which may be nil, ends the search for what mechanisms cost.
func (g *Gauge) Shares(parts []mechanism.Part, in *num.Interrupt) []float64 {
	if g.terms.Planned {
		return []float64{g.ofPlan(parts)}
	}
	shares := make([]float64, len(g.terms.Limits))
	used := make([]Usage, len(shares))
	for _, p := range parts {
		for i, cost := range g.price(p.Mechanism, in).costs {
			used[i].value.add(cost.Value, p.Count)
			used[i].delta.add(cost.Delta, p.Count)
			if p.Count > 0 && beyond(cost) {
				used[i].beyond++
			}
		}
	}
	for i, u := range used {
		shares[i] = max(accountant.Part(1, u.value.big(), true), accountant.Part(1, u.delta.big(), true))
		if u.beyond > 0 {
			shares[i] = math.Inf(1)
		}
	}
	return shares
}

func (g *Gauge) price(m mechanism.Mechanism, in *num.Interrupt) Price {
	p, ok := g.known[m]
	if !ok {
		p = g.prices.Find(m, in)
		g.known[m] = p
	}
	return p
}

func (g *Gauge) ofPlan(parts []mechanism.Part) float64 {
	var planned, used uint64 // below 2^63 each
	for _, p := range g.terms.Plan {
		planned += p.Count
	}
	for _, p := range parts {
		used += p.Count
	}
	return OfPlan(used, planned)
}

// OfPlan is the share that used applications are of all planned ones, rounded up.
func OfPlan(used, planned uint64) float64 {
	switch {
	case used == 0:
		return 0
	case planned == 0:
		return math.Inf(1)
	}
	exact := new(big.Rat).SetFrac(new(big.Int).SetUint64(used), new(big.Int).SetUint64(planned))
	share, _ := exact.Float64()
	if new(big.Rat).SetFloat64(share).Cmp(exact) < 0 {
		share = num.Up(share)
	}
	return share
}
