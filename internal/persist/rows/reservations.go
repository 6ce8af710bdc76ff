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
		list = append(list, r)
		return err
	})
	if err == nil {
		err = h.AgreesWithOpen(list)
	}
	return list, err
}
