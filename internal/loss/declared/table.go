// SPDX-License-Identifier: Apache-2.0

package declared

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/loss/quadrature"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// lossTable is a mechanism whose loss takes finitely many values, as reported: a pair
// of atoms, and what P and Q have where the other has nothing. See docs/math/cumulant.md §1.1.8.
type lossTable struct {
	losses, masses mechanism.Numbers // rising; of P, adding up to 1 − infinite
	logs           mechanism.Numbers // of the masses
	infinite       float64           // P where Q has nothing
	missing        loss.Bounds       // encloses what Q has where P has nothing
	key            [4]float64        // of its order, which takes long to find
	name           string            // for messages

	// massErr bounds the relative errors of masses, and lossErr the errors of losses: 0 where
	// they were reported.
	massErr, lossErr float64
}

// Computed is a loss with these finite losses, rising, and masses of P, of which nothing but the
// errors is known; and what P and Q have where the other one has nothing.
func Computed(name string, losses, masses []float64, infinite, missing, massErr, lossErr float64) loss.Loss {
	t := lossTable{
		losses: mechanism.NumbersOf(losses...), masses: mechanism.NumbersOf(masses...), logs: logsOf(masses),
		infinite: infinite,
		missing:  loss.Bounds{Upper: missing}, name: name, massErr: massErr, lossErr: lossErr,
	}
	t.key = loss.OrderOf(string(t.losses), string(t.masses))
	return t
}

// ofTable normalises: P by its sum, and Q to at most 1 by raising every loss by the
// logarithm of what it sums to. Both are what the table means (see its message), so
// that nothing here is but rounded.
func ofTable(m mechanism.PrivacyLossTable, in *num.Interrupt) loss.Loss {
	in.Spend(tableWork * m.Losses.Len())
	losses, masses := m.Losses.Values(), m.Masses.Values()
	var sumP, sumQ num.Sum
	sumP.Add(m.InfiniteMass)
	for _, p := range masses {
		sumP.Add(p)
	}
	for i, p := range masses {
		masses[i] = p / sumP.Value()
		sumQ.Add(masses[i] * math.Exp(-losses[i]))
	}
	if q := sumQ.Value(); q > 1 {
		raise := math.Log(q) * (1 + 4*num.Ulp)
		for i := range losses {
			losses[i] = num.AddUp(losses[i], raise)
		}
	}
	t := lossTable{
		losses: mechanism.NumbersOf(losses...), masses: mechanism.NumbersOf(masses...), logs: logsOf(masses),
		missing: missing(losses, masses), name: "privacy loss table",
	}
	if m.InfiniteMass > 0 {
		t.infinite = num.Up(num.DivUp(m.InfiniteMass, sumP.Value()))
	}
	t.key = loss.OrderOf(string(t.losses), string(t.masses))
	t.key[3] = t.infinite
	return t
}

// logsOf are the logarithms of masses, which every order asks for.
func logsOf(masses []float64) mechanism.Numbers {
	logs := make([]float64, len(masses))
	for i, p := range masses {
		logs[i] = num.Log(p)
	}
	return mechanism.NumbersOf(logs...)
}

// tableWork is about what it takes to normalise one loss of a table, in nanoseconds.
const tableWork = 100

// missing encloses what Q has where P, with these losses and masses, has nothing. See
// docs/math/cumulant.md §1.1.8.
func missing(losses, masses []float64) loss.Bounds {
	var sum num.Sum
	var err float64
	for i, p := range masses {
		q := p * math.Exp(-losses[i])
		sum.Add(q)
		err += num.Ulp * q * (8 + math.Abs(losses[i]))
	}
	rest := 1 - sum.Value()
	err += 4 * num.Ulp
	return loss.Bounds{Lower: math.Max(0, num.Down(rest-err)), Upper: math.Max(0, num.Up(rest+err))}
}

// LostAtLeast is the least that a direction's atom may be.
func (l lossTable) LostAtLeast(d loss.Direction) float64 {
	if d == loss.Add {
		return l.missing.Lower
	}
	return l.infinite * (1 - 8*num.Ulp)
}

func (l lossTable) Facts() loss.Facts {
	lost := [2]float64{l.infinite, l.missing.Upper}
	e := math.Max(0, math.Max(l.MaxLoss(loss.Remove), l.MaxLoss(loss.Add)))
	return loss.Facts{
		Name: l.name, InfinityMass: math.Max(lost[0], lost[1]), Uneven: true, InfinityMasses: lost,
		Rho: pairs.RhoOfPure(e), Epsilon: e,
	}
}

func (l lossTable) MaxLoss(d loss.Direction) float64 {
	if d == loss.Add {
		return -l.losses.At(0)
	}
	return l.losses.At(l.losses.Len() - 1)
}

