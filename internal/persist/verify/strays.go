// SPDX-License-Identifier: Apache-2.0

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
	for _, b := range []rows.Bucket{rows.PacksBucket, rows.HeadsBucket, rows.MechanismsBucket, rows.CountsBucket,
		rows.WritersBucket, rows.SinglesBucket, rows.SequencesBucket, rows.ReservationsBucket, rows.AmendmentsBucket,
		rows.CheckpointsBucket} {
		bb, err := v.Bucket(b)
		if err != nil {
			return err
		}
		c := bb.Cursor()
		for key, _ := c.First(); key != nil; {
			if len(key) >= 8 {
				if _, known := v.tail[binary.BigEndian.Uint64(key)]; known {
					key, _ = c.Seek(rows.NumberKey(binary.BigEndian.Uint64(key) + 1))
					continue
				}
			}
			return rowFinding(b, key, "row", "none: no ledger has this number", "a row")
		}
	}
	return v.strayNames()
}

// strayNames finds names of no ledger: all ledgers have theirs.
func (v *verifier) strayNames() error {
	return v.EachLedger(func(name string, number uint64) error {
		if _, ok := slices.BinarySearch(v.geneses, number); !ok {
			return rowFinding(rows.LedgersBucket, []byte(name), "row", "none: no ledger has this number",
				fmt.Sprint(number))
		}
		if g, _, _, err := v.Genesis(number); err != nil || g.Spec.Name != name {
			return rowFinding(rows.LedgersBucket, []byte(name), "row", "none: the ledger has another name",
				fmt.Sprint(number))
		}
		return nil
	})
}
