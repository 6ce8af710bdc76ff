// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/dpaccountant/accountant/internal/num"
)

// Term is a loss and how many times it was incurred.
type Term struct {
	Loss  Loss
	Count uint64 // ≥ 1
}

// Composition is the losses of everything that was applied, in a canonical
// order that does not depend on the order of the reports.
type Composition []Term

// Merged has equal losses as one term, in the canonical order.
func (c Composition) Merged() Composition {
	at := make(map[Loss]int, len(c))
	var terms Composition
	for _, t := range c {
		i, ok := at[t.Loss]
		if !ok || terms[i].Count+t.Count < t.Count { // a sum that overflows stays two terms
			i = len(terms)
			at[t.Loss] = i
			terms = append(terms, Term{Loss: t.Loss})
		}
		terms[i].Count += t.Count
	}
	slices.SortFunc(terms, func(a, b Term) int {
		if c := cmp.Compare(a.Loss.Facts().Name, b.Loss.Facts().Name); c != 0 {
			return c
		}
		x, y := a.Loss.Order(), b.Loss.Order()
		if c := slices.Compare(x[:], y[:]); c != 0 {
			return c
		}
		return cmp.Compare(a.Count, b.Count)
	})
	return terms
}

// Key has the losses in words, for the order of what is made of them.
func (c Composition) Key() string {
	var b strings.Builder
	for _, t := range c {
		fmt.Fprintf(&b, "%s %v %d ", t.Loss.Facts().Name, t.Loss.Order(), t.Count)
	}
	return b.String()
}

// Facts are the facts of every term, in order.
func (c Composition) Facts() []Facts {
	facts := make([]Facts, len(c))
	for i, t := range c {
		facts[i] = t.Loss.Facts()
	}
	return facts
}

// Last is the largest s at which every term has a bound on K; maybe +Inf.
func (c Composition) Last() float64 {
	last := math.Inf(1)
	for _, t := range c {
		if l, ok := t.Loss.(Tabled); ok {
			last = math.Min(last, l.Last())
		}
	}
	return last
}

// Losing is c without what loses nothing but by failing: its atoms are to be put
// back (LogTotal, Finite).
func (c Composition) Losing() Composition {
	failing := func(t Term) bool { _, ok := t.Loss.(Failing); return ok }
	if !slices.ContainsFunc(c, failing) {
		return c
	}
	return slices.DeleteFunc(slices.Clone(c), failing)
}

// Directions are the directions to be computed: one where both are the same.
func (c Composition) Directions() []Direction {
	if c.Symmetric() {
		return []Direction{Remove}
	}
	return []Direction{Remove, Add}
}

// Symmetric reports whether both directions of every loss are the same.
func (c Composition) Symmetric() bool {
	for _, t := range c {
		if !t.Loss.Facts().Symmetric {
			return false
		}
	}
	return true
}

// Cumulant returns K(s) = Σ n_j·K_j(s) of the finite part in one direction.
// See docs/math/cumulant.md §1.
func (c Composition) Cumulant(d Direction, s float64, in *num.Interrupt) Value {
	var sum ValueSum
	for _, t := range c {
		sum.Add(float64(t.Count), t.Loss.Cumulant(d, s, in))
	}
	return sum.Value()
}

// ValueSum is Σ n·K with its error; the zero value is 0.
type ValueSum struct {
	k, slope, curvature num.Sum
	err, size           float64
}

// Add adds n·v for a count n rounded to nearest, which is negative for what is taken away.
func (s *ValueSum) Add(n float64, v Value) {
	s.k.Add(n * v.K)
	s.slope.Add(n * v.Slope)
	s.curvature.Add(n * v.Curvature)
	s.err += math.Abs(n) * v.Err
	s.size += math.Abs(n * v.K)
}

// Value is the sum so far.
func (s *ValueSum) Value() Value {
	return Value{
		K: s.k.Value(), Slope: s.slope.Value(), Curvature: s.curvature.Value(),
		// Counts and products are within Ulp each; the sum of the errors itself is
		// within len·Ulp.
		Err: s.err*(1+1e-6) + 6*num.Ulp*s.size,
	}
}

// MaxLoss bounds the finite losses' sum in one direction from above; maybe +Inf.
func (c Composition) MaxLoss(d Direction) float64 {
	var sum float64
	for _, t := range c {
		sum = num.AddUp(sum, num.MulUp(num.Count(t.Count), t.Loss.MaxLoss(d)))
	}
	return sum
}

// InfinityMass bounds the probability of an infinite loss, of every term in the direction in
// which it has the larger, δ_∞ = 1 − Π(1 − m_j)^{n_j}, from below and above: exactly 0
// where no term has an atom. See docs/math/cumulant.md §1.
func (c Composition) InfinityMass() (lower, upper float64) {
	return c.atoms(func(f Facts) float64 { return f.InfinityMass }, func(l partlyLost) float64 {
		return math.Max(l.LostAtLeast(Remove), l.LostAtLeast(Add))
	})
}

// InfinityMassOf is InfinityMass in one direction.
func (c Composition) InfinityMassOf(d Direction) (lower, upper float64) {
	return c.atoms(func(f Facts) float64 { return f.InfinityMassIn(d) },
		func(l partlyLost) float64 { return l.LostAtLeast(d) })
}

// Failing bounds from above the probability of an infinite loss of the mechanisms themselves, as
// InfinityMass does of their pairs: what belongs to Rho and Epsilon.
func (c Composition) Failing() float64 {
	_, upper := c.atoms(func(f Facts) float64 { return f.Failing().InfinityMass }, neverLost)
	return upper
}

