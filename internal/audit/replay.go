// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/share"
	"github.com/dpaccountant/accountant/internal/record"
)

// batchEntries is how many entries are decided before they become the state.
const batchEntries = 64

// Replay is one ledger's log as far as it was gone through. Each entry is decided
// as it was when it was written (package ledger), so that a charge over a budget or
// a plan, what a reservation did not hold, and anything after a closing are found.
// A better analysis may have changed what a mechanism costs since then.
//
// What a refund gives back an entry long before it has charged: for that the log has
// to be gone through twice, see Again. After an error a Replay is of no further use.
type Replay struct {
	genesis ledger.Genesis
	state   *ledger.State
	batch   *ledger.Batch
	head    ledger.Head // of the newest entry, those in the batch included
	lanes   map[Lane]ledger.Lane
	writer  ledger.Writer // that was asked for last
	lane    Lane          // of writer
	kept    []Witness     // of this ledger, by position
	agreed  int           // of kept
	raw     []byte        // of the genesis
	refunds map[uint64]refund
	first   *Replay     // of a second time
	tally   share.Tally // of the ledgers below
}

// Lane stands for a writer: 16 bytes of a hash of it.
type Lane [16]byte

// LaneOf returns w's lane.
func LaneOf(w ledger.Writer) Lane {
	sum := sha256.Sum256([]byte(w.Principal + "\x00" + w.Name)) // no name has that byte
	return Lane(sum[:16])
}

// LaneOf returns w's lane. Mostly that is the one for which it was asked before.
func (r *Replay) LaneOf(w ledger.Writer) Lane {
	if w != r.writer {
		r.writer, r.lane = w, LaneOf(w)
	}
	return r.lane
}

// Begin starts with the stored bytes of a genesis, and what was kept of any ledgers: of others than this one it is
// passed over.
func Begin(genesis []byte, kept map[string][]Witness) (*Replay, error) {
	g, err := record.UnmarshalGenesis(genesis)
	if err != nil {
		return nil, &Finding{What: "genesis", Expected: "a genesis record", Found: undamaged(err)}
	}
	hash := record.GenesisHash(genesis)
	state := ledger.NewState(ledger.Snapshot{Summary: ledger.Summary{Genesis: g, Head: ledger.Head{Hash: hash}}})
	r := &Replay{
		genesis: g, state: state, batch: ledger.NewBatch(state),
		head: ledger.Head{Hash: hash}, lanes: map[Lane]ledger.Lane{}, kept: kept[g.Spec.Name],
		lane: LaneOf(ledger.Writer{}), raw: slices.Clone(genesis), refunds: map[uint64]refund{},
	}
	return r, r.compareKept(ledger.Entry{})
}

// Resume goes on after the newest entry of a snapshot whose ledger was gone through up to there before, given the
// stored bytes of its genesis and where all lanes stood but those of request IDs that are not used again. What was kept
// of earlier entries is passed over.
func Resume(genesis []byte, at ledger.Snapshot, lanes map[Lane]ledger.Lane,
	kept map[string][]Witness) (*Replay, error) {
	r, err := Begin(genesis, nil)
	if err != nil {
		return nil, err
	}
	r.state = ledger.NewState(at)
	r.batch, r.head, r.lanes = ledger.NewBatch(r.state), at.Head, lanes
	for _, w := range kept[r.Name()] {
		if w.Position >= at.Head.Position {
			r.kept = append(r.kept, w)
		}
	}
	return r, r.compareKept(ledger.Entry{})
}

// Shares reports whether the ledger has set something aside for others.
func (r *Replay) Shares() bool { return len(r.tally.Taken) > 0 || r.tally.Adopted > 0 }

// Name is the ledger's.
func (r *Replay) Name() string { return r.genesis.Spec.Name }

// Genesis is the ledger's first record.
func (r *Replay) Genesis() ledger.Genesis { return r.genesis }

// Head is of the newest entry.
func (r *Replay) Head() ledger.Head { return r.head }

// Agreed is how many of what was kept was compared and agrees.
func (r *Replay) Agreed() int { return r.agreed }

// State is the ledger's after the newest entry; it must not be changed, and is
// valid until the next entry.
func (r *Replay) State() *ledger.State {
	if len(r.batch.Entries()) > 0 {
		r.state.Apply(r.batch, r.head)
		r.batch = ledger.NewBatch(r.state)
	}
	return r.state
}

