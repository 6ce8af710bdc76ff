package quadrature

import "math"

// Mixture is r(z) = Σ p_i·e^{c_i·z − c_i²/2} with 0 ≤ c_1 < c_2 < … and Σ p_i = 1.
type Mixture struct {
	Shift, Weight []float64
	WeightErr     float64 // relative, in Ulp
}

// Parts are the c_i, the p_i and a bound on the relative error of the p_i, in Ulp.
func (m *Mixture) Parts() (shifts, weights []float64, weightErr float64) {
	return m.Shift, m.Weight, m.WeightErr
}

// LogRatio returns ln r(z), its derivative g over the largest shift, in (0, 1], and
// a bound on the error of ln r in units of Ulp.
func (m *Mixture) LogRatio(z float64) (l, w, err float64) {
	l, w, _, err = m.ratioAndBend(z)
	return l, w, err
}

// ratioAndBend also returns (ln r)″ over the largest shift's square, in [0, w(1−w)].
func (m *Mixture) ratioAndBend(z float64) (l, w, bend, err float64) {
	n := len(m.Shift)
	most := math.Inf(-1)
	for _, c := range m.Shift {
		most = math.Max(most, c*(z-c/2))
	}
	shift := 0.0
	if most > 700 || most < -700 {
		shift = most
	}
	top := m.Shift[n-1]
	var sum, excess, size, first, moved float64
	for i, c := range m.Shift {
		u, p := c*(z-c/2), m.Weight[i]
		x := u - shift
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
	var second float64
	for i, c := range m.Shift {
		u := c*(z-c/2) - shift
		d := c/top - w
		second += m.Weight[i] * math.Exp(u) * d * d
	}
	bend = math.Min(second/sum, w*(1-w))
	each := 12 + m.WeightErr + float64(n)
	if shift != 0 || excess < -0.5 {
		// Sums of positive terms keep relative precision.
		l = math.Log(sum)
		return l + shift, w, bend, moved/sum + each + 2*math.Abs(l) + 2*math.Abs(shift)
	}
	l = math.Log1p(excess)
	return l, w, bend, moved/sum + each*size/(1+excess) + 2*math.Abs(l)
}
