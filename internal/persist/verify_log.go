package persist

import (
	"fmt"
	"time"

	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/record"
)

// followed is a ledger as far as its log was gone through.
type followed struct {
	*audit.Replay
	number uint64
	last   uint64 // newest log key
	newest audit.Lane
	lanes  map[audit.Lane]lane

	amended []amendment
}

// amendment is an entry that amends the ledger, with its log key.
type amendment struct{ position, key uint64 }

// begin takes a genesis.
func (v *verifier) begin(l logged, key uint64) (*followed, error) {
	v.Ledgers++
	if l.previous != (ledger.Hash{}) {
		return nil, rowFinding(logBucket, numberKey(key), "previous hash of a genesis",
			fmt.Sprintf("%x", ledger.Hash{}), fmt.Sprintf("%x", l.previous))
	}
	r, err := audit.Begin(l.raw, v.Kept)
	if err != nil {
		return nil, err
	}
	number, err := v.number(r.Name())
	if err != nil || number != key {
		return nil, finding(r.Name(), 0, "row of bucket ledgers", fmt.Sprint(key), textOf(number, err))
	}
	v.names[r.Name()] = true
	v.took(r.Genesis().Time)
	return &followed{Replay: r, number: key, lanes: map[audit.Lane]lane{}}, nil
}

// next takes an entry, with what the store keeps of it alone: the links to the
// entries before, and the index.
func (v *verifier) next(f *followed, l logged, key uint64) error {
	v.Entries++
	before := f.Head()
	wrong := func(what string, expected, found any) error {
		return finding(f.Name(), before.Position+1, what, fmt.Sprint(expected), fmt.Sprint(found))
	}
	if l.previous != before.Hash {
		return wrong("previous hash", fmt.Sprintf("%x, the hash of entry %d", before.Hash, before.Position),
			fmt.Sprintf("%x", l.previous))
	}
	e, inLedger, ofWriter, err := record.UnmarshalEntry(l.raw)
	if err != nil {
		return wrong("stored bytes", "an entry", damagedBytes(key, err))
	}
	if _, err := f.Next(e, l.raw); err != nil {
		return err
	}
	v.took(e.Time)
	f.newest = audit.LaneOf(e.Writer)
	ln := f.lanes[f.newest]
	switch {
	case inLedger != f.last:
		return wrong("previous_in_ledger", f.last, inLedger)
	case ofWriter != ln.last:
		return wrong("previous_of_writer", ln.last, ofWriter)
	}
	if ln.id == 0 {
		ln.id = key
	}
	ln.sequence, ln.position, ln.last, f.last = e.Sequence, e.Position, key, key
	f.lanes[f.newest] = ln
	if e.Amends() {
		f.amended = append(f.amended, amendment{e.Position, key})
	}
	if e.Position%indexEvery == 0 {
		if err := v.indexed(positionsBucket, f.number, e.Position, key, wrong); err != nil {
			return err
		}
	}
	if e.Sequence%indexEvery == 0 {
		v.sequences++
		return v.indexed(sequencesBucket, ln.id, e.Sequence, key, wrong)
	}
	return nil
}

// took notes when a record was taken.
func (v *verifier) took(at time.Time) {
	if at.After(v.Newest) {
		v.Newest = at
	}
}

// indexed compares an index row.
func (v *verifier) indexed(b bucket, id, n, key uint64, wrong func(what string, expected, found any) error) error {
	found, err := must(v.view, b, blockKey(id, n/indexEvery), parseUint64)
	if err != nil || found != key {
		return wrong("row of bucket "+b.String(), key, textOf(found, err))
	}
	return nil
}

func textOf(n uint64, err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(n)
}

func finding(name string, position uint64, what, expected, found string) error {
	return &audit.Finding{Ledger: name, Position: position, What: what, Expected: expected, Found: found}
}

// rowFinding is about a row that is no ledger's, or nobody knows whose.
func rowFinding(b bucket, key []byte, what, expected, found string) error {
	return &audit.Finding{What: fmt.Sprintf("bucket %s, key %s: %s", b, keyText(b, key), what),
		Expected: expected, Found: found}
}
