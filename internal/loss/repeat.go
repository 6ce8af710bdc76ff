package loss

import (
	"fmt"
	"math"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// selection is the best of a random number of runs of a composition. With f the
// generating function of that number, p0 = f(0) and K of one run,
//
//	e^{K'(s)} ≤ p0 + e^{K(s)}·sup f'(q)^{1+s}·f'(q')^{−s}   (Papernot–Steinke 2022, Lemma 7)
//
// over the probabilities q, q' of one event in a run on either dataset. The truncated
// negative binomial distribution has (Thm 2), for any ŝ > 0,
//
//	K'(s) ≤ K(s) + s(1+η)·[K(ŝ) + ln(1/γ)]/(1+ŝ) + ln E[n],
//
// and the Poisson distribution of mean μ, where a run is (ln(1+1/s), δ̂)-DP,
//
//	K'(s) ≤ ln(e^{−μ} + μ·e^{K(s) + sμδ̂})
//
// (Thm 6, with the term of no run, docs/math.md §1.6). Where a run fails with
// probability m in either direction the number of runs is, given that none does, of the
// same kind and smaller: the bounds hold for what is left when an event of probability
// m·E[n] is taken out. No pair is known.
type selection struct {
	runs mechanism.List[Term]
	mean float64 // E[n], rounded up

	// Of the negative binomial: (1+η) times the least [K(ŝ) + ln(1/γ)]/(1+ŝ) found, rounded up.
	rest float64

	poisson bool
	table   renyi // K at some ŝ, to find δ̂
}

func ofRepeatAndSelect(m mechanism.RepeatAndSelect, adj mechanism.Adjacency) (Loss, error) {
	c, err := Compose(mechanism.Composition{Adjacency: adj, Parts: []mechanism.Part{{Mechanism: m.Mechanism, Count: 1}}})
	if err != nil {
		return nil, err
	}
	r := selection{runs: mechanism.ListOf([]Term(c)...)}
	for _, f := range c.Facts() {
		if f.OneSided || f.Uneven { // nothing is proven of it
			return unproven(r), nil
		}
	}
	if m.Mean > 0 {
		r.mean, r.poisson, r.table = m.Mean, true, renyiOf(tabulate(c), renyiGuarantee)
		if _, atom := c.Atom(); !(atom*r.mean < 0.5) {
			return unproven(r), nil
		}
		return r, nil
	}
	log := -math.Log1p(m.Gamma - 1) // ln(1/γ)
	if m.Gamma < 0.5 {
		log = -num.Log(m.Gamma)
	}
	// E[n] = η(1−γ)/(γ(1−γ^η)), (1−γ)/(γ·ln(1/γ)) for η = 0.
	r.mean = (1 - m.Gamma) / m.Gamma / log
	if m.Eta != 0 {
		r.mean = (1 - m.Gamma) / m.Gamma * m.Eta / -math.Expm1(-m.Eta*log)
	}
	r.mean = math.Max(1, r.mean*(1+64*num.Ulp*(2+math.Abs(m.Eta)*log)))
	if _, atom := c.Atom(); !(atom*r.mean < 0.5) {
		return unproven(r), nil
	}
	log = num.UpBy(log, 8*num.Ulp*log)
	r.rest = num.MulUp(num.Up(1+m.Eta), leastTilt(c, log))
	return r, nil
}

// unproven loses everything.
func unproven(r selection) selection {
	r.mean, r.rest = math.Inf(1), math.Inf(1)
	return r
}

// leastTilt is [K(ŝ) + log]/(1 + ŝ) in both directions at the best of the ŝ it tries,
// rounded up. Any serves.
func leastTilt(c Composition, log float64) float64 {
	at := func(x float64) float64 {
		s := math.Exp(x)
		k := c.Renyi(Remove, s).Upper()
		if !c.Symmetric() {
			k = math.Max(k, c.Renyi(Add, s).Upper())
		}
		return num.DivUp(num.AddUp(math.Max(0, k), log), num.Down(1+s))
	}
	best, where := math.Max(c.MaxLoss(Remove), c.MaxLoss(Add)), math.NaN() // ŝ → ∞
	const first, last, step = -5, 12, 0.5
	for x := float64(first); x <= last; x += step {
		if v := at(x); v < best {
			best, where = v, x
		}
	}
	for width := step / 2; !math.IsNaN(where) && width > 0.01; width /= 2 {
		for _, x := range [...]float64{where - width, where + width} {
			if v := at(x); v < best {
				best, where = v, x
			}
		}
	}
	return best
}

func (r selection) Facts() Facts {
	c := Composition(r.runs.Values())
	f := Facts{Name: "repeat-and-select bound", Rho: math.Inf(1), Epsilon: math.Inf(1), Symmetric: c.Symmetric(), BoundOnly: true}
	if !r.poisson {
		f.Epsilon = math.Max(r.MaxLoss(Remove), r.MaxLoss(Add))
	}
	if _, atom := c.Atom(); atom > 0 {
		f.Atom = math.Min(math.Nextafter(1, 0), num.MulUp(atom, r.mean))
	}
	return f
}

// MaxLoss: of the negative binomial K'(s)/s tends to it.
func (r selection) MaxLoss(d Direction) float64 {
	if r.poisson {
		return math.Inf(1)
	}
	return num.AddUp(Composition(r.runs.Values()).MaxLoss(d), r.rest)
}

// Cumulant is the bound, for s ≥ 0.
func (r selection) Cumulant(d Direction, s float64) Value {
	if s == 0 {
		return Value{}
	}
	if s < 0 || math.IsInf(r.mean, 1) {
		return Value{K: math.Inf(1)}
	}
	v := Composition(r.runs.Values()).Renyi(d, s)
	k := math.Max(0, v.Upper())
	if r.poisson {
		k = num.AddUp(k, num.MulUp(s, num.MulUp(r.mean, r.failing(s))))
		k = num.LogAddExp(-r.mean, num.AddUp(num.LogUp(r.mean), k))
		k = math.Max(0, num.UpBy(k, 16*num.Ulp*(1+math.Abs(k))))
		return Value{K: k, Slope: v.Slope, Curvature: v.Curvature}
	}
	k = num.AddUp(k, num.AddUp(num.MulUp(s, r.rest), num.LogUp(r.mean)))
	return Value{K: k, Slope: v.Slope + r.rest, Curvature: v.Curvature}
}

// failing is δ̂ of a run at ε̂ = ln(1 + 1/s), by the conversion at the table's orders.
func (r selection) failing(s float64) float64 {
	epsilon := math.Log1p(1/s) * (1 - 8*num.Ulp)
	best := 0.0 // ln δ̂
	for _, k := range r.table.knots() {
		best = math.Min(best, LogDeltaAt(k.s, k.k, epsilon))
	}
	return num.ExpUp(best)
}

// Line knows no more than |E[e^{sL}]| ≤ E[e^{θL}].
func (r selection) Line(d Direction, theta float64) Line { return boundLine(r.Cumulant(d, theta)) }

func (r selection) order() [4]float64 {
	o := orderOf(fmt.Sprintf("%v", r.runs.Values()))
	o[2], o[3] = r.mean, r.rest
	return o
}
