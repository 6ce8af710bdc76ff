// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// analysis is how tight one analysis is: of one application, and of a hundred.
type analysis struct{ Name, Once, Repeated string }

// repeated is how often the second column's mechanism is applied, and delta where ε is
// asked for.
const repeated, delta = 100, 1e-5

func (k *kind) ask() ([]analysis, error) {
	once, err := k.tightness(1)
	if err != nil {
		return nil, err
	}
	often, err := k.tightness(repeated)
	if err != nil {
		return nil, err
	}
	var out []analysis
	for i, name := range accountant.Analyses() {
		out = append(out, analysis{string(name), once[i], often[i]})
	}
	return out, nil
}

// rounding is what an exact bound may be apart from the one on the other side,
// relative to 1 + ε; certified intervals are wider, by the integral's or the lattice's
// error.
const rounding = 1e-11

// tightness asks each analysis for itself: only one that knows a lower bound is
// more than a bound.
func (k *kind) tightness(count uint32) ([]string, error) {
	c, err := mechanism.Compose(k.adjacency, []mechanism.Event{{Mechanism: k.mechanism, Count: count}})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range accountant.Analyses() {
		a, err := accountant.AskBy(c, accountant.AtDelta(delta), name)
		if err != nil {
			return nil, err
		}
		switch lower := a.EpsilonLower; {
		case a.Analysis == "":
			out = append(out, "–")
		case lower == nil:
			out = append(out, "bound")
		case *lower == a.Epsilon || a.Epsilon-*lower <= rounding*(1+a.Epsilon):
			out = append(out, "exact")
		case *lower == 0 || math.IsInf(a.Epsilon, 1):
			out = append(out, "bound")
		default:
			out = append(out, "interval")
		}
	}
	return out, nil
}
