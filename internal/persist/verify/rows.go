// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// rows compares the rows of a ledger that follow from its log.
func (v *worker) rows(f *followed) error {
	if err := f.End(); err != nil {
		return err
	}
	err := v.compare(f)
	var found *audit.Finding
	if errors.Is(err, ledger.ErrDamaged) && !errors.As(err, &found) {
		return finding(f.Name(), 0, "rows", "what follows from the log",
			strings.TrimPrefix(err.Error(), ledger.ErrDamaged.Error()+": "))
	}
	return err
}

func (v *worker) compare(f *followed) error {
	var err error
	if f.row, err = v.Head(f.number); err != nil {
		return err
	}
	for _, of := range []func(*followed) error{v.headRow, v.parts, v.reservations, v.amendments,
		v.sequences, v.writers, v.singles, v.unmarked} {
		if err := of(f); err != nil {
			return err
		}
	}
	return nil
}

// wrong is about a row of a bucket.
func (f *followed) wrong(b rows.Bucket, what string, expected, found any) error {
	return finding(f.Name(), 0, fmt.Sprintf("row of bucket %s: %s", b, what), fmt.Sprint(expected), fmt.Sprint(found))
}

func (v *worker) headRow(f *followed) error {
	h, state := f.row, f.State()
	s := state.Summary()
	held := uint64(0)
	open := state.Reservations()
	for _, r := range open {
		held += r.Total()
	}
	newest := f.newest // the zero lane before the first entry
	for _, c := range []struct {
		what            string
		expected, found any
	}{
		{"position", s.Head.Position, h.At.Position},
		{"head hash", fmt.Sprintf("%x", s.Head.Hash), fmt.Sprintf("%x", h.At.Hash)},
		{"newest log key", f.last, h.Last},
		{"total", s.Total, h.Total},
		{"distinct mechanisms", s.Distinct, h.Distinct},
		{"closed", s.Closed, h.Closed},
		{"first entry of the newest lane", newest.First, h.Writer},
		{"sequence of the newest lane", newest.Sequence, h.Sequence},
		{"open reservations", len(open), h.Open},
		{"total of open reservations", held, h.Held},
		{"needs reconciling", s.Unreconciled, h.Unreconciled},
		{"refunds and raises", len(f.amended), h.Amended},
	} {
		if fmt.Sprint(c.expected) != fmt.Sprint(c.found) {
			return f.wrong(rows.HeadsBucket, c.what, c.expected, c.found)
		}
	}
	return nil
}

// parts compares mechanisms and totals.
func (v *worker) parts(f *followed) error {
	parts := f.State().Parts()
	for i, p := range parts {
		b := rows.CountsBucket
		if i < rows.InlineTotals {
			b = rows.HeadsBucket
		}
		if n, err := v.Total(f.row, i); err != nil || n != p.Count {
			return f.wrong(b, fmt.Sprintf("total of mechanism %d, %v", i, p.Mechanism), p.Count, textOf(n, err))
		}
	}
	stored, err := v.View.Parts(f.row) // no others
	if err != nil {
		return err
	}
	for i, p := range parts {
		if stored[i].Mechanism != p.Mechanism {
			return f.wrong(rows.MechanismsBucket, fmt.Sprintf("mechanism %d", i), p.Mechanism, stored[i].Mechanism)
		}
	}
	return nil
}

func (v *worker) reservations(f *followed) error {
	expected := f.State().Reservations()
	stored, err := v.Open(f.row)
	if err != nil {
		return err
	}
	for i, r := range expected {
		want, err := record.MarshalReservation(r)
		if err != nil {
			return err
		}
		got, err := record.MarshalReservation(stored[i]) // as many: the head row has their number
		if err != nil || stored[i].Position != r.Position || !bytes.Equal(want, got) {
			return f.wrong(rows.ReservationsBucket, fmt.Sprintf("reservation %d", r.Position), fmt.Sprintf("%+v", r),
				fmt.Sprintf("%+v", stored[i]))
		}
	}
	return nil
}

