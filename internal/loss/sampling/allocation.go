// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"fmt"
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/allocation"
	"github.com/dpaccountant/accountant/internal/loss/declared"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// allocated is the loss of one record in one of several steps, chosen at random and hidden. Its
// likelihood ratio is the mean of independent ones of the inner loss, one for each step
// (docs/math/allocation.md). It stands for a pair with finitely many losses that dominates
// this, or with below for one that is dominated by it.
//
// With class it dominates what was reported. Of that a Gaussian at the distance least is known from
// below; 0 where nothing is. With counted it stands for all choices of an epoch from below, of which the others
// have nothing.
type allocated struct {
	inner        loss.Loss // of one step
	steps        uint64
	width        float64 // of the cells, in units of the usual ones
	lost         float64 // the probability that counts as an infinite loss
	below, class bool
	least        float64
	counted      countedSteps

	// What follows only a bound from below has, of shuffled data (docs/math/shuffling.md §1.8.5.4):
	// the probability that the record is in a last batch instead, which has half the distance, and the
	// opposite one otherwise; and that without the record one step has half its distance, too.
	last    float64
	against bool
}

// ofAllocation is the loss of a record that takes part in one step.
func ofAllocation(m mechanism.RandomAllocation, x loss.Maker) (loss.Loss, error) {
	if m.Rounds() > 1 {
		return nil, fmt.Errorf("random_allocation: no single privacy loss is known for %d steps a record", m.Rounds())
	}
	inner, err := allocatedStep(m, x)
	if err != nil || m.Steps == 1 {
		return inner, err
	}
	return allocated{inner: inner, steps: m.Steps, width: 1, lost: outOfReach}, nil
}

// ofAllocations are the losses of a record that takes part in several steps: of a choice of one step in
// each of as many blocks, which together are all steps (docs/math/allocation.md §1.11.4).
func ofAllocations(m mechanism.RandomAllocation, x loss.Maker, records uint64) ([]loss.Term, error) {
	k := m.Rounds()
	if k == 1 || records > 1 {
		return nil, nil
	}
	inner, err := allocatedStep(m, x)
	if err != nil || k == m.Steps {
		return []loss.Term{{Loss: inner, Count: k}}, err
	}
	a := allocated{inner: inner, steps: m.Steps / k, width: 1, lost: outOfReach, class: true}
	if mu, ok := loss.MuOf(inner); ok && !inner.Facts().Dominating {
		a.least = num.Down(mu * math.Sqrt(num.Count(k)/num.Count(m.Steps)) * (1 - 8*num.Ulp))
	}
	longer := a
	longer.steps++
	short, long := k-m.Steps%k, m.Steps%k
	var terms []loss.Term
	if a.least == 0 && !inner.Facts().Dominating {
		first := a
		first.counted = countedSteps{inner, m.Steps, k}
		terms = append(terms, loss.Term{Loss: first, Count: 1})
		short--
	}
	if short > 0 {
		terms = append(terms, loss.Term{Loss: a, Count: short})
	}
	if long > 0 {
		terms = append(terms, loss.Term{Loss: longer, Count: long})
	}
	return terms, nil
}

// allocatedStep is the loss of one step with all its passes.
func allocatedStep(m mechanism.RandomAllocation, x loss.Maker) (loss.Loss, error) {
	inner, err := x.Under(mechanism.ZeroOut).Loss(m.Mechanism)
	if err != nil {
		return nil, err
	}
	if m.Uses() > 1 {
		mu, ok := loss.MuOf(inner)
		if !ok {
			return nil, fmt.Errorf("random_allocation: no privacy loss is known for several passes of %s",
				m.Mechanism.Kind())
		}
		inner = pairs.TimesNorm(mu, num.Count(m.Uses()), !inner.Facts().Dominating)
	}
	return inner, nil
}

// allocations remembers what was computed of random allocations: pairs, which take up to a second
// and are asked for many times in one question, and moments.
var allocations = loss.NewRemembered()

// outOfReach is the probability that counts as an infinite loss in either direction, for what
// lies beyond the outcomes that are computed.
const outOfReach = 0x1p-126

// reaches are the probabilities that may count as an infinite loss instead.
var reaches = [...]float64{0x1p-48, 0x1p-80}

// mostSteps bounds the steps that are computed: the relative errors of probabilities grow with them.
const mostSteps = 1 << 24

// Facts: the Rényi divergence is quasi-convex, so what bounds one step bounds a mixture of them.
func (a allocated) Facts() loss.Facts {
	f := a.inner.Facts()
	f = loss.Facts{Name: "randomly allocated " + f.Name, Rho: f.Rho, Epsilon: f.Epsilon, Dominating: !a.below}
	if !a.below {
		f.InfinityMass, f.Cut = a.lost, true
	}
	return f
}

// Reach takes the nearest one of few reaches, which are remembered. Where the pair is not what was reported, its
// divergences may be what answers, and they take all of it.
func (a allocated) Reach(lost float64) loss.Loss {
	if a.class {
		return a
	}
	for _, r := range reaches {
		if r <= lost {
			a.lost = math.Max(a.lost, r)
			break
		}
	}
	return a
}

