// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"reflect"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
)

// FuzzEntry: whatever the bytes are, they are an entry or damaged; an entry is
// written again and read as the same.
func FuzzEntry(f *testing.F) {
	_, entries := goldenEntries()
	for _, e := range entries {
		b, err := MarshalEntry(e, 2)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, ofWriter, err := UnmarshalEntry(b)
		sameReading(t, new(Reader), b)
		if err != nil {
			if !errors.Is(err, ledger.ErrDamaged) {
				t.Fatalf("error %v is not ErrDamaged", err)
			}
			return
		}
		again, err := MarshalEntry(e, ofWriter)
		if err != nil {
			t.Fatalf("read %+v, but cannot write it: %v", e, err)
		}
		back, before, err := UnmarshalEntry(again)
		if err != nil || !reflect.DeepEqual(back, e) || before != ofWriter {
			t.Fatalf("%+v came back as %+v, %v", e, back, err)
		}
	})
}

func FuzzGenesis(f *testing.F) {
	for _, g := range []ledger.Genesis{wiretest.Genesis(), wiretest.PlannedGenesis(), wiretest.FilteredGenesis()} {
		b, err := MarshalGenesis(g)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := UnmarshalGenesis(b)
		if err != nil {
			if !errors.Is(err, ledger.ErrDamaged) {
				t.Fatalf("error %v is not ErrDamaged", err)
			}
			return
		}
		again, err := MarshalGenesis(g)
		if err != nil {
			t.Fatalf("read %+v, but cannot write it: %v", g, err)
		}
		if back, err := UnmarshalGenesis(again); err != nil || !reflect.DeepEqual(back, g) {
			t.Fatalf("%+v came back as %+v, %v", g, back, err)
		}
	})
}

// FuzzReservation: as FuzzEntry, of what is left of a reservation.
func FuzzReservation(f *testing.F) {
	rest := wiretest.PlannedGenesis().Resolution.Plan
	for _, r := range []ledger.Reservation{{Rest: rest, Deadline: fromNanos(5), Principal: wiretest.Principal},
		{Rest: rest, Child: "a/b", Principal: ledger.Daemon}} {
		b, err := MarshalReservation(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := UnmarshalReservation(1, b)
		if err != nil {
			if !errors.Is(err, ledger.ErrDamaged) {
				t.Fatalf("error %v is not ErrDamaged", err)
			}
			return
		}
		again, err := MarshalReservation(r)
		if err != nil {
			t.Fatalf("read %+v, but cannot write it: %v", r, err)
		}
		if back, err := UnmarshalReservation(1, again); err != nil || !reflect.DeepEqual(back, r) {
			t.Fatalf("%+v came back as %+v, %v", r, back, err)
		}
	})
}
