package loss

import (
	"math"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// lossTable is a mechanism whose loss takes finitely many values, as reported: a pair
// of atoms, and what P and Q have where the other has nothing. See docs/math/cumulant.md §1.1.8.
type lossTable struct {
	losses, masses mechanism.Numbers // rising; of P, adding up to 1 − infinite
	infinite       float64           // P where Q has nothing
	missing        Bounds            // encloses what Q has where P has nothing
	key            [4]float64        // of its order, which takes long to find

	in *num.Interrupt // of its sums
}

// ofTable normalises: P by its sum, and Q to at most 1 by raising every loss by the
// logarithm of what it sums to. Both are what the table means (see its message), so
// that nothing here is but rounded.
func ofTable(m mechanism.PrivacyLossTable, in *num.Interrupt) Loss {
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
		losses: mechanism.NumbersOf(losses...), masses: mechanism.NumbersOf(masses...),
		missing: missing(losses, masses), in: in,
	}
	if m.InfiniteMass > 0 {
		t.infinite = num.Up(num.DivUp(m.InfiniteMass, sumP.Value()))
	}
	t.key = orderOf(string(t.losses), string(t.masses))
	t.key[3] = t.infinite
	return t
}

// tableWork is about what it takes to normalise one loss of a table, in nanoseconds.
const tableWork = 100

// missing encloses what Q has where P, with these losses and masses, has nothing. See
// docs/math/cumulant.md §1.1.8.
func missing(losses, masses []float64) Bounds {
	var sum num.Sum
	var err float64
	for i, p := range masses {
		q := p * math.Exp(-losses[i])
		sum.Add(q)
		err += num.Ulp * q * (8 + math.Abs(losses[i]))
	}
	rest := 1 - sum.Value()
	err += 4 * num.Ulp
	return Bounds{math.Max(0, num.Down(rest-err)), math.Max(0, num.Up(rest+err))}
}

// lostAtLeast is the least that a direction's atom may be.
func (l lossTable) lostAtLeast(d Direction) float64 {
	if d == Add {
		return l.missing.Lower
	}
	return l.infinite * (1 - 8*num.Ulp)
}

func (l lossTable) Facts() Facts {
	lost := [2]float64{l.infinite, l.missing.Upper}
	e := math.Max(0, math.Max(l.MaxLoss(Remove), l.MaxLoss(Add)))
	return Facts{
		Name: "privacy loss table", Atom: math.Max(lost[0], lost[1]), Uneven: true, Atoms: lost,
		Rho: rhoOfPure(e), Epsilon: e,
	}
}

func (l lossTable) MaxLoss(d Direction) float64 {
	if d == Add {
		return -l.losses.At(0)
	}
	return l.losses.At(l.losses.Len() - 1)
}

func (l lossTable) Cumulant(d Direction, s float64) Value {
	m, flip := mirrored(s)
	v := l.line(d, m, flip).value()
	if v.K-v.K != 0 || v.Err-v.Err != 0 { // overflow
		return Value{K: math.Inf(1), Err: math.Inf(1)}
	}
	if flip {
		v.Slope = -v.Slope
	}
	return v
}

func (l lossTable) Line(d Direction, theta float64) Line {
	m, flip := mirrored(theta)
	line := l.line(d, m, flip)
	at := line.at
	if flip {
		at = func(t float64) ComplexValue { return line.at(-t) }
	}
	return guarded(at, l.Cumulant(d, theta))
}

// line is K of the direction at m ≥ −½, or with flip at −1−m.
func (l lossTable) line(d Direction, m float64, flip bool) *outcomesLine {
	o := l.outcomes()
	if d == Add {
		o = o.mirror()
	}
	if flip {
		o = o.mirror()
		o.flipped = true
	}
	return newOutcomesLine(func(float64) *outcomes { return o }, m)
}

// outcomes: P's mass is w and Q's w·e^{−l}.
func (l lossTable) outcomes() *outcomes {
	missing := l.missing
	l.in.Spend(tiltWork * l.losses.Len())
	o := &outcomes{
		in: l.in, weightErr: 8, lostP: l.infinite, lostQ: (missing.Lower + missing.Upper) / 2, reach: math.Inf(1),
		lostErr: (missing.Upper-missing.Lower)/2 + 8*num.Ulp,
	}
	for i, p := range l.masses.Values() {
		loss := l.losses.At(i)
		o.nodes = append(o.nodes, node{half: -num.Log(p), lq: -loss, errQ: math.Abs(loss) * 2})
	}
	return o
}

func (l lossTable) Order() [4]float64 { return l.key }

// Pair: below, what is missing counts as little as it may be.
func (l lossTable) Pair(d Direction, side Side) Pair {
	missing := l.missing
	l.in.Spend(tiltWork * l.losses.Len())
	lost := [2]float64{l.infinite, missing.Upper}
	if side == Dominated {
		lost = [2]float64{l.lostAtLeast(Remove), missing.Lower}
	}
	n := l.losses.Len()
	atoms := make([]Mass, n)
	for i, p := range l.masses.Values() {
		v, log := l.losses.At(i), num.Log(p)
		m := Mass{LogP: log, Loss: v, LogErr: num.Ulp * (8 + 2*math.Abs(log))} // v is exact
		if d == Remove {
			atoms[i] = m
		} else {
			atoms[n-1-i] = exchanged(m)
		}
	}
	if d == Remove {
		return atomicPair{atoms, lost[0], lost[1]}
	}
	return atomicPair{atoms, lost[1], lost[0]}
}

// Decay: atoms alone have none.
func (lossTable) Decay(Direction, float64, Value) Decay { return Undecayed }

// Covers: only itself is known to be covered.
func (l lossTable) Covers(Loss) bool { return false }

// Grouped: a table of one record's losses says nothing of groups.
func (l lossTable) Grouped(uint64) (Loss, error) { return nil, nil }
