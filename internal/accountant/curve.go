// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

const (
	// MaxCurvePoints bounds the ε, and the α, of one curve.
	MaxCurvePoints = 1000
	// defaultCurvePoints is the number of ε of a range where none is given.
	defaultCurvePoints = 100
)

// CurveQuestion asks for δ at many ε: at Epsilons, or evenly over a range.
type CurveQuestion struct {
	Epsilons []float64 // in nats, in any order; each finite; at most MaxCurvePoints

	// The range, where Epsilons is empty.
	Min    float64  // in nats; finite
	Max    *float64 // in nats; finite and > Min. Nil: where δ is about 1e−10
	Points int      // 2 … MaxCurvePoints; 0 for defaultCurvePoints

	Alphas []float64 // of the trade-off; each in [0, 1]. Empty: the corners of its bound

	// What else is wanted.
	GaussianDP bool      // the least μ
	Orders     []float64 // of Rényi divergences; each in (1, mostOrder]; at most MaxCurvePoints
	Xi         *float64  // ξ of (ξ, ρ)-zCDP, of which the least ρ is wanted; finite and ≥ 0

	Priors    []float64 // of a Bayes risk; each in (0, 1); at most MaxCurvePoints
	Baselines []float64 // of a reconstruction; each in [0, 1]; at most MaxCurvePoints

	Canaries *CanaryRun // a run to compare with what is proven

	MaxGap *float64    // of ln δ, as in Question
	Stop   func() bool // as in Question
}

// Curve is a composition's privacy curve and what follows from it for a test
// of which of two neighbouring datasets was used. Whatever the attacker can do
// is bounded from above, whatever errors he must make from below; the bounds
// from the other side show how tight that is. See docs/math/conversions.md §4.7.2.
type Curve struct {
	Points   []CurvePoint    // as asked
	TradeOff []TradeOffPoint // as asked, or by increasing α

	// Advantage bounds the total variation distance δ(0), the most that
	// 1 − α − β of a test can be, from above; AdvantageLower from below.
	Advantage, AdvantageLower float64

	// EqualError bounds the error of a test whose two errors are equal from
	// below: (1 − δ(0))/2. The true δ(0) proves none above EqualErrorUpper.
	EqualError, EqualErrorUpper float64

	// What else was asked for.
	GaussianDP   *GaussianDP
	Renyi        []RenyiPoint // in the order in which the orders were given
	Concentrated *Concentrated

	// In the order in which priors and baselines were given.
	BayesRisks      []BayesRisk
	Reconstructions []Reconstruction

	Canaries *CanaryFinding // where a run was given

	Stopped bool // as in Answer
}

// CurvePoint is δ at one ε; its fields are those of Answer.
type CurvePoint struct {
	Epsilon                   float64
	Delta, LogDelta           float64
	DeltaLower, LogDeltaLower *float64
	Analysis                  Analysis
}

// AskCurve answers q for c, which must come from mechanism.Compose; no bound is
// on the wrong side of the truth. It fails with a *mechanism.ParameterError
// where q is not allowed. Points that Stop leaves out have the bounds of their
// neighbours: an upper bound on δ holds at every larger ε.
func AskCurve(c mechanism.Composition, q CurveQuestion) (Curve, error) {
	ask := repeated(c)
	out, err := q.curve(ask)
	if err == nil {
		err = q.guarantees(c, &out)
	}
	return out, err
}

// guarantees fills in what else is asked for.
func (q CurveQuestion) guarantees(c mechanism.Composition, out *Curve) error {
	p := AtEpsilon(0)
	p.Stop = q.Stop
	if q.GaussianDP {
		mu, err := askGaussianDP(c, q.Stop)
		switch {
		case errors.Is(err, ErrStopped):
			mu = GaussianDP{Mu: math.Inf(1), Reason: "the time ran out", Stopped: true}
		case err != nil:
			return err
		}
		out.GaussianDP = &mu
		out.Stopped = out.Stopped || mu.Stopped
	}
	if len(q.Orders) == 0 && q.Xi == nil {
		return nil
	}
	losses, err := p.losses(c)
	if err != nil {
		return err
	}
	out.Renyi = p.renyi(losses, q.Orders)
	if q.Xi != nil {
		rho := p.concentrated(losses, *q.Xi)
		out.Concentrated = &rho
	}
	out.Stopped = out.Stopped || p.in.Over()
	return nil
}

// repeated is Ask about c again and again, for which its losses are composed once.
func repeated(c mechanism.Composition) func(Question) (Answer, error) {
	var losses loss.Composition
	return func(q Question) (Answer, error) {
		err := q.begin()
		if err == nil && losses == nil {
			losses, err = q.compose(c)
		}
		if err != nil {
			return Answer{}, err
		}
		return q.all(losses, func() bound { return q.rdp(losses) }, func() bound { return q.pld(losses) }), nil
	}
}

