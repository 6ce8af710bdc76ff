// SPDX-License-Identifier: Apache-2.0

package quadrature

import (
	"math"
	"sort"
)

// Mixture is r(z) = Σ p_i·e^{c_i·z − c_i²/2} with 0 ≤ c_1 < c_2 < … and Σ p_i = 1.
type Mixture struct {
	Shift, Weight []float64
	WeightErr     float64 // relative, in Ulp

	index *mixtureIndex // made when needed
}

// mixtureIndex has what is summed once for all z. It chooses which parts are left out of a sum, and
// has the sums of their weights.
type mixtureIndex struct {
	logs          []float64 // ln p_i
	before, after []float64 // Σ p_j over j < i, and over j ≥ i
	likeliest     int       // where p_i is largest

	// Within a run of parts ln p_i − c_i²/2 is concave as a function of c_i, and so is
	// ln p_i + c_i·z − c_i²/2 for every z. runs has the ends of all runs.
	runs []int
}

func (m *Mixture) indexed() *mixtureIndex {
	if m.index != nil {
		return m.index
	}
	n := len(m.Weight)
	x := &mixtureIndex{logs: make([]float64, n), before: make([]float64, n+1), after: make([]float64, n+1)}
	slope := math.Inf(1)
	for i, p := range m.Weight {
		x.logs[i] = math.Log(p)
		x.before[i+1] = x.before[i] + p
		if p > m.Weight[x.likeliest] {
			x.likeliest = i
		}
		if i > 0 {
			c, d := m.Shift[i-1], m.Shift[i]
			before, next := slope, (x.logs[i]-x.logs[i-1])/(d-c)-(c+d)/2
			if slope = math.Inf(1); next >= before {
				x.runs = append(x.runs, i) // a run of its own from here on
			} else {
				slope = next
			}
		}
	}
	x.runs = append(x.runs, n)
	for i := n - 1; i >= 0; i-- {
		x.after[i] = x.after[i+1] + m.Weight[i]
	}
	m.index = x
	return x
}

// Parts are the c_i, the p_i and a bound on the relative error of the p_i, in Ulp.
func (m *Mixture) Parts() (shifts, weights []float64, weightErr float64) {
	return m.Shift, m.Weight, m.WeightErr
}

// LogRatio returns ln r(z), its derivative g over the largest shift, in (0, 1], and
// a bound on the error of ln r in units of Ulp.
func (m *Mixture) LogRatio(z float64) (l, w, err float64) {
	l, w, _, _, err = m.ratio(z)
	return l, w, err
}

const (
	// negligible is ln of the share of a sum below which a part of a mixture is left out of it.
	negligible = -45
	// NegligibleErr is at least e^negligible in units of Ulp: what a part that is left out moves
	// the sum by, in its share.
	NegligibleErr = 3e-4
	// mostRuns bounds the search for the parts that count.
	mostRuns = 4
)

// exponent is u_i = c_i·z − c_i²/2.
func (m *Mixture) exponent(i int, z float64) float64 { return m.Shift[i] * (z - m.Shift[i]/2) }

// logChange is at most ln of |p_i·(ρ − 1)| for every ρ from e^{u_i} at a to e^{u_i} at b.
func (m *Mixture) logChange(i int, a, b float64) float64 {
	low, high, p := m.exponent(i, a), m.exponent(i, b), m.index.logs[i]
	switch {
	case low >= 0.5: // 1 − e^{−½} > e^{−0.95}
		return p + low - 0.95
	case high <= -0.5:
		return p - 0.95
	}
	return p + math.Log(0.78*math.Max(0, math.Max(low, -high))) // (1 − e^{−½})/½ > 0.78
}