// Attained is the pair from below, if the inner loss is one that is attained. Of a record in several steps
// it is what each block has of the sum of all outputs.
func (a allocated) Attained() loss.Loss {
	switch {
	case a.least > 0:
		return pairs.NewGaussian(a.least)
	case a.counted.steps > 0:
		return a.counted
	case a.class || a.inner.Facts().Dominating:
		return nil
	}
	return allocated{inner: a.inner, steps: a.steps, width: a.width, lost: a.lost, below: true}
}

// table is the pair. Where it cannot be computed it is that of fewer steps or that of the inner
// loss, which dominate the mean, or from below one without any loss.
func (a allocated) table(in *num.Interrupt) loss.Loss {
	type key struct{ pairsOf allocated }
	below := a.below
	a.below, a.class, a.least, a.counted = false, false, 0, countedSteps{}
	both := loss.Recall(allocations, key{a}, in, func(in *num.Interrupt) [2]loss.Loss {
		above, below := a.inner, pairs.NewGaussian(0)
		dominating, ok := loss.PairOf(a.inner, loss.Remove, loss.Dominating, in)
		if !ok || a.steps == 1 && a.last == 0 {
			return [...]loss.Loss{above, below}
		}
		steps := min(a.steps, mostSteps) // more steps never cost more
		sum := func(lost float64) (allocation.Bounds, bool) {
			return allocation.Sum(dominating, a.inner.Pair(loss.Add, loss.Dominating, in),
				a.inner.Pair(loss.Remove, loss.Dominated, in), steps, a.width, lost, in)
		}
		law, ok := sum(a.lost)
		if !ok {
			return [...]loss.Loss{above, below}
		}
		p := law.Above(steps)
		if math.Max(p.Infinite, p.Missing) > a.lost && a.lost > outOfReach { // the ends were found from coarse laws
			if law, ok = sum(outOfReach); !ok {
				return [...]loss.Loss{above, below}
			}
			p = law.Above(steps)
		}
		if math.Max(p.Infinite, p.Missing) <= a.lost {
			above = declared.Computed(a.Facts().Name, p.Losses, p.Masses, a.lost, a.lost, p.MassErr, p.LossErr)
		}
		if p := law.Below(steps); steps == a.steps && len(p.Losses) > 0 {
			below = declared.Computed(a.Facts().Name, p.Losses, p.Masses, 0, 0, p.MassErr, p.LossErr)
			if mu, ok := loss.MuOf(a.inner); ok && a.last > 0 {
				below = lastBatch(p, mu/2, a.last, in)
			}
		}
		return [...]loss.Loss{above, below}
	})
	if !below {
		return both[0]
	}
	if mu, ok := loss.MuOf(a.inner); ok && a.against {
		return moreOf(both[1], largestBatch(mu, a.steps, in), in)
	}
	return both[1]
}

func (a allocated) Cumulant(d loss.Direction, s float64, in *num.Interrupt) loss.Value {
	return cutAlike(a.table(in).Cumulant(d, s, in), s)
}

// cutAlike is the cumulant at s of a table, of whose losses what is out of reach is the same in both
// directions: at 0 and −1 nothing is missing.
func cutAlike(v loss.Value, s float64) loss.Value {
	if s == 0 || s == -1 {
		v.K, v.Err = 0, 0
	}
	return v
}

func (a allocated) Line(d loss.Direction, theta float64, in *num.Interrupt) loss.Line {
	return a.table(in).Line(d, theta, in)
}

func (a allocated) Pair(d loss.Direction, side loss.Side, in *num.Interrupt) loss.Pair {
	return a.table(in).Pair(d, side, in)
}

// NormalMu is that of one step: a mean is below one of its terms in convex order, and at least a part of it.
func (a allocated) NormalMu(count uint64) loss.NormalMu {
	mu := loss.NormalMuOf(a.inner, count).TailOnly()
	if a.class && (a.least == 0 || a.inner.Facts().Dominating) {
		mu.Lower, mu.Tail = 0, 0
	}
	return mu
}

// MaxLoss: a mean is at most the largest of its terms.
func (a allocated) MaxLoss(d loss.Direction) float64 { return a.inner.MaxLoss(d) }

// Decay: finitely many losses have none.
func (allocated) Decay(loss.Direction, float64, loss.Value, *num.Interrupt) loss.Decay {
	return loss.Undecayed
}

// known reports whether this is the loss of what was reported, and not a bound on it.
func (a allocated) known() bool { return !a.below && !a.class }

// Covers is of a worse step and no more of them to choose from.
func (a allocated) Covers(o loss.Loss) bool {
	b, ok := o.(allocated)
	return ok && a.known() && b.known() && a.steps <= b.steps && (a.inner == b.inner || a.inner.Covers(b.inner))
}

// Grouped: nothing is proven of groups.
func (allocated) Grouped(uint64) (loss.Loss, error) { return nil, nil }

func (a allocated) Order() [4]float64 {
	o := a.inner.Order()
	return [4]float64{o[0], o[1] + a.last, o[2] + o[3] + a.least, num.Count(a.steps) + num.Count(a.counted.steps)}
}
