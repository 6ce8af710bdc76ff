package persist

import (
	"encoding/binary"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/record"
)

// openOf reads the open reservations that a proposal changes.
func (w *writing) openOf(h head, p *ledger.Proposal) ([]ledger.Reservation, error) {
	var list []ledger.Reservation
	for _, r := range p.Open {
		key := blockKey(h.number, r.Position)
		value, err := w.get(reservationsBucket, key)
		if err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		before, err := parseReservation(key, value)
		if err != nil {
			return nil, err
		}
		list = append(list, before)
	}
	return list, nil
}

func parseReservation(key, value []byte) (ledger.Reservation, error) {
	r, err := record.UnmarshalReservation(binary.BigEndian.Uint64(key[8:]), value)
	if err != nil {
		return r, damaged(reservationsBucket, key, "%v", err)
	}
	return r, nil
}

// open reads all open reservations of a ledger, by position.
func (v *view) open(h head) (list []ledger.Reservation, err error) {
	err = v.rowsOf(reservationsBucket, h.number, func(key, value []byte) error {
		r, err := parseReservation(key, value)
		if err != nil {
			return err
		}
		if r.Position == 0 || r.Position > h.at.Position {
			return damaged(reservationsBucket, key, "position %d; the ledger has %d", r.Position, h.at.Position)
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
	if uint64(len(list)) != h.open || held != h.held {
		return nil, damaged(reservationsBucket, numberKey(h.number),
			"%d open reservations of %d altogether; the head has %d of %d", len(list), held, h.open, h.held)
	}
	return list, nil
}

// reservations stages the changed reservations; before are those that were open.
func (w *writing) reservations(h *head, changes, before []ledger.Reservation) error {
	was := make(map[uint64]uint64, len(before))
	for _, r := range before {
		was[r.Position] = r.Total()
	}
	for _, r := range changes {
		if n := was[r.Position]; n > 0 {
			h.open--
			h.held -= n
		}
		key := appendBlock(w.arena.room(16), h.number, r.Position)
		if len(r.Rest) == 0 {
			w.staged = append(w.staged, row{bucket: reservationsBucket, key: key})
			continue
		}
		h.open++
		h.held += r.Total()
		raw, err := record.MarshalReservation(r)
		if err != nil {
			return err
		}
		w.stage(reservationsBucket, key, append(w.value(len(raw)), raw...))
	}
	return nil
}

// Reserving implements ledger.Store: it reads the first key of each ledger only.
func (s *Store) Reserving() (names []string, err error) {
	err = s.view(func(v *view) error {
		for next := []byte{}; ; {
			key, _, err := v.from(reservationsBucket, next)
			if err != nil || key == nil {
				return err
			}
			if len(key) != 16 {
				return damaged(reservationsBucket, key, "a key of %d bytes; want 16", len(key))
			}
			number := binary.BigEndian.Uint64(key)
			g, _, _, err := v.genesis(number)
			if err != nil {
				return err
			}
			names = append(names, g.Spec.Name)
			if number++; number == 0 {
				return nil
			}
			next = numberKey(number)
		}
	})
	if err != nil {
		return nil, err
	}
	return names, nil
}