// NextRaw is Next of stored bytes alone.
func (r *Replay) NextRaw(raw []byte) (ledger.Record, error) {
	e, _, err := record.UnmarshalEntry(raw)
	if err != nil {
		return ledger.Record{}, r.finding("stored bytes", "an entry", undamaged(err))
	}
	return r.Next(e, raw)
}

// Next adds the entry e of the stored bytes raw, and returns it with its hash.
func (r *Replay) Next(e ledger.Entry, raw []byte) (ledger.Record, error) {
	if err := r.check(e); err != nil {
		return ledger.Record{}, err
	}
	if err := r.compareRefund(e); err != nil {
		return ledger.Record{}, err
	}
	lane := r.LaneOf(e.Writer)
	request := ledger.Request{Writer: e.Writer, Sequence: e.Sequence, Digest: e.Digest, Action: e.Action, Set: e.Set,
		Approval: e.Approval, Policy: e.Policy}
	d := r.batch.Decide(request, r.lanes[lane], e.Time)
	if d.Outcome != ledger.Accepted {
		return ledger.Record{}, r.refused(d)
	}
	if action := r.batch.Entries()[d.Entry].Action; !reflect.DeepEqual(action, e.Action) {
		return ledger.Record{}, r.finding("action", fmt.Sprintf("%+v", action), fmt.Sprintf("%+v", e.Action))
	}
	if first := r.batch.Entries()[d.Entry].First; first != e.First {
		return ledger.Record{}, r.finding("first part of a set with its contribution", fmt.Sprint(first),
			fmt.Sprint(e.First))
	}
	r.lanes[lane] = ledger.Lane{Sequence: e.Sequence, Position: e.Position}
	r.tally.Add(e)
	added := ledger.Record{Entry: e, Hash: record.EntryHash(r.head.Hash, raw), Previous: r.head.Hash, Raw: raw}
	r.head = ledger.Head{Position: e.Position, Hash: added.Hash}
	if len(r.batch.Entries()) >= batchEntries {
		r.State()
	}
	return added, r.compareKept(e)
}

// check compares what an entry says of itself.
func (r *Replay) check(e ledger.Entry) error {
	if want := r.head.Position + 1; e.Position != want {
		return r.finding("position", fmt.Sprint(want), fmt.Sprint(e.Position))
	}
	if want := r.lanes[r.LaneOf(e.Writer)].Sequence + 1; e.Sequence != want {
		return r.finding("sequence of writer "+e.Writer.Name, fmt.Sprint(want), fmt.Sprint(e.Sequence))
	}
	for i, event := range e.Action.Details().Events {
		if err := event.Check(r.genesis.Spec.Adjacency); err != nil {
			return r.finding(fmt.Sprintf("events[%d]", i),
				"an event that is defined for the ledger's adjacency", err.Error())
		}
	}
	return nil
}

// refused says why an entry could not have been written.
func (r *Replay) refused(d ledger.Decision) error {
	switch {
	case d.Err == nil:
		return r.finding("sequence", "one that is not used", "a duplicate")
	case errors.Is(d.Err, ledger.ErrClosed):
		return r.finding("position", "no entry after the closing", "an entry")
	case errors.Is(d.Err, ledger.ErrEnded):
		return r.finding("writer", "a new one: the lane was ended by a restore", d.Err.Error())
	case errors.Is(d.Err, ledger.ErrUnreconciled):
		return r.finding("action", "reconcile: the ledger was restored", d.Err.Error())
	case errors.Is(d.Err, ledger.ErrBudget):
		return r.finding("budget", "a charge within the budgets and the plan", d.Err.Error())
	}
	return r.finding("action", "one that the ledger accepts", d.Err.Error())
}

// finding is about the entry after the newest.
func (r *Replay) finding(what, expected, found string) *Finding {
	return &Finding{Ledger: r.Name(), Position: r.head.Position + 1, What: what, Expected: expected, Found: found}
}

// undamaged is an ErrDamaged's own text.
func undamaged(err error) string {
	return strings.TrimPrefix(err.Error(), ledger.ErrDamaged.Error()+": ")
}
