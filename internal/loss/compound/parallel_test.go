// SPDX-License-Identifier: Apache-2.0

package compound

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/num"
	"pgregory.net/rapid"
)

// curves of single losses, from their definitions.
func gaussianCurve(mu float64) func(float64) float64 {
	return func(e float64) float64 { b, _ := loss.GaussianLogDelta(mu, e); return math.Exp(b.Upper) }
}

func laplaceDelta(e0 float64) func(float64) float64 {
	return func(e float64) float64 {
		switch {
		case e >= e0:
			return 0
		case e <= -e0:
			return -math.Expm1(e)
		}
		return -math.Expm1((e - e0) / 2)
	}
}

func responseCurve(e0, atom float64) func(float64) float64 {
	return func(e float64) float64 {
		p := 1 / (1 + math.Exp(-e0))
		finite := math.Max(0, p-math.Exp(e)*p*math.Exp(-e0)) + math.Max(0, p*math.Exp(-e0)-math.Exp(e)*p)
		return atom + (1-atom)*finite
	}
}

// On any grid the pair of the largest curve, put on the grid's points as a lattice does, is
// from above nowhere below any part's curve and hardly above the largest at the points; the
// outcomes from below are nowhere above it, and hardly below.
func TestLargestCurve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mu, e0 := rapid.Float64Range(0.05, 3).Draw(t, "μ"), rapid.Float64Range(0.05, 4).Draw(t, "ε0")
		e1, atom := rapid.Float64Range(0.05, 3).Draw(t, "ε1"),
			rapid.SampledFrom([]float64{0, 1e-9, 1e-3, 0.2}).Draw(t, "m")
		losses := []loss.Loss{pairs.NewGaussian(mu), pairs.NewLaplace(e0, false),
			pairs.Response{Epsilon: e1, InfinityMass: atom, K: 2}}
		curves := []func(float64) float64{gaussianCurve(mu), laplaceDelta(e0), responseCurve(e1, atom)}
		if rapid.Bool().Draw(t, "two") {
			losses, curves = losses[:2], curves[:2]
		}
		largest := func(e float64) (most float64) {
			for _, c := range curves {
				most = math.Max(most, c(e))
			}
			return most
		}
		step := rapid.Float64Range(0.03, 0.3).Draw(t, "step")
		edges := []float64{math.Inf(-1)}
		for x := -8 + step*rapid.Float64Range(0, 1).Draw(t, "offset"); x < 12; x += step {
			edges = append(edges, x)
		}
		edges = append(edges, math.Inf(1))
		for _, side := range []loss.Side{loss.Dominating, loss.Dominated} {
			var parts []loss.Pair
			for _, l := range losses {
				p, _ := loss.PairOf(l, loss.Remove, side, nil)
				parts = append(parts, p)
			}
			pair := newLargestPair(parts, side, nil)
			cells := make([]loss.Mass, len(edges)-1)
			pair.Cells(edges, cells)
			at := func(e float64) float64 { // of the outcomes as they are
				sum := pair.Infinite()
				for i, m := range cells {
					if math.IsInf(m.LogP, -1) || m.Loss <= e {
						continue
					}
					if side == loss.Dominating && edges[i] < e { // moved to the cell's ends
						p := math.Exp(m.LogP)
						up := p * -math.Expm1(edges[i]-m.Loss) / -math.Expm1(edges[i]-edges[i+1])
						sum += up * -math.Expm1(e-edges[i+1])
						continue
					}
					sum += math.Exp(m.LogP) * -math.Expm1(e-m.Loss)
				}
				return sum
			}
			for _, e := range edges[1 : len(edges)-1] {
				truth, got := largest(e), at(e)
				slack := 1e-9*truth + 1e-14
				// From above losses are lifted, so that what is got may be the truth at a loss below:
				// where the largest loss is a grid point the truth falls to 0 right there.
				lifted := largest(e - leastLift*(1+math.Abs(e)))
				// far below 0 nothing but the last digits of P and Q differ
				if side == loss.Dominating && (got < truth-slack || e > -3 && got > lifted*(1+1e-8)+slack) {
					t.Fatalf("δ(%v) at a point from above %v, truth %v", e, got, truth)
				}
				if side == loss.Dominated && (got > truth+slack || got < truth*(1-3*step*(1+math.Abs(e)/mu/mu))-slack) {
					t.Fatalf("δ(%v) at a point from below %v, truth %v", e, got, truth)
				}
			}
			for range 20 {
				e := rapid.Float64Range(-3, 5).Draw(t, "ε")
				if truth, got := largest(e), at(e); side == loss.Dominated && got > truth*(1+1e-9)+1e-14 {
					t.Fatalf("δ(%v) from below %v, truth %v", e, got, truth)
				}
			}
			// All of P is there, and no more of Q.
			var p, q num.Sum
			for _, m := range cells {
				if !math.IsInf(m.LogP, -1) {
					p.Add(math.Exp(m.LogP))
					q.Add(math.Exp(m.LogP - m.Loss))
				}
			}
			if p := p.Value() + pair.Infinite(); math.Abs(p-1) > 1e-9 {
				t.Fatalf("P has %v in all", p)
			}
			if q.Value() > 1+1e-9 {
				t.Fatalf("Q has %v in all", q.Value())
			}
		}
	})
}

// The pair of parts with few outcomes has their largest curve at every ε, exactly; also in
// the tails, where it is nothing but rounding that may lose a part.
func TestLargestCurveOfOutcomes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var parts [2][]loss.Pair
		var curves []func(float64) float64
		for range rapid.IntRange(2, 5).Draw(t, "parts") {
			e, atom := math.Exp(rapid.Float64Range(-6, 3).Draw(t, "ln ε")),
				rapid.SampledFrom([]float64{0, 1e-300, 1e-12, 0.01, 0.9}).Draw(t, "m")
			for side := range parts {
				response := pairs.Response{Epsilon: e, InfinityMass: atom, K: 2}
				p, _ := loss.PairOf(response, loss.Remove, loss.Side(side), nil)
				parts[side] = append(parts[side], p)
			}
			curves = append(curves, responseCurve(e, atom))
		}
		above, below := largestOf(parts[loss.Dominating], loss.Dominating, nil).(loss.AtomicPair),
			largestOf(parts[loss.Dominated], loss.Dominated, nil).(loss.AtomicPair)
		curve := func(p loss.AtomicPair, e float64, side float64) float64 {
			sum := p.Infinite()
			for _, m := range p.Atoms() {
				if l := m.Loss + side*m.LossErr; l > e {
					sum += math.Exp(m.LogP+side*m.LogErr) * -math.Expm1(e-l)
				}
			}
			return sum
		}
		for range 20 {
			e := rapid.Float64Range(-25, 25).Draw(t, "ε")
			truth := 0.0
			for _, c := range curves {
				truth = math.Max(truth, c(e))
			}
			slack := 1e-15 * (1 + math.Exp(math.Min(0, e)))
			if up, low := curve(above, e, 1),
				curve(below, e, -1); up < truth*(1-1e-13)-slack || low > truth*(1+1e-13)+slack ||
				up-low > 1e-9*truth+1e-11 {
				t.Fatalf("δ(%v) from %v to %v, truth %v", e, low, up, truth)
			}
		}
	})
}
