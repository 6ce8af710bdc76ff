// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
	"pgregory.net/rapid"
)

// drawInCluster is a cluster and a loss in it.
func drawInCluster(t *rapid.T) (gaussianCluster, sampledGaussian) {
	g := at(rapid.Float64Range(-8, 2).Draw(t, "a"), rapid.Float64Range(-14, -2.5).Draw(t, "b"))
	c, ok := g.Cluster().(gaussianCluster)
	if !ok {
		t.Fatalf("%+v has no cluster", g)
	}
	return c, g
}

// K of a loss in a cluster is its nodes' within the error that the cluster states, in both directions.
func TestClusterInterpolates(t *testing.T) {
	known, small := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		c, g := drawInCluster(t)
		d := loss.Direction(rapid.IntRange(0, 1).Draw(t, "direction"))
		theta := math.Exp(rapid.Float64Range(-4, 3).Draw(t, "ln theta"))
		s := math.Ldexp(math.Floor(rapid.Float64Range(0, 40).Draw(t, "t")*4), -2)
		if rapid.Bool().Draw(t, "real") {
			s = 0
		}
		most := c.Error(d, theta, nil)(s)
		if !(most >= 0) {
			t.Fatalf("%+v: error %v", c, most)
		}
		want := g.Line(d, theta, nil)(s)
		if math.IsInf(most, 1) || math.IsInf(want.Err, 1) {
			return
		}
		known++
		nodes := c.Nodes()
		weights := make([]num.Sum, len(nodes))
		c.Weigh(g, 1, weights)
		var got complex128
		slack, spread := want.Err, 0.0
		for i, l := range nodes {
			w, v := weights[i].Value(), l.Line(d, theta, nil)(s)
			got += complex(w, 0) * v.K
			slack += math.Abs(w) * (v.Err + 1e-15*cmplx.Abs(v.K))
			spread += math.Abs(w)
		}
		if spread > c.Spread() {
			t.Errorf("%+v: Σ|ℓ| = %v, above %v", c, spread, c.Spread())
		}
		if apart := cmplx.Abs(got - want.K); !(apart <= most+slack) {
			t.Errorf("%+v of %+v: K(%v + %vi) = %v, by the nodes %v: %v apart, at most %v and %v",
				g, c, theta, s, want.K, got, apart, most, slack)
		}
		if most < 1e-6*cmplx.Abs(want.K) {
			small++
		}
	})
	if known == 0 || small == 0 {
		t.Errorf("the error is known in %d cases, and small in %d", known, small)
	}
}

// The proof's bounds of |M − 1| off the real parameters hold for a sum over the density, which is taken here
// as it is written in docs/math/clusters.md §2.7.
func TestClusterBoundsOffTheAxis(t *testing.T) {
	seen := 0
	rapid.Check(t, func(t *rapid.T) {
		c, _ := drawInCluster(t)
		d := loss.Direction(rapid.IntRange(0, 1).Draw(t, "direction"))
		theta := math.Exp(rapid.Float64Range(-4, 2.5).Draw(t, "ln theta"))
		s := complex(theta, math.Exp(rapid.Float64Range(-3, 6).Draw(t, "ln t")))
		rho := rapid.Float64Range(1.5, 12).Draw(t, "rho")
		angle := rapid.Float64Range(0, 2*math.Pi).Draw(t, "angle")
		off := func(h float64) complex128 {
			along, across := axes(h, rho)
			return complex(along*math.Cos(angle), across*math.Sin(angle))
		}
		inside := func(name string) complex128 { return complex(rapid.Float64Range(-1, 1).Draw(t, name), 0) }
		a, b := complex(c.midA(), 0), complex(c.midB(), 0)
		var e ellipse
		if rapid.Bool().Draw(t, "in a") {
			a, b = a+off(clusterHeight/2), b+inside("b")*complex(c.halfB(), 0)
			e = c.ellipseA(d, theta, rho, nil)
		} else {
			a, b = a+inside("a")*clusterHeight/2, b+off(c.halfB())
			e = c.ellipseB(d, theta, rho, nil)
		}
		lift := cmplx.Abs(s*(s+1)) / (theta * (theta + 1))
		bound := e.bound(theta, imag(s), lift)
		if !(bound < 0.5) {
			return
		}
		seen++
		power := 1 + s
		if d == loss.Add {
			power = -s
		}
		if got := excessOffTheAxis(a, b, power); !(cmplx.Abs(got) <= bound*(1+1e-6)+1e-13) {
			t.Errorf("%+v at s = %v, a = %v, b = %v, rho = %v: |M − 1| = %v, bound %v",
				c, s, a, b, rho, cmplx.Abs(got), bound)
		}
	})
	if seen == 0 {
		t.Error("nothing was compared")
	}
}

