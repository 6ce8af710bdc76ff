// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestLoadDigits(t *testing.T) {
	train, test, err := loadDigits()
	if err != nil {
		t.Fatal(err)
	}
	if len(train) != 1500 || len(test) != 297 { // README.md
		t.Errorf("%d and %d images", len(train), len(test))
	}
	perClass := [classes]int{}
	for _, e := range append(train, test...) {
		perClass[e.label]++
		for i, v := range e.x {
			if v < 0 || v > 1 {
				t.Fatalf("feature %d is %v", i, v)
			}
		}
	}
	// The dataset's description: 178, 182, 177, 183, 181, 182, 181, 179, 174, 180 images of 0 … 9.
	if want := [classes]int{178, 182, 177, 183, 181, 182, 181, 179, 174, 180}; perClass != want {
		t.Errorf("%v images per class, want %v", perClass, want)
	}
	for _, line := range []string{"", "1,2", "x"} {
		if _, err := parseExample(line); err == nil {
			t.Errorf("%q was accepted", line)
		}
	}
}

// someExample draws an image with weights that are not special.
func someExample(r *rand.Rand) (*model, *example) {
	m, e := &model{}, &example{label: r.IntN(classes)}
	for k := range m.w {
		for i := range m.w[k] {
			m.w[k][i] = r.NormFloat64()
		}
	}
	for i := range e.x {
		e.x[i] = r.Float64()
	}
	return m, e
}

// TestGradient compares with central differences: the error of (f(w+h) − f(w−h))/2h
// is of order h² = 1e−10, and of rounding 1e−16/h = 1e−11, times the loss's size.
func TestGradient(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		m, e := someExample(r)
		g := m.gradientOf(e)
		const h = 1e-5
		for k := range m.w {
			for i := range m.w[k] {
				w := m.w[k][i]
				m.w[k][i] = w + h
				above := m.loss(e)
				m.w[k][i] = w - h
				below := m.loss(e)
				m.w[k][i] = w
				if numeric := (above - below) / (2 * h); math.Abs(numeric-g[k][i]) > 1e-8 {
					t.Fatalf("∂loss/∂w[%d][%d]: %v, numerically %v", k, i, g[k][i], numeric)
				}
			}
		}
	}
}

func TestProbabilitiesOfLargeScores(t *testing.T) {
	m, e := someExample(rand.New(rand.NewPCG(3, 4)))
	for k := range m.w {
		for i := range m.w[k] {
			m.w[k][i] *= 1e6
		}
	}
	sum := 0.0
	for _, p := range m.probabilities(&e.x) {
		sum += p
	}
	if math.Abs(sum-1) > 1e-12 { // ten roundings
		t.Errorf("probabilities sum to %v", sum)
	}
}

// TestClip: in exact arithmetic no clipped gradient is longer than the norm,
// small ones stay as they are, and the direction is kept.
func TestClip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := rapid.Float64Range(1e-3, 1e3).Draw(r, "C")
		size := rapid.Float64Range(1e-6, 1e6).Draw(r, "size")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 0))
		var g gradient
		for k := range g {
			for i := range g[k] {
				g[k][i] = size * random.NormFloat64()
			}
		}
		before := g
		g.clip(c)
		exact := new(big.Float).SetPrec(200)
		for k := range g {
			for i := range g[k] {
				v := new(big.Float).SetPrec(200).SetFloat64(g[k][i])
				exact.Add(exact, v.Mul(v, v))
			}
		}
		limit := new(big.Float).SetPrec(200).SetFloat64(c)
		if exact.Cmp(limit.Mul(limit, limit)) > 0 {
			r.Fatalf("norm %v of a gradient clipped to %v", g.norm(), c)
		}
		if n := before.norm(); n <= c*(1-1e-9) && g != before {
			r.Fatal("a gradient of norm", n, "was changed")
		} else if n > c && math.Abs(g.norm()/c-1) > 1e-9 {
			r.Fatalf("clipped to %v instead of %v", g.norm(), c)
		}
		if ratio := g[3][5] / before[3][5]; math.Abs(g[7][11]/before[7][11]-ratio) > 1e-9*ratio {
			r.Fatal("the direction changed")
		}
	})
}

// TestNeighbours: without noise, one example more changes a step's sum by at
// most the clipping norm: that is what is reported as sensitivity 1.
func TestNeighbours(t *testing.T) {
	train, _, err := loadDigits()
	if err != nil {
		t.Fatal(err)
	}
	s := publicSettings()
	m, _ := someExample(rand.New(rand.NewPCG(5, 6)))
	batch := []int{1, 2, 3, 4, 5}
	without := s.clippedSum(m, train, batch[1:])
	with := s.clippedSum(m, train, batch)
	without.scale(-1)
	with.add(&without)
	if n := with.norm(); n > s.clippingNorm*(1+1e-12) || n < 0.99*s.clippingNorm {
		t.Errorf("one example changed the sum by %v", n)
	}
}