// Counting returns the parts from … to−1 that count in Σ p_i·ρ_i, each ρ_i being any number from
// e^{u_i} at a to e^{u_i} at b ≥ a. Every other p_i·ρ_i is at most e^negligible of the sum, and of
// Σ |p_i·(ρ_i − 1)| too. See docs/math/groups.md §1.7.4.1.
func (m *Mixture) Counting(a, b float64) (from, to int) {
	n := len(m.Shift)
	x := m.indexed()
	// Few parts are not worth a search; and where products are inexact nothing can be told.
	last := m.Shift[n-1]
	if n < 8 || len(x.runs) > mostRuns || !(last*(math.Max(math.Abs(a), math.Abs(b))+last) < 1e9) {
		return 0, n
	}
	part := func(i int) float64 { return x.logs[i] + m.exponent(i, b) }
	var largest [mostRuns]int // of each run
	top := 0
	for r, start := 0, 0; r < len(x.runs); r, start = r+1, x.runs[r] {
		falls := func(i int) bool { return part(start+i+1) <= part(start+i) }
		largest[r] = start + sort.Search(x.runs[r]-1-start, falls)
		if part(largest[r]) > part(top) {
			top = largest[r]
		}
	}
	change := math.Max(m.logChange(top, a, b), m.logChange(x.likeliest, a, b))
	least := math.Min(x.logs[top]+m.exponent(top, a), change) + negligible
	from, to = n, 0
	for r, start := 0, 0; r < len(x.runs); r, start = r+1, x.runs[r] {
		middle := largest[r]
		if part(middle) < least {
			continue
		}
		from = min(from, start+sort.Search(middle-start, func(i int) bool { return part(start+i) >= least }))
		to = middle + sort.Search(x.runs[r]-middle, func(i int) bool { return part(middle+i) < least })
	}
	return from, to
}

// Outside is the weight of all parts but from … to−1.
func (m *Mixture) Outside(from, to int) float64 {
	x := m.indexed()
	return x.before[from] + x.after[to]
}

// ratio is LogRatio; it also returns the parts that count.
func (m *Mixture) ratio(z float64) (l, w float64, from, to int, err float64) {
	n := len(m.Shift)
	from, to = m.Counting(z, z)
	most := math.Inf(-1)
	for i := from; i < to; i++ {
		most = math.Max(most, m.exponent(i, z))
	}
	shift := 0.0
	if most > 700 || most < -700 {
		shift = most
	}
	top := m.Shift[n-1]
	rest := m.Outside(from, to)
	sum, excess, size, first, moved := 0.0, -rest, rest, 0.0, 0.0
	for i := from; i < to; i++ {
		c, p := m.Shift[i], m.Weight[i]
		x := c*(z-c/2) - shift
		e := p * math.Exp(x)
		y := e - p
		if x > -0.5 && x < 0.5 {
			y = p * math.Expm1(x)
		}
		sum += e
		excess += y
		size += math.Abs(y)
		first += e * (c / top)
		moved += e * (4*(math.Abs(c*z)+c*c) + math.Abs(shift))
	}
	w = math.Min(1, first/sum)
	each := 12 + m.WeightErr + float64(n) + NegligibleErr*float64(n-to+from)
	if shift != 0 || excess < -0.5 {
		// Sums of positive terms keep relative precision.
		l = math.Log(sum)
		return l + shift, w, from, to, moved/sum + each + 2*math.Abs(l) + 2*math.Abs(shift)
	}
	l = math.Log1p(excess)
	return l, w, from, to, moved/sum + each*size/(1+excess) + 2*math.Abs(l)
}

// bend is (ln r)″ over the largest shift's square, in [0, w(1−w)].
func (m *Mixture) bend(z float64) float64 {
	l, w, from, to, _ := m.ratio(z)
	top := m.Shift[len(m.Shift)-1]
	var second float64
	for i := from; i < to; i++ {
		d := m.Shift[i]/top - w
		second += math.Exp(m.index.logs[i]+m.exponent(i, z)-l) * d * d
	}
	return math.Min(second, w*(1-w))
}
