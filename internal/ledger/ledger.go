// Package ledger decides what a charge does. It is pure: no clock, no I/O, no
// concurrency. A State is a ledger as committed; a Batch collects decisions on
// top of it; a Store (declared here, implemented by package persist) makes a
// batch durable; then the State applies it. Nothing is ever undone.
package ledger

import (
	"slices"
	"time"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Policy says what guards a ledger's budget.
type Policy uint8

// Descriptive has no budget: answers assume that parameters and stopping do not
// depend on outputs. It is the zero value and, until budgets exist, the only one.
const Descriptive Policy = 0

// Label is a key with a value. Lists of labels are sorted by key, keys distinct.
type Label struct{ Key, Value string }

// Spec is what a ledger is created with, as requested. It never changes.
type Spec struct {
	Name           string
	Adjacency      mechanism.Adjacency
	PrivacyUnit    string // whose contribution the sensitivity bounds
	DatasetID      string
	DatasetVersion string
	Owner          string
	Labels         []Label
	Policy         Policy
}

// Equal reports whether two requests ask for the same ledger.
func (s Spec) Equal(o Spec) bool {
	labels := slices.Equal(s.Labels, o.Labels)
	s.Labels, o.Labels = nil, nil
	return labels && s.sameFields(o)
}

func (s Spec) sameFields(o Spec) bool {
	return s.Name == o.Name && s.Adjacency == o.Adjacency && s.PrivacyUnit == o.PrivacyUnit &&
		s.DatasetID == o.DatasetID && s.DatasetVersion == o.DatasetVersion &&
		s.Owner == o.Owner && s.Policy == o.Policy
}

// Hash is SHA-256 over a domain tag, the previous hash and stored bytes.
type Hash [32]byte

// Digest is SHA-256 of the canonical encoding of a verb: what was asked.
type Digest [32]byte

// Writer names a lane of a ledger: one sender of numbered requests. Name is a
// UUID, or "request/X" for a single charge under the user's key X.
type Writer struct{ Principal, Name string }

// Verb is what an entry does: Charge or Close.
type Verb interface{ verb() }

// Charge adds events, together or not at all. The events have passed
// mechanism.Event.Check for the ledger's adjacency.
type Charge struct {
	Events []mechanism.Event // as reported; at least one
	Labels []Label
}

// Close ends the ledger: it takes no more charges.
type Close struct{ Reason string }

func (Charge) verb() {}
func (Close) verb()  {}

// Request is one mutation in a lane.
type Request struct {
	Writer    Writer
	Sequence  uint64 // 1, 2, 3 … in the lane
	Digest    Digest // of Verb; equal digests mean equal requests
	Verb      Verb
	CheckOnly bool // decide, but add nothing
}

// Entry is a request that was accepted.
type Entry struct {
	Position uint64 // 1, 2, 3 … in the ledger
	Writer   Writer
	Sequence uint64
	Digest   Digest
	Time     time.Time // when the daemon took it; informative, decides nothing
	Verb     Verb
}

// Head is a ledger's newest entry: position 0 and the genesis hash when empty.
type Head struct {
	Position uint64
	Hash     Hash
}

// Genesis is the first record of a ledger's chain.
type Genesis struct {
	Spec      Spec
	StoreID   string
	Principal string
	Time      time.Time
}

// Summary is a ledger without its counts.
type Summary struct {
	Genesis  Genesis
	Head     Head
	Closed   bool
	Distinct int    // distinct mechanisms
	Total    uint64 // sum of all counts, ≤ 2^63 − 1
}

// Snapshot is a ledger's state as a store keeps it. Parts are in the order in
// which their mechanisms first came; Part i has index i in a CountChange.
type Snapshot struct {
	Summary
	Parts []mechanism.Part
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
