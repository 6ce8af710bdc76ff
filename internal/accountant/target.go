// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"fmt"
	"math"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// Target is what a calibration is to meet instead of ε at δ: exactly one of its fields is set, or Alpha
// together with Beta.
type Target struct {
	Mu          *float64 // of Gaussian DP; finite and > 0
	Advantage   *float64 // the most that 1 − α − β of a test can be; in (0, 1)
	Alpha, Beta *float64 // each test with type I error Alpha has a type II error of at least Beta; in (0, 1)
}

// given reports whether there is one.
func (t Target) given() bool {
	return t.Mu != nil || t.Advantage != nil || t.Alpha != nil || t.Beta != nil
}

// check returns nil, or a *mechanism.ParameterError.
func (t Target) check() error {
	bad := func(field string, value *float64, allowed string) error {
		given := "missing"
		if value != nil {
			given = number(*value)
		}
		return &mechanism.ParameterError{Field: field, Value: given, Allowed: allowed}
	}
	kinds := 0
	for _, is := range []bool{t.Mu != nil, t.Advantage != nil, t.Alpha != nil || t.Beta != nil} {
		if is {
			kinds++
		}
	}
	inside := func(v *float64) bool { return v != nil && *v > 0 && *v < 1 }
	switch {
	case kinds > 1:
		return &mechanism.ParameterError{Field: "target", Value: "several given",
			Allowed: "exactly one of target_epsilon with target_delta, target_mu, target_advantage, and target_alpha " +
				"with target_beta"}
	case t.Mu != nil && !(*t.Mu > 0 && isFinite(*t.Mu)):
		return bad("target_mu", t.Mu, "a finite number > 0")
	case t.Advantage != nil && !inside(t.Advantage):
		return bad("target_advantage", t.Advantage, "a number in (0, 1)")
	case t.Mu != nil || t.Advantage != nil:
		return nil
	case !inside(t.Alpha):
		return bad("target_alpha", t.Alpha, "a number in (0, 1), with target_beta")
	case !inside(t.Beta) || *t.Alpha+*t.Beta >= 1:
		return bad("target_beta", t.Beta,
			"a number in (0, 1 − target_alpha), with target_alpha: a guess has α + β = 1")
	}
	return nil
}

// objective is what a search compares: what a composition costs, and how much it may.
type objective struct {
	field string  // the target's field, for messages
	most  float64 // that the cost may be
	cost  func(c mechanism.Composition, stop func() bool) (float64, Answer, error)
	words func(cost float64) string // what would be allowed
}

// objective of a calibration: ε at its δ unless there is a Target.
func (q Calibration) objective() objective {
	switch t := q.Target; {
	case t.Mu != nil:
		return objective{field: "target_mu", most: *t.Mu, cost: func(c mechanism.Composition,
			stop func() bool) (float64, Answer, error) {
			g, err := askGaussianDP(c, stop)
			return g.Mu, Answer{Stopped: g.Stopped}, err
		}, words: func(mu float64) string { return "at least " + number(mu) }}
	case t.Advantage != nil:
		return objective{field: "target_advantage", most: *t.Advantage, cost: func(c mechanism.Composition,
			stop func() bool) (float64, Answer, error) {
			a, err := Ask(c, Question{Epsilon: new(float64), Stop: stop})
			return a.Delta, a, err
		}, words: func(advantage float64) string { return "at least " + number(advantage) }}
	case t.Alpha != nil:
		// In the place of β its distance from chance, 1 − α − β: it falls with privacy as ε does.
		return objective{field: "target_beta", most: math.Max(0, num.Down(num.Down(1-*t.Alpha)-*t.Beta)),
			cost: func(c mechanism.Composition, stop func() bool) (float64, Answer, error) {
				return gain(c, *t.Alpha, stop)
			}, words: func(gain float64) string {
				beta := math.Max(0, num.Down(num.Down(1-*t.Alpha)-gain))
				return fmt.Sprintf("at most %s with target_alpha %s", number(beta), number(*t.Alpha))
			}}
	}
	return objective{field: "target_epsilon", most: q.Epsilon, cost: func(c mechanism.Composition,
		stop func() bool) (float64, Answer, error) {
		a, err := Ask(c, Question{Delta: &q.Delta, Stop: stop})
		return a.Epsilon, a, err
	}, words: func(epsilon float64) string {
		return fmt.Sprintf("at least %s with target_delta %s", number(epsilon), number(q.Delta))
	}}
}

// gain is the most that 1 − α − β of a test with type I error α can be: from above, by the best of a few
// ε, each of which proves a bound on β. The answer is that at the best of them. See docs/math/conversions.md §4.8.
func gain(c mechanism.Composition, alpha float64, stop func() bool) (float64, Answer, error) {
	ask := repeated(c)
	best, at := math.Inf(1), Answer{}
	proves := func(epsilon float64) (float64, error) {
		a, err := ask(Question{Epsilon: &epsilon, Stop: stop, rough: true})
		if err != nil {
			return 0, err
		}
		beta := provenBeta(provenSides([]CurvePoint{{Epsilon: a.Epsilon, Delta: a.Delta, LogDelta: a.LogDelta}}), alpha)
		v := num.Up(num.Up(1-alpha) - beta)
		if v < best {
			best, at = v, a
		}
		return v, nil
	}
	// The bound is unimodal but for its corners: e^ε is what one error is worth in units of the other.
	lo, hi := 0.0, 1.0
	was, err := proves(lo)
	for err == nil && hi < 700 {
		var v float64
		if v, err = proves(hi); !(v < was) {
			break
		}
		was, lo, hi = v, hi/2, 2*hi
	}
	const golden = 0.381966
	a, b := lo+golden*(hi-lo), hi-golden*(hi-lo)
	var va, vb float64
	if err == nil {
		va, err = proves(a)
	}
	if err == nil {
		vb, err = proves(b)
	}
	for i := 0; err == nil && i < 30 && hi-lo > 1e-5*(1+lo); i++ {
		if va <= vb {
			hi, b, vb = b, a, va
			a = lo + golden*(hi-lo)
			va, err = proves(a)
		} else {
			lo, a, va = a, b, vb
			b = hi - golden*(hi-lo)
			vb, err = proves(b)
		}
	}
	if err != nil && !math.IsInf(best, 1) { // what was found holds
		at.Stopped, err = true, nil
	}
	return best, at, err
}
