// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// The privacy game, played out. An adversary sees every output, chooses the next
// mechanism by what it saw, and stops when it likes; the guard only says yes or no.
// Outputs are drawn under one of the neighbouring datasets and each adds its
// privacy loss ln P/Q to the transcript's L, so that the mean of (1 − e^{ε−L})₊ is
// an unbiased estimate of the δ(ε) of the whole adaptive interaction.

// transcript is one run of the game.
type transcript struct {
	rng     *rand.Rand
	remove  bool // outputs are drawn with the record there
	loss    float64
	steps   int
	accepts func(m mechanism.Mechanism) bool
}

// release asks the guard and, if it agrees, runs the mechanism's worst case.
func (g *transcript) release(m mechanism.Mechanism) bool {
	if !g.accepts(m) {
		return false
	}
	g.steps++
	g.loss += g.draw(m)
	return true
}

// draw is the privacy loss of one output of the pair that dominates m under
// ADD_OR_REMOVE_ONE.
func (g *transcript) draw(m mechanism.Mechanism) float64 {
	answer := func(epsilon float64) float64 { // randomized response
		if g.rng.Float64()*(1+math.Exp(-epsilon)) < 1 {
			return epsilon
		}
		return -epsilon
	}
	switch m := m.(type) {
	case mechanism.Gaussian:
		mu := 1 / m.NoiseMultiplier
		return mu*mu/2 + mu*g.rng.NormFloat64()
	case mechanism.PureDP:
		return answer(m.Epsilon)
	case mechanism.ApproximateDP:
		if g.rng.Float64() < m.Delta {
			return math.Inf(1)
		}
		return answer(m.Epsilon)
	case mechanism.PoissonSampled:
		q, sigma := m.SamplingProbability, m.Mechanism.(mechanism.Gaussian).NoiseMultiplier
		x := sigma * g.rng.NormFloat64()
		if g.remove && g.rng.Float64() < q {
			x++
		}
		l := math.Log1p(q * math.Expm1((2*x-1)/(2*sigma*sigma)))
		if !g.remove {
			l = -l
		}
		return l
	}
	panic(fmt.Sprintf("no worst case of %v", m))
}

// Adversaries; each makes use of another way in which a guard can be wrong.

// exhaust runs one mechanism as often as it may.
func exhaust(m mechanism.Mechanism) func(*transcript) {
	return func(g *transcript) {
		for g.steps < 1000 && g.release(m) {
		}
	}
}

// untilHigh stops as soon as the loss is above a threshold: the ε so far at such a
// stop is no guarantee.
func untilHigh(threshold float64, m mechanism.Mechanism) func(*transcript) {
	return func(g *transcript) {
		for g.steps < 1000 && g.loss < threshold && g.release(m) {
		}
	}
}

// byLoss takes the louder mechanism while the loss is below a threshold, the
// quieter one above.
func byLoss(threshold float64, loud, quiet mechanism.Mechanism) func(*transcript) {
	return func(g *transcript) {
		for g.steps < 1000 {
			m := loud
			if g.loss >= threshold {
				m = quiet
			}
			if !g.release(m) && !g.release(quiet) {
				return
			}
		}
	}
}

// swing tosses one coin and then spends what is left on what helps most after it:
// small pure losses where it was lucky, all on failures where it was not.
func swing(first mechanism.Mechanism, failure, finer float64) func(*transcript) {
	return func(g *transcript) {
		if !g.release(first) {
			return
		}
		if g.loss > 0 {
			for e := 1.0; e > 0.05; e *= finer {
				g.release(mechanism.PureDP{Epsilon: e})
			}
			return
		}
		for d := failure; d > failure/100; d *= finer {
			g.release(mechanism.ApproximateDP{Epsilon: 1e-6, Delta: d})
		}
	}
}

// estimate plays and returns the empirical δ at ε in the worse direction, and its
// standard error.
func estimate(games int, epsilon float64, play func(*transcript),
	guard func() func(mechanism.Mechanism) bool) (delta, deviation float64) {
	for i, remove := range []bool{true, false} {
		rng := rand.New(rand.NewPCG(7, uint64(i)))
		var sum, squares float64
		for range games {
			g := &transcript{rng: rng, remove: remove, accepts: guard()}
			play(g)
			d := math.Max(0, -math.Expm1(epsilon-g.loss))
			sum += d
			squares += d * d
		}
		mean := sum / float64(games)
		if mean >= delta {
			delta, deviation = mean, math.Sqrt((squares/float64(games)-mean*mean)/float64(games))
		}
	}
	return delta, deviation
}

