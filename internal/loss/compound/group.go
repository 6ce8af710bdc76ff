// SPDX-License-Identifier: Apache-2.0

// Package compound has the kinds that are made of others: groups of records (group.go), and
// releases on disjoint parts of the data (parallel.go) with their pair (parallelmass.go,
// testhull.go) and what an adversary can make of them (choices.go).
package compound

import (
	"fmt"
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

const groupGuarantee = "group's guarantee"

// ofGroup is the loss of k records in the place of one. What adds noise by distance, or
// selects by scores, has k times the distance: exactly, by the triangle inequality and as k
// records may all move the output one way. What its kind knows nothing better of is, if it is
// (ε, δ)-DP, (kε, δ(e^{kε}−1)/(e^ε−1))-DP (Vadhan 2017, Lemma 2.2). See docs/math/groups.md §1.7.2.
func ofGroup(m mechanism.Group, x loss.Maker) (loss.Loss, error) {
	one, err := x.Loss(m.Mechanism)
	if err != nil || m.Size == 1 {
		return one, err
	}
	if l, err := one.Grouped(m.Size); l != nil || err != nil {
		return l, err
	}
	f := one.Facts()
	if math.IsInf(f.Epsilon, 1) || f.OneSided {
		return nil, fmt.Errorf("group: nothing is known of groups of a %s", m.Mechanism.Kind())
	}
	g := pairs.Response{Epsilon: num.MulUp(num.Count(m.Size), f.Epsilon), K: 2, Rounded: true,
		Name: groupGuarantee, Class: true}
	if f.InfinityMass > 0 {
		// Within 1e-12, and where it is 1 or more nothing is guaranteed.
		g.InfinityMass = math.Min(1, mechanism.GroupDelta(f.Epsilon, f.InfinityMass, m.Size)*(1+1e-11))
	}
	return g, nil
}

// groupTerms: where one record has several losses, so has the group.
func groupTerms(m mechanism.Group, x loss.Maker, _ uint64) ([]loss.Term, error) {
	return x.Several(m.Mechanism, m.Size)
}

// Kinds are made of others.
func Kinds() []loss.Kind {
	return []loss.Kind{
		loss.Or(loss.KindOf(ofGroup), groupTerms),
		loss.Or(loss.NoLoss[mechanism.Parallel](), parallelTerms),
	}
}
