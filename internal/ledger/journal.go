// SPDX-License-Identifier: Apache-2.0

package ledger

import "github.com/dpaccountant/accountant/internal/mechanism"

import "crypto/sha256"

// A set is a list of ledgers, its members, that are charged together: all of them or none. What was
// done is written down once in a journal, a ledger of the daemon's own, in the lane of whoever asked
// for it, and once in each member, as an ordinary entry that says where the journal's entry is. The
// journal's entry holds the request's key, so it decides what is done once and what is a duplicate.
// docs/decisions/sets.md.

const (
	// MaxMembers bounds the ledgers of one set.
	MaxMembers = 1000
)

// Contribution says whose rows the sensitivity of a charge to several ledgers bounds.
type Contribution uint8

const (
	InEach            Contribution = 1 + iota // a person's in each ledger
	RowsDrawnInEach                           // as InEach, where samples draw rows
	PeopleDrawnInEach                         // as InEach, where samples draw people, with the rows of all ledgers
	OverAll                                   // a person's in all of the ledgers together
)

// Valid reports whether c is one of them.
func (c Contribution) Valid() bool { return c >= InEach && c <= OverAll }

// Check refuses a contribution in each ledger that does not say what is drawn.
func (c Contribution) Check(events []mechanism.Event) error {
	if c != InEach {
		return nil
	}
	for _, e := range events {
		if mechanism.Drawn(e.Mechanism) {
			return &mechanism.ParameterError{Field: "contribution", Value: "IN_EACH of " + e.Mechanism.String(),
				Allowed: "ROWS_DRAWN_IN_EACH if the rows that a person has in each ledger are drawn apart, " +
					"PEOPLE_DRAWN_IN_EACH if a person's rows in all ledgers are drawn together, or OVER_ALL: a " +
					"person in several ledgers loses different amounts"}
		}
	}
	return nil
}

// SetPart says that an entry is its ledger's part of what was done in a set.
type SetPart struct {
	Journal  uint8 // its number
	Position uint64
	Members  uint32   // how many there are
	Names    [32]byte // of all members: NamesHash

	Contribution Contribution
}

// NamesHash is SHA-256 of the members' names in order, each followed by a byte of 0, which is in no
// name.
func NamesHash(members []Member) [32]byte {
	h := sha256.New()
	for _, m := range members {
		h.Write([]byte(m.Ledger)) // which never fails
		h.Write([]byte{0})
	}
	return [32]byte(h.Sum(nil))
}

// SetWriter is the writer of a principal's parts of sets.
func SetWriter(principal string) Writer { return Writer{principal, SetLane} }