// ledgerGuard asks a real ledger: each game's charges are a batch on top of it.
func ledgerGuard(t *testing.T, spec Spec) func() func(mechanism.Mechanism) bool {
	s := NewState(resolved(t, spec))
	return func() func(mechanism.Mechanism) bool {
		b := NewBatch(s)
		sequence := uint64(0)
		return func(m mechanism.Mechanism) bool {
			d := b.Decide(request("adversary", sequence+1, mechanism.Event{Mechanism: m, Count: 1}),
				Lane{}, time.Time{})
			if d.Outcome == Accepted {
				sequence++
			}
			return d.Outcome == Accepted
		}
	}
}

// runningGuard is the wrong one: it stops when the tightest ε of what was run
// would pass the budget.
func runningGuard(t *testing.T, epsilon, delta float64) func() func(mechanism.Mechanism) bool {
	type question struct{ ran, next string }
	known := map[question]bool{}
	names := map[mechanism.Mechanism]string{}
	return func() func(mechanism.Mechanism) bool {
		var ran []mechanism.Event
		history := ""
		return func(m mechanism.Mechanism) bool {
			if names[m] == "" {
				names[m] = m.String() + "; "
			}
			key := question{history, names[m]}
			fits, ok := known[key]
			next := append(ran[:len(ran):len(ran)], mechanism.Event{Mechanism: m, Count: 1})
			if !ok {
				c, err := mechanism.Compose(mechanism.AddOrRemoveOne, next)
				if err != nil {
					t.Fatal(err)
				}
				a, err := accountant.Ask(c, accountant.AtDelta(delta))
				if err != nil {
					t.Fatal(err)
				}
				fits = a.Epsilon <= epsilon
				known[key] = fits
			}
			if fits {
				ran, history = next, history+names[m]
			}
			return fits
		}
	}
}

var (
	loudNoise  = mechanism.Gaussian{NoiseMultiplier: 3}
	quietNoise = mechanism.Gaussian{NoiseMultiplier: 8}
	trainStep  = mechanism.PoissonSampled{SamplingProbability: 0.2, Mechanism: mechanism.Gaussian{NoiseMultiplier: 1.5}}
	coin       = mechanism.PureDP{Epsilon: 0.8}
)

// Whatever adversaries do, the empirical δ stays under the stated one.
func TestGuardsAgainstAdversaries(t *testing.T) {
	const epsilon, delta = 1.0, 0.05
	budget := func(g accountant.Guard, order float64) Spec {
		return filter(accountant.Budget{Guard: g, Epsilon: epsilon, Delta: delta, Order: order})
	}
	type adversary struct {
		name string
		play func(*transcript)
	}
	noise := []adversary{
		{"exhaust", exhaust(quietNoise)},
		{"stop when high", untilHigh(epsilon, loudNoise)},
		{"stop when lucky", untilHigh(epsilon/2, quietNoise)},
		{"louder when behind", byLoss(epsilon/2, loudNoise, quietNoise)},
		{"louder when ahead", byLoss(epsilon/2, quietNoise, loudNoise)},
	}
	training := append([]adversary{
		{"training", exhaust(trainStep)},
		{"training until lucky", untilHigh(epsilon, trainStep)},
		{"training, then noise", byLoss(epsilon/2, trainStep, quietNoise)},
		{"coins when behind", byLoss(0, coin, quietNoise)},
	}, noise...)
	coins := []adversary{
		{"swing", swing(mechanism.PureDP{Epsilon: 0.99}, delta, 0.6)},
		{"late swing", swing(coin, delta, 0.6)},
		{"failures", exhaust(mechanism.ApproximateDP{Epsilon: 0.01, Delta: 0.0125})},
		{"coins until lucky", untilHigh(epsilon/2, mechanism.PureDP{Epsilon: 0.125})},
	}
	for _, c := range []struct {
		name        string
		spec        Spec
		adversaries []adversary
		reached     float64 // of δ, by one adversary at least: the game is no empty one
	}{
		{"BASIC", budget(accountant.GuardBasic, 0), coins, 0.9},
		{"ZCDP", budget(accountant.GuardZCDP, 0), append(coins[3:], noise...), 0.2},
		{"APPROXIMATE_ZCDP", budget(accountant.GuardApproximateZCDP, 0), append(coins, noise...), 0.4},
		{"GDP", budget(accountant.GuardGDP, 0), noise, 0.9},
		{"RDP", budget(accountant.GuardRDP, 6), append(training, coins[3:]...), 0.1},
	} {
		guard := ledgerGuard(t, c.spec)
		most := 0.0
		for _, a := range c.adversaries {
			got, deviation := estimate(2000, epsilon, a.play, guard)
			if got > delta+5*deviation {
				t.Errorf("%s, %s: empirical δ(%v) = %.4f ± %.4f; stated %v", c.name, a.name,
					epsilon, got, deviation, delta)
			}
			most = math.Max(most, got)
		}
		if most < c.reached*delta {
			t.Errorf("%s: no adversary came above δ = %.4f; want %.4f, or nothing is tested",
				c.name, most, c.reached*delta)
		}
	}
}

