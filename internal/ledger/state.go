// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"slices"

	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// MaxDistinct bounds the distinct mechanisms of one ledger, and with them the
// memory of its state.
const MaxDistinct = 1 << 20

// maxDescriptorBytes bounds the sum of their sizes: there are mechanisms of half a
// megabyte each.
const maxDescriptorBytes = 256 << 20

// State is one ledger as committed. It changes only by Apply. It is not safe
// for concurrent use.
type State struct {
	summary Summary
	parts   []mechanism.Part
	bytes   int // of the mechanisms of parts
	index   map[mechanism.Mechanism]int
	account *budget.Account // nil without budgets
	losses  *budget.Answerables
	held    reservations
	amended amendments
}

// NewState makes a state of what a store has loaded.
func NewState(s Snapshot) *State { return newState(s, nil) }

// NewStateWithin is NewState, or false once stop has said so: the costs of all that was
// charged are found anew, which can take long.
func NewStateWithin(s Snapshot, stop func() bool) (st *State, ok bool) {
	in := num.NewInterrupt(stop)
	ok = in.Try(func() { st = newState(s, in) })
	return st, ok
}

func newState(s Snapshot, in *num.Interrupt) *State {
	st := &State{summary: s.Summary, parts: slices.Clone(s.Parts),
		losses: budget.NewAnswerables(s.Genesis.Spec.Adjacency),
		index:  make(map[mechanism.Mechanism]int, len(s.Parts)), held: newReservations(s.Open)}
	for i, p := range st.parts {
		st.index[p.Mechanism] = i
		st.bytes += mechanism.Size(p.Mechanism)
	}
	st.amended = amendments{budgets: s.Genesis.Spec.Budgets, resolution: s.Genesis.Resolution,
		dataset: datasetOf(s.Genesis.Spec)}
	for _, e := range s.Amended {
		st.amended = st.amended.after(e)
	}
	st.summary.Unreconciled = st.amended.unreconciled
	if spec := s.Genesis.Spec; spec.Policy != Descriptive {
		st.account = budget.New(spec.terms(st.amended), st.parts, st.Reserved(), st.costs(in))
	}
	return st
}

// terms are what a ledger with this spec allows, as amended.
func (s Spec) terms(now amendments) budget.Terms {
	return budget.Terms{Adjacency: s.Adjacency, Budgets: now.budgets, Limits: now.resolution.Limits,
		Planned: s.Policy == Planned, Plan: now.resolution.Plan}
}

// costs are the costs of all that was charged.
func (s *State) costs(in *num.Interrupt) *budget.Prices {
	if in == nil || len(s.amended.resolution.Limits) == 0 {
		return nil
	}
	from := budget.NewFinder(s.amended.resolution.Limits, s.summary.Genesis.Spec.Adjacency)
	return budget.PricesOf(from, in, slices.Concat(s.parts, s.Reserved())...)
}

// Unpriced returns what is to be found before an action with these details is decided, nil
// for nothing: what mechanisms that are new in the ledger cost of its limits, and whether they have
// a privacy loss at all. Of what was charged or is reserved both are known.
func (s *State) Unpriced(d Details) *budget.Prices {
	if !d.Spends() {
		return nil
	}
	var missing []mechanism.Mechanism
	for _, e := range d.Events {
		if i, known := s.find(e.Mechanism); !known || s.parts[i].Count == 0 { // or all was refunded
			missing = append(missing, e.Mechanism)
		}
	}
	switch {
	case missing == nil:
		return nil
	case s.account == nil:
		return budget.NewPrices(nil, s.losses, missing)
	}
	return budget.NewPrices(s.account.Prices, s.losses, missing)
}

// fewParts is up to how many mechanisms are compared: that is cheaper than to look one up.
const fewParts = 8

// find returns the index of a mechanism, if the state has it.
func (s *State) find(m mechanism.Mechanism) (i int, ok bool) {
	if len(s.parts) > fewParts {
		i, ok = s.index[m]
		return i, ok
	}
	for i := range s.parts {
		if s.parts[i].Mechanism == m {
			return i, true
		}
	}
	return 0, false
}

func (s *State) count(i int) uint64 {
	if i < len(s.parts) {
		return s.parts[i].Count
	}
	return 0
}

// LostInEach reports whether the ledger has lost a charge that was made with a sensitivity in each of several ledgers.
func (s *State) LostInEach() bool { return s.amended.lostInEach }

// Adjacency is that of the ledger.
func (s *State) Adjacency() mechanism.Adjacency { return s.summary.Genesis.Spec.Adjacency }

// Summary returns the committed state without its counts.
func (s *State) Summary() Summary { return s.summary }

// Bytes is about how many bytes the mechanisms of the ledger take.
func (s *State) Bytes() int { return s.bytes + s.held.Bytes }

// Parts returns a copy of all counts, by the indexes of CountChange.
func (s *State) Parts() []mechanism.Part { return slices.Clone(s.parts) }

// Composition returns what outputs there may be of: what was charged and is not
// refunded, and what child ledgers hold, of which part may be released already.
func (s *State) Composition() mechanism.Composition {
	parts := s.Parts()
	var at func([]mechanism.Part, mechanism.Mechanism) (int, bool)
	for _, r := range s.held.children() {
		if at == nil {
			at = mechanism.Searcher()
		}
		for _, p := range r.Rest {
			if i, ok := at(parts, p.Mechanism); ok {
				parts[i].Count += p.Count
			} else {
				parts = append(parts, p)
			}
		}
	}
	return mechanism.Composition{Adjacency: s.summary.Genesis.Spec.Adjacency, Parts: charged(parts)}
}

// charged drops, in place, mechanisms of which all was refunded.
func charged(parts []mechanism.Part) []mechanism.Part {
	return slices.DeleteFunc(parts, func(p mechanism.Part) bool { return p.Count == 0 })
}

// Reservations returns the open reservations, in the order of their positions.
func (s *State) Reservations() []Reservation { return s.held.sorted() }

// Reserved returns what open reservations hold, all together.
func (s *State) Reserved() []mechanism.Part { return s.held.merged() }

// Parent is the name of the ledger, or of the dataset's record, that has set aside what
// the ledger may spend; "" if none has.
func (s *State) Parent() string { return parentOf(s.summary.Genesis.Spec, s.amended) }

func parentOf(s Spec, now amendments) string {
	if s.Parent != "" {
		return s.Parent
	}
	return now.adopted
}
