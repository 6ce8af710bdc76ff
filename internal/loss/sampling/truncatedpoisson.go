// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"cmp"
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"strings"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/quadrature"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// truncatedPoisson is a mixture of two losses of which the attacker is told which one it is:
// one with weight 1 − share, and the other with weight share (docs/math/batches.md §1.10),
//
//	M = (1−share)·M_one + share·M_other.
//
// A Poisson sample that is cut to B records is such a mixture. Whether B or more other records
// are in the sample does not depend on the record. If they are not, nothing is cut, and the
// loss is the sampled one. If they are, the record may take another one's place, which moves
// the sum by twice as much, and it is kept with a probability that is less than q.
type truncatedPoisson struct {
	one, other loss.Loss
	share      float64   // in (0, 0.999]
	reached    loss.Loss // what some mechanism of the report loses at least; or nil
}

// ofTruncatedPoisson takes the sampled mechanism alone where nothing is ever cut.
func ofTruncatedPoisson(m mechanism.TruncatedPoissonSampled, x loss.Maker) (loss.Loss, error) {
	adj, q := x.Adjacency, m.Probability()
	single, err := x.Under(mechanism.ZeroOut).Loss(m.Mechanism)
	if err != nil {
		return nil, err
	}
	kept, err := poissonSampled(single, q, adj)
	if err != nil {
		return nil, err
	}
	chances := chancesOfCutting(m, adj)
	if chances.most == 0 {
		return kept, nil
	}
	// A record that is zeroed out, but counted, may take another one's place too.
	moved := adj
	if adj == mechanism.ZeroOut {
		moved = mechanism.ReplaceOne
	}
	double, err := single.Grouped(2) // twice the distance
	if err != nil || double == nil {
		return nil, fmt.Errorf("truncated_poisson_sampled: no privacy loss is known for a sampled %s",
			m.Mechanism.Kind())
	}
	cut := func(rate float64) loss.Loss {
		l, e := poissonSampled(double, rate, moved)
		if e != nil {
			err = fmt.Errorf("truncated_poisson_sampled: %w", e)
		}
		return l
	}
	mixed := chances.mixture(kept, cut(q), cut(chances.rate))
	if t, ok := mixed.(truncatedPoisson); ok && err == nil && !kept.Facts().Dominating {
		// If all other records contribute nothing, the record alone is on a sample.
		t.reached, err = poissonSampled(single, chances.kept, adj)
		mixed = t
	}
	return mixed, err
}

// mixture is the loss of a sample that is cut with a probability between least and most. What
// lies between the two counts as cut with the record kept at the rate q, which is at least as
// bad as either of the other cases.
func (c cutting) mixture(kept, cutAtQ, cut loss.Loss) loss.Loss {
	rest := kept
	if between := num.Up(c.most - c.least); between > 0 {
		rest = worsened(kept, cutAtQ, math.Min(1, num.DivUp(between, 1-c.least)))
	}
	switch {
	case c.least == 0:
		return rest
	case c.least <= 0.5:
		return truncatedPoisson{one: rest, other: cut, share: c.least}
	}
	return truncatedPoisson{one: cut, other: rest, share: 1 - c.least}
}

// worsened is a loss of which a share, which may be rounded up, is a worse one.
func worsened(one, worse loss.Loss, share float64) loss.Loss {
	if share > 0.999 {
		return worse
	}
	return truncatedPoisson{one: one, other: worse, share: math.Max(share, 1e-300)}
}

// Facts: a mixture of what has ρ or ε has the largest.
func (c truncatedPoisson) Facts() loss.Facts {
	one, other := c.one.Facts(), c.other.Facts()
	return loss.Facts{
		Name: "truncated " + strings.TrimPrefix(one.Name, "truncated "),
		Rho:  math.Max(one.Rho, other.Rho), Epsilon: math.Max(one.Epsilon, other.Epsilon),
		Symmetric: one.Symmetric && other.Symmetric, Dominating: true,
	}
}

func (c truncatedPoisson) MaxLoss(d loss.Direction) float64 {
	return math.Max(c.one.MaxLoss(d), c.other.MaxLoss(d))
}

// Cumulant is K = K_one + ln(1 + share·(e^{K_other − K_one} − 1)).
func (c truncatedPoisson) Cumulant(d loss.Direction, s float64, in *num.Interrupt) loss.Value {
	a, b := c.one.Cumulant(d, s, in), c.other.Cumulant(d, s, in)
	if s == 0 || s == -1 {
		return loss.Value{Slope: a.Slope*(1-c.share) + b.Slope*c.share}
	}
	if math.IsInf(a.K, 1) || math.IsInf(b.K, 1) {
		return loss.Value{K: math.Inf(1), Err: math.Inf(1)}
	}
	w := c.weight(b.K - a.K) // of the other part, tilted
	x := b.K - a.K
	more := math.Log1p(c.share * math.Expm1(x))
	if x > 600 {
		more = num.LogAddExp(math.Log1p(-c.share), x+math.Log(c.share))
	}
	v := loss.Value{K: a.K + more, Slope: a.Slope*(1-w) + b.Slope*w}
	v.Err = a.Err*(1-w)*(1+1e-6) + b.Err*math.Min(1, w*(1+1e-6)) +
		num.Ulp*(4*math.Abs(more)+4*w*(math.Abs(a.K)+math.Abs(b.K))+2*math.Abs(v.K)+
			8*c.share*math.Min(1, math.Abs(x))/(1-c.share))
	v.Curvature = a.Curvature*(1-w) + b.Curvature*w + w*(1-w)*(a.Slope-b.Slope)*(a.Slope-b.Slope)
	if !(a.Err+b.Err < 1e-7) { // then what w is is not so well known
		v.Err = num.Up(a.Err + b.Err + 1e-6*math.Abs(more))
	}
	return v
}

