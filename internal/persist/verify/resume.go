// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"errors"
	"slices"

	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/packs"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// errWhole says that a ledger is decided from its first entry: something is not as it was kept, which is named then, or
// an entry is about one before.
var errWhole = errors.New("the ledger is to be decided from its first entry")

// resume begins a ledger where it was kept. Its rows are taken back to there and compared with what was kept, so that
// nothing is decided by a row that somebody has changed. It is nil for a ledger that is to be decided from its first
// entry: whatever is in doubt is left to that, and so is what is wrong.
func (v *worker) resume(number uint64) *followed {
	g, raw, _, err := v.Genesis(number)
	if err != nil {
		return nil
	}
	kept := v.since[g.Spec.Name]
	earlier := func(w audit.Witness) bool { return w.Ledger == g.Spec.Name && w.Position <= kept.head.Position }
	if kept.digest == [len(kept.digest)]byte{} || kept.number != number ||
		slices.ContainsFunc(v.Config.Kept, earlier) {
		return nil
	}
	f := &followed{number: number, raw: raw, last: kept.last, newest: kept.newest, rights: v.rights.Of(g.Spec.Name),
		lanes: map[audit.Lane]rows.Lane{}, keys: kept.head.Position + 1, sum: kept.sum,
		highest: max(number, kept.last), since: kept.head.Position}
	f.rights.Resume(kept.last, kept.Earliest)
	if v.back(f, g, kept) != nil {
		return nil
	}
	if is, err := v.digest(f); err != nil || is != kept.digest {
		return nil
	}
	if f.marks, err = v.marks(number); err != nil {
		return nil
	}
	f.marks.positions = slices.DeleteFunc(f.marks.positions, func(at uint64) bool { return at <= f.since })
	f.marks.since = f.since
	v.passed.Add(f.since)
	v.went(int(f.since) + 1)
	return f
}

// back takes a ledger's rows back to where it was kept.
func (v *worker) back(f *followed, g ledger.Genesis, kept stand) error {
	h, err := v.Head(f.number)
	if err != nil {
		return err
	}
	at := kept.head.Position
	if h.At.Position < at || h.At.Position == at && h.At != kept.head || h.Distinct < len(kept.Totals) {
		return errWhole
	}
	if err := v.keysBack(f); err != nil {
		return err
	}
	before, err := v.touched(f, kept)
	if err != nil {
		return err
	}
	if err := v.lanesBack(f, h, before); err != nil {
		return err
	}
	s := ledger.Snapshot{Summary: ledger.Summary{Genesis: g, Head: kept.head, Closed: kept.closed,
		Distinct: len(kept.Totals)}, Open: kept.Open}
	parts, err := v.View.Parts(h)
	if err != nil {
		return err
	}
	for i, n := range kept.Totals {
		parts[i].Count = n
		s.Total += n
	}
	s.Parts = parts[:len(kept.Totals)]
	amended, err := v.View.Amendments(h)
	if err != nil {
		return err
	}
	for _, e := range amended {
		if e.Position <= at {
			s.Amended = append(s.Amended, e)
			f.amended = append(f.amended, e.Position)
		}
	}
	lanes := make(map[audit.Lane]ledger.Lane, len(f.lanes))
	for lane, l := range f.lanes {
		lanes[lane] = ledger.Lane{Sequence: l.Sequence, Position: l.Position}
	}
	f.Replay, err = audit.Resume(f.raw, s, lanes, v.kept)
	return err
}

// keysBack finds the request IDs up to where the ledger was kept.
func (v *worker) keysBack(f *followed) error {
	blocks, err := v.blocks(f)
	for _, k := range blocks {
		for _, key := range k.List {
			if key.Position <= f.since {
				f.ofRequests = append(f.ofRequests, key)
			}
		}
	}
	return err
}

// touched goes through the entries after those that were kept, and returns where each lane that they are in stood
// before.
func (v *worker) touched(f *followed, kept stand) (map[audit.Lane]rows.Lane, error) {
	known := make(map[uint64]bool, len(f.ofRequests)) // hashes of request IDs
	for _, key := range f.ofRequests {
		known[key.Hash] = true
	}
	before, by := map[audit.Lane]rows.Lane{}, record.Reader{}
	first := true
	err := v.EachPackFrom(f.number, f.since+1, v.tail[f.number], func(p packs.Pack, _ uint64) error {
		if first && (p.First != f.since+1 || p.Previous != kept.head.Hash) {
			return errWhole
		}
		first = false
		for _, raw := range p.Raws {
			e, ofWriter, err := by.Entry(raw)
			if err != nil {
				return err
			}
			if _, ok := e.Action.(ledger.Refund); ok { // what it is about has to be read
				return errWhole
			}
			if e.Writer.Single() {
				if known[rows.HashOf(e.Writer)] { // perhaps the same request ID
					return errWhole
				}
				continue
			}
			lane := audit.LaneOf(e.Writer)
			if _, ok := before[lane]; !ok {
				before[lane] = rows.Lane{Sequence: e.Sequence - 1, Position: ofWriter}
			}
		}
		return v.ctx.Err()
	})
	return before, err
}

// lanesBack finds where the lanes stood that there were, given where those stood that have gone on since.
func (v *worker) lanesBack(f *followed, h rows.Head, before map[audit.Lane]rows.Lane) error {
	return v.eachWriter(f.number, func(w ledger.Writer, row rows.Lane) error {
		if row.First > f.since {
			return nil
		}
		lane := audit.LaneOf(w)
		was, ok := before[lane]
		switch {
		case ok:
			was.First = row.First
		case row.First == h.Writer: // the newest entry is its own, which its row need not say
			was = rows.Lane{First: row.First, Sequence: h.Sequence, Position: h.At.Position}
		default:
			was = row
		}
		f.lanes[lane] = was
		return nil
	})
}

// eachWriter goes through the rows of lanes.
func (v *worker) eachWriter(number uint64, each func(ledger.Writer, rows.Lane) error) error {
	return v.Each(rows.WritersBucket, rows.NumberKey(number), func(key, stored []byte) error {
		w, err := rows.WriterIn(key)
		if err != nil {
			return err
		}
		row, err := rows.Parse(rows.WritersBucket, key, stored, rows.ParseLane)
		if err != nil {
			return err
		}
		return each(w, row)
	})
}
