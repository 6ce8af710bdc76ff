// SPDX-License-Identifier: Apache-2.0

package ledger

import "github.com/dpaccountant/accountant/internal/mechanism"

// Follow adds committed records to a state. What was accepted once is a fact: it is not decided again. It returns
// false, and changes nothing, where costs would have to be found, which can take long: after a raise, and of
// mechanisms of which the budgets know no cost yet.
func (s *State) Follow(tail []Record) bool {
	if len(tail) == 0 {
		return true
	}
	b := NewBatch(s)
	if s.account != nil && !s.priced(tail) {
		return false
	}
	for _, r := range tail {
		if d := r.Entry.Action.Details(); b.draft != nil && d.Spends() {
			b.draft.Force(d.Events)
		}
		b.follow(r.Entry)
	}
	newest := tail[len(tail)-1]
	s.Apply(b, Head{newest.Entry.Position, newest.Hash})
	return true
}

// Retrace adds committed records to a state that knows no prices, and returns the proposal that writes them once more,
// in another store. Nothing is decided again.
func (s *State) Retrace(tail []Record) Proposal {
	b := NewBatch(s)
	for _, r := range tail {
		b.follow(r.Entry)
		b.entries = append(b.entries, r.Entry)
	}
	p := b.Proposal()
	newest := tail[len(tail)-1]
	s.Apply(b, Head{newest.Entry.Position, newest.Hash})
	return p
}

// priced reports whether the account knows the costs of all that records charge or reserve.
func (s *State) priced(tail []Record) bool {
	now := s.amended
	for _, r := range tail {
		if d := r.Entry.Action.Details(); d.Spends() && !s.account.Knows(d.Events) {
			return false
		}
		if !r.Entry.Amends() {
			continue
		}
		if now = now.after(r.Entry); !now.resolution.Equal(s.amended.resolution) {
			return false
		}
	}
	return true
}

// Apply makes a batch part of the state, after the store has applied it and
// returned the new head.
func (s *State) Apply(b *Batch, head Head) {
	for _, m := range b.added {
		s.learn(m)
	}
	for _, t := range b.totals.list {
		s.parts[t.key].Count = t.value
	}
	s.summary.Total = b.total
	if b.draft != nil {
		s.account = b.draft.Account
		s.account.Apply(b.draft)
	}
	s.held = b.held
	s.amended = b.amended
	s.summary.Closed, s.summary.Unreconciled = b.closed, b.amended.unreconciled
	s.summary.Head = head
}

// learn adds a mechanism that is new in the ledger.
func (s *State) learn(m mechanism.Mechanism) {
	s.index[m] = len(s.parts)
	s.parts = append(s.parts, mechanism.Part{Mechanism: m})
	s.bytes += mechanism.Size(m)
	s.summary.Distinct = len(s.parts)
}
