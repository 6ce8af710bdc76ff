// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// gaussianCluster is a rectangle of sampled Gaussians in the coordinates a = ln μ² and
// b = ln(q/(1−q)), as wide in b as the noise lets ln r differ: K is interpolated between
// Chebyshev's points in both (docs/math/clusters.md §2.7).
type gaussianCluster struct {
	i, j int32
}

const (
	clusterHeight = 0.125 // of a
	mostWidth     = 0.5   // of b
	degreeA       = 12
	degreeB       = 12
	// q is below this in every cluster: its neighbours off the axis must stay below 1/2.
	mostClusterRate = 0.2
	coordinateUlps  = 32 // of a coordinate's rounding, relative to 1 + |coordinate|
)

// The ellipses on which K is bounded: sums of their half axes, in units of the interval's half.
var ellipses = [...]float64{3, 5, 7, 9, 12, 16}

// Λ of degree n is at most 1 + 2/π·ln(n+1).
var (
	spreadA = 1 + 2/math.Pi*math.Log(degreeA+1)
	spreadB = 1 + 2/math.Pi*math.Log(degreeB+1)
)

func coordinates(g sampledGaussian) (a, b float64) {
	return 2 * math.Log(g.mu), math.Log(g.rate) - math.Log1p(-g.rate)
}

// Cluster is nil for a replaced record, whose pair has r twice.
func (g sampledGaussian) Cluster() loss.Cluster {
	a, b := coordinates(g)
	if g.replace || !(math.Abs(a) < 20 && b > -40 && g.rate < mostClusterRate) {
		return nil
	}
	c := gaussianCluster{i: int32(math.Floor(a / clusterHeight))}
	c.j = int32(math.Floor(b / (2 * c.halfB())))
	return c
}

func (c gaussianCluster) lowA() float64  { return float64(c.i) * clusterHeight }
func (c gaussianCluster) midA() float64  { return (float64(c.i) + 0.5) * clusterHeight }
func (c gaussianCluster) halfB() float64 { return math.Min(mostWidth/2, math.Exp(c.lowA()/2)/4) }
func (c gaussianCluster) midB() float64  { return (2*float64(c.j) + 1) * c.halfB() }

// chebyshev is point k of degree n in [−1, 1].
func chebyshev(k, n int) float64 { return math.Cos(math.Pi * float64(k) / float64(n)) }

// at is the sampled Gaussian with these coordinates.
func at(a, b float64) sampledGaussian {
	return sampledGaussian{mu: math.Exp(a / 2), rate: 1 / (1 + math.Exp(-b))}
}

func (c gaussianCluster) Nodes() []loss.Loss {
	nodes := make([]loss.Loss, 0, (degreeA+1)*(degreeB+1))
	for k := range degreeA + 1 {
		a := c.midA() + clusterHeight/2*chebyshev(k, degreeA)
		for l := range degreeB + 1 {
			nodes = append(nodes, at(a, c.midB()+c.halfB()*chebyshev(l, degreeB)))
		}
	}
	return nodes
}

func (c gaussianCluster) Weigh(l loss.Loss, n float64, sums []num.Sum) {
	a, b := coordinates(l.(sampledGaussian))
	var inA [degreeA + 1]float64
	var inB [degreeB + 1]float64
	barycentric((a-c.midA())/(clusterHeight/2), inA[:])
	barycentric((b-c.midB())/c.halfB(), inB[:])
	for k, x := range inA {
		for l, y := range inB {
			sums[k*(degreeB+1)+l].Add(n * x * y)
		}
	}
}

// barycentric fills in Lagrange's polynomials at x for Chebyshev's points.
func barycentric(x float64, weights []float64) {
	n := len(weights) - 1
	sum, sign := 0.0, 1.0
	for k := range weights {
		apart := x - chebyshev(k, n)
		if apart == 0 {
			clear(weights)
			weights[k] = 1
			return
		}
		weights[k] = sign / apart
		if k == 0 || k == n {
			weights[k] /= 2
		}
		sum += weights[k]
		sign = -sign
	}
	for k := range weights {
		weights[k] /= sum
	}
}

func (c gaussianCluster) Spread() float64 { return spreadA * spreadB }

