// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"slices"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// MaxAmendments bounds the refunds, raises and freed reservations of one ledger, which
// every answer lists; a restore, and what first reconciles it, count but are always taken.
const MaxAmendments = 1000

// Assumption is something that people have asserted, on which answers rest.
type Assumption struct {
	Position    uint64 // of the entry that recorded it
	Kind        string // "refund", "freed", "raise", "restored", "reconciled", "loss", "adopted" or "together"
	Text        string // what is assumed, with the reason that was given
	Descriptive bool   // whether it makes the guarantee descriptive
}

// amendments are what the entries that amend a ledger have made of it. A value never
// changes: an amendment's amend returns the next.
type amendments struct {
	budgets     []accountant.Budget // in force
	resolution  Resolution          // in force
	refunded    []uint64            // positions, as they came
	assumptions []Assumption
	raises      int
	freed       int // reservations

	proposals []OpenProposal // by position
	proposed  proposers      // ever

	restored     []origin // by position
	reconciled   int
	unreconciled bool
	lostInEach   bool // something lost was charged with a sensitivity in each of several ledgers

	together     [OverAll + 1]bool // by contribution: whether the ledger has had a part of a set of several ledgers
	acknowledged []Acknowledgement // by position, each warning once
	observed     []Observation     // by position
	adopted      string            // the name of the dataset's record that the ledger came under
	dataset      *DatasetStanding  // of a dataset's record; never changed in place
	amended      int               // how often it was, other than by raises
}

func (a amendments) number() int {
	return len(a.refunded) + a.raises + a.freed + len(a.restored) + a.reconciled + a.amended
}

// assuming returns a with a further assumption.
func (a amendments) assuming(added Assumption) amendments {
	a.assumptions = append(slices.Clip(a.assumptions), added)
	return a
}

// after returns a with the change by e. Entries that amend nothing change nothing.
func (a amendments) after(e Entry) amendments {
	if e.First {
		a = a.shared(e)
	}
	v, amends := e.Action.(amendment)
	if !amends {
		return a
	}
	a = v.amend(a, e)
	if by := e.Approval; by != nil {
		a = a.settled(by.Proposal).explained(fmt.Sprintf("; entry %d, by %s, proposed it, and %s approved it",
			by.Proposal, by.Proposer, e.Writer.Principal), e.Position)
	}
	return a
}

// Unreconciled reports whether a ledger needs reconciling after these entries, all that
// amend it, by position.
func Unreconciled(amended []Entry) bool {
	var a amendments
	for _, e := range amended {
		a = a.after(e)
	}
	return a.unreconciled
}

// explained adds to the text of the assumption that the entry at position makes, if it makes one.
func (a amendments) explained(more string, position uint64) amendments {
	if n := len(a.assumptions); n > 0 && a.assumptions[n-1].Position == position {
		a.assumptions = slices.Clone(a.assumptions)
		a.assumptions[n-1].Text += more
	}
	return a
}

// amend makes the change by an entry that amends the ledger. If it changes what is allowed, all costs are found anew,
// as they are shares of limits.
func (b *Batch) amend(e Entry) {
	before := b.amended
	b.amended = before.after(e)
	if b.draft != nil && !b.amended.allows(before) {
		b.draft = budget.New(b.spec().terms(b.amended), b.parts(), b.held.merged(), b.request.Prices).Draft(&b.drafted)
	}
}

// allows reports whether a allows what before did.
func (a amendments) allows(before amendments) bool {
	return slices.Equal(a.budgets, before.budgets) && a.resolution.Equal(before.resolution)
}

// amendable refuses an amendment of a ledger that has as many as it may.
func (b *Batch) amendable() error {
	if n := b.amended.number(); n >= MaxAmendments {
		return refuse(ErrOutOfRange, "refunds, raises and freed reservations: %d; allowed: at most %d in one ledger",
			n+1, MaxAmendments)
	}
	return nil
}

// listed describes events, the first few of many.
func listed(events []mechanism.Event) string {
	text := ""
	for i, e := range events {
		if i == budget.MaxListed {
			return text + fmt.Sprintf(" and %d more", len(events)-i)
		}
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%d × %v", e.Count, e.Mechanism)
	}
	return text
}

// origin is a restore's entry with the store that has the ledger from then on.
type origin struct {
	position uint64
	to       string
}

// ended reports whether a lane that stands there was ended by a restore.
func (a amendments) ended(l Lane) bool {
	n := len(a.restored)
	return n > 0 && l.Sequence > 0 && l.Position < a.restored[n-1].position
}

// store is where the entry at position was written, of a ledger that was created in
// the store first.
func (a amendments) store(first string, position uint64) string {
	for _, r := range a.restored {
		if position < r.position {
			return first
		}
		first = r.to
	}
	return first
}

// StoreOf is the store in which the entry at position was written.
func (s *State) StoreOf(position uint64) string {
	return s.amended.store(s.summary.Genesis.StoreID, position)
}

// StoreOf is State's, of the state that the batch is on.
func (b *Batch) StoreOf(position uint64) string { return b.state.StoreOf(position) }