// FailingIn is Failing in one direction: what belongs to MaxLoss and Renyi.
func (c Composition) FailingIn(d Direction) float64 {
	_, upper := c.atoms(func(f Facts) float64 { return f.Failing().InfinityMassIn(d) }, neverLost)
	return upper
}

func neverLost(partlyLost) float64 { return 0 }

// partlyLost is a loss whose atom may have been rounded up by much, and bounds it from below.
type partlyLost interface{ LostAtLeast(d Direction) float64 }

func (c Composition) atoms(of func(Facts) float64, atLeast func(partlyLost) float64) (lower, upper float64) {
	var sum, certain num.Sum
	slack := 16 * num.Ulp
	for _, t := range c {
		f := t.Loss.Facts()
		atom := of(f)
		if atom == 0 {
			continue
		}
		sum.Add(float64(t.Count) * math.Log1p(-atom))
		least, ok := t.Loss.(partlyLost)
		switch {
		case ok:
			atom = atLeast(least)
		case f.Uneven || (f.OneSided || f.Rounded) && atom < 0x1p-960: // maybe rounded up by much
			atom = 0
		case f.Rounded:
			slack = 0x1p-45
		}
		certain.Add(float64(t.Count) * math.Log1p(-atom))
	}
	if sum.Value() == 0 {
		return 0, 0
	}
	upper = math.Min(1, num.Up(-math.Expm1(sum.Value())*(1+16*num.Ulp)))
	return math.Max(0, -math.Expm1(certain.Value())*(1-slack)), upper
}

// Finite returns what is left of δ for the finite part of the losses,
// (δ − δ_∞)/(1 − δ_∞), rounded down; 0 or less where nothing is. See docs/math/cumulant.md §1.
func Finite(delta, atom float64) float64 {
	if atom == 0 {
		return delta
	}
	// Division by 1 − δ_∞ ≤ 1 only raises a positive quotient; both roundings are
	// taken down.
	return num.Down(num.Down(delta-atom) / math.Min(1, num.Up(1-atom)))
}

// LogTotal returns a float64 ≥ ln δ for δ = δ_∞ + (1 − δ_∞)·e^{logFinite}, at
// most 0. See docs/math/cumulant.md §1.
func LogTotal(logFinite, atom float64) float64 {
	if atom == 0 {
		return logFinite
	}
	rest := num.Log1pUp(-atom) + logFinite
	v := num.LogAddExp(num.LogUp(atom), rest)
	return math.Min(0, num.UpBy(v, 16*num.Ulp*(1+math.Abs(v))))
}

// FiniteUp is Finite rounded up, for a lower bound on δ_∞.
func FiniteUp(delta, atom float64) float64 {
	if atom == 0 {
		return delta
	}
	return num.Up(num.Up(delta-atom) / num.Down(1-atom))
}

// LogTotalDown is LogTotal rounded down, for lower bounds on both parts.
func LogTotalDown(logFinite, atom float64) float64 {
	if atom == 0 {
		return logFinite
	}
	v := num.LogAddExp(num.Log(atom), math.Log1p(-atom)+logFinite)
	return num.DownBy(v, 16*num.Ulp*(1+math.Abs(v)))
}

// reachPart is what part of δ may be added to what counts as infinite.
const reachPart = 0x1p-20

// Reach is c with pairs that reach as far out as a question about δ = delta needs: more counts as an infinite loss, by
// a millionth of δ at most. less reports whether any pair is another one.
func (c Composition) Reach(delta float64) (near Composition, less bool) {
	var n float64
	for _, t := range c {
		if _, ok := t.Loss.(Reaching); ok {
			n += float64(t.Count)
		}
	}
	if n == 0 {
		return c, false
	}
	near = slices.Clone(c)
	for i, t := range c {
		if r, ok := t.Loss.(Reaching); ok {
			near[i].Loss = r.Reach(reachPart * delta / n)
			less = less || near[i].Loss != t.Loss
		}
	}
	return near, less
}

// OrderOf is a key of long values.
func OrderOf(values ...string) [4]float64 {
	key := [4]float64{float64(len(values))}
	for i, v := range values {
		h := fnv.New64a()
		_, _ = h.Write([]byte(v)) // never fails
		sum := h.Sum64()
		key[1+i%3] = key[1+i%3]*3 + float64(sum>>12)
	}
	return key
}

// Times is all of c n times.
func (c Composition) Times(n uint64) (terms Composition) {
	for _, t := range c {
		if n > 0 {
			terms = append(terms, timesTerm(t, n))
		}
	}
	return terms
}

// timesTerm is n times t. Of more than 2⁶⁴ releases nothing is promised any more.
func timesTerm(t Term, n uint64) Term {
	high, count := bits.Mul64(t.Count, n)
	if high > 0 {
		return Term{everything{}, 1}
	}
	return Term{t.Loss, count}
}

// everything is lost: a loss that nothing is known of.
type everything struct{ BoundOnly }

func (everything) Facts() Facts {
	return Facts{Name: "number of releases above 2^64", Rho: math.Inf(1), Epsilon: math.Inf(1),
		Symmetric: true, BoundOnly: true}
}

func (everything) Cumulant(_ Direction, s float64, _ *num.Interrupt) Value {
	if s == 0 {
		return Value{}
	}
	return Value{K: math.Inf(1), Err: math.Inf(1)}
}

func (l everything) Line(d Direction, theta float64, in *num.Interrupt) Line {
	return BoundLine(l.Cumulant(d, theta, in))
}
func (everything) MaxLoss(Direction) float64      { return math.Inf(1) }
func (everything) Covers(Loss) bool               { return true }
func (l everything) Grouped(uint64) (Loss, error) { return l, nil }
func (everything) Order() [4]float64              { return [4]float64{} }