// weight is share·e^x/(1 − share + share·e^x).
func (c truncatedPoisson) weight(x float64) float64 { return quadrature.MixShare(c.share, x) }

// Line is as Cumulant.
func (c truncatedPoisson) Line(d loss.Direction, theta float64, in *num.Interrupt) loss.Line {
	one, other := c.one.Line(d, theta, in), c.other.Line(d, theta, in)
	return loss.Guarded(func(t float64) loss.ComplexValue { return c.mixed(one(t), other(t), c.share) },
		c.Cumulant(d, theta, in))
}

// mixed is ln((1−w)·e^a + w·e^b).
func (c truncatedPoisson) mixed(a, b loss.ComplexValue, w float64) loss.ComplexValue {
	rest := math.Log1p(-w)
	upper := num.LogAddExp(rest+a.Upper, math.Log(w)+b.Upper)
	upper = num.UpBy(upper, 16*num.Ulp*(1+math.Abs(upper)+math.Abs(math.Log(w))))
	x := b.K - a.K
	if cmplx.IsNaN(x) || !(real(x) < 600) || !(a.Err+b.Err < 1e-3) {
		return loss.ComplexValue{K: cmplx.NaN(), Err: math.Inf(1), Upper: upper}
	}
	moved := complex(w, 0) * (num.ComplexExpm2(x) + x)
	size := w * math.Exp(real(x)) // of the second part over the first
	apart := cmplx.Abs(1 + moved)
	err := a.Err + (size*(a.Err+b.Err)*(1+2e-3)+num.Ulp*(8*w*cmplx.Abs(x)+16*size*(1+cmplx.Abs(x))))/apart
	more := num.ComplexLog1p(moved)
	k := a.K + more
	if !(apart > 4*size*(a.Err+b.Err)) || !(err < 1) {
		return loss.ComplexValue{K: cmplx.NaN(), Err: math.Inf(1), Upper: upper}
	}
	err = err*(1+err) + num.Ulp*(4*cmplx.Abs(k)+24*cmplx.Abs(more))
	if k == 0 && x == 0 {
		err = a.Err
	}
	return loss.ComplexValue{K: k, Err: err, Upper: math.Min(upper, num.UpBy(real(k), err))}
}

// Steps mixes the steps of both parts.
func (c truncatedPoisson) Steps(d loss.Direction, theta float64, in *num.Interrupt) loss.Steps {
	return mixedSteps{c, loss.Tilt(c.one, d, theta, in), loss.Tilt(c.other, d, theta, in), c.Cumulant(d, theta, in)}
}

// mixedSteps is the mixture along a line, from its parts along the same line.
type mixedSteps struct {
	c          truncatedPoisson
	one, other loss.Steps
	k          loss.Value
}

func (m mixedSteps) K() loss.Value  { return m.k }
func (m mixedSteps) Spent() float64 { return m.one.Spent() + m.other.Spent() }

func (m mixedSteps) Work(step float64, n int) float64 {
	return m.one.Work(step, n) + m.other.Work(step, n)
}

func (m mixedSteps) Along(step float64, n int, stop func() bool) []loss.ComplexValue {
	out, others := m.one.Along(step, n, stop), m.other.Along(step, n, stop)
	a, b := m.one.K(), m.other.K()
	for i := 1; i < n; i++ { // out[0] is 0
		v := m.c.mixed(onLine(a, out[i]), onLine(b, others[i]), m.c.share)
		out[i] = loss.ComplexValue{
			K:     v.K - complex(m.k.K, 0),
			Err:   v.Err + m.k.Err + num.Ulp*cmplx.Abs(v.K),
			Upper: math.Min(0, num.Up(v.Upper-m.k.Lower())),
		}
		if cmplx.IsNaN(v.K) || !(v.Err >= 0) {
			out[i] = loss.ComplexValue{Err: math.Inf(1), Upper: out[i].Upper}
		}
	}
	return out
}

// onLine is K(θ+it) of K(θ) and their difference.
func onLine(k loss.Value, difference loss.ComplexValue) loss.ComplexValue {
	at := difference.K + complex(k.K, 0)
	return loss.ComplexValue{
		K:     at,
		Err:   difference.Err + k.Err + num.Ulp*cmplx.Abs(at),
		Upper: num.UpBy(difference.Upper, k.Upper()),
	}
}