// ellipse bounds |M − 1| at θ off the real parameters, apart from what depends on t.
type ellipse struct {
	rho, excess, turn float64
	radius            float64 // of the discs around the interval that are in it
	cuts              []cut
}

// bound is that of |M(θ + it) − 1|, where lift is |s(s+1)|/(θ(θ+1)).
func (e *ellipse) bound(theta, t, lift float64) float64 {
	least := lift * e.excess
	for _, c := range e.cuts {
		least = math.Min(least, lift*theta*(theta+1)*c.below+c.above+math.Hypot(1+theta, t)*c.slope)
	}
	return least * math.Exp(math.Abs(t)*e.turn) * (1 + 1e-9)
}

func (c gaussianCluster) Error(d loss.Direction, theta float64, in *num.Interrupt) func(t float64) float64 {
	if theta == 0 { // every K is 0
		return func(t float64) float64 {
			if t == 0 {
				return 0
			}
			return math.Inf(1)
		}
	}
	if !(theta > 0) {
		return func(float64) float64 { return math.Inf(1) }
	}
	var inA, inB []ellipse
	for _, rho := range ellipses {
		inA = append(inA, c.ellipseA(d, theta, rho, in))
		inB = append(inB, c.ellipseB(d, theta, rho, in))
	}
	return func(t float64) float64 {
		// |s(s+1)|/(θ(θ+1))
		lift := math.Hypot(theta, t) / theta * math.Hypot(theta+1, t) / (theta + 1)
		errA, slopeA, most := interpolation(inA, degreeA, theta, lift, t)
		errB, slopeB, _ := interpolation(inB, degreeB, theta, lift, t)
		moved := coordinateUlps * (slopeA*(1+math.Abs(c.midA())) + slopeB*(1+math.Abs(c.midB())))
		weights := 4 * (degreeA + degreeB + 20) * (1 + spreadA + spreadB) * most
		return (errB+spreadB*errA)*(1+1e-9) + num.Ulp*c.Spread()*(2*moved+weights)
	}
}

// interpolation bounds the error of interpolating with degree n, and the slope and the values of K on
// the interval, by K's bounds on ellipses.
func interpolation(in []ellipse, n int, theta, lift, t float64) (err, slope, most float64) {
	err, slope, most = math.Inf(1), math.Inf(1), math.Inf(1)
	for _, e := range in {
		x := e.bound(theta, t, lift)
		if !(x < 0.5) {
			continue
		}
		k := x / (1 - x) // |ln(1 + X)| for |X| ≤ x
		err = math.Min(err, 4*k*math.Pow(e.rho, -float64(n))/(e.rho-1))
		slope = math.Min(slope, k/e.radius)
		most = math.Min(most, k)
	}
	return err, slope, most
}

// axes are half the axes of the ellipse around an interval of the half width h.
func axes(h, rho float64) (along, across float64) {
	return h * (rho + 1/rho) / 2, h * (rho - 1/rho) / 2
}

// excess is M(θ) − 1 of the sampled Gaussian at the coordinates, from above.
func excess(d loss.Direction, theta, a, b float64, in *num.Interrupt) float64 {
	return num.Expm1Up(at(a, b).Cumulant(d, theta, in).Upper()) * (1 + 1e-9)
}

// ellipseA: at a real b, v = e^a with |arg v| ≤ φ, the density of ln r's argument has the modulus of that with
// v′ = |v|/cos φ, times a constant.
func (c gaussianCluster) ellipseA(d loss.Direction, theta, rho float64, in *num.Interrupt) ellipse {
	along, phi := axes(clusterHeight/2, rho)
	e := ellipse{rho: rho, excess: math.Inf(1), radius: along - clusterHeight/2}
	if cos := math.Cos(phi); phi < 1.5 {
		a := c.midA() + along - math.Log(cos) // ln v′
		x := excess(d, theta, a, c.midB()+c.halfB(), in)
		factor := math.Exp(math.Exp(a)*(1-cos*cos)/8) / math.Sqrt(cos)
		e.excess = x * factor
		e.cuts = aside{
			v0: math.Exp(c.midA() - along), v1: math.Exp(a), least: math.Exp(c.midB() - c.halfB()),
			odds: math.Exp(c.midB() + c.halfB()), stretch: 1, growth: 1, excess: x,
		}.cuts(d, theta, factor)
	}
	return e
}

