// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"pgregory.net/rapid"
)

// The optimum of the linear program over all distributions of the number of right guesses, with the inequalities of
// docs/math/canaries.md §4.16.1 for all numbers from j on and for each single number, by scipy's solver (HiGHS); the
// last column is the bound of Steinke–Nasr–Jagielski 2023, arXiv 2305.08846, by the program in its appendix.
func TestCanariesAgainstLinearProgram(t *testing.T) {
	for _, x := range []struct {
		inserted, guesses, correct int
		epsilon, delta             float64
		optimum, paper             float64
	}{
		{100, 100, 75, 0.5, 1e-5, 0.004845728243743877, 0.004902564167098842},
		{100, 100, 80, 0.5, 1e-3, 0.0021838786646848577, 0.007767348521359498},
		{100, 30, 27, 1, 1e-4, 0.02318586777268224, 0.02499007134484842},
		{20, 10, 9, 0.3, 1e-2, 0.057290038586897546, 0.1083972093241595},
		{20, 10, 9, 0.3, 0, 0.03289787737740077, 0.03289787737740078},
	} {
		run := CanaryRun{Inserted: x.inserted, Guesses: x.guesses, Correct: x.correct}
		got := run.chance(singlePoint(x.epsilon, x.delta))
		if got < x.optimum*(1-1e-9) || got > 1.03*x.optimum || got > x.paper*(1+1e-9) {
			t.Errorf("%+v: %v", x, got)
		}
	}
	// With a Gaussian's lines at 81 ε; more lines allow fewer right guesses.
	for _, x := range []struct {
		mu               float64
		correct          int
		optimum, perhaps float64 // perhaps: of guesses that are independent, each right with Φ(μ/2)
	}{{0.5, 80, 0.031929141655530235, 1.468828547383139e-05}, {1, 90, 0.09913127288958402, 6.740962906633943e-07}} {
		got := CanaryRun{Inserted: 100, Guesses: 100, Correct: x.correct}.chance(gaussianPoints(x.mu))
		if got < x.perhaps || got > 1.15*x.optimum {
			t.Errorf("%+v: %v", x, got)
		}
	}
}

// Of every mechanism that answers the coins at random with given probabilities: its curve from all neighbours and
// events, and how many guesses are right from all coins and answers.
func TestCanariesByEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, 4).Draw(t, "canaries")
		n := rapid.IntRange(1, m).Draw(t, "guesses")
		all := 1 << m
		answers := make([][]float64, all) // by coins, then by answer: what it says of the first n coins
		sharp := rapid.Float64Range(0, 3).Draw(t, "sharpness")
		for coins := range answers {
			answers[coins] = make([]float64, 1<<n)
			total := 0.0
			for said := range answers[coins] {
				w := right(coins, said, n)
				answers[coins][said] = math.Exp(sharp*float64(w)) * rapid.Float64Range(0.01, 1).Draw(t, "weight")
				total += answers[coins][said]
			}
			for said := range answers[coins] {
				answers[coins][said] /= total
			}
		}
		numbers := make([]float64, n+1)
		for coins := range answers {
			for said, p := range answers[coins] {
				numbers[right(coins, said, n)] += p / float64(all)
			}
		}
		var points []CurvePoint
		for i := range 12 {
			epsilon, delta := float64(i)*0.4, 0.0
			for coins := range answers {
				for i := range m {
					sum := 0.0
					for said, p := range answers[coins] {
						sum += math.Max(0, p-math.Exp(epsilon)*answers[coins^1<<i][said])
					}
					delta = math.Max(delta, sum)
				}
			}
			single := singlePoint(epsilon, delta)
			points = append(points, single...)
			compareChances(t, CanaryRun{Inserted: m, Guesses: n}, single, numbers)
		}
		compareChances(t, CanaryRun{Inserted: m, Guesses: n}, points, numbers)
	})
}

// right is how many of the first n bits agree.
func right(coins, said, n int) (w int) {
	for i := range n {
		if coins>>i&1 == said>>i&1 {
			w++
		}
	}
	return w
}