// A plan's own curve covers every order, skip and stop inside it.
func TestPlansAgainstAdversaries(t *testing.T) {
	const delta = 0.05
	for _, c := range []struct {
		name        string
		events      []mechanism.Event
		adversaries map[string]func(*transcript)
	}{
		{"coins and failures",
			[]mechanism.Event{pure(0.99, 1), pure(0.137, 1),
				{Mechanism: mechanism.ApproximateDP{Epsilon: 1e-6, Delta: 0.02}, Count: 1}},
			map[string]func(*transcript){
				"swing": func(g *transcript) {
					g.release(mechanism.PureDP{Epsilon: 0.99})
					if g.loss > 0 {
						g.release(mechanism.PureDP{Epsilon: 0.137})
					} else {
						g.release(mechanism.ApproximateDP{Epsilon: 1e-6, Delta: 0.02})
					}
				},
				"everything": func(g *transcript) {
					for _, m := range []mechanism.Mechanism{mechanism.PureDP{Epsilon: 0.99},
						mechanism.PureDP{Epsilon: 0.137}, mechanism.ApproximateDP{Epsilon: 1e-6, Delta: 0.02}} {
						g.release(m)
					}
				},
			}},
		{"training and noise",
			[]mechanism.Event{{Mechanism: trainStep, Count: 20}, {Mechanism: quietNoise, Count: 20},
				{Mechanism: loudNoise, Count: 2}},
			map[string]func(*transcript){
				"stop when lucky":    untilHigh(0.5, trainStep),
				"louder when behind": byLoss(0.5, loudNoise, quietNoise),
				"training first":     byLoss(0.3, trainStep, quietNoise),
				"noise first":        byLoss(0.3, quietNoise, trainStep),
			}},
	} {
		spec := plan(c.events...)
		guard := ledgerGuard(t, spec)
		all, err := mechanism.Compose(mechanism.AddOrRemoveOne, c.events)
		if err != nil {
			t.Fatal(err)
		}
		stated, err := accountant.Ask(all, accountant.AtDelta(delta))
		if err != nil {
			t.Fatal(err)
		}
		for name, play := range c.adversaries {
			got, deviation := estimate(2000, stated.Epsilon, play, guard)
			if got > delta+5*deviation {
				t.Errorf("%s, %s: empirical δ(%v) = %.4f ± %.4f; stated %v", c.name, name,
					stated.Epsilon, got, deviation, delta)
			}
		}
	}
}

// The control: the same game shows that a guard which accepts by the ε so far is
// overrun, with the adversary that the real guards hold.
func TestRunningGuardIsOverrun(t *testing.T) {
	const epsilon, delta = 1.0, 0.05
	got, deviation := estimate(20_000, epsilon, swing(mechanism.PureDP{Epsilon: 0.99}, delta, 0.8),
		runningGuard(t, epsilon, delta))
	if !(got > delta+5*deviation) {
		t.Errorf("the wrong guard held: empirical δ(%v) = %.4f ± %.4f; it states %v", epsilon, got, deviation, delta)
	}
	t.Logf("the wrong guard: empirical δ(%v) = %.4f ± %.4f; it states %v", epsilon, got, deviation, delta)
}
