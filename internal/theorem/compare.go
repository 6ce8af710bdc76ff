// SPDX-License-Identifier: Apache-2.0

package theorem

import (
	"cmp"
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Bound is the bound of one theorem, beside the accountant's answer.
type Bound struct {
	Theorem
	accountant.Result

	// Loose says how far the bound is above the answer: the quotient of both ε, or the
	// difference of both ln δ. It is 1 or 0 where they are equal, may be +Inf, and is not
	// rounded to either side.
	Loose float64
}

// Compare returns the accountant's answer, and the bounds of all theorems about neighbouring
// datasets, the least first. Theorems that do not apply come last, in their own order.
func Compare(c mechanism.Composition, q accountant.Question) (accountant.Answer, []Bound, error) {
	best, err := accountant.Ask(c, q)
	if err != nil {
		return accountant.Answer{}, nil, err
	}
	var bounds []Bound
	for i, t := range All() {
		if t.Name == groupPrivacy { // about other neighbours
			continue
		}
		b := Bound{Theorem: t}
		if t.Classical {
			a, err := t.ask(c, Question{Question: q})
			if err != nil {
				return accountant.Answer{}, nil, err
			}
			b.Result = a.Analyses[0]
		} else {
			b.Result = best.Analyses[i]
		}
		b.Loose = loose(q, best, b.Result)
		bounds = append(bounds, b)
	}
	slices.SortStableFunc(bounds, func(a, b Bound) int {
		if a.Unsupported != "" || b.Unsupported != "" {
			return cmp.Compare(min(1, len(a.Unsupported)), min(1, len(b.Unsupported)))
		}
		return cmp.Or(cmp.Compare(a.Epsilon, b.Epsilon), cmp.Compare(a.LogDelta, b.LogDelta))
	})
	return best, bounds, nil
}

func loose(q accountant.Question, best accountant.Answer, r accountant.Result) float64 {
	switch {
	case r.Unsupported != "":
		return 0
	case q.Delta == nil:
		if r.LogDelta == best.LogDelta { // maybe both −Inf
			return 0
		}
		return r.LogDelta - best.LogDelta
	case r.Epsilon == best.Epsilon:
		return 1
	case best.Epsilon == 0:
		return math.Inf(1)
	}
	return r.Epsilon / best.Epsilon
}
