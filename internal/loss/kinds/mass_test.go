// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/declared"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/loss/poisson"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
	"pgregory.net/rapid"
)

// edgesAround is an axis from −∞ to ∞ with n equal cells where P is not below
// e^{−depth}.
func edgesAround(p loss.Pair, n int, depth float64) []float64 {
	lo, hi := p.Ends(-depth, -depth)
	edges := []float64{math.Inf(-1)}
	for i := range n + 1 {
		edges = append(edges, lo+(hi-lo)*float64(i)/float64(n))
	}
	return append(edges, math.Inf(1))
}

// allOutcomes are all masses of a pair on n cells and its atoms.
func allOutcomes(p loss.Pair, n int, depth float64) ([]loss.Mass, []float64, float64) {
	edges := edgesAround(p, n, depth)
	cells := make([]loss.Mass, len(edges)-1)
	slack := p.Cells(edges, cells)
	return append(cells, p.Atoms()...), edges, slack
}

func massPairs(t testing.TB) map[string][2]loss.Pair {
	pairList := map[string][2]loss.Pair{}
	add := func(l loss.Loss) {
		var both [2]loss.Pair
		for _, d := range []loss.Direction{loss.Remove, loss.Add} {
			p, ok := loss.PairOf(l, d, loss.Dominating, nil)
			if !ok {
				t.Fatalf("%+v has no pair", l)
			}
			both[d] = p
		}
		pairList[fmt.Sprintf("%T%+v", l, l)] = both
	}
	for _, mu := range []float64{1e-6, 0.05, 1, 7, 300} {
		add(pairs.NewGaussian(mu))
	}
	for _, e := range []float64{1e-7, 0.05, 1, 20, 200} {
		add(pairs.NewLaplace(e, false))
		add(pairs.Response{Epsilon: e, K: 2})
		add(pairs.Response{Epsilon: e, K: 10, InfinityMass: 1e-3})
	}
	for _, r := range []float64{1e-6, 0.3, 4, 90} {
		add(pairs.NewBoundedRange(r))
	}
	for _, m := range noises {
		l, err := Of(m, mechanism.AddOrRemoveOne)
		if err != nil {
			t.Fatal(err)
		}
		add(l)
	}
	for _, l := range examplePairs(t) {
		add(l)
	}
	for _, replace := range []bool{false, true} {
		for _, q := range []float64{1e-9, 1e-3, 0.1, 0.5, 0.999} {
			for _, mu := range []float64{0.02, 1, 5} {
				add(sampledGaussianOf(t, mu, q, replace))
			}
		}
	}
	for _, q := range []float64{1e-6, 0.01, 0.7} {
		for _, inner := range []mechanism.Mechanism{
			laplaceAtDistance(0.5), laplaceAtDistance(8), mechanism.PureDP{Epsilon: 1},
			mechanism.ApproximateDP{Epsilon: 2, Delta: 1e-4},
		} {
			add(sampledOf(t, inner, q, mechanism.AddOrRemoveOne))
		}
		for _, e := range []float64{1e-3, 0.5, 8, 60} {
			add(sampledOf(t, laplaceAtDistance(e), q, mechanism.ReplaceOne))
			add(sampledOf(t, mechanism.RandomizedResponse{Epsilon: e}, q, mechanism.ReplaceOne))
			add(sampledOf(t, mechanism.RandomizedResponse{Epsilon: e, Buckets: 5}, q, mechanism.ReplaceOne))
		}
	}
	for _, m := range losstest.SampledNoises[3:] { // whole numbers belong to the cell below an edge, mirrored too
		add(sampledOf(t, m, 0.1, mechanism.AddOrRemoveOne))
	}
	for _, replace := range []bool{false, true} {
		for _, shifts := range [][]float64{{0, 1, 2, 3}, {0.3, 1, 4}, {0, 1e-3, 2e-3}} {
			weights := []float64{0.9, 0.09, 0.0099, 0.0001}[:len(shifts)]
			weights[0] = 1
			for _, w := range weights[1:] {
				weights[0] -= w
			}
			adj := replacing(replace)
			add(lossOf(t, mechanism.MixtureOfGaussians{StandardDeviation: 1,
				Sensitivities: mechanism.NumbersOf(shifts...), Probabilities: mechanism.NumbersOf(weights...)}, adj))
		}
		add(groupOf(t, 0.7, 0.1, 40, replace))
		add(groupOf(t, 1, 1-1e-3, 6, replace))
		add(lossOf(t, cutTo(142, 0.1, mechanism.Gaussian{StandardDeviation: 1, Sensitivity: 1}), replacing(replace)))
	}
	add(lossOf(t, cutTo(130, 0.1, laplaceAtDistance(0.5)), mechanism.AddOrRemoveOne))
	for _, rho := range []float64{1e-15, 1e-6, 0.1, 1, 20, 300} {
		p := loss.ConcentratedGuarantee(rho).Pair()
		pairList[fmt.Sprintf("declared %v", rho)] = [2]loss.Pair{p, p}
	}
	rho := func(rho, delta float64) mechanism.Mechanism {
		return mechanism.ZeroConcentratedDP{Rho: rho, Delta: delta}
	}
	for name, ms := range map[string][]mechanism.Mechanism{
		"one order":          {boundedAt(7, 3)},
		"orders":             {boundedAt(0.5, 0.2, 1, 0.5, 7, 8, 63, 300)},
		"small orders":       {boundedAt(1e-3, 1e-9, 30, 1e-3)},
		"with ρ":             {rho(0.1, 0), boundedAt(0.5, 0.2, 1, 0.5, 7, 8)},
		"with ρ and an atom": {rho(2, 1e-3), boundedAt(0.01, 1e-6, 100, 1)},
		"an atom":            {rho(0.01, 0.3)},
	} {
		var c loss.Composition
		for _, m := range ms {
			c = append(c, loss.Term{Loss: lossOf(t, m, mechanism.AddOrRemoveOne), Count: 1})
		}
		_, g, _ := c.Declared(nil)
		p := g.Pair()
		if p == nil {
			t.Fatalf("no pair of %s", name)
		}
		pairList["declared "+name] = [2]loss.Pair{p, p}
	}
	for name, m := range map[string]mechanism.PrivacyLossTable{
		"symmetric": {Losses: mechanism.NumbersOf(-1, 1), Masses: mechanism.NumbersOf(1/(1+math.E), math.E/(1+math.E))},
		"uneven": {Losses: mechanism.NumbersOf(-0.3, 0, 0.1, 4),
			Masses: mechanism.NumbersOf(0.2, 0.3, 0.2, 0.2), InfiniteMass: 0.1},
		"far": {Losses: mechanism.NumbersOf(-600, 600), Masses: mechanism.NumbersOf(1e-290, 1-1e-290)},
	} {
		if err := m.Check(mechanism.ReplaceOne); err != nil {
			t.Fatal(name, err)
		}
		add(lossOf(t, m, mechanism.ReplaceOne))
	}
	return pairList
}

