// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/pld/closed"
	"github.com/dpaccountant/accountant/internal/pld/lattice"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
)

// Mixtures of Gaussians and groups of records (Choquette-Choo, Ganesh, Steinke and
// Thakurta 2024, arXiv 2310.15526v2; Ganesh 2024, arXiv 2401.10294v2) against the
// oracle: once in closed form and by every other way, twice by convolution.
func TestMixturesAgainstOracle(t *testing.T) {
	var data struct{ Once, Twice []losstest.Workload }
	losstest.Read(t, "testdata/mixtures.json", &data)
	check := func(w losstest.Workload, u losstest.Truth, b loss.Bounds, relative, gap float64) {
		t.Helper()
		want := u.LogDelta.Value
		slack := relative + 1e-15*math.Abs(want)
		if !(b.Lower <= want+slack && want-slack <= b.Upper) || !(b.Upper-b.Lower <= gap) {
			t.Errorf("%s: ln δ(%v) in [%v, %v], want %v", w.Name, u.Epsilon.Value, b.Lower, b.Upper, want)
		}
	}
	for _, w := range data.Once {
		for _, u := range w.Truth {
			c := pldtest.Workload(t, w)
			gap := 1e-9
			if c.Symmetric() { // no closed form
				if gap = lattice.LogGap; u.Epsilon.Value != 0.1 && u.Epsilon.Value != 5 {
					continue
				}
			}
			b, _ := LogDelta(c, u.Epsilon.Value, Wanted{})
			check(w, u, b, 1e-15, gap)
			if u.Epsilon.Value != 1 {
				continue
			}
			b, _ = lattice.LogDelta(c, u.Epsilon.Value, Wanted{Gap: 1e-2})
			check(w, u, b, 1e-15, 1e-2)
			e, _ := Epsilon(c, math.Min(u.Delta.Value, 0.9), Wanted{})
			if u.Delta.Value < 0.9 && u.Delta.Value > 1e-300 &&
				!(e.Lower <= u.Epsilon.Value+1e-12 && u.Epsilon.Value-1e-12 <= e.Upper) {
				t.Errorf("%s: ε(%v) in %+v, want %v", w.Name, u.Delta.Value, e, u.Epsilon.Value)
			}
		}
	}
	for _, w := range data.Twice {
		for _, u := range w.Truth {
			b, _ := LogDelta(pldtest.Workload(t, w), u.Epsilon.Value, Wanted{})
			check(w, u, b, 1e-5, lattice.LogGap)
		}
	}
	if len(data.Once) < 15 || len(data.Twice) < 4 {
		t.Errorf("%d and %d rows", len(data.Once), len(data.Twice))
	}
}

// The mechanisms themselves, counted out on small datasets: no bound is below.
func TestBatchesAgainstEnumeration(t *testing.T) {
	var data struct{ Truncated, Shuffled []losstest.Workload }
	losstest.Read(t, "testdata/batches.json", &data)
	for _, w := range append(data.Truncated, data.Shuffled...) {
		for _, u := range w.Truth {
			b, reason := LogDelta(pldtest.Workload(t, w), u.Epsilon.Value, Wanted{})
			if reason != "" || !(math.Exp(b.Upper) >= u.Delta.Value*(1-1e-3)) || !(math.Exp(b.Upper) <= 1) {
				t.Errorf("%s: δ(%v) ≤ %v %s, it is %v", w.Name, u.Epsilon.Value,
					math.Exp(b.Upper), reason, u.Delta.Value)
			}
		}
	}
	if len(data.Truncated) < 9 || len(data.Shuffled) < 6 {
		t.Errorf("%d and %d rows", len(data.Truncated), len(data.Shuffled))
	}
}

// Runs through a matrix on batches drawn at random, by quadrature over all places of a record: no
// bound is on the wrong side, and those of sampled matrices meet.
func TestMatricesAgainstQuadrature(t *testing.T) {
	var data struct{ Sampled, Allocated []losstest.Workload }
	losstest.Read(t, "testdata/matrices.json", &data)
	for i, w := range append(data.Sampled, data.Allocated...) {
		for _, u := range w.Truth {
			b, reason := LogDelta(pldtest.Workload(t, w), u.Epsilon.Value, Wanted{})
			lower, upper, truth := math.Exp(b.Lower), math.Exp(b.Upper), u.Delta.Value
			if reason != "" || !(upper >= truth*(1-2e-3)) || !(lower <= truth*(1+2e-3)) {
				t.Errorf("%s: δ(%v) in [%v, %v] %s, it is %v", w.Name, u.Epsilon.Value, lower, upper, reason, truth)
			}
			if i < len(data.Sampled) && !(upper <= truth*(1+1e-2) && lower >= truth*(1-1e-2)) {
				t.Errorf("%s: δ(%v) in [%v, %v], it is %v", w.Name, u.Epsilon.Value, lower, upper, truth)
			}
		}
	}
	if len(data.Sampled) < 18 || len(data.Allocated) < 12 {
		t.Errorf("%d and %d rows", len(data.Sampled), len(data.Allocated))
	}
}

