package persist

import (
	"bytes"
	"encoding/binary"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// amendments reads the refunds and raises of a ledger from the log, by position.
func (v *view) amendments(h head) (list []ledger.Entry, err error) {
	bb, err := v.bucket(amendmentsBucket)
	if err != nil {
		return nil, err
	}
	c, prefix := bb.Cursor(), numberKey(h.number)
	for key, stored := c.Seek(prefix); bytes.HasPrefix(key, prefix); key, stored = c.Next() {
		if len(key) != 16 {
			return nil, damaged(amendmentsBucket, key, "a key of %d bytes; want 16", len(key))
		}
		value, err := unseal(amendmentsBucket, key, stored)
		if err != nil {
			return nil, err
		}
		at, err := parseUint64(value)
		if err != nil {
			return nil, damaged(amendmentsBucket, key, "%v", err)
		}
		r, err := v.entry(h.number, at)
		if err != nil {
			return nil, err
		}
		if e := r.Entry; e.Position != binary.BigEndian.Uint64(key[8:]) || !e.Amends() {
			return nil, damaged(amendmentsBucket, key, "entry %d with %T is none", e.Position, e.Verb)
		}
		list = append(list, r.Entry)
	}
	if uint64(len(list)) != h.amended {
		return nil, damaged(amendmentsBucket, prefix, "%d refunds and raises; the head has %d", len(list), h.amended)
	}
	return list, nil
}

// stageAmendment stages the row of a refund or a raise, at a log key.
func (w *writing) stageAmendment(h *head, e ledger.Entry, key uint64) {
	w.stageUint64(amendmentsBucket, appendBlock(w.arena.room(16), h.number, e.Position), key)
	h.amended++
}
