// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/declared"
	"github.com/dpaccountant/accountant/internal/num"
)

// movedVector is a discreteVector whose ways to move are listed. Its pair, a table, has the largest curve of all
// of them on a grid, and the chords between: it dominates every way to move, and every choice among them
// (docs/math/vectors.md §1.4.13.3). Moves has the ways themselves.
type movedVector struct {
	loss.Loss // the table
	vector    discreteVector
	infinite  float64 // the table's
}

// ofVector is a movedVector where the ways to move can be listed.
func ofVector(sigma, d, coordinates float64, in *num.Interrupt) loss.Loss {
	v := newDiscreteVector(sigma, d, coordinates)
	laws, ok := newVectorLaws(sigma, d, coordinates)
	if !ok {
		return v
	}
	m, ok := laws.Moves(deepestTable, in)
	if !ok {
		return v
	}
	table, infinite := largest(m, in)
	return movedVector{Loss: table, vector: v.(discreteVector), infinite: infinite}
}

// mostPoints is how fine the pair's grid may be.
const mostPoints = 2000

// largest is the pair of the largest curve of all laws at the points of a grid, straight in e^ε between them, and
// what it has at infinity. All of it errs upwards.
func largest(m loss.Moves, in *num.Interrupt) (table loss.Loss, infinite float64) {
	top := 0
	for _, law := range m.Laws {
		top = max(top, law.First+(len(law.Masses)-1)*m.Stride)
	}
	// The grid is κ = first + i·h, in units, and as many points below 0.
	fine := 1
	for fine < 8 && top/m.Stride*2*fine < mostPoints {
		fine *= 2
	}
	h, first := float64(m.Stride)/float64(fine), 0.0
	if fine == 1 && m.Stride == 2 && top%2 != 0 {
		first = 1
	}
	n := int(math.Round((float64(top)-first)/h)) + 1
	in.Spend(10 * n * len(m.Laws))
	most, mass := make([]float64, n), make([]float64, n) // the largest δ at every point, and that law's mass there
	who := make([]int, n)                                // which law it is
	step, rise := math.Exp(-h*m.Unit), -math.Expm1(-h*m.Unit)
	for w, law := range m.Laws {
		var delta, b float64
		for i := n - 1; i >= 0; i-- {
			p := 0.0
			at := (top-law.First)/m.Stride - (n-1-i)/fine
			if (n-1-i)%fine == 0 && at >= 0 && at < len(law.Masses) {
				p = law.Masses[at]
			}
			if w == 0 || delta > most[i] {
				most[i], mass[i], who[i] = delta, p, w
			}
			b = b*step + p
			delta += b * rise
		}
	}
	// A value is within relative of what it stands for, so that another law's may be larger by twice that.
	relative := m.Err + num.Ulp*(16*float64(n)+64+16*float64(top)*m.Unit)
	infinite = m.Tail + float64(2*n)*math.SmallestNonzeroFloat64
	losses, masses := make([]float64, n), make([]float64, n)
	rest, slack := 1-infinite, 8*relative
	for i := n - 1; i >= 0; i-- {
		losses[i] = (first + float64(i)*h) * m.Unit
		if i == 0 {
			break
		}
		p, err := mass[i], 0.0
		if i == n-1 || who[i-1] != who[i] || who[i+1] != who[i] { // the curve bends as another law takes over
			next := 0.0
			if i+1 < n {
				next = most[i+1]
			}
			p = (most[i-1]-most[i])/rise - (most[i]-next)*step/rise
			err = 4 * relative * (most[i-1] + most[i]) / rise
		}
		masses[i] = (math.Max(0, p) + err) * (1 + 4*relative)
		rest -= p * (1 + math.Exp(-losses[i]))
		slack += 2*err + 4*num.Ulp*p
	}
	if rest = math.Max(0, rest) + slack; first != 0 {
		rest /= 1 + math.Exp(-losses[0])
	}
	masses[0] = rest
	// Every loss l > 0 with the mass p has −l with the mass p·e^{−l} beside it.
	var allLosses, allMasses []float64
	for i := n - 1; i >= 0; i-- {
		if p := masses[i] * math.Exp(-losses[i]); losses[i] > 0 && p > 0 {
			allLosses, allMasses = append(allLosses, -losses[i]), append(allMasses, p)
		}
	}
	for i, p := range masses {
		if p > 0 {
			allLosses, allMasses = append(allLosses, losses[i]), append(allMasses, p)
		}
	}
	lossErr := 8 * num.Ulp * losses[n-1]
	table = declared.Computed("discrete Gaussian", allLosses, allMasses, infinite, infinite, 8*num.Ulp, lossErr)
	return table, infinite
}

// Facts: no outcome of the mechanism has an infinite loss. That is the pair's, which is cut.
func (v movedVector) Facts() loss.Facts {
	return loss.Facts{
		Name: "discrete Gaussian", InfinityMass: v.infinite, Cut: true, Rho: v.vector.Facts().Rho, Epsilon: math.Inf(1),
		Symmetric: true, Dominating: true,
	}
}

func (v movedVector) MaxLoss(loss.Direction) float64 { return math.Inf(1) }

// Renyi is that of zCDP, which no way to move exceeds.
func (v movedVector) Renyi(d loss.Direction, s float64, in *num.Interrupt) loss.Value {
	return v.vector.Cumulant(d, s, in)
}

// Table is the pair.
func (v movedVector) Table() loss.Loss { return v.Loss }

// Bound is what zCDP says: of a batch of a fixed size no more is computed.
func (v movedVector) Bound() loss.Loss { return v.vector }

// Moves implements loss.Moved.
func (v movedVector) Moves(depth float64, in *num.Interrupt) (loss.Moves, bool) {
	laws, ok := newVectorLaws(v.vector.sigma, v.vector.d, v.vector.coordinates)
	if !ok {
		return loss.Moves{}, false
	}
	return laws.Moves(depth, in)
}

// Members are one coordinate that moves as far as it may, and as many as can that move by 1.
func (v movedVector) Members() []loss.Loss {
	laws, ok := newVectorLaws(v.vector.sigma, v.vector.d, v.vector.coordinates)
	if !ok {
		return nil
	}
	members := []loss.Loss{discreteGaussian{sigma: laws.sigma, d: math.Floor(math.Sqrt(float64(laws.squared)))}}
	laws.ways = laws.ways[len(laws.ways)-1:]
	m, ok := laws.Moves(deepestTable, nil)
	if !ok {
		return members
	}
	law := m.Laws[0]
	var losses, masses []float64
	for i, p := range law.Masses {
		if p > 0 {
			losses, masses = append(losses, float64(law.First+i*m.Stride)*m.Unit), append(masses, p)
		}
	}
	lossErr := 8 * num.Ulp * math.Max(-losses[0], losses[len(losses)-1])
	return append(members,
		declared.Computed("discrete Gaussian", losses, masses, 0, m.Err, m.Err+8*num.Ulp, lossErr))
}

// Nearly is that of the same vector, whatever is known of how it moves.
func (v movedVector) Nearly() (l loss.Loss, shift, factor float64, ok bool) { return v.vector.Nearly() }

func (v movedVector) Covers(o loss.Loss) bool {
	w, ok := o.(movedVector)
	return ok && v.vector.sigma == w.vector.sigma && v.vector.Covers(w.vector)
}

func (v movedVector) Grouped(k uint64) (loss.Loss, error) { return v.vector.Grouped(k) }

func (v movedVector) Order() [4]float64 { return v.vector.Order() }
