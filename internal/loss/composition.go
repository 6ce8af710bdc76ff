package loss

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/dpaccountant/accountant/internal/mechanism"
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

// Compose takes the losses of c's mechanisms and merges equal ones. c must
// come from mechanism.Compose.
func Compose(c mechanism.Composition) (Composition, error) { return ComposeWithin(c, nil) }

// ComposeWithin is Compose for losses that in interrupts, wherever they are computed; it
// is interrupted too. Losses of one Interrupt are not for concurrent use.
func ComposeWithin(c mechanism.Composition, in *num.Interrupt) (Composition, error) {
	var terms Composition
	for _, p := range c.Parts {
		in.Spend(composeWork)
		each, err := termsOf(p.Mechanism, c.Adjacency, in)
		if err != nil {
			return nil, err
		}
		for _, t := range each {
			terms = append(terms, timesTerm(t, p.Count))
		}
	}
	return terms.merged(), nil
}

// composeWork is about what it takes to make the loss of a mechanism.
const composeWork = 2000

// merged has equal losses as one term, in the canonical order.
func (c Composition) merged() Composition {
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

// key has the losses in words, for the order of what is made of them.
func (c Composition) key() string {
	var b strings.Builder
	for _, t := range c {
		fmt.Fprintf(&b, "%T %v %d ", t.Loss, t.Loss.Order(), t.Count)
	}
	return b.String()
}

// TermsOf returns the losses of one application of m under adj: of a mechanism that
// is several releases those of all of them, of every other one the loss that Of
// returns. m must have passed Check(adj). See docs/math/cumulant.md §1.1.6.
func TermsOf(m mechanism.Mechanism, adj mechanism.Adjacency) ([]Term, error) {
	return termsOf(m, adj, nil)
}

func termsOf(m mechanism.Mechanism, adj mechanism.Adjacency, in *num.Interrupt) ([]Term, error) {
	var terms []Term
	for _, p := range mechanism.Expand(m) {
		if on, ok := p.Mechanism.(mechanism.Parallel); ok {
			part, err := parallelTerms(on, adj, in)
			if err != nil {
				return nil, err
			}
			for _, t := range part {
				terms = append(terms, timesTerm(t, p.Count))
			}
			continue
		}
		if l, n := repeated(p.Mechanism, adj); n > 0 {
			terms = append(terms, timesTerm(Term{l, n}, p.Count))
			continue
		}
		l, err := of(p.Mechanism, adj, in)
		if err != nil {
			return nil, err
		}
		terms = append(terms, Term{l, p.Count})
	}
	return terms, nil
}

// timesTerm is n times t. Of more than 2⁶⁴ releases nothing is promised any more.
func timesTerm(t Term, n uint64) Term {
	high, count := bits.Mul64(t.Count, n)
	if high > 0 {
		return Term{gaussian{mu: math.Inf(1)}, 1}
	}
	return Term{t.Loss, count}
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
		if l := t.Loss.Facts().Last; l > 0 {
			last = math.Min(last, l)
		}
	}
	return last
}

// Losing is c without what loses nothing but by failing: its atoms are to be put
// back (LogTotal, Finite).
func (c Composition) Losing() Composition {
	for i, t := range c {
		if _, ok := t.Loss.(failure); ok {
			rest := append(Composition(nil), c[:i]...)
			for _, t := range c[i+1:] {
				if _, ok := t.Loss.(failure); !ok {
					rest = append(rest, t)
				}
			}
			return rest
		}
	}
	return c
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
func (c Composition) Cumulant(d Direction, s float64) Value {
	var sum ValueSum
	for _, t := range c {
		sum.Add(float64(t.Count), t.Loss.Cumulant(d, s))
	}
	return sum.Value()
}

// ValueSum is Σ n·K with its error; the zero value is 0.
type ValueSum struct {
	k, slope, curvature num.Sum
	err, size           float64
}

// Add adds n·v for a count n rounded to nearest.
func (s *ValueSum) Add(n float64, v Value) {
	s.k.Add(n * v.K)
	s.slope.Add(n * v.Slope)
	s.curvature.Add(n * v.Curvature)
	s.err += n * v.Err
	s.size += n * math.Abs(v.K)
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

// Atom bounds the probability of an infinite loss, of every term in the direction in
// which it has the larger, δ_∞ = 1 − Π(1 − m_j)^{n_j}, from below and above: exactly 0
// where no term has an atom. See docs/math/cumulant.md §1.
func (c Composition) Atom() (lower, upper float64) {
	return c.atoms(func(f Facts) float64 { return f.Atom }, func(l partlyLost) float64 {
		return math.Max(l.lostAtLeast(Remove), l.lostAtLeast(Add))
	})
}

// AtomOf is Atom in one direction.
func (c Composition) AtomOf(d Direction) (lower, upper float64) {
	return c.atoms(func(f Facts) float64 { return f.AtomIn(d) }, func(l partlyLost) float64 { return l.lostAtLeast(d) })
}

// partlyLost is a loss whose atom may have been rounded up by much, and bounds it from below.
type partlyLost interface{ lostAtLeast(d Direction) float64 }

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
