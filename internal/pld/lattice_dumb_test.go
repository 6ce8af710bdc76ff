package pld

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/loss"
)

// outcome is a product outcome: its loss and P's mass.
type outcome struct{ loss, mass float64 }

// dumbSum composes atoms by listing every outcome.
func dumbSum(terms []latticeTerm) []outcome {
	all := []outcome{{0, 1}}
	for _, t := range terms {
		for range int(t.count) {
			var next []outcome
			for _, o := range all {
				for _, a := range t.upper.Atoms() {
					next = append(next, outcome{o.loss + a.Loss, o.mass * math.Exp(a.LogP)})
				}
			}
			slices.SortFunc(next, func(a, b outcome) int {
				if a.loss < b.loss {
					return -1
				}
				return 1
			})
			all = all[:0]
			for _, o := range next {
				if n := len(all); n > 0 && o.loss-all[n-1].loss < 1e-13*(1+math.Abs(o.loss)) {
					all[n-1].mass += o.mass
				} else {
					all = append(all, o)
				}
			}
		}
	}
	return all
}

func dumbDelta(all []outcome, infinite, epsilon float64) float64 {
	sum := infinite
	for _, o := range all {
		if o.loss > epsilon {
			sum += o.mass * -math.Expm1(epsilon-o.loss)
		}
	}
	return sum
}

// Mixtures of atoms of any size, sampled or not, against all their outcomes.
func TestLatticeAgainstAllOutcomes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &latticeProblem{maxLoss: math.Inf(1), atom: loss.Bounds{Lower: math.Inf(-1), Upper: math.Inf(-1)}}
		d := rapid.SampledFrom([]loss.Direction{loss.Remove, loss.Add}).Draw(t, "direction")
		finite := 1.0
		for i := range rapid.IntRange(1, 3).Draw(t, "kinds") {
			m := drawAtomic(t, i)
			upper, ok := loss.PairOf(m, d, loss.Dominating)
			lower, okLow := loss.PairOf(m, d, loss.Dominated)
			if !ok || !okLow {
				t.Fatal("no pair")
			}
			if rapid.Bool().Draw(t, "sampled") {
				q := rapid.Float64Range(0.001, 0.9).Draw(t, "rate")
				upper, lower = loss.SampledPair(upper, q, d), loss.SampledPair(lower, q, d)
			}
			n := rapid.IntRange(1, 3).Draw(t, "count")
			p.add(upper, lower, float64(n))
			finite *= math.Pow(1-upper.Infinite(), float64(n))
		}
		if finite < 1 {
			b := math.Log1p(-finite)
			p.atom = loss.Bounds{Lower: b - 1e-9, Upper: b + 1e-9}
		}
		all := dumbSum(p.terms)
		for range 2 {
			epsilon := rapid.Float64Range(0, all[len(all)-1].loss+0.1).Draw(t, "ε")
			epsilon = math.Max(epsilon, 0)
			want := math.Log(dumbDelta(all, 1-finite, epsilon))
			b, _ := p.solve(&latticeQuestion{epsilon: epsilon, gap: 0.05}, math.Inf(-1), nil)
			if !(b.Lower <= want+1e-9 && want-1e-9 <= b.Upper) {
				t.Errorf("ln δ(%v) in [%v, %v], all outcomes say %v", epsilon, b.Lower, b.Upper, want)
			}
			delta := math.Exp(want)
			if !(delta > 0 && delta < 1) || delta < (1-finite)*1.0001 {
				continue
			}
			e, _ := p.solve(&latticeQuestion{byDelta: true, delta: delta, gap: 1e-3}, math.Inf(-1), nil)
			// δ is flat where there is no mass: then ε has no digits.
			slack := 1e-7 + 1e-9*epsilon
			if !(e.Lower <= epsilon+slack && epsilon-slack <= e.Upper) && dumbDelta(all, 1-finite, epsilon-1e-6) > delta*(1+1e-9) {
				t.Errorf("ε(%v) in [%v, %v], all outcomes say %v", delta, e.Lower, e.Upper, epsilon)
			}
		}
	})
}
