// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// shuffledReports is the loss of one report among others in a random order, each by the same local
// randomizer. It stands for a pair with finitely many losses that dominates what was reported
// (docs/math/reports.md §1.12).
type shuffledReports struct {
	inner   loss.Loss // of one report: randomized response, or with Dominating any that has its ε
	others  uint64
	buckets float64 // k of randomized response; 0 for any randomizer
	below   bool    // a pair that is dominated, of k ≥ 3 only
}

// mostHidden is a local ε of which a report cannot be told from one without noise: others do not
// hide it, and the bound is that of the report itself.
const mostHidden = 40

func ofShuffledReports(m mechanism.ShuffledReports, x loss.Maker) (loss.Loss, error) {
	inner, err := x.Loss(m.Mechanism)
	if err != nil || m.Reports == 1 || inner.Facts().Epsilon > mostHidden {
		return inner, err
	}
	s := shuffledReports{inner: inner, others: m.Reports - 1}
	if r, ok := m.Mechanism.(answering); ok {
		s.buckets = num.Count(r.K())
	}
	return s, nil
}

// answering is a randomizer that gives the true one of K answers, or one of all drawn uniformly.
type answering interface{ K() uint64 }

// Facts: no more is lost than by the report itself, and if the others happen to report nothing
// that hides it, as much.
func (s shuffledReports) Facts() loss.Facts {
	f := s.inner.Facts()
	f = loss.Facts{Name: "shuffled " + f.Name, Rho: f.Rho, Epsilon: f.Epsilon, Symmetric: true, Dominating: !s.below}
	if !s.below {
		f.InfinityMass, f.Cut = outOfReach, true
	}
	return f
}

// Attained is randomized response where somebody who knows all other records, and they are all
// alike, sees a pair that is known. Of any randomizer it is one with three answers.
func (s shuffledReports) Attained() loss.Loss {
	switch {
	case s.buckets == 2 || float64(s.others) > mostClones:
		return nil
	case s.buckets == 0:
		s.buckets = 3
	}
	s.below = true
	return s
}

// mostClones bounds the clones that are counted: more of them hide a report better.
const mostClones = 1 << 26

// tables are the pair, first with all its losses, and then with the largest counted as infinite, so
// that the others are close together.
func (s shuffledReports) tables(in *num.Interrupt) [2]loss.Loss {
	type key struct{ of shuffledReports }
	return loss.Recall(allocations, key{s}, in, func(in *num.Interrupt) [2]loss.Loss {
		return newClonesPair(s.hidings(), s.below, in).losses(s.Facts().Name)
	})
}

func (s shuffledReports) table(in *num.Interrupt) loss.Loss { return s.tables(in)[1] }

// Renyi implements loss.Ranked.
func (s shuffledReports) Renyi(d loss.Direction, at float64, in *num.Interrupt) loss.Value {
	return s.tables(in)[0].Cumulant(d, at, in)
}

func (s shuffledReports) Cumulant(d loss.Direction, at float64, in *num.Interrupt) loss.Value {
	return cutAlike(s.table(in).Cumulant(d, at, in), at)
}

func (s shuffledReports) Line(d loss.Direction, theta float64, in *num.Interrupt) loss.Line {
	return s.table(in).Line(d, theta, in)
}

func (s shuffledReports) Pair(d loss.Direction, side loss.Side, in *num.Interrupt) loss.Pair {
	return s.table(in).Pair(d, side, in)
}

// MaxLoss is that of the report itself.
func (s shuffledReports) MaxLoss(d loss.Direction) float64 { return s.inner.MaxLoss(d) }

// Decay: finitely many losses have none.
func (shuffledReports) Decay(loss.Direction, float64, loss.Value, *num.Interrupt) loss.Decay {
	return loss.Undecayed
}

// Covers is of the same report, or of one whose randomizer has it as post-processing, among no
// more others.
func (s shuffledReports) Covers(o loss.Loss) bool {
	b, ok := o.(shuffledReports)
	return ok && s.below == b.below && s.others <= b.others && s.buckets == b.buckets &&
		(s.inner == b.inner || s.buckets == 0 && s.inner.Covers(b.inner))
}

// Grouped: nothing is proven of groups but what ε implies.
func (shuffledReports) Grouped(uint64) (loss.Loss, error) { return nil, nil }

func (s shuffledReports) Order() [4]float64 {
	o := [4]float64{s.inner.Facts().Epsilon, s.buckets, num.Count(s.others)}
	if s.below {
		o[3] = 1
	}
	return o
}

