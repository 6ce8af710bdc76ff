// SPDX-License-Identifier: Apache-2.0

package ledger

// Turn is how one of several daemons decides on ledgers while no other daemon writes to them. The store calls its
// functions from a goroutine of its own, in this order, and again if its transaction failed. They must not write to the
// store, which commits nothing else meanwhile.
type Turn struct {
	Ledgers []string // distinct; some may not be there yet

	// Known returns the head up to which the daemon knows a ledger, or the zero Head if it does not know it.
	Known func(i int) Head
	// Decide returns what is to be written, perhaps nothing. It gets the ledgers' heads, zero for those that are not
	// there, and the records after the known heads. Of a ledger these are nil if there are none, if there are more than
	// Limit, or if nothing was known. They do not continue the known head if the store has lost that entry. All of this
	// may be lost again as long as the turn has not ended without an error.
	Decide func(heads []Head, newer [][]Record) []Proposal
	Limit  int
}