// Beyond returns the largest finite loss, and bounds P's mass above it, in a distribution that this
// table is above: by the masses of the losses that are less than it by a part of it, and what
// counts as infinite (docs/math/allocation.md §1.11.7).
func (l lossTable) Beyond(d loss.Direction, part float64) (top, mass float64) {
	top = l.MaxLoss(d)
	if !(top > 0) {
		return top, 1
	}
	width := math.Min(1, part*top)
	n := l.losses.Len()
	for i := range n {
		at, p := l.losses.At(n-1-i), l.masses.At(n-1-i)
		if d == loss.Add {
			at, p = -l.losses.At(i), l.masses.At(i)*math.Exp(-l.losses.At(i))
		}
		if at < top-width {
			break
		}
		mass += p
	}
	return top, math.Min(1, 2*(mass+l.Facts().InfinityMassIn(d)/-math.Expm1(-width))) // 2 for all rounding
}

func (l lossTable) Cumulant(d loss.Direction, s float64, in *num.Interrupt) loss.Value {
	m, flip := loss.Mirrored(s)
	v := l.line(d, m, flip, in).Cumulant()
	if v.K-v.K != 0 || v.Err-v.Err != 0 { // overflow
		return loss.Value{K: math.Inf(1), Err: math.Inf(1)}
	}
	if flip {
		v.Slope = -v.Slope
	}
	return v
}

func (l lossTable) Line(d loss.Direction, theta float64, in *num.Interrupt) loss.Line {
	m, flip := loss.Mirrored(theta)
	line := l.line(d, m, flip, in)
	at := line.ComplexCumulant
	if flip {
		at = func(t float64) loss.ComplexValue { return line.ComplexCumulant(-t) }
	}
	return loss.Guarded(at, l.Cumulant(d, theta, in))
}

// line is K of the direction at m ≥ −½, or with flip at −1−m.
func (l lossTable) line(d loss.Direction, m float64, flip bool, in *num.Interrupt) *quadrature.OutcomesLine {
	o := l.outcomes(in)
	if d == loss.Add {
		o = o.Mirror()
	}
	if flip {
		o = o.Mirror()
		o.Flipped = true
	}
	return quadrature.NewOutcomesLine(func(float64) *quadrature.Outcomes { return o }, m)
}

// outcomes: P's mass is w and Q's w·e^{−l}.
func (l lossTable) outcomes(in *num.Interrupt) *quadrature.Outcomes {
	missing := l.missing
	in.Spend(quadrature.TiltWork * l.losses.Len())
	o := &quadrature.Outcomes{
		In: in, WeightErr: 8 + l.massErr/num.Ulp, LostP: l.infinite, LostQ: (missing.Lower + missing.Upper) / 2,
		Reach:   math.Inf(1),
		LostErr: (missing.Upper-missing.Lower)/2 + 8*num.Ulp,
	}
	o.Nodes = make([]quadrature.Node, l.losses.Len())
	for i := range o.Nodes {
		lossAt := l.losses.At(i)
		o.Nodes[i] = quadrature.Node{
			Half: -l.logs.At(i), LogQ: -lossAt, ErrQ: math.Abs(lossAt)*2 + l.lossErr/num.Ulp,
		}
	}
	return o
}

func (l lossTable) Order() [4]float64 { return l.key }

// Pair: below, what is missing counts as little as it may be.
func (l lossTable) Pair(d loss.Direction, side loss.Side, in *num.Interrupt) loss.Pair {
	missing := l.missing
	in.Spend(quadrature.TiltWork * l.losses.Len())
	lost := [2]float64{l.infinite, missing.Upper}
	if side == loss.Dominated {
		lost = [2]float64{l.LostAtLeast(loss.Remove), missing.Lower}
	}
	n := l.losses.Len()
	atoms := make([]loss.Mass, n)
	for i := range n {
		v, log := l.losses.At(i), l.logs.At(i)
		m := loss.Mass{LogP: log, Loss: v, LogErr: num.Ulp*(8+2*math.Abs(log)) + l.massErr, LossErr: l.lossErr}
		if d == loss.Remove {
			atoms[i] = m
		} else {
			atoms[n-1-i] = loss.Exchanged(m)
		}
	}
	if d == loss.Remove {
		return loss.NewAtomicPair(atoms, lost[0], lost[1])
	}
	return loss.NewAtomicPair(atoms, lost[1], lost[0])
}

// Decay: atoms alone have none.
func (lossTable) Decay(loss.Direction, float64, loss.Value, *num.Interrupt) loss.Decay {
	return loss.Undecayed
}

// Covers: only itself is known to be covered.
func (l lossTable) Covers(loss.Loss) bool { return false }

// Grouped: a table of one record's losses says nothing of groups.
func (l lossTable) Grouped(uint64) (loss.Loss, error) { return nil, nil }
