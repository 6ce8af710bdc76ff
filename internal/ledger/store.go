// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"iter"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// MaxAppendBytes is the most that stores take in one Append or Create; more is ErrTooLarge.
const MaxAppendBytes = 4 << 20

// Store keeps ledgers durably. This comment is its contract; every store passes
// the suite in persist/storetest.
//
//   - What Create or Append has returned without an error is durable: it
//     survives the death of the process and of the machine, and is seen by every
//     later call.
//   - Append is atomic: all of its proposals or none, and nobody sees a part.
//   - A proposal with a Genesis makes its ledger, in the same way; where the name is
//     taken, by whatever ledger, that is ErrConflict.
//   - Append applies a proposal only on top of its expected head, so of two
//     writers that decided on the same state at most one succeeds.
//   - ErrConflict, ErrTooLarge and ErrUnavailable mean that nothing was written.
//     ErrUnknown means that nobody knows: what the store says afterwards is the
//     truth, and a store that cannot find out fails every later call.
//   - Reads see committed state only. A record is verified when it is read; a
//     damaged one is ErrDamaged, naming what and where, never skipped.
//   - Ledgers are never deleted and names never reused.
//
// All methods are safe for concurrent use. Names are valid (package wire checks).
type Store interface {
	Marks

	// ID is the store's identifier, a UUID made with the store.
	ID() string

	// Create makes a ledger; an empty g.StoreID becomes the store's. If the name is taken
	// by a ledger with an equal spec it returns that one and false; with another
	// spec ErrExists.
	Create(g Genesis) (Summary, bool, error)

	// Load returns how a ledger stands after its newest entry, or ErrNotFound.
	Load(name string) (Snapshot, error)

	// List returns up to limit ledgers whose names start with prefix and come
	// after the name after, in the order of the names' bytes.
	List(prefix, after string, limit int) ([]Summary, error)

	// Writer returns the last sequence number and position of a lane, zeros if
	// the writer has written nothing, or ErrNotFound without the ledger.
	Writer(ledger string, w Writer) (sequence, position uint64, err error)

	// RecordOf returns the record of a lane's sequence number, or ErrNotFound.
	// It needs no scan of the log.
	RecordOf(ledger string, w Writer, sequence uint64) (Record, error)

	// Namesakes returns the first record of each lane of the ledger that has the name
	// of w and another principal, in any order.
	Namesakes(ledger string, w Writer) ([]Record, error)

	// Records returns up to limit records from position from (≥ 1) on, in order;
	// none past the end. It needs no scan of the log.
	Records(ledger string, from uint64, limit int) ([]Record, error)

	// GenesisRecord returns a ledger's genesis as stored, with its hash.
	GenesisRecord(ledger string) (raw []byte, hash Hash, err error)

	// Reserving returns the names of all ledgers with open reservations.
	Reserving() ([]string, error)

	// Append writes proposals for distinct ledgers atomically and returns each
	// one's hashes, an entry each, in order: the last is the new head.
	Append(batch []Proposal) ([][]Hash, error)

	// Close waits for what is being written and releases the store.
	Close() error
}

// Proposal is one ledger's part of an Append: entries with the counts that
// follow from them. A store keeps those that amend the ledger (Entry.Amends) where
// Load finds them without a scan.
type Proposal struct {
	Ledger   string
	Expected Head
	Entries  []Entry // positions Expected.Position + 1, + 2 …; at least one
	Counts   []CountChange
	Open     []Reservation // those that change, by position, as they are afterwards; nothing left: closed
	Total    uint64        // the ledger's new sum of counts
	Closed   bool          // whether the ledger is closed afterwards

	Unreconciled bool // whether it needs reconciling afterwards

	// Genesis is that of a ledger that is made with its first entries, or without any;
	// otherwise nil. As with Create, an empty StoreID becomes the store's. Expected does not count.
	Genesis *Genesis
}

// CountChange is a mechanism's new total. Indexes of new mechanisms follow the
// known ones without a gap, in order.
type CountChange struct {
	Index     int
	Mechanism mechanism.Mechanism
	Total     uint64
}

// Record is an entry as stored.
type Record struct {
	Entry    Entry
	Hash     Hash   // of this entry
	Previous Hash   // of the entry before, or of the genesis
	Raw      []byte // the stored bytes: Hash = SHA-256(tag, Previous, Raw)
}

// Receipt returns the receipt of a record.
func (r Record) Receipt(storeID, ledger string) Receipt {
	return r.Entry.Receipt(storeID, ledger, r.Hash)
}

// Receipt returns the receipt of an entry that was written with this hash.
func (e Entry) Receipt(storeID, ledger string, hash Hash) Receipt {
	return Receipt{
		StoreID: storeID, Ledger: ledger, Writer: e.Writer, Sequence: e.Sequence,
		Position: e.Position, Head: hash, Time: e.Time,
	}
}

// All goes through the ledgers of a store whose names start with prefix and come after the name after, in the order of
// the names' bytes. An error is the last it gives.
func All(s Store, prefix, after string) iter.Seq2[Summary, error] {
	const page = 1000
	return func(yield func(Summary, error) bool) {
		for after := after; ; {
			found, err := s.List(prefix, after, page)
			if err != nil {
				yield(Summary{}, err)
				return
			}
			for _, l := range found {
				if after = l.Genesis.Spec.Name; !yield(l, nil) {
					return
				}
			}
			if len(found) < page {
				return
			}
		}
	}
}