func replacing(replace bool) mechanism.Adjacency {
	if replace {
		return mechanism.ReplaceOne
	}
	return mechanism.AddOrRemoveOne
}

// lossOf takes mechanisms also under adjacencies that Check refuses them for.
func lossOf(t rapid.TB, m mechanism.Mechanism, adj mechanism.Adjacency) loss.Loss {
	t.Helper()
	l, err := Of(m, adj)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func laplaceAtDistance(e0 float64) mechanism.Mechanism {
	return mechanism.Laplace{Scale: 1, Sensitivity: e0}
}

func sampledGaussianOf(t rapid.TB, mu, q float64, replace bool) loss.Loss {
	return lossOf(t, mechanism.PoissonSampled{SamplingProbability: q, Mechanism: mechanism.GaussianDP{Mu: mu}},
		replacing(replace))
}

// groupOf is a group of so many records in a sampled Gaussian.
func groupOf(t rapid.TB, mu, q float64, size uint64, replace bool) loss.Loss {
	one := mechanism.PoissonSampled{SamplingProbability: q, Mechanism: mechanism.GaussianDP{Mu: mu}}
	return lossOf(t, mechanism.Group{Size: size, Mechanism: one}, replacing(replace))
}

// cutTo is a sample of 1,000 records that is cut to most.
func cutTo(most uint64, q float64, inner mechanism.Mechanism) mechanism.Mechanism {
	return mechanism.TruncatedPoissonSampled{SamplingProbability: q, DatasetSize: 1000,
		MaximumBatchSize: most, Mechanism: inner}
}

// boundedAt is a table of bounds on K at s, given by turns.
func boundedAt(sk ...float64) mechanism.Mechanism {
	var orders, epsilons []float64
	for i := 0; i < len(sk); i += 2 {
		orders, epsilons = append(orders, 1+sk[i]), append(epsilons, sk[i+1]/sk[i])
	}
	return mechanism.RenyiDP{Orders: mechanism.NumbersOf(orders...), Epsilons: mechanism.NumbersOf(epsilons...)}
}

// noises are discrete and truncated noise over the range of what masses are computed for.
var noises = []mechanism.Mechanism{
	mechanism.DiscreteGaussian{StandardDeviation: 0.05, Sensitivity: 1},
	mechanism.DiscreteGaussian{StandardDeviation: 0.7, Sensitivity: 1},
	mechanism.DiscreteGaussian{StandardDeviation: 3, Sensitivity: 2},
	mechanism.DiscreteGaussian{StandardDeviation: 100, Sensitivity: 1},
	mechanism.DiscreteGaussian{StandardDeviation: 511, Sensitivity: 1000},
	mechanism.DiscreteGaussian{StandardDeviation: 600, Sensitivity: 1},
	mechanism.DiscreteGaussian{StandardDeviation: 40000, Sensitivity: 10000},
	mechanism.DiscreteGaussian{StandardDeviation: 1 << 30, Sensitivity: 1 << 29},
	mechanism.DiscreteLaplace{Scale: 0.3, Sensitivity: 2},
	mechanism.DiscreteLaplace{Scale: 2, Sensitivity: 5},
	mechanism.DiscreteLaplace{Scale: 1e5, Sensitivity: 3},
	mechanism.DiscreteLaplace{Scale: 1e6, Sensitivity: 1e6},
	mechanism.TruncatedLaplace{Scale: 1, Bound: 15, Sensitivity: 1},
	mechanism.TruncatedLaplace{Scale: 2, Bound: 4, Sensitivity: 3},
	mechanism.TruncatedLaplace{Scale: 0.1, Bound: 1, Sensitivity: 1.5},
	mechanism.TruncatedLaplace{Scale: 1e4, Bound: 1e5, Sensitivity: 1},
}

// However far away a cell is, its masses are found in bounded work, and fall.
func TestMassesFarAway(t *testing.T) {
	for _, m := range noises {
		l, err := Of(m, mechanism.AddOrRemoveOne)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := loss.PairOf(l, loss.Remove, loss.Dominating, nil)
		edges := []float64{math.Inf(-1), -1e300, -1e17, -1e9, 0, 1e9, 1e17, 1e300, math.Inf(1)}
		cells := make([]loss.Mass, len(edges)-1)
		p.Cells(edges, cells)
		for i, c := range cells {
			if math.IsInf(c.LogP, -1) {
				continue
			}
			if math.IsNaN(c.LogP) || math.IsInf(c.LogP, 1) || !(c.LogErr < 1+1e-9*math.Abs(c.LogP)) ||
				!(c.LossErr < 1+1e-9*math.Abs(c.Loss)) {
				t.Errorf("%v (%v, %v]: %+v", m, edges[i], edges[i+1], c)
			}
			if far := math.Min(math.Abs(edges[i]), math.Abs(edges[i+1])); far >= 1e9 && c.LogP > -1e4 {
				t.Errorf("%v (%v, %v]: %+v", m, edges[i], edges[i+1], c)
			}
		}
	}
}

// P and Q sum to 1, every cell's loss lies in the cell, and the divergence at 0
// from below and above encloses the exact one where that is known.
func TestMassesAddUp(t *testing.T) {
	for name, both := range massPairs(t) {
		for d, p := range both {
			ms, edges, slack := allOutcomes(p, 500, 60)
			var sumP, sumQ num.Sum
			var errP, errQ float64
			for i, m := range ms {
				if m.LogP < -745 {
					continue
				}
				if math.IsNaN(m.LogP) || math.IsNaN(m.Loss) || !(m.LogErr < 1e-9) ||
					!(m.LossErr <= 1e-9*(1+math.Abs(m.Loss))) {
					t.Fatalf("%s %v: %+v", name, loss.Direction(d), m)
				}
				x, y := math.Exp(m.LogP), math.Exp(m.LogP-m.Loss)
				sumP.Add(x)
				sumQ.Add(y)
				errP += x * m.LogErr
				errQ += y * (m.LogErr + m.LossErr)
				if i < len(edges)-1 && !(m.Loss >= edges[i]-slack-m.LossErr && m.Loss <= edges[i+1]+slack+m.LossErr) {
					t.Errorf("%s %v: the cell (%v, %v] has loss %v", name, loss.Direction(d),
						edges[i], edges[i+1], m.Loss)
				}
			}
			rounded := 4 * num.Ulp
			if strings.Contains(name, "lossTable") { // what is missing is rounded up
				rounded = 64 * num.Ulp
			}
			if off := math.Abs(sumP.Value() + p.Infinite() - 1); !(off <= errP+rounded) {
				t.Errorf("%s %v: P sums to 1%+.3g, bound %.3g", name, loss.Direction(d),
					sumP.Value()+p.Infinite()-1, errP)
			}
			// Far losses have no digits of Q left in the unit they are small in.
			if off := math.Abs(sumQ.Value() + p.Null() - 1); !(off <= errQ+2*rounded) {
				t.Errorf("%s %v: Q sums to 1%+.3g, bound %.3g", name, loss.Direction(d), sumQ.Value()+p.Null()-1, errQ)
			}
			most := 1e-11
			if strings.Contains(name, "allocated") { // a sum of 235 terms, each with an error of its own
				most = 1e-10
			}
			if !(errP < most) {
				t.Errorf("%s %v: P is only within %.3g", name, loss.Direction(d), errP)
			}
		}
	}
}

// The other direction's P is this one's Q at the negative loss.
func TestMassesMirror(t *testing.T) {
	for name, both := range massPairs(t) {
		if strings.HasPrefix(name, "declared") && both[0].Null() != both[0].Infinite() {
			continue // dominates both directions, and is no mirror image of itself
		}
		edges := edgesAround(both[0], 40, 60)
		if h := loss.SpanOf(both[0]); h > 0 { // between the lattice's points, whose cells are open below
			for i, e := range edges {
				if !math.IsInf(e, 0) {
					edges[i] = both[0].Anchor() + h*(math.Floor((e-both[0].Anchor())/h)+0.5)
				}
			}
			edges = slices.Compact(edges)
		}
		mirror := make([]float64, len(edges))
		for i, e := range edges {
			mirror[len(edges)-1-i] = -e
		}
		a, b := make([]loss.Mass, len(edges)-1), make([]loss.Mass, len(edges)-1)
		s, u := both[0].Cells(edges, a), both[1].Cells(mirror, b)
		for i, m := range a {
			o := b[len(b)-1-i]
			if math.IsInf(m.LogP, -1) != math.IsInf(o.LogP, -1) {
				if math.Max(m.LogP, o.LogP) > -40 && edges[i+1]-edges[i] > s+u {
					t.Errorf("%s (%v, %v]: %+v and %+v", name, edges[i], edges[i+1], m, o)
				}
				continue
			}
			// An edge that moves by the slack moves the mass with the density, at most
			// about the cell's over its width here.
			moved := (s + u) / (edges[i+1] - edges[i]) * 50
			if off := math.Abs(m.Loss + o.Loss); off > m.LossErr+o.LossErr+s+u+1e-9*math.Abs(m.Loss) {
				t.Errorf("%s (%v, %v]: losses %v and %v", name, edges[i], edges[i+1], m.Loss, o.Loss)
			}
			if off := math.Abs(m.LogP - m.Loss - o.LogP); off > m.LogErr+m.LossErr+o.LogErr+moved+1e-7 &&
				m.LogP > -200 {
				t.Errorf("%s (%v, %v]: Q is e^%v, mirrored P e^%v: %g", name, edges[i], edges[i+1],
					m.LogP-m.Loss, o.LogP, off)
			}
		}
	}
}

// e^{K(s)} lies between the moments of the lattice rounded down and up.
func TestMassesAgainstCumulant(t *testing.T) {
	losses := []loss.Loss{
		pairs.NewGaussian(0.7), pairs.NewLaplace(1.3, false), pairs.Response{Epsilon: 0.8, K: 7},
		pairs.Response{Epsilon: 2, K: 2, InfinityMass: 0.1},
		sampledGaussianOf(t, 1, 0.01, false), sampledGaussianOf(t, 2, 0.3, false),
		sampledGaussianOf(t, 1.2, 0.05, true),
		sampledOf(t, laplaceAtDistance(1.3), 0.1, mechanism.AddOrRemoveOne),
		sampledOf(t, laplaceAtDistance(1.3), 0.1, mechanism.ReplaceOne),
		sampledOf(t, laplaceAtDistance(5), 0.6, mechanism.ReplaceOne),
		sampledOf(t, mechanism.ApproximateDP{Epsilon: 2, Delta: 0.1}, 0.3, mechanism.AddOrRemoveOne),
		sampledOf(t, mechanism.RandomizedResponse{Epsilon: 2, Buckets: 4}, 0.3, mechanism.ReplaceOne),
		groupOf(t, 1, 0.1, 4, false), groupOf(t, 0.8, 0.2, 3, true),
		lossOf(t, mechanism.MixtureOfGaussians{
			StandardDeviation: 1, Sensitivities: mechanism.NumbersOf(0.3, 1, 1.5),
			Probabilities: mechanism.NumbersOf(0.5, 0.25, 0.25),
		}, mechanism.AddOrRemoveOne),
		sampledOf(t, mechanism.DiscreteLaplace{Scale: 2, Sensitivity: 7}, 0.1, mechanism.AddOrRemoveOne),
		sampledOf(t, mechanism.DiscreteLaplace{Scale: 50, Sensitivity: 200}, 0.6, mechanism.AddOrRemoveOne),
		lossOf(t, cutTo(72, 0.05, mechanism.Gaussian{StandardDeviation: 1, Sensitivity: 1}), mechanism.ZeroOut),
		lossOf(t, cutTo(122, 0.1, laplaceAtDistance(1.3)), mechanism.AddOrRemoveOne),
	}
	losses = append(losses, pairs.NewBoundedRange(0.3), pairs.NewBoundedRange(5))
	for _, m := range losstest.SampledNoises {
		losses = append(losses, sampledOf(t, m, 0.1, mechanism.AddOrRemoveOne))
	}
	for _, m := range noises {
		if l, _ := Of(m, mechanism.AddOrRemoveOne); l.Facts().Rho < 100 {
			losses = append(losses, l)
		}
	}
	for _, l := range examplePairs(t) {
		if l.Facts().Rho < 100 {
			losses = append(losses, l)
		}
	}
	for _, l := range losses {
		for _, d := range []loss.Direction{loss.Remove, loss.Add} {
			p, _ := loss.PairOf(l, d, loss.Dominating, nil)
			ms, edges, slack := allOutcomes(p, 8000, 700)
			for _, s := range []float64{-0.4, 0.5, 3, 8} {
				var low, high num.LogSum
				for i, m := range ms {
					a, b := m.Loss, m.Loss
					if i < len(edges)-1 {
						if i == 0 || i == len(edges)-2 { // past e^{−700}; nothing to see of it in K
							continue
						}
						a, b = edges[i]-slack, edges[i+1]+slack
					}
					low.Add(m.LogP - m.LogErr + math.Min(s*a, s*b))
					high.Add(m.LogP + m.LogErr + math.Max(s*a, s*b))
				}
				rest := math.Log1p(-p.Infinite())
				k := l.Cumulant(d, s, nil)
				if !(low.Log()-rest <= k.Upper()+1e-12 && k.Lower()-1e-12 <= high.Log()-rest) ||
					high.Log()-low.Log() > 0.2 {
					t.Errorf("%T%+v %v: K(%v) = %v, masses give [%v, %v]", l, l, d, s, k.K,
						low.Log()-rest, high.Log()-rest)
				}
			}
		}
	}
}

// A cell is the sum of its parts, whatever the widths: narrow cells come from
// the series, wide ones from tails.
func TestNormalIntervals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Float64Range(-36, 36).Draw(t, "a")
		w := math.Exp(rapid.Float64Range(-12, 1).Draw(t, "ln w"))
		parts := rapid.IntRange(2, 40).Draw(t, "parts")
		b := a + w
		whole, err := pairs.Interval{A: a, B: b}.LogMass()
		var sum num.LogSum
		var worst float64
		from := a
		for i := range parts {
			to := a + (b-a)*float64(i+1)/float64(parts)
			if i == parts-1 {
				to = b
			}
			v, e := pairs.Interval{A: from, B: to}.LogMass()
			sum.Add(v)
			worst = math.Max(worst, e)
			from = to
		}
		if off := math.Abs(sum.Log() - whole); !(off <= err+worst+16*num.Ulp*(1+math.Abs(whole))) {
			t.Errorf("(%v, %v]: %v, in %d parts %v: off %.3g, bounds %.3g %.3g", a, b, whole, parts,
				sum.Log(), off, err, worst)
		}
		if !(err < 1e-10) {
			t.Errorf("(%v, %v]: error %v", a, b, err)
		}
	})
}

