// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"encoding/binary"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/record"
)

func ParseReservation(key, value []byte) (ledger.Reservation, error) {
	r, err := record.UnmarshalReservation(binary.BigEndian.Uint64(key[8:]), value)
	if err != nil {
		return r, Damaged(ReservationsBucket, key, "%v", err)
	}
	return r, nil
}

// Open reads all open reservations of a ledger, by position.
func (v *View) Open(h Head) (list []ledger.Reservation, err error) {
	err = v.rowsOf(ReservationsBucket, h.Number, func(key, value []byte) error {
		r, err := ParseReservation(key, value)
		if err != nil {
			return err
		}
		if r.Position == 0 || r.Position > h.At.Position {
			return Damaged(ReservationsBucket, key, "position %d; the ledger has %d", r.Position, h.At.Position)
		}
		list = append(list, r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	held := uint64(0)
	for _, r := range list {
		held += r.Total()
	}
	if uint64(len(list)) != h.Open || held != h.Held {
		return nil, Damaged(ReservationsBucket, NumberKey(h.Number),
			"%d open reservations of %d altogether; the head has %d of %d", len(list), held, h.Open, h.Held)
	}
	return list, nil
}
