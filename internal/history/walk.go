// SPDX-License-Identifier: Apache-2.0

// Package history goes through a ledger's entries in order, and says how it stood after any of them, and what
// each part of the entries has spent. It computes no ε, and decides nothing: what was accepted is a fact.
package history

import (
	"fmt"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// Log is where entries are read, each verified. A ledger.Store is one.
type Log interface {
	Records(ledger string, from uint64, limit int) ([]ledger.Record, error)
}

// step is how many entries are read at once, unless few are left. Each costs a few microseconds.
const step = 1000

// Each reads the entries of a ledger after the position after and up to the position last, and passes them on
// in order, many at a time. It ends early if stop says so, with stopped set.
func Each(log Log, name string, after, last uint64, stop func() bool,
	take func([]ledger.Record) error) (stopped bool, err error) {
	for after < last {
		if stop() {
			return true, nil
		}
		found, err := log.Records(name, after+1, int(min(last-after, step)))
		if err != nil {
			return false, err
		}
		if len(found) == 0 {
			return false, fmt.Errorf("%w: ledger %s: entry %d, which there was", ledger.ErrDamaged, name, after+1)
		}
		if err := take(found); err != nil {
			return false, err
		}
		after = found[len(found)-1].Entry.Position
	}
	return false, nil
}

// Walk is a ledger as it stood after one of its entries. The zero position is the empty ledger. It is not for
// concurrent use.
type Walk struct {
	genesis ledger.Genesis
	time    time.Time // of the newest entry
	state   *ledger.State
	amends  []ledger.Entry // those that amend the ledger

	terms   ledger.View // of the ledger with nothing but its amendments
	amended int         // how many of them terms has
	gauge   *budget.Gauge

	later ledger.Snapshot // of the newest position for which Leap has needed one
}

// NewWalk begins at the empty ledger.
func NewWalk(g ledger.Genesis) *Walk {
	w := &Walk{genesis: g, time: g.Time, amended: -1}
	w.begin(ledger.Snapshot{Summary: ledger.Summary{Genesis: g}})
	return w
}

// begin has the state be that of a snapshot. Without a policy nothing is priced, and an entry has the same effects.
func (w *Walk) begin(s ledger.Snapshot) {
	s.Genesis.Spec.Policy = ledger.Descriptive
	w.state, w.amends = ledger.NewState(s), s.Amended
}

// Position is that of the newest entry that was taken.
func (w *Walk) Position() uint64 { return w.state.Summary().Head.Position }

// Bytes is about what the walk holds in memory.
func (w *Walk) Bytes() int {
	return 1000 + 300*w.Distinct() + 2*w.state.Bytes() + 500*len(w.amends) + 24*len(w.later.Parts)
}

// Distinct is how many distinct mechanisms were charged.
func (w *Walk) Distinct() int { return w.state.Summary().Distinct }

// Time is when the daemon took that entry, or created the ledger.
func (w *Walk) Time() time.Time { return w.time }

// Take takes the records that follow.
func (w *Walk) Take(records []ledger.Record) error {
	if len(records) == 0 {
		return nil
	}
	if first := records[0].Entry.Position; first != w.Position()+1 {
		return fmt.Errorf("%w: entry %d follows entry %d", ledger.ErrDamaged, first, w.Position())
	}
	w.state.Follow(records)
	for _, r := range records {
		if r.Entry.Amends() {
			w.amends = append(w.amends, r.Entry)
		}
	}
	w.time = records[len(records)-1].Entry.Time
	return nil
}

// View is the ledger as it stood, without how much of its budgets was used: Shares says that.
func (w *Walk) View() ledger.View {
	w.amend()
	v := w.terms
	v.Summary = w.state.Summary()
	v.Genesis = w.genesis
	v.Charged = w.state.Composition()
	v.Reservations = w.state.Reservations()
	return v
}

// amend finds what the amendments have made of the ledger's terms.
func (w *Walk) amend() {
	if w.amended == len(w.amends) {
		return
	}
	before := w.terms.Resolution
	empty := ledger.Snapshot{Summary: ledger.Summary{Genesis: w.genesis}, Amended: w.amends}
	w.terms, w.amended = ledger.NewState(empty).View(), len(w.amends)
	if w.gauge == nil || !before.Equal(w.terms.Resolution) {
		spec := w.genesis.Spec
		w.gauge = budget.NewGauge(budget.Terms{Adjacency: spec.Adjacency, Limits: w.terms.Resolution.Limits,
			Planned: spec.Policy == ledger.Planned, Plan: w.terms.Resolution.Plan})
	}
}

// Shares are how much was used of each budget that was in force, or of the plan, and what of that open
// reservations held, those of child ledgers among them. There are none where nothing was limited.
func (w *Walk) Shares(in *num.Interrupt) (used, held []float64) {
	w.amend()
	open := w.state.Reserved()
	return w.gauge.Shares(append(charged(w.state.Parts()), open...), in), w.gauge.Shares(open, in)
}

// charged leaves out mechanisms of which all was refunded, which need no price.
func charged(parts []mechanism.Part) (out []mechanism.Part) {
	for _, p := range parts {
		if p.Count > 0 {
			out = append(out, p)
		}
	}
	return out
}