// TestSample: each index comes with probability q, independently. The bounds
// are six standard deviations; the seed is fixed, so the test cannot flake.
func TestSample(t *testing.T) {
	s := publicSettings()
	const n, rounds = 500, 2000
	random := rand.New(rand.NewPCG(7, 8))
	hits, pairs := [n]int{}, 0
	total := 0
	for range rounds {
		batch := s.sample(n, random)
		total += len(batch)
		in := map[int]bool{}
		for _, i := range batch {
			hits[i]++
			in[i] = true
		}
		for i := 0; i < n; i += 2 {
			if in[i] && in[i+1] {
				pairs++
			}
		}
	}
	check := func(what string, got int, trials, p float64) {
		t.Helper()
		if mean, sd := trials*p, math.Sqrt(trials*p*(1-p)); math.Abs(float64(got)-mean) > 6*sd {
			t.Errorf("%s: %d, want %.0f ± %.0f", what, got, mean, 6*sd)
		}
	}
	q := s.samplingProbability
	check("all", total, n*rounds, q)
	check("pairs", pairs, n/2*rounds, q*q)
	for i, h := range hits {
		check(fmt.Sprint("index ", i), h, rounds, q)
	}
	s.samplingProbability = 1
	if got := len(s.sample(n, random)); got != n {
		t.Errorf("q = 1 took %d of %d", got, n)
	}
}

// TestDeal: each index is in exactly one batch of an epoch, any of them as likely, independently of the
// others and of other epochs. The bounds are six standard deviations; the seed is fixed.
func TestDeal(t *testing.T) {
	s := publicSettings().allocated()
	const n, rounds = 500, 2000
	random := rand.New(rand.NewPCG(7, 9))
	check := func(what string, got int, trials, p float64) {
		t.Helper()
		if mean, sd := trials*p, math.Sqrt(trials*p*(1-p)); math.Abs(float64(got)-mean) > 6*sd {
			t.Errorf("%s: %d, want %.0f ± %.0f", what, got, mean, 6*sd)
		}
	}
	p := 1 / float64(s.epochSteps)
	first, together, again := 0, 0, 0 // in the first batch; pairs in one batch; the same batch in the next epoch
	var before [n]int
	for round := range rounds {
		var at [n]int
		for i := range at {
			at[i] = -1
		}
		for k, batch := range s.deal(n, random) {
			for _, i := range batch {
				if at[i] >= 0 {
					t.Fatalf("index %d is in two batches", i)
				}
				at[i] = k
			}
		}
		for i, k := range at {
			switch {
			case k < 0:
				t.Fatalf("index %d is in no batch", i)
			case k == 0:
				first++
			}
			if i%2 == 1 && k == at[i-1] {
				together++
			}
			if round > 0 && k == before[i] {
				again++
			}
		}
		before = at
	}
	check("first batch", first, n*rounds, p)
	check("pairs", together, n/2*rounds, p)
	check("the next epoch", again, n*(rounds-1), p)
}

// TestNoise: mean 0 and standard deviation σ·C, the same in every coordinate.
// Bounds of six standard deviations, seed fixed.
func TestNoise(t *testing.T) {
	s := publicSettings()
	s.clippingNorm, s.noiseMultiplier = 3, 0.7
	sd := 3 * 0.7
	random := rand.New(rand.NewPCG(9, 10))
	const rounds = 400
	sum, squares := 0.0, 0.0
	inLast := 0.0
	for range rounds {
		var g gradient
		s.addNoise(&g, random)
		for k := range g {
			for _, v := range g[k] {
				sum += v
				squares += v * v
			}
		}
		inLast += g[classes-1][features-1] * g[classes-1][features-1]
	}
	n := float64(rounds * classes * features)
	if mean := sum / n; math.Abs(mean) > 6*sd/math.Sqrt(n) {
		t.Errorf("mean %v", mean)
	}
	if v := squares / n; math.Abs(v/(sd*sd)-1) > 6*math.Sqrt(2/n) {
		t.Errorf("variance %v, want %v", v, sd*sd)
	}
	if v := inLast / rounds; math.Abs(v/(sd*sd)-1) > 6*math.Sqrt(2.0/rounds) {
		t.Errorf("variance of the last coordinate %v, want %v", v, sd*sd)
	}
}

func TestRandomIsSecretUnlessSeeded(t *testing.T) {
	if newRandom(0).Uint64() == newRandom(0).Uint64() {
		t.Error("two runs have the same noise")
	}
	if newRandom(7).Uint64() != newRandom(7).Uint64() {
		t.Error("two runs with one seed differ")
	}
}

// TestLearns: the seeded run recognises what the README says it does.
func TestLearns(t *testing.T) {
	train, test, err := loadDigits()
	if err != nil {
		t.Fatal(err)
	}
	s, m, random := publicSettings(), &model{}, newRandom(1)
	for range 300 {
		s.step(m, train, s.sample(len(train), random), random)
	}
	if share := m.accuracy(test); share < 0.85 {
		t.Errorf("accuracy %v", share)
	}
}

// loss is −ln P(label | x), in nats.
func (m *model) loss(e *example) float64 {
	return -math.Log(m.probabilities(&e.x)[e.label])
}