// Decay is that of the parts, each with its weight in the tilted mixture.
func (c truncatedPoisson) Decay(d loss.Direction, theta float64, k loss.Value, in *num.Interrupt) loss.Decay {
	a, b := c.one.Cumulant(d, theta, in), c.other.Cumulant(d, theta, in)
	base := num.DownBy(k.K, k.Err)
	if math.IsInf(base, 0) || math.IsInf(a.K, 0) || math.IsInf(b.K, 0) {
		return loss.Undecayed
	}
	logA := num.UpBy(math.Log1p(-c.share)+num.UpBy(a.K, a.Err)-base, 8*num.Ulp)
	logB := num.UpBy(math.Log(c.share)+num.UpBy(b.K, b.Err)-base, 8*num.Ulp)
	one, other := c.one.Decay(d, theta, a, in), c.other.Decay(d, theta, b, in)
	return func(t0, t1 float64, closely bool) (log, spent float64) {
		x, spentX := one(t0, t1, closely)
		y, spentY := other(t0, t1, closely)
		log = num.LogAddExp(logA+x, logB+y)
		return math.Min(0, num.UpUlps(log, 16)+16*num.Ulp), spentX + spentY
	}
}

// NormalMu is that of the worse one of both losses, at every release; what some mechanism of the report loses has the
// tail.
func (c truncatedPoisson) NormalMu(count uint64) loss.NormalMu {
	one := math.Max(loss.NormalMuOf(c.one, 1).Upper, loss.NormalMuOf(c.other, 1).Upper)
	out := loss.NormalMuOfTail(one, 0, count)
	if c.reached != nil {
		reached := loss.NormalMuOf(c.reached, count)
		out.Lower, out.Tail = math.Min(reached.Lower, out.Upper), reached.Tail
	}
	return out
}

// Attained is the loss where all other records contribute nothing.
func (c truncatedPoisson) Attained() loss.Loss { return c.reached }

// Covers: only itself is known to be covered.
func (truncatedPoisson) Covers(loss.Loss) bool { return false }

// Grouped: nothing is proven of groups in a batch that is cut.
func (truncatedPoisson) Grouped(uint64) (loss.Loss, error) { return nil, nil }

func (c truncatedPoisson) Order() [4]float64 {
	o := c.one.Order()
	return [4]float64{o[0], o[1], o[2], c.share}
}

func (c truncatedPoisson) Pair(d loss.Direction, side loss.Side, in *num.Interrupt) loss.Pair {
	one, ok := loss.PairOf(c.one, d, side, in)
	other, okOther := loss.PairOf(c.other, d, side, in)
	if !ok || !okOther {
		return nil
	}
	return truncatedPoissonPair{one, other, c.share}
}

// truncatedPoissonPair has the outcomes of both pairs, each with its weight.
type truncatedPoissonPair struct {
	one, other loss.Pair
	share      float64
}

func (p truncatedPoissonPair) weights() (one, other float64) {
	return math.Log1p(-p.share), math.Log(p.share)
}

func (p truncatedPoissonPair) Ends(logBelow, logAbove float64) (lo, hi float64) {
	_, w := p.weights()
	lo, hi = p.one.Ends(logBelow, logAbove)
	l, h := p.other.Ends(math.Min(0, logBelow-w), math.Min(0, logAbove-w))
	return math.Min(lo, l), math.Max(hi, h)
}

func (p truncatedPoissonPair) Cells(edges []float64, cells []loss.Mass) (slack float64) {
	one, other := p.weights()
	others := make([]loss.Mass, len(cells))
	slack = math.Max(p.one.Cells(edges, cells), p.other.Cells(edges, others))
	for i := range cells {
		cells[i] = loss.Union(lighter(cells[i], one), lighter(others[i], other))
	}
	return slack
}

// lighter is a mass with a weight.
func lighter(m loss.Mass, log float64) loss.Mass {
	if math.IsInf(m.LogP, -1) {
		return loss.Nothing()
	}
	m.LogP += log
	m.LogErr += num.Ulp * (4 + 2*math.Abs(log) + math.Abs(m.LogP))
	return m
}

func (p truncatedPoissonPair) Atoms() []loss.Mass {
	one, other := p.weights()
	var atoms []loss.Mass
	for _, a := range p.one.Atoms() {
		atoms = append(atoms, lighter(a, one))
	}
	for _, a := range p.other.Atoms() {
		atoms = append(atoms, lighter(a, other))
	}
	slices.SortStableFunc(atoms, func(a, b loss.Mass) int { return cmp.Compare(a.Loss, b.Loss) })
	return atoms
}

func (p truncatedPoissonPair) Infinite() float64 {
	return num.AddUp((1-p.share)*p.one.Infinite(), num.MulUp(p.share, p.other.Infinite()))
}

func (p truncatedPoissonPair) Null() float64 {
	return (1-p.share)*p.one.Null() + p.share*p.other.Null()
}
func (p truncatedPoissonPair) Anchor() float64 { return p.one.Anchor() }