// ellipseB: at a real v, b + iβ.
func (c gaussianCluster) ellipseB(d loss.Direction, theta, rho float64, in *num.Interrupt) ellipse {
	along, beta := axes(c.halfB(), rho)
	e := ellipse{rho: rho, excess: math.Inf(1), radius: along - c.halfB()}
	odds := math.Exp(c.midB() + along)
	if !(beta < math.Pi && odds < 0.9) {
		return e
	}
	sin := odds * math.Sin(math.Min(beta, math.Pi/2)) // of the turn of 1 − q, at most
	e.turn = math.Asin(sin)
	half := math.Sin(e.turn / 2)
	g := 1 / math.Sqrt(1-2*(1-math.Cos(beta))*odds/((1+odds)*(1+odds)))
	power, exponent := 1+theta, theta-1 // of r, and of its second derivative
	if d == loss.Add {
		power, exponent = -theta, -theta-2
	}
	x := excess(d, theta, c.midA()+clusterHeight/2, c.midB()+along, in)
	far := aside{
		v0: math.Exp(c.lowA()), v1: math.Exp(c.lowA() + clusterHeight), least: math.Exp(c.midB() - along),
		odds: odds, stretch: 1, growth: math.Max(1, g), turn: e.turn, excess: x,
	}
	if cos := math.Cos(beta); cos < 0 {
		far.stretch, far.back = 1/(1-odds), -cos
	}
	e.cuts = far.cuts(d, theta, math.Exp(beta*beta/2*math.Exp(-c.lowA())))
	rest := 2 * math.Pow(g, 1+theta) * (1 + x)
	if d == loss.Add {
		rest = g + math.Pow(1+odds, 1+theta)
	}
	x = x*math.Max(1, math.Pow(g, power)) + math.Max(0, math.Pow(g, power)-1-power*(g-1)) + 1e-15*(2+theta) +
		2*theta*(theta+1)*half*half*rest
	e.excess = x * math.Pow(math.Cos(e.turn), -math.Max(0, -exponent)) * math.Exp(beta*beta/2*math.Exp(-c.lowA()))
	return e
}

// milderGaussian is the corner with the least μ and q of a rectangle of sampled Gaussians.
type milderGaussian struct {
	i, j int32
}

const milderHeight, milderWidth = 1. / 8, 1. / 16

func (g sampledGaussian) Milder() loss.Milder {
	a, b := coordinates(g)
	return milderGaussian{int32(math.Floor(a / milderHeight)), int32(math.Floor(b / milderWidth))}
}

// corner is where both coordinates are least, or greatest, and a little beyond.
func (m milderGaussian) corner(greatest float64) sampledGaussian {
	const beyond = 1e-9
	return at((float64(m.i)+greatest)*milderHeight+(2*greatest-1)*beyond,
		(float64(m.j)+greatest)*milderWidth+(2*greatest-1)*beyond)
}

func (m milderGaussian) Loss() loss.Loss { return m.corner(0) }

// Share is the square of a bound on the quotient of the tilted densities of the loss, which is
// taken where it is least (docs/math/clusters.md §2.7).
func (m milderGaussian) Share(d loss.Direction, theta float64, in *num.Interrupt) float64 {
	low, high := m.corner(0), m.corner(1)
	v0, v1 := low.mu*low.mu, high.mu*high.mu
	more := high.rate/low.rate - 1
	const parts = 32
	least, width := 0.0, 1.5*v1/parts
	for i := range parts {
		x, next := float64(i)*width, float64(i+1)*width
		slope := 1.5 - x/v1
		bound := -slope * slope * v1 / 2
		if rest := 1 - more*math.Expm1(next); rest > 0 {
			bound = math.Max(bound, slope*math.Log(rest))
		}
		least = math.Min(least, bound)
	}
	log := least - math.Log1p(more) + math.Log(v0/v1)/2 - (v1-v0)/8 +
		low.Cumulant(d, theta, in).Lower() - high.Cumulant(d, theta, in).Upper()
	return math.Exp(2*log) * (1 - 1e-9)
}
