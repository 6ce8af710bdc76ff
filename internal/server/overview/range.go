// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/history"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/server/turns"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

// bounds finds the positions at which a range begins and ends.
func (h *Handlers) bounds(ctx context.Context, v ledger.View, q questions.HistoryQuery,
	delta float64) (key pastKey, err error) {
	head, of := v.Head.Position, q.Range
	key = wholePast(v, delta, q.MaxGap)
	key.from, key.to = of.Start, of.End
	switch {
	case of.Start > head:
		return key, questions.PastTheRange("start_position", of.Start, head)
	case of.End > head:
		return key, questions.PastTheRange("end_position", of.End, head)
	}
	// What comes until a time that is not over belongs to the range, too.
	key.open = of.End == 0 && (of.Until.IsZero() || of.Until.After(h.Now()))
	if !of.Since.IsZero() || !key.open && of.End == 0 {
		if err = h.locate(ctx, v, q, &key); err != nil {
			return key, err
		}
	}
	if !key.open && key.to < key.from {
		err = questions.EmptyRange(key.from, key.to)
	}
	return key, err
}

// locate sets the ends of a range that are given as times.
func (h *Handlers) locate(ctx context.Context, v ledger.View, q questions.HistoryQuery, key *pastKey) error {
	if err := h.InTime.Admit(ctx); err != nil {
		return err
	}
	found, err := turns.Beside(ctx, h.InTime, turns.NothingYet, func(t *turns.Turn) (found pastKey, err error) {
		found = *key
		var times []time.Time
		var ends []*uint64
		if !q.Range.Since.IsZero() {
			times, ends = append(times, q.Range.Since), append(ends, &found.from)
		}
		if !found.open && q.Range.End == 0 {
			times, ends = append(times, q.Range.Until), append(ends, &found.to)
		}
		last, err := lastAt(h.Store, key.name, times, v.Head.Position, t.Stop)
		for i := range last {
			*ends[i] = last[i]
		}
		return found, err
	})
	if err == nil {
		*key = found
	}
	return err
}

// lastAt returns the position of the last entry up to head that the daemon took at each time or before; 0 if there is
// none. It looks at all entries, as a clock may have been set back, and reads those of which no checkpoint says that
// they were all taken later.
func lastAt(log marked, name string, times []time.Time, head uint64, stop func() bool) ([]uint64, error) {
	order := make([]int, len(times)) // of the times, the earliest first
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return times[a].Compare(times[b]) })
	last := make([]uint64, len(times)) // in that order
	open := len(times)                 // how many are not found: the earliest ones
	look := func(after, to uint64) error {
		stopped, err := history.Each(log, name, after, to, stop, func(found []ledger.Record) error {
			for _, r := range found {
				i, _ := slices.BinarySearchFunc(order[:open], r.Entry.Time,
					func(i int, at time.Time) int { return times[i].Compare(at) })
				if i < open {
					last[i] = r.Entry.Position
				}
			}
			return nil
		})
		if err == nil && stopped {
			err = fmt.Errorf("%w: not all %d entries could be gone through for the times: ask for fewer times, or for "+
				"positions", accountant.ErrStopped, head)
		}
		for i := 1; i < open; i++ { // what was taken at a time was taken before a later one
			last[i] = max(last[i], last[i-1])
		}
		open, _ = slices.BinarySearchFunc(last[:open], 1, cmp.Compare[uint64])
		return err
	}
	for end := head; end > 0 && open > 0; {
		marks, err := log.Checkpoints(name, 0, end, marksAtOnce)
		if err != nil {
			return nil, err
		}
		begins := uint64(0)
		if n := len(marks); n > 0 {
			begins = marks[n-1].Head.Position
		}
		if err := look(begins, end); err != nil {
			return nil, err
		}
		end = begins
		for _, c := range slices.Backward(marks) {
			if c.Head.Position != end || open == 0 { // the one before is missing, or all is found
				break
			}
			if !c.Earliest.After(times[order[open-1]]) {
				if err := look(c.Since, end); err != nil {
					return nil, err
				}
			}
			end = c.Since
		}
	}
	out := make([]uint64, len(times))
	for i, asked := range order {
		out[asked] = last[i]
	}
	return out, nil
}

// marked is where lastAt reads.
type marked interface {
	history.Log
	ledger.Marks
}

// marksAtOnce is how many checkpoints are read at once.
const marksAtOnce = 500
