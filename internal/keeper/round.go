// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Whatever is decided is decided on ledgers that stand still: a queue's requests on its own ledger, sets, children and
// registrations on several. Each ledger has a batch, all batches are written by one Append, and what was refused, or
// only checked, is compared with the store.

// begin starts a batch on the committed state.
func (m *member) begin(ctx context.Context) error {
	m.q.attempt++
	clear(m.q.begun)
	err := m.q.read(ctx, func(s *ledger.State) {
		if m.batch, _ = m.q.k.batches.Get().(*ledger.Batch); m.batch == nil {
			m.batch = &ledger.Batch{}
		}
		m.batch.Restart(s) // nobody else changes the state, so no lock is needed to read it later
		m.parent = s.Parent()
	})
	if err != nil {
		return err
	}
	m.batch.Bound()
	if !m.q.held {
		m.batch.Alone()
	}
	if m.parent != "" {
		var cap *ledger.ChargeCap
		if cap, err = m.q.k.capOf(ctx, m.parent); err == nil {
			m.batch.Cap(cap)
		}
	}
	return err
}

// create has the journal made by what is written into it.
func (m *member) create(now time.Time) {
	m.genesis = &ledger.Genesis{Principal: ledger.Daemon, Time: now,
		Spec: ledger.Spec{Name: m.q.name, Adjacency: mechanism.AddOrRemoveOne}}
	m.batch = ledger.NewBatch(ledger.NewState(ledger.Snapshot{Summary: ledger.Summary{Genesis: *m.genesis}}))
	m.batch.Bound()
	m.lost = nil
}

// view is the committed state.
func (m *member) view(ctx context.Context) (v ledger.View, err error) {
	err = m.q.read(ctx, func(s *ledger.State) { v = s.View() })
	return v, err
}

// entries are what the batch writes.
func (m *member) entries() []ledger.Entry {
	if m.lost != nil {
		return nil
	}
	return m.batch.Entries()
}

// receipt is that of an entry that was written, given by its index.
func (m *member) receipt(entry int) ledger.Receipt {
	return m.batch.Entries()[entry].Receipt(m.q.k.storeID, m.q.name, m.hashes[entry])
}

// commit writes what was decided on members, and a new ledger, by one Append, and makes it part of the states. If it is
// unknown whether it was written, or if a state was not the newest, that state is read again.
func (k *Keeper) commit(members []*member, created ...ledger.Proposal) error {
	proposals := append(proposed(members), created...)
	if len(proposals) == 0 {
		return nil
	}
	hashes, err := k.append(proposals)
	written(members, hashes, err)
	if errors.Is(err, ledger.ErrConflict) && len(created) > 0 {
		if _, _, e := k.config.Store.GenesisRecord(created[0].Ledger); e == nil { // the name was taken meanwhile
			return ledger.ErrExists
		}
	}
	return err
}

// proposed returns what was decided on members.
func proposed(members []*member) (proposals []ledger.Proposal) {
	proposals = make([]ledger.Proposal, 0, len(members)+1)
	for _, m := range members {
		if len(m.entries()) > 0 {
			p := m.batch.Proposal()
			p.Genesis = m.genesis
			proposals = append(proposals, p)
		}
	}
	return proposals
}

// written makes what was decided on members part of the states, or notes why it was not written.
func written(members []*member, hashes [][]ledger.Hash, err error) {
	for _, m := range members {
		switch {
		case len(m.entries()) == 0:
			continue
		case err != nil:
			m.q.failed(err, len(members) > 1)
			continue
		}
		m.hashes, hashes = hashes[0], hashes[1:]
		if m.q.held { // otherwise its lanes are told when they are answered
			m.q.passed(m.batch.Entries()...)
		}
		if m.genesis != nil { // the store has completed it
			m.q.forget()
		} else {
			m.q.apply(m.batch, m.hashes)
		}
	}
}

// append is Store.Append with the errors of appended.
func (k *Keeper) append(proposals []ledger.Proposal) ([][]ledger.Hash, error) {
	hashes, err := k.config.Store.Append(proposals)
	return appended(proposals, hashes, err)
}

// appended makes what a store answers to proposals what the contract says: after ErrTooLarge and ErrUnavailable nothing
// was written, and after all other errors the states are to be read again.
func appended(proposals []ledger.Proposal, hashes [][]ledger.Hash, err error) ([][]ledger.Hash, error) {
	if err != nil {
		for _, known := range []error{ledger.ErrTooLarge, ledger.ErrUnavailable, ledger.ErrConflict,
			ledger.ErrUnknown} {
			if errors.Is(err, known) {
				return nil, err
			}
		}
		return nil, fmt.Errorf("%w: %w", ledger.ErrUnknown, err)
	}
	whole := len(hashes) == len(proposals)
	for i := 0; whole && i < len(hashes); i++ {
		whole = len(hashes[i]) == len(proposals[i].Entries)
	}
	if !whole {
		return nil, fmt.Errorf("%w: the store answered %d proposals with hashes of others", ledger.ErrUnknown,
			len(proposals))
	}
	return hashes, nil
}

// failed is called when a ledger could not be written, alone or together with others.
func (q *queue) failed(err error, together bool) {
	switch {
	case errors.Is(err, ledger.ErrTooLarge), errors.Is(err, ledger.ErrUnavailable):
	case !errors.Is(err, ledger.ErrConflict):
		q.forget()
	case q.k.fleet == nil || !together: // beginAll finds out which of several have moved
		q.lost()
	}
}

// compare finds out whether refusals and checks were decided on ledgers as they stood at one moment, and returns
// ErrConflict if not. Of several ledgers, those that other daemons had written to were read after the others, so one of
// two may have a charge that was made to both. What is written has all of its ledgers as they stand when it is written.
// The others are compared afterwards: if they have not moved, that is also where they stood then.
func (k *Keeper) compare(queues ...*queue) error {
	moved, _, err := k.followAll(context.Background(), queues)
	if err == nil && moved {
		err = ledger.ErrConflict
	}
	return err
}
