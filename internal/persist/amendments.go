package persist

import (
	"encoding/binary"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// amendments reads from the log the entries that amend a ledger, by position.
func (v *view) amendments(h head) (list []ledger.Entry, err error) {
	err = v.rowsOf(amendmentsBucket, h.number, func(key, value []byte) error {
		at, err := parseUint64(value)
		if err != nil {
			return damaged(amendmentsBucket, key, "%v", err)
		}
		r, err := v.entry(h.number, at)
		if err != nil {
			return err
		}
		if e := r.Entry; e.Position != binary.BigEndian.Uint64(key[8:]) || !e.Amends() {
			return damaged(amendmentsBucket, key, "entry %d with %T is none", e.Position, e.Action)
		}
		list = append(list, r.Entry)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if uint64(len(list)) != h.amended {
		return nil, damaged(amendmentsBucket, numberKey(h.number),
			"%d refunds and raises; the head has %d", len(list), h.amended)
	}
	if unreconciled := ledger.Unreconciled(list); unreconciled != h.unreconciled {
		return nil, damaged(headsBucket, numberKey(h.number), "needs reconciling: %v; by its entries %v",
			h.unreconciled, unreconciled)
	}
	return list, nil
}

// stageAmendment stages the row of an entry that amends the ledger, at a log key.
func (w *writing) stageAmendment(h *head, e ledger.Entry, key uint64) {
	w.stageUint64(amendmentsBucket, appendBlock(w.arena.room(16), h.number, e.Position), key)
	h.amended++
}
