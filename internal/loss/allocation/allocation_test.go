// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpaccountant/accountant/internal/num"
)

// curves are δ(ε) of a pair in both directions.
func (p Pair) curves(epsilon float64) (remove, add float64) {
	for i, m := range p.Masses {
		l := p.Losses[i]
		if l > epsilon {
			remove -= m * math.Expm1(epsilon-l)
		}
		if -l > epsilon {
			add -= m * math.Exp(-l) * math.Expm1(epsilon+l)
		}
	}
	return remove + p.Infinite, add + p.Missing
}

// call is E[(X − k)⁺] of X = e^{μz−μ²/2}, the Black–Scholes formula.
func call(mu, k float64) float64 {
	if k <= 0 {
		return 1 - k
	}
	d := -math.Log(k)/mu + mu/2
	return num.NormalTail(-d) - k*num.NormalTail(mu-d)
}

// exact is δ(ε) of an epoch of 2 or 3 steps, by quadrature over all but the last of the normal
// variables, in panels that begin where the last term alone no longer decides.
func exact(mu float64, steps int, epsilon float64, backward bool) (delta float64) {
	c, n := math.Exp(epsilon), float64(steps)
	if backward {
		c = 1 / c
	}
	var each func(left int, sum, weight float64)
	each = func(left int, sum, weight float64) {
		k := n*c - sum
		switch {
		case left == 0 && backward: // (1 − S/c)⁺ = (S/c − 1)⁺ + 1 − S/c, and the last term has the expectation 1
			delta += weight / (n * c) * (call(mu, k) + k - 1)
			return
		case left == 0:
			delta += weight * call(mu, k) / n
			return
		}
		kink := math.Inf(1)
		if k > 0 {
			kink = (math.Log(k) + mu*mu/2) / mu
		}
		const width = 0.5
		for from := -9.0; from < 9+mu; {
			to := from + width
			if from < kink {
				to = math.Min(to, math.Max(kink, from+1e-9))
			}
			for i, x := range nodes {
				z := from + (to-from)*x
				each(left-1, sum+math.Exp(mu*z-mu*mu/2), weight*weights[i]*(to-from)*math.Exp(num.LogNormalDensity(z)))
			}
			from = to
		}
	}
	each(steps-1, 0, 1)
	return delta
}

// The ten points of Gauss and Legendre's rule on (0, 1) and their weights (Abramowitz and Stegun
// 1964, table 25.4).
var nodes, weights = func() (x, w [10]float64) {
	for i, row := range [][2]float64{{0.148874338981631, 0.295524224714753}, {0.433395394129247, 0.269266719309996},
		{0.679409568299024, 0.219086362515982}, {0.865063366688985, 0.149451349150581},
		{0.973906528517172, 0.066671344308688}} {
		x[2*i], x[2*i+1] = (1-row[0])/2, (1+row[0])/2
		w[2*i], w[2*i+1] = row[1]/2, row[1]/2
	}
	return x, w
}()

func TestAgainstIntegration(t *testing.T) {
	for _, x := range []struct {
		mu    float64
		steps int
	}{{0.3, 2}, {1, 2}, {2.5, 2}, {0.3, 3}, {1, 3}} {
		n := uint64(x.steps)
		law := ofGaussian(x.mu, n)
		above, below := law.Above(n), law.Below(n)
		for _, epsilon := range []float64{0, 0.1, 0.3, 1, 2} {
			for _, backward := range []bool{false, true} {
				d := exact(x.mu, x.steps, epsilon, backward)
				low, lowBack := below.curves(epsilon)
				high, highBack := above.curves(epsilon)
				if backward {
					low, high = lowBack, highBack
				}
				if d < 1e-9 { // the integral has an absolute error
					continue
				}
				if !(low <= d*(1+1e-7) && high >= d*(1-1e-7)) {
					t.Errorf("%+v ε = %v, backward %v: [%v, %v], it is %v", x, epsilon, backward, low, high, d)
				}
				if !(high-low <= 4e-3*high) {
					t.Errorf("%+v ε = %v, backward %v: [%v, %v] is wide", x, epsilon, backward, low, high)
				}
			}
		}
	}
}

