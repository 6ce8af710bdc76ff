// SPDX-License-Identifier: Apache-2.0

package record

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
)

// sameReading compares a reader with UnmarshalEntry, twice: the second time it knows the events.
func sameReading(t rapid.TB, r *Reader, b []byte) {
	t.Helper()
	want, wantWriter, wantErr := UnmarshalEntry(b)
	for range 2 {
		mine := slices.Clone(b)
		got, ofWriter, err := r.Entry(mine)
		clear(mine) // what was read does not lie in it
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("%x: error %v; want %v", b, err, wantErr)
		}
		if ofWriter != wantWriter || !reflect.DeepEqual(got, want) {
			t.Fatalf("%x:\n got %+v, %d\nwant %+v, %d", b, got, ofWriter, want, wantWriter)
		}
	}
}

// A reader says of every entry, and of one whose bytes were changed, what UnmarshalEntry says, whatever it has read
// before.
func TestReader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := new(Reader)
		for _, e := range rapid.SliceOfN(wiretest.Entries(), 1, 4).Draw(t, "entries") {
			b, err := MarshalEntry(e, rapid.Uint64().Draw(t, "of writer"))
			if err != nil {
				t.Fatal(err)
			}
			sameReading(t, r, b)
			at := rapid.IntRange(0, len(b)-1).Draw(t, "at")
			switch rapid.IntRange(0, 3).Draw(t, "change") {
			case 0:
				b[at] ^= rapid.ByteMin(1).Draw(t, "flips")
			case 1:
				b = b[:at]
			case 2:
				b = slices.Insert(b, at, rapid.SliceOfN(rapid.Byte(), 1, 4).Draw(t, "more")...)
			case 3: // each field a second time
				b = append(b, b...)
			}
			sameReading(t, r, b)
		}
	})
}

// Each charge is read by hand, so that the test above compares two readers and not one with itself.
func TestReaderReadsCharges(t *testing.T) {
	_, entries := goldenEntries()
	charges := 0
	for i, e := range entries {
		b, err := MarshalEntry(e, 3)
		if err != nil {
			t.Fatal(err)
		}
		_, isCharge := e.Action.(ledger.Charge)
		if isCharge {
			charges++
		}
		if _, _, ok := new(Reader).charge(b); ok != isCharge {
			t.Errorf("entry %d, %T: read by hand: %v", i, e.Action, ok)
		}
	}
	if charges < 10 {
		t.Errorf("%d charges among the golden entries", charges)
	}
}

func BenchmarkReader(b *testing.B) {
	raw, err := MarshalEntry(wiretest.StepEntry(), 16)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	var r Reader
	for b.Loop() {
		if _, _, err := r.Entry(raw); err != nil {
			b.Fatal(err)
		}
	}
}
