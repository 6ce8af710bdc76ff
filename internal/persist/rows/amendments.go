// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"encoding/binary"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// Amendments reads from the log the entries that amend a ledger, by position.
func (v *View) Amendments(h Head) (list []ledger.Entry, err error) {
	log := v.Log(h)
	err = v.rowsOf(AmendmentsBucket, h.Number, func(key, value []byte) error {
		at := binary.BigEndian.Uint64(key[8:])
		if len(value) > 0 || at == 0 || at > h.At.Position {
			return Damaged(AmendmentsBucket, key, "%d bytes about entry %d; want none, and the ledger has %d entries",
				len(value), at, h.At.Position)
		}
		r, err := log.At(at)
		if err == nil && !r.Entry.Amends() {
			err = Damaged(AmendmentsBucket, key, "entry %d with %T is none", r.Entry.Position, r.Entry.Action)
		}
		list = append(list, r.Entry)
		return err
	})
	if err == nil {
		err = h.AgreesWithAmendments(list)
	}
	return list, err
}