// A sample that is cut costs at least what a sample costs that is drawn at the rate at which a
// record is kept, little more than the whole sample where cutting is rare, and no more than
// twice the sensitivity at every step.
func TestTruncationCostsWhatItMay(t *testing.T) {
	for _, x := range []struct {
		sigma       float64
		most, steps uint64
		adj         mechanism.Adjacency
	}{
		{1, 1, 10, mechanism.AddOrRemoveOne}, {1, 100, 200, mechanism.AddOrRemoveOne},
		{0.9, 130, 300, mechanism.AddOrRemoveOne},
		{5, 190, 1, mechanism.AddOrRemoveOne}, {0.8, 200, 100, mechanism.AddOrRemoveOne},
		{2, 400, 1000, mechanism.AddOrRemoveOne},
		{1, 120, 50, mechanism.ReplaceOne}, {3, 185, 300, mechanism.ReplaceOne},
	} {
		of := func(m mechanism.Mechanism) loss.Bounds {
			e, reason := Epsilon(loss.Composition{{Loss: pldtest.Loss(t, m, x.adj), Count: x.steps}}, 1e-5, Wanted{})
			if reason != "" {
				t.Fatal(reason)
			}
			return e
		}
		g := mechanism.Gaussian{StandardDeviation: x.sigma, Sensitivity: 1}
		got := of(mechanism.TruncatedPoissonSampled{SamplingProbability: 0.02, DatasetSize: 5000,
			MaximumBatchSize: x.most, Mechanism: g})
		whole := of(mechanism.PoissonSampled{SamplingProbability: 0.02, Mechanism: g})
		// A batch holds x.most of at least 4,999 records; a record is in it as often as others.
		least := of(mechanism.PoissonSampled{SamplingProbability: 0.02 * min(1, float64(x.most)/400), Mechanism: g})
		g.Sensitivity = 2
		largest := of(mechanism.PoissonSampled{SamplingProbability: 0.02, Mechanism: g})
		if !(least.Lower <= got.Upper && got.Lower <= whole.Upper && got.Lower <= largest.Upper) {
			t.Errorf("%+v: %+v, kept alone %+v, doubled %+v", x, got, least, largest)
		}
		if x.most > 180 && !(got.Upper <= whole.Upper+1e-3 && got.Lower >= whole.Lower-1e-3) {
			t.Errorf("%+v: %+v, whole %+v", x, got, whole) // 8 standard deviations above 100
		}
	}
}

// dp_accounting 0.6.0 gives these ε at δ = 1e-6 under zero-out adjacency, on its grid of 1e-4.
// Its bound is the same mixture, rounded upwards.
func TestTruncationIsAsTightAsItsPeer(t *testing.T) {
	for _, x := range []struct {
		batch, size, most, steps uint64
		sigma, peer              float64
	}{
		{256, 60000, 320, 1000, 1.1, 0.9772070134893155}, {256, 60000, 270, 1000, 1.1, 4.634679444736655},
		{10, 1000, 16, 128, 1, 5.104805201549362}, {50, 1000, 60, 100, 1, 10.673182535736817},
	} {
		m := mechanism.TruncatedPoissonSampled{BatchSize: x.batch, DatasetSize: x.size, MaximumBatchSize: x.most,
			Mechanism: mechanism.Gaussian{NoiseMultiplier: x.sigma}}
		c := loss.Composition{{Loss: pldtest.Loss(t, m, mechanism.ZeroOut), Count: x.steps}}
		e, reason := Epsilon(c, 1e-6, Wanted{})
		if reason != "" || !(e.Upper <= x.peer && e.Upper >= x.peer-1e-4) || !(e.Lower > 0) {
			t.Errorf("%+v: %+v %s", x, e, reason)
		}
	}
}

// A closed form and its search at random against the lattice.
func TestMixtureFormAgainstLattice(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	between := func(a, b float64) float64 { return math.Exp(a + (b-a)*draw.Float64()) }
	for range 25 {
		m := mechanism.Group{Size: 2 + draw.Uint64N(19), Mechanism: mechanism.PoissonSampled{
			SamplingProbability: between(-14, -1e-3), Mechanism: mechanism.Gaussian{NoiseMultiplier: between(-0.7, 4)}}}
		c := loss.Composition{{Loss: pldtest.Loss(t, m, mechanism.AddOrRemoveOne), Count: 1}}
		epsilon := between(-6, 3)
		f, why := closed.Of(c, nil)
		if why != "" {
			t.Fatal(why)
		}
		a, _ := f.LogDelta(epsilon)
		b, reason := lattice.LogDelta(c, epsilon, Wanted{Gap: 1e-2})
		if reason != "" || !(a.Lower <= b.Upper && b.Lower <= a.Upper) || !(a.Upper-a.Lower < 1e-6 || a.Upper < -1e4) {
			t.Errorf("%v at %v: [%v, %v], by the lattice [%v, %v] %s", m, epsilon, a.Lower, a.Upper,
				b.Lower, b.Upper, reason)
		}
	}
}
