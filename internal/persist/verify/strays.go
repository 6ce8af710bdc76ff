package verify

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/persist/pages"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// unknown finds buckets that are not this program's. One of them may be a bucket that
// got another name: without it no row of it is missed.
func (v *verifier) unknown() error {
	c := v.Tx.Cursor()
	for name, _ := c.First(); name != nil; name, _ = c.Next() {
		if !slices.Contains(rows.BucketNames[:], string(name)) {
			return &audit.Finding{What: "bucket " + pages.Text(name), Expected: "none of this name", Found: "a bucket"}
		}
	}
	return nil
}

// strays finds rows that belong to no ledger. Those of known ledgers were compared.
func (v *verifier) strays() error {
	for _, b := range []rows.Bucket{rows.HeadsBucket, rows.MechanismsBucket, rows.CountsBucket,
		rows.WritersBucket, rows.PositionsBucket,
		rows.ReservationsBucket, rows.AmendmentsBucket} {
		bb, err := v.Bucket(b)
		if err != nil {
			return err
		}
		c := bb.Cursor()
		for key, _ := c.First(); key != nil; {
			if len(key) < 8 || v.ledgers[binary.BigEndian.Uint64(key)] == 0 {
				return rowFinding(b, key, "row", "none: no ledger has this number", "a row")
			}
			key, _ = c.Seek(rows.NumberKey(binary.BigEndian.Uint64(key) + 1))
		}
	}
	if err := v.strayNames(); err != nil {
		return err
	}
	return v.straySequences()
}

// strayNames finds names of no ledger: all ledgers have theirs.
func (v *verifier) strayNames() error {
	bb, err := v.Bucket(rows.LedgersBucket)
	if err != nil {
		return err
	}
	c := bb.Cursor()
	for key, stored := c.First(); key != nil; key, stored = c.Next() {
		value, err := rows.Unseal(rows.LedgersBucket, key, stored)
		if err != nil {
			return err
		}
		number, err := rows.NumberIn(rows.LedgersBucket, key, value)
		if err != nil {
			return err
		}
		if _, ok := slices.BinarySearch(v.geneses, number); !ok {
			return rowFinding(rows.LedgersBucket, key, "row", "none: no ledger has this number", fmt.Sprint(number))
		}
		if g, _, _, err := v.Genesis(number); err != nil || g.Spec.Name != string(key) {
			return rowFinding(rows.LedgersBucket, key, "row", "none: the ledger has another name", fmt.Sprint(number))
		}
	}
	return nil
}

// straySequences finds index rows of no lane: all that must be there are.
func (v *verifier) straySequences() error {
	bb, err := v.Bucket(rows.SequencesBucket)
	if err != nil {
		return err
	}
	c, n := bb.Cursor(), uint64(0)
	for key, stored := c.First(); key != nil; key, stored = c.Next() {
		n++
		value, err := rows.Unseal(rows.SequencesBucket, key, stored)
		if err != nil {
			return err
		}
		at, err := rows.ParseUint64(value)
		if err != nil || len(key) != 16 {
			return rows.Damaged(rows.SequencesBucket, key, "a key of %d bytes, a value of %d; want 16 and 8",
				len(key), len(value))
		}
		if !v.indexes(key, at) {
			return rowFinding(rows.SequencesBucket, key, "row",
				"none: there is no such lane, or it is shorter", fmt.Sprint(at))
		}
	}
	if n != v.sequences {
		return rowFinding(rows.SequencesBucket, nil, "rows", fmt.Sprint(v.sequences), fmt.Sprint(n))
	}
	return nil
}

// indexes reports whether the entry with log key at is the one that a row of the
// bucket sequences stands for.
func (v *verifier) indexes(key []byte, at uint64) bool {
	id, block := binary.BigEndian.Uint64(key), binary.BigEndian.Uint64(key[8:])
	first, err := v.Logged(id)
	if err != nil {
		return false
	}
	number := first.Number
	begins, err := v.Entry(number, id)
	if err != nil || begins.Entry.Sequence != 1 {
		return false
	}
	r, err := v.Entry(number, at)
	return err == nil && block > 0 && r.Entry.Writer == begins.Entry.Writer && r.Entry.Sequence == block*rows.IndexEvery
}
