// SPDX-License-Identifier: Apache-2.0

package contour

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// parts are a composition's finite losses as the contour takes them: all plain
// Gaussians as one with μ² = Σ n_j·μ_j², the rest as it is.
type parts struct {
	variance float64 // μ², within a relative varianceError
	rest     loss.Composition
	terms    []weighted // the rest, or the nodes of its clusters and what is in none
	clusters []clustered
	milder   []weightedMilder
	meter    *meter // of the direction that is being computed
}

// weighted is a loss with its factor in the sum K.
type weighted struct {
	loss      loss.Loss
	count     float64
	clustered bool // the loss is in a cluster, or one of its nodes: then the factor may be negative
}

// varianceError bounds the relative error of Σ n·μ²: μ itself is rounded up by
// a relative 2⁻⁵¹ at most, squares, counts and their products add 4 Ulp, the
// compensated sum 2.
const varianceError = 16 * num.Ulp

// split refuses, with the reason, what has no K(s) off the real axis.
func split(c loss.Composition) (p parts, reason string) {
	var sum num.Sum
	p.rest = make(loss.Composition, 0, len(c))
	for _, t := range c.Losing() {
		f := t.Loss.Facts()
		mu, gaussian := loss.MuOf(t.Loss)
		switch {
		case f.BoundOnly:
			return p, "a " + f.Name + " has no privacy loss distribution"
		case f.OneSided || f.Uneven:
			return p, "a " + f.Name + " does not lose everything as often in both directions"
		case gaussian: // without any loss where μ is 0 after underflow
			sum.Add(float64(t.Count) * (mu * mu))
		default:
			p.rest = append(p.rest, t)
		}
	}
	p.terms = make([]weighted, len(p.rest))
	for i, t := range p.rest {
		p.terms[i] = weighted{loss: t.Loss, count: float64(t.Count)}
	}
	p.variance = sum.Value()
	if !(p.variance < math.MaxFloat64) || p.variance > 0 && p.variance < 0x1p-900 {
		return p, "the Gaussians' Σμ² is outside the range of float64"
	}
	return p, ""
}

// cumulant is K(s) at a real s of both parts.
func (p *parts) cumulant(d loss.Direction, s float64) loss.Value {
	var sum loss.ValueSum
	terms, err := p.at(d, s)
	for _, t := range terms {
		p.meter.in.Spend(termWork)
		sum.Add(t.count, p.meter.cumulant(t.loss, d, s))
	}
	v := addGaussian(sum.Value(), p.variance, s)
	v.Err += err(0)
	return v
}

// addGaussian adds K(s) = s(s+1)·μ²/2 to v.
func addGaussian(v loss.Value, variance, s float64) loss.Value {
	g := s * (s + 1) * variance / 2
	v.K += g
	v.Err += (varianceError+8*num.Ulp)*math.Abs(g) + num.Ulp*math.Abs(v.K)
	v.Slope += (s + 0.5) * variance
	v.Curvature += variance
	return v
}

// maxLoss bounds the sum of the losses from above; maybe +Inf.
func (p *parts) maxLoss(d loss.Direction) float64 {
	if p.variance > 0 {
		return math.Inf(1)
	}
	return p.rest.MaxLoss(d)
}

// tilts are the parts on one line Re s = θ of one direction.
type tilts struct {
	theta, variance float64
	rest            []*loss.Tilted
	terms           []weighted              // one for each of the rest
	err             func(t float64) float64 // of what clusters say of K(θ + it)
	milder          []tiltedMilder
	distinct        int // terms, of which the meter may not let all be among the rest
	meter           *meter
}

// tilt puts the parts on a line; all of them, unless the meter runs out.
func (p *parts) tilt(d loss.Direction, theta float64) tilts {
	terms, err := p.at(d, theta)
	t := tilts{theta: theta, variance: p.variance, meter: p.meter, err: err, distinct: len(terms)}
	for _, r := range terms {
		if p.meter.out() {
			break
		}
		p.meter.in.Spend(termWork)
		on := loss.Tilt(r.loss, d, theta, p.meter.in)
		p.meter.spend(on.Spent())
		t.rest = append(t.rest, on)
		t.terms = append(t.terms, r)
	}
	t.milder = p.tiltMilder(d, theta)
	return t
}

// k is K(θ) of both parts.
func (t *tilts) k() loss.Value {
	var sum loss.ValueSum
	for i, r := range t.rest {
		sum.Add(t.terms[i].count, r.K())
	}
	v := addGaussian(sum.Value(), t.variance, t.theta)
	v.Err += t.err(0)
	return v
}

// decay bounds ln Π|φ_j|^{n_j} over [t0, t1]; what is below enough is enough.
func (t *tilts) decay(t0, t1, enough float64, closely bool) float64 {
	sum := gaussianDecay(t.variance, t0)
	for i, r := range t.rest {
		if sum < enough || t.meter.out() { // every factor is at most 1
			return sum
		}
		if t.terms[i].clustered { // milder losses stand for it
			continue
		}
		before := r.Spent()
		sum += t.terms[i].count * r.Decay(t0, t1, closely) * (1 - 1e-12) // 1e-12: the sum's rounding
		t.meter.spend(boundWork + r.Spent() - before)
	}
	for _, m := range t.milder {
		if sum < enough || t.meter.out() {
			return sum
		}
		sum += m.decay(t0, t1) * (1 - 1e-12)
		t.meter.spend(boundWork)
	}
	return sum
}

// milderDecay bounds ln Π|φ_j(t)|^{n_j} of all losses in clusters (docs/math/clusters.md §2.7.3).
func (t *tilts) milderDecay(at float64) (sum float64) {
	for _, m := range t.milder {
		sum += math.Min(0, m.decay(at, at)) * (1 - 1e-12)
	}
	return sum
}

// gaussianDecay bounds ln e^{−t²μ²/2} from t on.
func gaussianDecay(variance, t float64) float64 {
	return -t * t * (variance / 2) * (1 - varianceError - 8*num.Ulp)
}

// work estimates the cost of n nodes, in the meter's units.
func (t *tilts) work(step float64, n int) float64 {
	var sum float64
	for _, r := range t.rest {
		sum += r.Work(step, n)
	}
	return sum
}