// What is left out at either end is no more than asked for, and bounds enclose δ as well where little is kept.
func TestNearerReach(t *testing.T) {
	for _, lost := range []float64{0x1p-40, 0x1p-48, 0x1p-80} {
		for _, mu := range []float64{0.2, 1, 5} {
			for _, steps := range []uint64{2, 235, 5000} {
				if p := gaussianTo(mu, steps, lost).Above(steps); !(p.Infinite <= lost && p.Missing <= lost) {
					t.Errorf("μ = %v, %d steps, %v asked for: P %v and Q %v", mu, steps, lost, p.Infinite, p.Missing)
				}
			}
		}
		law := gaussianTo(1, 2, lost)
		above, below := law.Above(2), law.Below(2)
		for _, epsilon := range []float64{0, 0.3, 1, 2} {
			d := exact(1, 2, epsilon, false)
			low, _ := below.curves(epsilon)
			high, _ := above.curves(epsilon)
			if !(low <= d*(1+1e-7) && high >= d*(1-1e-7) && high-low <= 4e-3*high) {
				t.Errorf("%v asked for, ε = %v: [%v, %v], it is %v", lost, epsilon, low, high, d)
			}
		}
	}
}

// Far out in both directions ln δ is known within 10⁻² also where cells are few for how far the ratios reach: of 1,000
// steps with μ = 5 it was known within 1.6·10⁻².
func TestNarrowFarOut(t *testing.T) {
	for _, mu := range []float64{1, 5} {
		law := ofGaussian(mu, 1000)
		above, below := law.Above(1000), law.Below(1000)
		for _, towards := range []func(remove, add float64) float64{
			func(remove, _ float64) float64 { return remove }, func(_, add float64) float64 { return add },
		} {
			for _, delta := range []float64{1e-3, 1e-6, 2e-11} {
				low, high := 0.0, 50.0
				for range 50 {
					if middle := (low + high) / 2; towards(above.curves(middle)) > delta {
						low = middle
					} else {
						high = middle
					}
				}
				if gap := math.Log(towards(above.curves(low)) / towards(below.curves(low))); !(gap > 0 && gap <= 1e-2) {
					t.Errorf("μ = %v, δ = %v: ln δ is known within %v", mu, delta, gap)
				}
			}
		}
	}
}

// More steps to hide among, or more noise, never cost more; and an epoch costs no more than its
// only step would.
func TestOrderOfEpochs(t *testing.T) {
	draw := rand.New(rand.NewPCG(3, 4))
	for range 5 {
		mu := math.Exp(draw.Float64()*5 - 3)
		steps := 2 + draw.Uint64N(30)
		law := ofGaussian(mu, steps)
		above := law.Above(steps)
		more := steps + 1 + draw.Uint64N(30)
		less := []Pair{ofGaussian(mu, more).Below(more), ofGaussian(mu*0.9, steps).Below(steps)}
		for _, epsilon := range []float64{0, 0.2, 1, 4} {
			high, back := above.curves(epsilon)
			low, lowBack := law.Below(steps).curves(epsilon)
			if low > high || lowBack > back {
				t.Errorf("μ = %v, %d steps, ε = %v: from %v to %v, back from %v to %v",
					mu, steps, epsilon, low, high, lowBack, back)
			}
			if one := call(mu, math.Exp(epsilon)); high > one*(1+1e-3)+1e-30 {
				t.Errorf("μ = %v, %d steps, ε = %v: %v, one step costs %v", mu, steps, epsilon, high, one)
			}
			for i, p := range less {
				if l, b := p.curves(epsilon); l > high || b > back {
					t.Errorf("μ = %v, %d steps, ε = %v: %v and %v; %v and %v with more steps or noise (%d)",
						mu, steps, epsilon, high, back, l, b, i)
				}
			}
		}
	}
}

// The laws of Q and of P have the mass 1 but for what is said, and the mean is kept.
func TestLawsKeepTheirMean(t *testing.T) {
	for _, mu := range []float64{0.01, 1, 8} {
		for _, steps := range []uint64{2, 100} {
			law := ofGaussian(mu, steps)
			for name, p := range map[string]Pair{"above": law.Above(steps), "below": law.Below(steps)} {
				var sumP, sumQ num.Sum
				for i, m := range p.Masses {
					sumP.Add(m)
					sumQ.Add(m * math.Exp(-p.Losses[i]))
				}
				if math.Abs(sumP.Value()-1) > 1e-9 || math.Abs(sumQ.Value()-1) > 1e-9 ||
					p.Infinite > 1e-38 || p.Missing > 1e-38 {
					t.Errorf("μ = %v, %d steps, %s: P %v and %v, Q %v and %v", mu, steps, name,
						sumP.Value(), p.Infinite, sumQ.Value(), p.Missing)
				}
			}
		}
	}
}
