// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"math"

	"github.com/dpaccountant/accountant/internal/num"
)

// BayesRisk is the least probability with which any attacker errs who guesses which of two neighbouring
// datasets was used, one of which has the probability Prior before any output: at least Risk. The true
// curve proves none above RiskUpper. See docs/math/curves.md §4.14.
type BayesRisk struct {
	Prior, Risk, RiskUpper float64
}

// Reconstruction bounds the chance of a guess of a record from the outputs, for whoever has the chance
// Baseline without them: it is at most Success. The true curve proves none below SuccessLower. See
// docs/math/curves.md §4.15.
type Reconstruction struct {
	Baseline, Success, SuccessLower float64
}

// priorSlack bounds the error of the ε of a prior, ln((1−π)/π) ≤ 745.
const priorSlack = 0x1p-40

// priorEpsilon is at most the ε ≥ 0 at which the curve has the risk at a prior, and less by 2·priorSlack at most.
func priorEpsilon(prior float64) float64 {
	less := math.Min(prior, 1-prior)
	return math.Max(0, math.Log1p(-less)-math.Log(less)-priorSlack)
}

// bayesRisk takes the risk at a prior from the point at its ε: min(π, 1−π)·(1 − δ).
func bayesRisk(prior float64, p CurvePoint) BayesRisk {
	less, rest := math.Min(prior, 1-prior), 1.0 // exact: 1 − π is where it counts
	if p.DeltaLower != nil {
		rest = math.Min(1, num.Up(num.Up(1-*p.DeltaLower)+2*priorSlack)) // the slope of δ(ε) is at least −1
	}
	return BayesRisk{prior, math.Max(0, num.Down(less*provenSides([]CurvePoint{p})[0].rest)),
		math.Min(less, num.Up(less*rest))}
}

// reconstructions bound the chances at the baselines by the trade-off.
func (q CurveQuestion) reconstructions(points []CurvePoint) (all []Reconstruction) {
	for _, t := range tradeOff(points, q.Baselines) {
		all = append(all, Reconstruction{t.Alpha, math.Min(1, num.Up(1-t.Beta)), math.Max(0, num.Down(1-t.BetaUpper))})
	}
	return all
}

// guessed are more ε that the curve needs for priors, and for baselines and canaries where few ε are asked about.
func (q CurveQuestion) guessed(ask func(Question) (Answer, error)) (more []float64, err error) {
	for _, prior := range q.Priors {
		more = append(more, priorEpsilon(prior))
	}
	if len(q.Baselines) == 0 && q.Canaries == nil || len(q.Epsilons) == 0 {
		return more, nil
	}
	top, err := CurveQuestion{MaxGap: q.MaxGap, Stop: q.Stop}.top(ask)
	for i := range guessPoints {
		more = append(more, top*float64(i+1)/guessPoints)
	}
	return more, err
}

// guessPoints are how many ε serve for baselines where others were asked about, and guessRounds how often
// better ones are looked for.
const guessPoints, guessRounds = 20, 3