func (v *worker) amendments(f *followed) error {
	list, err := v.View.Amendments(f.row) // as many: the head row has their number
	for i := 0; err == nil && i < len(list); i++ {
		if list[i].Position != f.amended[i] {
			err = f.wrong(rows.AmendmentsBucket, fmt.Sprintf("entry %d", f.amended[i]), "a row", "none")
		}
	}
	return err
}

// writers compares the lanes' rows. That of the lane which wrote last is in the
// head, and its own is one that it had before.
func (v *worker) writers(f *followed) error {
	newest := f.newest.First
	log := v.Log(f.row)
	err := v.eachWriter(f.number, func(w ledger.Writer, row rows.Lane) error {
		lane := audit.LaneOf(w)
		expected, ok := f.lanes[lane]
		if !ok {
			return f.wrong(rows.WritersBucket, "writer "+w.Name, "none: it has written nothing",
				fmt.Sprintf("%+v", row))
		}
		if expected.First == newest && row.First == newest && row.Sequence < expected.Sequence {
			if r, err := log.At(row.Position); err == nil && r.Entry.Writer == w && r.Entry.Sequence == row.Sequence {
				expected = row
			}
		}
		if row != expected {
			return f.wrong(rows.WritersBucket, "writer "+w.Name, fmt.Sprintf("%+v", expected), fmt.Sprintf("%+v", row))
		}
		delete(f.lanes, lane)
		return nil
	})
	if err != nil || len(f.lanes) == 0 {
		return err
	}
	missing := slices.MinFunc(slices.Collect(maps.Values(f.lanes)), func(a, b rows.Lane) int {
		return cmp.Compare(a.First, b.First)
	})
	r, err := log.At(missing.First)
	if err != nil {
		return err
	}
	return f.wrong(rows.WritersBucket, "writer "+r.Entry.Writer.Name, fmt.Sprintf("%+v", missing), "none")
}

// singles compares the keys of request IDs.
func (v *worker) singles(f *followed) error {
	blocks, err := v.blocks(f)
	if err != nil {
		return err
	}
	return rows.CompareSingles(f.number, blocks, f.ofRequests)
}

// blocks reads the keys of request IDs.
func (v *worker) blocks(f *followed) (blocks []rows.SinglesBlock, err error) {
	err = v.Each(rows.SinglesBucket, rows.NumberKey(f.number), func(key, stored []byte) error {
		_, upto, err := rows.BlockIn(rows.SinglesBucket, key)
		if err != nil {
			return err
		}
		k, err := rows.UnsealSingles(f.number, upto, stored)
		blocks = append(blocks, k)
		return err
	})
	return blocks, err
}

// blocksOfLanes returns how many index rows each lane has, by the position of its first entry.
func (f *followed) blocksOfLanes() map[uint64]uint64 {
	blocks := make(map[uint64]uint64, len(f.lanes))
	for _, l := range f.lanes {
		blocks[l.First] = l.Sequence / rows.IndexEvery
	}
	return blocks
}

// sequences looks for index rows of no lane, or past its end: those before were compared.
func (v *worker) sequences(f *followed) error {
	blocks := f.blocksOfLanes()
	return v.Each(rows.SequencesBucket, rows.NumberKey(f.number), func(key, _ []byte) error {
		if len(key) != 24 {
			return rows.Damaged(rows.SequencesBucket, key, "a key of %d bytes; want 24", len(key))
		}
		first, block := binary.BigEndian.Uint64(key[8:]), binary.BigEndian.Uint64(key[16:])
		if block == 0 || block > blocks[first] {
			return f.wrong(rows.SequencesBucket, "key "+rows.KeyText(rows.SequencesBucket, key),
				"none: there is no such lane, or it is shorter", "a row")
		}
		return nil
	})
}
