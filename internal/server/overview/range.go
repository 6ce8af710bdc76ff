// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"context"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/history"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/server/turns"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

// bounds finds the positions at which a range begins and ends. Those of times follow from what is kept of the whole
// history; where q asks for progress and that is not read yet, it returns how far it is.
func (h *Handlers) bounds(ctx context.Context, v ledger.View, q questions.HistoryQuery,
	delta float64) (key pastKey, reading *pb.Reading, err error) {
	head, of := v.Head.Position, q.Range
	whole := wholePast(v, delta, q.MaxGap)
	key = whole
	key.from, key.to = of.Start, of.End
	switch {
	case of.Start > head:
		return key, nil, questions.PastTheRange("start_position", of.Start, head)
	case of.End > head:
		return key, nil, questions.PastTheRange("end_position", of.End, head)
	}
	// What comes until a time that is not over belongs to the range, too.
	key.open = of.End == 0 && (of.Until.IsZero() || of.Until.After(h.Now()))
	if !of.Since.IsZero() || !key.open && of.End == 0 {
		if q.Progress {
			if reading, err = h.reading(ctx, v, whole); err != nil || reading != nil {
				return key, reading, err
			}
		}
		if err = h.locate(ctx, v, q, whole, &key); err != nil {
			return key, nil, err
		}
	}
	if !key.open && key.to < key.from {
		err = questions.EmptyRange(key.from, key.to)
	}
	return key, nil, err
}

// locate sets the ends of a range that are given as times.
func (h *Handlers) locate(ctx context.Context, v ledger.View, q questions.HistoryQuery, whole pastKey,
	key *pastKey) error {
	p, err := h.pasts.begin(ctx, h.InTime, whole, func() *past { return whole.begin(h.Store, v.Genesis) })
	if err != nil {
		return err
	}
	found, err := run(ctx, h.InTime, p, func(t *turns.Turn) (found pastKey, err error) {
		found = *key
		if !p.value.near(v.Head.Position) {
			if err = p.value.readOn(max(v.Head.Position, p.value.Position()), t.Stop); err != nil {
				return found, err
			}
		}
		if !q.Range.Since.IsZero() {
			if found.from, err = p.value.reader.last(q.Range.Since, v.Head.Position, t.Stop); err != nil {
				return found, err
			}
		}
		if !found.open && q.Range.End == 0 {
			found.to, err = p.value.reader.last(q.Range.Until, v.Head.Position, t.Stop)
		}
		return found, err
	})
	if err == nil {
		*key = found
	}
	return err
}

// times says when the entries that were read were taken: of each block of them the earliest time, as a clock may have
// been set back.
type times struct{ blocks []block }

type block struct {
	last     uint64 // position
	size     int
	earliest time.Time
}

const (
	blockSize     = 1000
	bytesOfABlock = 48
)

func (x *times) take(records []ledger.Record) {
	for _, r := range records {
		if n := len(x.blocks); n == 0 || x.blocks[n-1].size == blockSize {
			x.blocks = append(x.blocks, block{earliest: r.Entry.Time})
		}
		b := &x.blocks[len(x.blocks)-1]
		b.last, b.size = r.Entry.Position, b.size+1
		if r.Entry.Time.Before(b.earliest) {
			b.earliest = r.Entry.Time
		}
	}
}

// last is the position of the last entry up to head that the daemon took at a time or before; 0 if there is none.
func (r *reader) last(at time.Time, head uint64, stop func() bool) (position uint64, err error) {
	return r.times.last(r.log, r.name, at, head, stop)
}

// last reads what take has not been given yet, and one block.
func (x *times) last(log history.Log, name string, at time.Time, head uint64,
	stop func() bool) (position uint64, err error) {
	look := func(after, to uint64) error {
		stopped, err := history.Each(log, name, after, to, stop, func(found []ledger.Record) error {
			for _, r := range found {
				if !r.Entry.Time.After(at) {
					position = r.Entry.Position
				}
			}
			return nil
		})
		if err == nil && stopped {
			err = late(after, to)
		}
		return err
	}
	taken := uint64(0)
	if n := len(x.blocks); n > 0 {
		taken = x.blocks[n-1].last
	}
	if err = look(taken, head); err != nil || position > 0 {
		return position, err
	}
	for i := len(x.blocks) - 1; i >= 0; i-- {
		b := x.blocks[i]
		if first := b.last - uint64(b.size) + 1; first > head || b.earliest.After(at) {
			continue
		}
		if err = look(b.last-uint64(b.size), min(b.last, head)); err != nil || position > 0 {
			return position, err
		}
	}
	return 0, nil
}