// The lower side's parameters are smaller, and both exist together.
func TestSides(t *testing.T) {
	m := mechanism.PoissonSampled{SamplingProbability: 0.01, Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}}
	l, err := Of(m, mechanism.AddOrRemoveOne)
	if err != nil {
		t.Fatal(err)
	}
	high, _ := loss.PairOf(l, loss.Remove, loss.Dominating, nil)
	low, _ := loss.PairOf(l, loss.Remove, loss.Dominated, nil)
	// The rate, and μ by the anchor: what the inner pair has at ±μ²/2.
	_, h := high.Ends(-1, -1)
	_, g := low.Ends(-1, -1)
	if !(g < h && g > h*(1-1e-13)) {
		t.Errorf("%v, %v", h, g)
	}
	if _, ok := loss.PairOf(declared.NewConcentrated(1, 0), loss.Remove, loss.Dominating, nil); ok {
		t.Error("a zCDP guarantee has no pair")
	}
	for _, mu := range []float64{math.NaN(), math.Inf(1), 1e-200, 1e9} {
		if pairs.GaussianPair(mu) != nil {
			t.Errorf("a pair for μ = %v", mu)
		}
	}
}

// Atoms far below the normal range keep their logarithm: the sampled atom of
// what only P has is the inner one (ln 5e−324 = −744.44…, mpmath).
func TestSubnormalAtoms(t *testing.T) {
	const tiny, logTiny = math.SmallestNonzeroFloat64, -744.4400719213812
	inner := loss.NewAtomicPair([]loss.Mass{{}}, tiny, tiny)
	for _, d := range []loss.Direction{loss.Remove, loss.Add} {
		atoms := poisson.SampledPair(inner, 0.5, d).Atoms()
		for _, a := range atoms {
			want := logTiny
			if d == loss.Remove {
				want -= math.Ln2
			}
			if a.LogP > -1 {
				continue
			}
			if math.Abs(a.LogP-want) > a.LogErr+4*num.Ulp*-want {
				t.Errorf("%v: %+v, want ln P = %v", d, a, want)
			}
		}
		if len(atoms) != 2 {
			t.Errorf("%v: atoms %+v", d, atoms)
		}
	}
}
