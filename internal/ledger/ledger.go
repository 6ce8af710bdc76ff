// SPDX-License-Identifier: Apache-2.0

// Package ledger decides what a charge does. It is pure: no clock, no I/O, no
// concurrency. A State is a ledger as committed; a Batch collects decisions on
// top of it; a Store (declared here, implemented by package persist) makes a
// batch durable; then the State applies it. Nothing is ever undone.
package ledger

import (
	"strings"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Hash is SHA-256 over a domain tag, the previous hash and stored bytes.
type Hash [32]byte

// Digest is SHA-256 of the canonical encoding of an action: what was asked.
type Digest [32]byte

// Writer names a lane of a ledger: one sender of numbered requests. Name is a
// UUID, or "request/X" for a single charge under the user's key X.
type Writer struct{ Principal, Name string }

// RequestPrefix begins the name of a writer that writes one entry, under a key that its user chose.
const RequestPrefix = "request/"

// Single reports whether the writer writes one entry only.
func (w Writer) Single() bool { return strings.HasPrefix(w.Name, RequestPrefix) }

// Daemon is the principal of what the daemon itself writes. No user's is spelled
// like it: theirs have a scheme and a colon.
const Daemon = "daemon"

// Lane is where a writer's lane stands: its newest entry; zero before the first.
type Lane struct{ Sequence, Position uint64 }

// Request is one mutation in a lane.
type Request struct {
	Writer    Writer
	Sequence  uint64 // 1, 2, 3 … in the lane
	Digest    Digest // of Action; equal digests mean equal requests
	Action    Action
	CheckOnly bool // decide, but add nothing

	Prices *budget.Prices // of the Action's mechanisms, where they were found before; may be nil

	// Caller is the principal whose right it is to close the ledger or to reserve most
	// of it. It is empty where nobody's right is in question: for what comes over the
	// daemon's own socket, and for entries that are decided again.
	Caller string

	Set      *SetPart  // of the entry; see there
	Approval *Approval // of the entry; see there
	Policy   uint64    // of the entry; see there

	// Lapsed says why the Approval's proposal cannot be approved any more, where a ledger's entries do not show
	// it; "" if nothing is known against it.
	Lapsed string
}

// Entry is a request that was accepted.
type Entry struct {
	Position uint64 // 1, 2, 3 … in the ledger
	Writer   Writer
	Sequence uint64
	Digest   Digest
	Time     time.Time // when the daemon took it; informative, decides nothing
	Action   Action
	Set      *SetPart  // of which set it is a part; nil where the ledger was charged alone
	First    bool      // it is the ledger's first part of a set of several ledgers with that contribution
	Approval *Approval // by which proposal two people have done it; nil where one person did it

	// Policy is the position, in the ledger AccessLedger, of the access policy that let the call in. It is 0 where none
	// was in force, and in what the daemon did by itself. The ledger decides nothing by it.
	Policy uint64
}

// Head is a ledger's newest entry: position 0 and the genesis hash when empty.
type Head struct {
	Position uint64 `field:"1"`
	Hash     Hash   `field:"2"`
}

// Genesis is the first record of a ledger's chain.
type Genesis struct {
	Spec       Spec
	Resolution Resolution
	StoreID    string
	Principal  string
	Time       time.Time
	Policy     uint64 // as an entry's
}

// Summary is a ledger without its counts.
type Summary struct {
	Genesis  Genesis
	Head     Head
	Closed   bool
	Distinct int    // distinct mechanisms that were charged, refunded ones too
	Total    uint64 // sum of all counts, ≤ 2^63 − 1

	Unreconciled bool // restored, and not reconciled since
}

// Snapshot is a ledger's state as a store keeps it. Parts are in the order in
// which their mechanisms first came; Part i has index i in a CountChange.
type Snapshot struct {
	Summary
	Parts   []mechanism.Part // 0 only where all was refunded
	Open    []Reservation    // by position
	Amended []Entry          // those that amend it, by position
}

// Receipt proves that an entry was written. It carries no balance, so that the
// first one can be given again.
type Receipt struct {
	StoreID  string
	Ledger   string
	Writer   Writer
	Sequence uint64
	Position uint64
	Head     Hash // of the entry
	Time     time.Time
}
