// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/record"
)

// What is read of a ledger beside its head has to agree with the head, wherever it is kept.

func parseGenesis(number uint64, stored []byte) (ledger.Genesis, error) {
	g, err := record.UnmarshalGenesis(stored)
	if err != nil {
		err = DamagedBytes(GenesesBucket, NumberKey(number), err)
	}
	return g, err
}

func (h Head) damaged(format string, args ...any) error {
	return Damaged(HeadsBucket, NumberKey(h.Number), format, args...)
}

// SummaryOf completes the summary of a head by the stored genesis of the ledger with that name.
func (h Head) SummaryOf(name string, genesis []byte) (ledger.Summary, error) {
	g, err := parseGenesis(h.Number, genesis)
	if err != nil {
		return ledger.Summary{}, err
	}
	if g.Spec.Name != name {
		return ledger.Summary{}, Damaged(LedgersBucket, []byte(name), "number %d is of ledger %q", h.Number,
			g.Spec.Name)
	}
	if hash := record.GenesisHash(genesis); h.At.Position == 0 && h.At.Hash != hash {
		return ledger.Summary{}, h.damaged("head %x, the genesis has %x", h.At.Hash, hash)
	}
	s := h.Summary()
	s.Genesis = g
	return s, nil
}

// AgreesWithParts compares the head with all mechanisms and their totals, of which it has the first ones itself.
func (h Head) AgreesWithParts(parts []mechanism.Part) error {
	sum := uint64(0)
	for i, p := range parts {
		if p.Count == 0 && h.Amended == 0 || p.Count > h.Total-sum {
			return h.damaged("mechanism %d has total %d, all together %d", i, p.Count, h.Total)
		}
		sum += p.Count
	}
	if sum != h.Total {
		return h.damaged("total %d, the mechanisms have %d", h.Total, sum)
	}
	return nil
}

// AgreesWithOpen compares the head with all open reservations.
func (h Head) AgreesWithOpen(list []ledger.Reservation) error {
	held := uint64(0)
	for _, r := range list {
		if r.Position == 0 || r.Position > h.At.Position {
			return Damaged(ReservationsBucket, BlockKey(h.Number, r.Position), "the ledger has %d entries",
				h.At.Position)
		}
		held += r.Total()
	}
	if uint64(len(list)) != h.Open || held != h.Held {
		return Damaged(ReservationsBucket, NumberKey(h.Number),
			"%d open reservations of %d altogether; the head has %d of %d", len(list), held, h.Open, h.Held)
	}
	return nil
}

// AgreesWithAmendments compares the head with all entries that amend the ledger.
func (h Head) AgreesWithAmendments(list []ledger.Entry) error {
	if uint64(len(list)) != h.Amended {
		return Damaged(AmendmentsBucket, NumberKey(h.Number), "%d refunds and raises; the head has %d", len(list),
			h.Amended)
	}
	if unreconciled := ledger.Unreconciled(list); unreconciled != h.Unreconciled {
		return h.damaged("needs reconciling: %v; by its entries %v", h.Unreconciled, unreconciled)
	}
	return nil
}
