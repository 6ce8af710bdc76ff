// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// Reserving implements ledger.Store: it reads the first key of each ledger only.
func (s *Store) Reserving() (names []string, err error) {
	err = s.view(func(v *rows.View) error {
		for next := []byte{}; ; {
			key, _, err := v.From(rows.ReservationsBucket, next)
			if err != nil || key == nil {
				return err
			}
			number, _, err := rows.BlockIn(rows.ReservationsBucket, key)
			if err != nil {
				return err
			}
			g, _, _, err := v.Genesis(number)
			if err != nil {
				return err
			}
			names = append(names, g.Spec.Name)
			if number++; number == 0 {
				return nil
			}
			next = rows.NumberKey(number)
		}
	})
	if err != nil {
		return nil, err
	}
	return names, nil
}
