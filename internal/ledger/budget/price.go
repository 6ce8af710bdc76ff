// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"math"
	"math/big"
	"slices"
	"sync"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// Price is what one application of a mechanism costs.
type Price struct {
	costs   []accountant.Cost // of each limit
	large   []large           // of each limit, what one application takes where costs do not tell; nil if all do
	reasons []string          // why a limit's guard cannot charge it; nil if all can
	Work    int               // to find this price, in about nanoseconds; 0 below LeastWork
}

// large is shares that may be more than a Cost can say; value is nil for infinitely
// many, delta is nil where the Cost tells.
type large struct{ value, delta *big.Int }

// beyond reports whether one application takes more than a tally can tell.
func beyond(c accountant.Cost) bool { return c.Value == math.MaxUint64 || c.Delta == math.MaxUint64 }

// MaxPriceWork bounds the work to find the prices of all distinct mechanisms of a ledger, in
// about nanoseconds of one processor. Prices are not stored: whenever the ledger is read
// from the store they are found anew, and nobody can charge it until then. Only mechanisms
// that take LeastWork or more count. BenchmarkPriceWork compares the work with the time.
const MaxPriceWork = 10_000_000_000

// LeastWork is the least work that counts.
const LeastWork = 1_000_000

// Finder finds prices, of which each is a fact of the limits, and remembers some: what a
// request has waited for is there when it is sent again. It is safe for concurrent use.
type Finder struct {
	limits    []accountant.Limit
	adjacency mechanism.Adjacency

	mu    sync.Mutex
	known map[mechanism.Mechanism]Price // found for requests
}

// maxKnownPrices bounds the prices that are remembered: more than a few requests have.
const maxKnownPrices = 4096

// NewFinder finds what mechanisms cost of these limits.
func NewFinder(limits []accountant.Limit, adj mechanism.Adjacency) *Finder {
	return &Finder{limits: limits, adjacency: adj}
}

// Find finds the price of m; in, which may be nil, interrupts it.
func (p *Finder) Find(m mechanism.Mechanism, in *num.Interrupt) (out Price) {
	if in == nil {
		in = new(num.Interrupt) // it only counts
	}
	in.Forget() // the work belongs to this mechanism, whatever else was priced before
	before := in.Spent()
	if len(p.limits) > 0 {
		out.costs = make([]accountant.Cost, len(p.limits))
	}
	for i, limit := range p.limits {
		value, delta, reason := limit.Shares(m, p.adjacency, in)
		if reason != "" {
			if out.reasons == nil {
				out.reasons = make([]string, len(p.limits))
			}
			out.reasons[i] = reason
			out.costs[i] = accountant.Cost{Value: math.MaxUint64} // if it was charged all the same: nothing is left
			continue
		}
		out.costs[i] = accountant.CostOf(value, delta)
		if beyond(out.costs[i]) {
			if out.large == nil {
				out.large = make([]large, len(p.limits))
			}
			out.large[i] = large{value, delta}
		}
	}
	if out.Work = in.Spent() - before; out.Work < LeastWork {
		out.Work = 0
	}
	return out
}

func (p *Finder) remembered(m mechanism.Mechanism) (Price, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found, ok := p.known[m]
	return found, ok
}

func (p *Finder) remember(m mechanism.Mechanism, found Price) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= maxKnownPrices {
		p.known = make(map[mechanism.Mechanism]Price, 1)
	}
	p.known[m] = found
}

// Prices are what a request's mechanisms cost of a ledger's limits. They are found before
// the request is decided, as that may take long and others wait for a decision; without
// them the decision finds them itself.
type Prices struct {
	from    *Finder
	Missing []mechanism.Mechanism // to be found
	found   map[mechanism.Mechanism]Price
	losses  *Answerables // of the ledger; nil where nobody asks
}

// NewPrices asks for what is missing, of the limits of from, which may be nil, and whether it has a
// privacy loss, of losses, which may be nil.
func NewPrices(from *Finder, losses *Answerables, missing []mechanism.Mechanism) *Prices {
	return &Prices{from: from, losses: losses, Missing: missing}
}

// PricesOf finds at once what all mechanisms of some parts cost.
func PricesOf(from *Finder, in *num.Interrupt, parts ...mechanism.Part) *Prices {
	p := &Prices{from: from, found: make(map[mechanism.Mechanism]Price, len(parts))}
	for _, part := range parts {
		if part.Count > 0 { // not all was refunded
			p.found[part.Mechanism] = from.Find(part.Mechanism, in)
		}
	}
	return p
}

// Find finds them all, or returns false as stop has said so before. What it has found
// until then is remembered.
func (p *Prices) Find(stop func() bool) bool {
	in := num.NewInterrupt(stop)
	return in.Try(func() {
		for _, m := range p.Missing {
			if p.losses != nil && p.losses.Find(m, in) != nil || p.from == nil {
				continue
			}
			if _, ok := p.found[m]; ok {
				continue
			}
			found, ok := p.from.remembered(m)
			if !ok {
				found = p.from.Find(m, in)
				p.from.remember(m, found)
			}
			if p.found == nil {
				p.found = make(map[mechanism.Mechanism]Price, len(p.Missing))
			}
			p.found[m] = found
		}
	})
}

// price is the price of m for an account, if it was found for its limits.
func (p *Prices) price(a *Account, m mechanism.Mechanism) (Price, bool) {
	if p == nil || p.from == nil || p.from != a.Prices && !slices.Equal(p.from.limits, a.Limits) {
		return Price{}, false
	}
	found, ok := p.found[m]
	return found, ok
}