// hiding is how others hide a report: each of them is a clone with probability clone, which is one of
// two answers, and the record's own report is neither with probability rest.
type hiding struct {
	weight      float64 // the probability of this many others
	others      float64
	clone, none float64 // clone + none = 1
	rest        float64
	grown       float64 // e^ε0 − 1
	odds        float64 // (1 − clone)/clone, if the record's own report may be neither; otherwise 0
	epsilon     float64
}

// hidings are what is known of the others: of how many it is told that they do not depend on their
// records (docs/math/reports.md §1.12.3).
func (s shuffledReports) hidings() []hiding {
	e := s.inner.Facts().Epsilon
	h := hiding{weight: 1, others: num.Count(s.others), grown: math.Expm1(e), epsilon: e}
	if s.buckets == 0 {
		h.clone, h.none = math.Exp(-e), -math.Expm1(-e)
		return []hiding{h.fewer(mostClones)}
	}
	kinds, whole := s.buckets-2, h.grown+s.buckets
	h.clone, h.none, h.rest = 2/whole, (h.grown+kinds)/whole, kinds/whole
	if kinds == 0 {
		return []hiding{h.fewer(mostClones)}
	}
	h.odds = (h.grown + kinds) / 2
	if s.below {
		return []hiding{h}
	}
	uniform := hiding{others: h.others, clone: s.buckets / whole, none: h.grown / whole}.fewer(mostClones / 4)
	h.clone, h.none, h.odds = 2/s.buckets, kinds/s.buckets, kinds/2
	var all []hiding
	lo, hi := uniform.reach()
	mean := uniform.others * uniform.clone
	deviation := math.Sqrt(mean * uniform.none)
	for first := lo; first < hi; {
		width := 1.0
		if hi > fewReports {
			width = math.Max(1, math.Floor(deviation/8))
		}
		switch {
		case first > mean+4*deviation:
			width = hi - first
		case first < mean-4*deviation:
			width = math.Min(math.Max(1, math.Floor(deviation)), math.Max(1, math.Floor(mean-4*deviation)-first))
		}
		h.others, h.weight = first, uniform.between(first, math.Min(first+width, hi))
		all = append(all, h)
		first += width
	}
	return all
}

// fewer leaves others out if about so many of them are clones: fewer others never hide more.
func (h hiding) fewer(clones float64) hiding {
	h.others = math.Min(h.others, math.Floor(clones/h.clone))
	return h
}

// between is the probability that at least first and fewer than end of the others are clones, rounded
// up.
func (h hiding) between(first, end float64) float64 {
	var sum num.Sum
	for n := first; n < end; n++ {
		log, err := num.LogBinomialMass(n, h.others, h.clone, h.none)
		sum.Add(math.Exp(log + err))
	}
	return sum.Value() * (1 + 16*num.Ulp)
}

// contrast is γ and 1 − γ of t reports that are one of two answers, each within a relative 16 Ulp:
// the first of both is the record's own with probability 1/2 ± γ/2.
func (h hiding) contrast(t float64) (contrast, less float64) {
	near, away := 1.0, 0.0
	if h.odds > 0 {
		near, away = h.odds*t, h.rest*(h.grown+2)/(1-h.rest)*math.Max(0, h.others+1-t)
	}
	whole := (h.grown+2)*near + away
	return h.grown * near / whole, (2*near + away) / whole
}

// mass is the probability of t reports that are one of two answers, with a bound on its relative
// error.
func (h hiding) mass(t float64) (mass, err float64) {
	one, e1 := num.LogBinomialMass(t-1, h.others, h.clone, h.none)
	two, e2 := math.Inf(-1), 0.0
	if h.rest > 0 {
		two, e2 = num.LogBinomialMass(t, h.others, h.clone, h.none)
	}
	mass = h.weight * ((1-h.rest)*math.Exp(one) + h.rest*math.Exp(two))
	return mass, math.Max(e1, e2) + num.Ulp*8
}

// farOut is −ln of the probability of a side that is left out; out bounds the mass of all of them.
const (
	farOut = 100
	out    = 0x1p-136
)

// reach is where all but e^−farOut on either side of the number of those reports is, by Bernstein's
// inequality.
func (h hiding) reach() (lo, hi float64) {
	mean := h.others * h.clone
	width := farOut/3.0 + math.Sqrt(farOut*farOut/9.0+2*farOut*mean*h.none) + 1
	return math.Max(0, math.Floor(mean-width)), math.Min(h.others+1, math.Ceil(mean+width)+1)
}
