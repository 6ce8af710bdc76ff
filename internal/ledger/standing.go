// SPDX-License-Identifier: Apache-2.0

package ledger

import "github.com/dpaccountant/accountant/internal/mechanism"

// Standing is what answers about a ledger stand on, without its balance.
type Standing struct {
	Position    uint64
	Adjacency   mechanism.Adjacency
	Guarantee   string     // as of View
	Resolution  Resolution // in force: with raises; not to be changed
	Raises      int        // how many there were
	Reserving   bool       // whether there are open reservations, other than children's
	Assumptions []Assumption

	Acknowledged []Acknowledgement // warnings that answers leave out
}

// Spec returns what the ledger was created with, which never changes. It is not copied.
func (s *State) Spec() *Spec { return &s.summary.Genesis.Spec }

// Standing only reads s, and copies nothing: what refunds and raises have made of a
// ledger is never changed in place.
func (s *State) Standing() Standing {
	return Standing{s.summary.Head.Position, s.summary.Genesis.Spec.Adjacency, s.Guarantee(), s.amended.resolution,
		s.amended.raises, len(s.held.Open) > len(s.held.children()), s.amended.assumptions, s.amended.acknowledged}
}