// curve is AskCurve for what ask answers about.
func (q CurveQuestion) curve(ask func(Question) (Answer, error)) (Curve, error) {
	if err := q.Check(); err != nil {
		return Curve{}, err
	}
	in := num.NewInterrupt(q.Stop)
	if q.Stop != nil {
		q.Stop = in.Stopped // which remembers what it said
	}
	asked, err := q.epsilons(ask)
	if err != nil {
		return Curve{}, err
	}
	guessed, err := q.guessed(ask)
	if err != nil {
		return Curve{}, err
	}
	sorted := []float64{0}
	for _, epsilon := range slices.Concat(asked, guessed) {
		sorted = append(sorted, math.Abs(epsilon))
	}
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	points, err := q.points(ask, sorted)
	if err != nil {
		return Curve{}, err
	}
	points, telling, err := q.telling(ask, points)
	if err != nil {
		return Curve{}, err
	}
	decrease(points)
	out := Curve{Points: make([]CurvePoint, len(asked))}
	at := func(epsilon float64) CurvePoint {
		i, _ := slices.BinarySearchFunc(points, math.Abs(epsilon),
			func(p CurvePoint, e float64) int { return cmp.Compare(p.Epsilon, e) })
		return points[i]
	}
	for i, epsilon := range asked {
		if out.Points[i] = at(epsilon); epsilon < 0 {
			out.Points[i] = out.Points[i].mirrored()
		}
	}
	for _, prior := range q.Priors {
		out.BayesRisks = append(out.BayesRisks, bayesRisk(prior, at(priorEpsilon(prior))))
	}
	out.test(points, q.Alphas, telling)
	if len(q.Epsilons) == 0 && q.Points == 0 {
		if points, err = q.finer(ask, points, out.TradeOff); err != nil {
			return Curve{}, err
		}
	}
	for range guessRounds {
		if points, err = q.finer(ask, points, tradeOff(points, q.Baselines)); err != nil {
			return Curve{}, err
		}
	}
	out.Reconstructions = q.reconstructions(points)
	if out.Canaries, err = q.canaries(ask, points); err != nil {
		return Curve{}, err
	}
	alphas := make([]float64, len(out.TradeOff))
	for i, p := range out.TradeOff {
		alphas[i] = p.Alpha
	}
	out.test(points, alphas, telling)
	out.Stopped = in.Over()
	return out, nil
}

// mirrored is the point at −ε. With P and Q exchanged, δ(−ε) = 1 − e^−ε + e^−ε·δ(ε); a curve that
// covers both directions has the larger one of both on either side. See docs/math/conversions.md §4.7.3.
func (p CurvePoint) mirrored() CurvePoint {
	head := num.Log(-math.Expm1(-p.Epsilon))
	at := func(log float64) float64 { return num.LogAddExp(head, log-p.Epsilon) }
	slack := 16 * num.Ulp * (1 + math.Abs(head) + math.Min(p.Epsilon, 800)) // beyond e^−800 nothing is left of δ
	out := CurvePoint{Epsilon: -p.Epsilon, Analysis: p.Analysis}
	out.LogDelta = math.Min(0, num.UpBy(at(p.LogDelta), slack))
	out.Delta = math.Min(1, num.ExpUp(out.LogDelta))
	if p.LogDeltaLower != nil {
		lower := math.Min(0, num.DownBy(at(*p.LogDeltaLower), slack))
		delta := num.ExpDown(lower)
		out.LogDeltaLower, out.DeltaLower = &lower, &delta
	}
	return out
}

// points asks about every ε, the first and the last and then from coarse to fine.
// After Stop it asks no more but about these two; what is left out has δ = 1.
func (q CurveQuestion) points(ask func(Question) (Answer, error), epsilons []float64) ([]CurvePoint, error) {
	points := make([]CurvePoint, len(epsilons))
	for i, epsilon := range epsilons {
		points[i] = CurvePoint{Epsilon: epsilon, Delta: 1}
	}
	for n, i := range coarseToFine(len(points)) {
		if n >= 2 && q.Stop != nil && q.Stop() {
			break
		}
		gap := q.MaxGap
		if gap != nil && epsilons[i] == 0 && *gap > drawn { // the advantage does not depend on how a curve is drawn
			gap = nil
		}
		a, err := ask(Question{Epsilon: &epsilons[i], MaxGap: gap, Stop: q.Stop, rough: true})
		if n > 0 && errors.Is(err, ErrStopped) {
			break
		}
		if err != nil {
			return nil, err
		}
		points[i] = CurvePoint{a.Epsilon, a.Delta, a.LogDelta, a.DeltaLower, a.LogDeltaLower, a.Analysis}
	}
	return points, nil
}

// drawn is a gap that only a drawing asks for.
const drawn = 1e-3

// coarseToFine is 0, n−1 and then the whole numbers between, halving their
// distance.
func coarseToFine(n int) []int {
	order := []int{0}
	if n > 1 {
		order = append(order, n-1)
	}
	step := 1
	for step < n {
		step *= 2
	}
	for seen := map[int]bool{0: true, n - 1: true}; len(order) < n; step /= 2 {
		for i := step; i < n; i += step {
			if !seen[i] {
				order, seen[i] = append(order, i), true
			}
		}
	}
	return order
}

