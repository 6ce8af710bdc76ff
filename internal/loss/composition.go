package loss

import (
	"cmp"
	"slices"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Term is a loss and how many times it was incurred.
type Term struct {
	Loss  Loss
	Count uint64 // ≥ 1
}

// Composition is the losses of everything that was applied: distinct, in a
// canonical order that does not depend on the order of the reports.
type Composition []Term

// Compose takes the losses of c's mechanisms and merges equal ones. c must
// come from mechanism.Compose.
func Compose(c mechanism.Composition) (Composition, error) {
	at := make(map[Loss]int, len(c.Parts))
	var terms Composition
	for _, p := range c.Parts {
		l, err := Of(p.Mechanism, c.Adjacency)
		if err != nil {
			return nil, err
		}
		i, ok := at[l]
		if !ok || terms[i].Count+p.Count < p.Count { // a sum that overflows stays two terms
			i = len(terms)
			at[l] = i
			terms = append(terms, Term{Loss: l})
		}
		terms[i].Count += p.Count
	}
	slices.SortFunc(terms, func(a, b Term) int {
		fa, fb := a.Loss, b.Loss
		if c := cmp.Compare(fa.Facts().Name, fb.Facts().Name); c != 0 {
			return c
		}
		ka, kb := fa.order(), fb.order()
		return slices.Compare(ka[:], kb[:])
	})
	return terms, nil
}

// Facts are the facts of every term, in order.
func (c Composition) Facts() []Facts {
	facts := make([]Facts, len(c))
	for i, t := range c {
		facts[i] = t.Loss.Facts()
	}
	return facts
}