// Far along the line, with little noise, the bounds by cuts are the only ones below ½, and they hold.
func TestClusterBoundsFarAlongTheLine(t *testing.T) {
	cuts := 0
	c := at(2*math.Log(1/0.52), math.Log(1e-3)).Cluster().(gaussianCluster)
	for _, d := range []loss.Direction{loss.Remove, loss.Add} {
		for _, theta := range []float64{0.4, 1.4, 2.5} {
			for _, far := range []float64{40, 100, 220} {
				s := complex(theta, far)
				lift := cmplx.Abs(s*(s+1)) / (theta * (theta + 1))
				power := 1 + s
				if d == loss.Add {
					power = -s
				}
				for _, rho := range ellipses {
					inA, inB := c.ellipseA(d, theta, rho, nil), c.ellipseB(d, theta, rho, nil)
					for i := range 5 {
						angle := math.Pi / 4 * float64(i)
						off := func(h float64) complex128 {
							along, across := axes(h, rho)
							return complex(along*math.Cos(angle), across*math.Sin(angle))
						}
						a, b := complex(c.midA(), 0), complex(c.midB(), 0)
						for _, e := range []struct {
							ellipse
							a, b complex128
						}{{inA, a + off(clusterHeight/2), b}, {inB, a, b + off(c.halfB())}} {
							bound := e.bound(theta, far, lift)
							if !(bound < 0.5) {
								continue
							}
							if got := cmplx.Abs(excessOffTheAxis(e.a, e.b, power)); !(got <= bound*(1+1e-6)) {
								t.Errorf("s = %v, a = %v, b = %v, ρ = %v: |M − 1| = %v, bound %v", s, e.a, e.b, rho,
									got, bound)
							}
							if lift*e.excess*math.Exp(far*e.turn) > 0.5 {
								cuts++
							}
						}
					}
				}
			}
		}
	}
	if cuts < 20 {
		t.Errorf("%d bounds are by cuts alone", cuts)
	}
}

// excessOffTheAxis is ∫ N(y; b − v/2, v)·(r^p − 1 − p(r − 1)) dy with v = e^a and r = (1 + e^y)/(1 + e^b).
func excessOffTheAxis(a, b, p complex128) (sum complex128) {
	v := cmplx.Exp(a)
	wide := math.Sqrt(cmplx.Abs(v))
	center := real(b - v/2)
	// The integrand's weight moves by up to p·v.
	from, to := center-14*wide-math.Abs(real(p)*real(v)), center+14*wide+(math.Abs(real(p))+2)*cmplx.Abs(v)*1.5
	n := 6000 + int(40*math.Abs(imag(p))) // p turns along the line
	h := (to - from) / float64(n)
	for i := range n + 1 {
		y := complex(from+float64(i)*h, 0)
		u := y - b + v/2
		logR := num.ComplexLog1p(cmplx.Exp(y)) - num.ComplexLog1p(cmplx.Exp(b))
		r1 := num.ComplexExpm1(logR)
		sum += cmplx.Exp(-u*u/(2*v)) * (num.ComplexExpm1(p*logR) - p*r1)
	}
	return sum * complex(h, 0) / cmplx.Sqrt(2*math.Pi*v)
}

// What a milder loss proves of the decay of the losses that it stands for is true of them.
func TestMilderDecays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, g := drawInCluster(t)
		d := loss.Direction(rapid.IntRange(0, 1).Draw(t, "direction"))
		theta := math.Exp(rapid.Float64Range(-4, 2.5).Draw(t, "ln theta"))
		m := g.Milder()
		share := m.Share(d, theta, nil)
		if !(share >= 0 && share <= 1) {
			t.Fatalf("share %v", share)
		}
		at := math.Ldexp(math.Floor(rapid.Float64Range(0.1, 60).Draw(t, "t")*16), -4)
		modulus := func(l loss.Loss) (log, err float64) {
			k, v := l.Cumulant(d, theta, nil), l.Line(d, theta, nil)(at)
			return real(v.K) - k.K, v.Err + k.Err
		}
		mine, err := modulus(g)
		least, errLeast := modulus(m.Loss())
		if math.IsInf(err+errLeast, 1) {
			return
		}
		bound := math.Log1p(share*math.Expm1(2*least)) / 2
		if !(mine <= bound+err+errLeast+1e-15) {
			t.Errorf("%+v at θ = %v, t = %v: ln|φ| = %v, and %v of %+v proves %v", g, theta, at, mine, least, m, bound)
		}
	})
}
