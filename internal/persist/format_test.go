// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

func TestRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Uint64()
		h := rows.Head{
			Number: number.Draw(t, "number"), Last: number.Draw(t, "last"), Total: number.Draw(t, "total") >> 1,
			Distinct: rapid.IntRange(0, 20).Draw(t, "distinct"), Closed: rapid.Bool().Draw(t, "closed"),
			Writer: number.Draw(t, "writer"), Sequence: number.Draw(t, "sequence"),
		}
		h.At.Position = number.Draw(t, "position")
		h.At.Hash[rapid.IntRange(0, 31).Draw(t, "byte")] = rapid.Byte().Draw(t, "value")
		for range min(h.Distinct, rows.InlineTotals) {
			h.Totals = append(h.Totals, number.Draw(t, "count"))
		}
		if rapid.Bool().Draw(t, "reservations") {
			h.Open = rapid.Uint64Range(1, 1<<40).Draw(t, "open")
			h.Held = rapid.Uint64Range(h.Open, 1<<63-1).Draw(t, "held")
		}
		if rapid.Bool().Draw(t, "amendments") {
			h.Amended = rapid.Uint64Range(1, ledger.MaxAmendments).Draw(t, "amended")
		}
		b := h.Append(nil)
		if len(b) > rows.MaxHeadSize {
			t.Fatalf("a head of %d bytes; at most %d were reckoned with", len(b), rows.MaxHeadSize)
		}
		if got, err := rows.ParseHead(h.Number, b); err != nil || !reflect.DeepEqual(got, h) {
			t.Fatalf("head %+v, %v; want %+v", got, err, h)
		}
		l := rows.Lane{First: number.Draw(t, "first") | 1, Sequence: number.Draw(t, "sequence") | 1,
			Position: 1<<64 - 1}
		if got, err := rows.ParseLane(l.Append(nil)); err != nil || got != l {
			t.Fatalf("lane %+v, %v; want %+v", got, err, l)
		}
	})
}

// FuzzRows reads arbitrary bytes as rows: an error or a row that is written as
// the same bytes, never a panic.
func FuzzRows(f *testing.F) {
	f.Add(rows.Head{Distinct: 1, Totals: []uint64{3}, Last: 7}.Append(nil))
	f.Add(rows.Head{Last: 7, Amended: 2}.Append(nil))
	f.Add(rows.Head{Last: 7, Open: 1, Held: 5, Amended: 2}.Append(nil))
	f.Add(rows.Lane{First: 1, Sequence: 2, Position: 3}.Append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := rows.ParseHead(1, b); err == nil {
			again, err := rows.ParseHead(1, h.Append(nil))
			if err != nil || !reflect.DeepEqual(again, h) {
				t.Errorf("head %+v is read again as %+v, %v", h, again, err)
			}
		}
		if l, err := rows.ParseLane(b); err == nil {
			if again, err := rows.ParseLane(l.Append(nil)); err != nil || again != l {
				t.Errorf("lane %+v is read again as %+v, %v", l, again, err)
			}
		}
	})
}