func compareChances(t *rapid.T, run CanaryRun, points []CurvePoint, numbers []float64) {
	tail := 0.0
	for v := run.Guesses; v >= 0; v-- {
		tail += numbers[v]
		run.Correct = v
		if got := run.chance(points); got < tail*(1-1e-12) {
			t.Fatalf("%+v: %v, and the truth is %v", run, got, tail)
		}
	}
}

// A release that is what it says, with as many right guesses as the best attacker of independent canaries has on
// average, contradicts nothing; one with a tenth of the noise does.
func TestCanariesOfGaussian(t *testing.T) {
	c := compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: mechanism.GaussianDP{Mu: 1}, Count: 1})
	for _, x := range []struct {
		run        CanaryRun
		contradict bool
	}{
		{CanaryRun{Inserted: 1000, Guesses: 1000, Correct: 691, Delta: 1e-5}, false}, // Φ(½)
		{CanaryRun{Inserted: 1000, Guesses: 100, Correct: 95, Delta: 1e-5}, false},
		{CanaryRun{Inserted: 1000, Guesses: 1000, Correct: 1000, Delta: 1e-5}, true}, // Φ(5) each
	} {
		f := askCurve(t, c, CurveQuestion{Epsilons: []float64{0}, Canaries: &x.run}).Canaries
		if f.Contradicts() != x.contradict || f.Confidence != defaultConfidence {
			t.Errorf("%+v: %+v", x.run, f)
		}
		if !x.contradict && (f.Observed > f.Epsilon || f.ObservedMu > 1 || f.Observed == 0 || f.ObservedMu == 0) {
			t.Errorf("%+v: %+v", x.run, f)
		}
		if f.EpsilonLower == nil || *f.EpsilonLower > f.Epsilon {
			t.Errorf("%+v: %+v", x.run, f)
		}
	}
	// Whoever knows nothing is right half the time.
	f := askCurve(t, c, CurveQuestion{Epsilons: []float64{0}, Canaries: &CanaryRun{Inserted: 10, Guesses: 10,
		Correct: 5}}).Canaries
	if f.Observed != 0 || f.ObservedMu != 0 || f.PValue < 0.5 {
		t.Errorf("%+v", f)
	}
}

func TestCanariesThatAreNotAllowed(t *testing.T) {
	half, one := 0.5, 1.0
	for _, x := range []struct {
		run  CanaryRun
		want string
	}{
		{CanaryRun{}, "canaries.inserted: 0; allowed: a whole number from 1 to 100000"},
		{CanaryRun{Inserted: 100_001, Guesses: 1},
			"canaries.inserted: 100001; allowed: a whole number from 1 to 100000"},
		{CanaryRun{Inserted: 5, Guesses: 6}, "canaries.guesses: 6; allowed: a whole number from 1 to inserted = 5"},
		{CanaryRun{Inserted: 5}, "canaries.guesses: 0; allowed: a whole number from 1 to inserted = 5"},
		{CanaryRun{Inserted: 5, Guesses: 4, Correct: 5},
			"canaries.correct: 5; allowed: a whole number from 0 to guesses = 4"},
		{CanaryRun{Inserted: 5, Guesses: 4, Delta: 1}, "canaries.delta: 1; allowed: a number in [0, 1)"},
		{CanaryRun{Inserted: 5, Guesses: 4, Delta: math.NaN()}, "canaries.delta: NaN; allowed: a number in [0, 1)"},
		{CanaryRun{Inserted: 5, Guesses: 4, Confidence: &one},
			"canaries.confidence: 1; allowed: a number > 0 and < 1, such as 0.95"},
		{CanaryRun{Inserted: 5, Guesses: 4, Confidence: &half}, ""},
	} {
		err := CurveQuestion{Epsilons: []float64{0}, Canaries: &x.run}.Check()
		if got := ""; err != nil && err.Error() != x.want || err == nil && x.want != got {
			t.Errorf("%+v: %v, want %q", x.run, err, x.want)
		}
	}
}