// Check returns nil, or a *mechanism.ParameterError on what is not allowed.
func (q CurveQuestion) Check() error {
	const finite = "a finite number"
	bad := func(field, value, allowed string) error {
		return &mechanism.ParameterError{Field: field, Value: value, Allowed: allowed}
	}
	for list, n := range map[string]int{"epsilons": len(q.Epsilons), "alphas": len(q.Alphas), "orders": len(q.Orders),
		"priors": len(q.Priors), "baselines": len(q.Baselines)} {
		if n > MaxCurvePoints {
			return bad(list, fmt.Sprintf("%d given", n), fmt.Sprintf("at most %d", MaxCurvePoints))
		}
	}
	for i, e := range q.Epsilons {
		if !isFinite(math.Abs(e)) {
			return bad(fmt.Sprintf("epsilons[%d]", i), number(e), finite)
		}
	}
	for i, a := range q.Alphas {
		if !(a >= 0 && a <= 1) {
			return bad(fmt.Sprintf("alphas[%d]", i), number(a), "a number in [0, 1]")
		}
	}
	for i, v := range q.Baselines {
		if !(v >= 0 && v <= 1) {
			return bad(fmt.Sprintf("baselines[%d]", i), number(v), "a number in [0, 1]")
		}
	}
	for i, v := range q.Priors {
		if !(v > 0 && v < 1) {
			return bad(fmt.Sprintf("priors[%d]", i), number(v), "a number > 0 and < 1")
		}
	}
	for i, a := range q.Orders {
		if !(a > 1 && a <= mostOrder) {
			return bad(fmt.Sprintf("orders[%d]", i), number(a), fmt.Sprintf("a number > 1, at most %g", mostOrder))
		}
	}
	if q.Canaries != nil {
		if err := q.Canaries.Check(); err != nil {
			return err
		}
	}
	if q.Xi != nil && !isFinite(*q.Xi) {
		return bad("xi", number(*q.Xi), "a finite number ≥ 0")
	}
	if len(q.Epsilons) > 0 {
		if q.Min != 0 || q.Max != nil || q.Points != 0 {
			return bad("epsilons", "given together with a range",
				"epsilons alone, or epsilon_min, epsilon_max and points")
		}
		return checkGap(q.MaxGap)
	}
	switch {
	case !isFinite(math.Abs(q.Min)):
		return bad("epsilon_min", number(q.Min), finite)
	case q.Max != nil && !(isFinite(math.Abs(*q.Max)) && *q.Max > q.Min):
		return bad("epsilon_max", number(*q.Max), "a finite number > epsilon_min = "+number(q.Min))
	case q.Points != 0 && !(q.Points >= 2 && q.Points <= MaxCurvePoints):
		return bad("points", fmt.Sprint(q.Points), fmt.Sprintf("a whole number from 2 to %d", MaxCurvePoints))
	}
	return checkGap(q.MaxGap)
}

// isFinite accepts finite numbers ≥ 0.
func isFinite(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }

// epsilons are the ε to answer.
func (q CurveQuestion) epsilons(ask func(Question) (Answer, error)) ([]float64, error) {
	if len(q.Epsilons) > 0 {
		return q.Epsilons, nil
	}
	top, err := q.top(ask)
	if err != nil {
		return nil, err
	}
	n := q.Points
	if n == 0 {
		n = defaultCurvePoints
	}
	all := make([]float64, n)
	for i := range all {
		// Within [Min, top] and increasing, however it rounds.
		all[i] = math.Min(q.Min+(top-q.Min)*(float64(i)/float64(n-1)), top)
	}
	all[n-1] = top
	return all, nil
}

// top is the last ε of the range: where what is still to be seen of δ ends.
func (q CurveQuestion) top(ask func(Question) (Answer, error)) (float64, error) {
	if q.Max != nil {
		return *q.Max, nil
	}
	for _, delta := range [...]float64{1e-10, 1e-6, 1e-3} {
		a, err := ask(Question{Delta: &delta, MaxGap: q.MaxGap, Stop: q.Stop, rough: true})
		if err != nil {
			return 0, err
		}
		if a.Epsilon > q.Min && isFinite(a.Epsilon) {
			return a.Epsilon, nil
		}
	}
	return math.Max(q.Min+1, num.Up(q.Min)), nil
}

// decrease carries bounds along the curve, which decreases: an upper bound on δ
// holds at every larger ε, a lower bound at every smaller one. points are by
// increasing ε.
func decrease(points []CurvePoint) {
	for i := 1; i < len(points); i++ {
		p, before := &points[i], points[i-1]
		if before.LogDelta < p.LogDelta || p.Analysis == "" {
			p.LogDelta, p.Analysis = before.LogDelta, before.Analysis
		}
		p.Delta = math.Min(p.Delta, before.Delta)
	}
	for i := len(points) - 2; i >= 0; i-- {
		p, after := &points[i], points[i+1]
		if after.LogDeltaLower != nil && (p.LogDeltaLower == nil || *p.LogDeltaLower < *after.LogDeltaLower) {
			p.DeltaLower, p.LogDeltaLower = after.DeltaLower, after.LogDeltaLower
		}
	}
}
