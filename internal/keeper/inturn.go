// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"fmt"

	"github.com/dpaccountant/accountant/internal/keeper/fleet"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// inTurn is what a round decides while no other daemon writes to its ledgers.
type inTurn struct {
	*round
	ctx    context.Context // in which the cap of each dataset is read once
	queues []*queue
	items  []item
	timing *timing

	proposals []ledger.Proposal
	behind    bool // others had written before
	torn      bool // a ledger is not in memory as it stands
}

// decideInTurn decides items as decide does, while no other daemon writes to the ledgers. It returns ErrDamaged, and
// nothing is written, if one of the ledgers cannot be read.
func (r *round) decideInTurn(queues []*queue, items []item, timing *timing) error {
	t := inTurn{round: r, ctx: fleet.Within(context.Background()), queues: queues, items: items, timing: timing}
	names := make([]string, len(queues))
	for i, q := range queues {
		names[i] = q.name
	}
	t.prepare()
	hashes, err := r.k.fleet.InTurn(ledger.Turn{Ledgers: names, Limit: maxFollowed, Decide: t.decide,
		Known: func(i int) ledger.Head { return queues[i].known() }})
	if len(t.proposals) > 0 {
		hashes, err = appended(t.proposals, hashes, err)
		written(r.members, hashes, err)
	} else if err == nil && t.torn {
		err = ledger.ErrConflict
	}
	for _, q := range queues {
		q.settle(err)
	}
	r.alone, r.late = err == nil, t.behind
	return err
}

// prepare reads what the decision needs and is not in memory yet: others wait for the ledgers while it is made. What
// fails here, the decision says.
func (t *inTurn) prepare() {
	for _, q := range t.queues {
		var parent string
		if q.read(t.ctx, func(s *ledger.State) { parent = s.Parent() }) == nil && parent != "" {
			_, _ = t.k.capOf(t.ctx, parent)
		}
	}
	for i := range t.items {
		t.items[i].w.prepare()
		if c := t.items[i].set; c != nil {
			for _, q := range c.queues[:len(c.members)] {
				q.lane(ledger.SetWriter(c.Writer.Principal)).prepare()
			}
		}
	}
}

// prepare reads how far a lane has come, unless that is known, or its ledger is not there yet.
func (w *writer) prepare() {
	if w.q.known() != (ledger.Head{}) {
		_ = (&member{q: w.q}).stands(w, false) // what fails, the decision says
	}
}

// decide is that of a ledger.Turn.
func (t *inTurn) decide(heads []ledger.Head, newer [][]ledger.Record) []ledger.Proposal {
	for i := range t.items {
		t.items[i].verdict = verdict{}
	}
	lost := map[*queue]error{}
	for i, q := range t.queues {
		switch known := q.known(); {
		case heads[i] == ledger.Head{}:
			lost[q] = fmt.Errorf("ledger %s: %w", q.name, ledger.ErrNotFound)
		case known != (ledger.Head{}) && known != heads[i]:
			t.behind = true
			if n := newer[i]; len(n) > 0 && n[0].Previous == known.Hash {
				q.take(n, true) // which settle confirms
			} else {
				q.forget()
			}
		}
	}
	t.start(t.ctx, t.queues, lost)
	t.proposals, t.torn = nil, false
	for i, m := range t.members { // a question may have begun to read one before its turn
		t.torn = t.torn || m.lost == nil && m.q.known() != heads[i]
	}
	if !t.torn {
		t.judgeAll(t.queues, t.items, t.timing)
		t.proposals = proposed(t.members)
	}
	return t.proposals
}

// settle notes that a turn has ended. What was read in it is durable if it has ended without an error.
func (q *queue) settle(err error) {
	q.stateMu.Lock()
	was := q.ahead
	q.ahead = false
	q.stateMu.Unlock()
	if was && err != nil {
		q.forget()
	}
}
