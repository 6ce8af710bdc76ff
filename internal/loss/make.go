// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"fmt"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// Kind is how the losses of one kind of mechanism are made.
type Kind struct {
	Name string // as mechanism.Mechanism's Kind

	one     func(mechanism.Mechanism, Maker) (Loss, error)
	several func(m mechanism.Mechanism, x Maker, records uint64) ([]Term, error)
}

// KindOf is a kind that has one loss.
func KindOf[M mechanism.Mechanism](one func(M, Maker) (Loss, error)) Kind {
	var m M
	return Kind{Name: m.Kind(), one: func(m mechanism.Mechanism, x Maker) (Loss, error) { return one(m.(M), x) }}
}

// PlainKindOf is a kind that has one loss, of its parameters alone.
func PlainKindOf[M mechanism.Mechanism](one func(M, mechanism.Adjacency) Loss) Kind {
	return KindOf(func(m M, x Maker) (Loss, error) { return one(m, x.Adjacency), nil })
}

// LongKindOf is a kind that has one loss, of its parameters alone, that takes long to compute.
func LongKindOf[M mechanism.Mechanism](one func(M, *num.Interrupt) Loss) Kind {
	return KindOf(func(m M, x Maker) (Loss, error) { return one(m, x.In), nil })
}

// Or is k with several losses in the place of one where several returns any; of records ≥ 1
// records in the place of one.
func Or[M mechanism.Mechanism](k Kind, several func(m M, x Maker, records uint64) ([]Term, error)) Kind {
	k.several = func(m mechanism.Mechanism, x Maker, records uint64) ([]Term, error) {
		return several(m.(M), x, records)
	}
	return k
}

// NoLoss is a kind without a loss that stands for all of it.
func NoLoss[M mechanism.Mechanism]() Kind {
	return KindOf(func(m M, _ Maker) (Loss, error) { return nil, noLoss(m) })
}

func noLoss(m mechanism.Mechanism) error {
	return fmt.Errorf("%s: no privacy loss is known for this mechanism", m.Kind())
}

// Kinds are the kinds that are known, by name.
type Kinds map[string]Kind

// NewKinds joins lists of kinds.
func NewKinds(lists ...[]Kind) Kinds {
	kindList := Kinds{}
	for _, list := range lists {
		for _, k := range list {
			kindList[k.Name] = k
		}
	}
	return kindList
}

// Under returns a maker of losses under adj. in, which may be nil, interrupts their making.
func (k Kinds) Under(adj mechanism.Adjacency, in *num.Interrupt) Maker {
	return Maker{Adjacency: adj, In: in, kinds: k}
}

// Maker makes the losses of mechanisms, also of those within others. What it is given must
// have passed Check.
type Maker struct {
	Adjacency mechanism.Adjacency
	In        *num.Interrupt
	kinds     Kinds
}

// Under is the maker under another adjacency.
func (x Maker) Under(adj mechanism.Adjacency) Maker {
	x.Adjacency = adj
	return x
}

// Loss is the loss of one application of m. A mechanism that is several releases has none.
func (x Maker) Loss(m mechanism.Mechanism) (Loss, error) {
	k, ok := x.kinds[m.Kind()]
	if !ok {
		return nil, noLoss(m)
	}
	return k.one(m, x)
}

// Several are the losses of one application of m with so many records in the place of one,
// if it has several; otherwise none.
func (x Maker) Several(m mechanism.Mechanism, records uint64) ([]Term, error) {
	if k := x.kinds[m.Kind()]; k.several != nil {
		return k.several(m, x, records)
	}
	return nil, nil
}

// Terms are the losses of one application of m: of a mechanism that is several releases
// those of all of them, of every other one Loss. See docs/math/cumulant.md §1.1.6.
func (x Maker) Terms(m mechanism.Mechanism) (Composition, error) {
	var terms Composition
	for _, p := range mechanism.Expand(m) {
		several, err := x.Several(p.Mechanism, 1)
		if err != nil {
			return nil, err
		}
		if len(several) == 0 {
			l, err := x.Loss(p.Mechanism)
			if err != nil {
				return nil, err
			}
			several = []Term{{l, 1}}
		}
		for _, t := range several {
			terms = append(terms, timesTerm(t, p.Count))
		}
	}
	return terms, nil
}

// Compose takes the losses of mechanisms and merges equal ones.
func (x Maker) Compose(parts ...mechanism.Part) (Composition, error) {
	var terms Composition
	for _, p := range parts {
		x.In.Spend(composeWork)
		each, err := x.Terms(p.Mechanism)
		if err != nil {
			return nil, err
		}
		for _, t := range each {
			terms = append(terms, timesTerm(t, p.Count))
		}
	}
	return terms.Merged(), nil
}

// composeWork is about what it takes to make the loss of a mechanism.
const composeWork = 2000
