// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// testCheckpoints: checkpoints that were made of a ledger are there, the newest at each position, also after the store
// was opened anew; none is after the ledger's end.
func testCheckpoints(t *testing.T, h Harness) {
	s := h.Open(t)
	defer func() { // for the newest one, also where the test ends early
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	b := create(t, s, "l")
	create(t, s, "m")
	var made []ledger.Checkpoint
	mark := func(list ...ledger.Checkpoint) {
		t.Helper()
		if err := s.Mark("l", list); err != nil {
			t.Fatal(err)
		}
	}
	wants := func(after, upTo uint64, limit int, want ...ledger.Checkpoint) {
		t.Helper()
		got, err := s.Checkpoints("l", after, upTo, limit)
		if err != nil || len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("after %d up to %d: %+v, %v; want %+v", after, upTo, got, err, want)
		}
	}
	wants(0, math.MaxUint64, 9)
	for i := range 6 {
		b.append(b.charge(writer(i%3), i, 1))
		c := b.state.Checkpoint()
		c.Since, c.Earliest = uint64(i), timeOf(i)
		made = append(made, c)
	}
	mark(made[0], made[1])
	mark(made[3], made[5])
	all := []ledger.Checkpoint{made[0], made[1], made[3], made[5]}
	wants(0, 6, 9, all...)
	wants(0, math.MaxUint64, 2, made[3], made[5])
	wants(0, 5, 1, made[3])
	wants(1, 5, 9, made[1], made[3])
	wants(2, 3, 9)
	again := made[3]
	again.Since = 2
	mark(again)
	wants(2, 5, 9, again)
	after := made[5]
	after.Head.Position = 7
	mark(after)
	wants(4, math.MaxUint64, 1, made[5])
	if _, err := s.Checkpoints("none", 0, 9, 9); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("of no ledger: %v", err)
	}
	if err := s.Mark("none", made[:1]); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("of no ledger: %v", err)
	}
	if list, err := s.Checkpoints("m", 0, 9, 9); err != nil || len(list) > 0 {
		t.Errorf("of another ledger: %+v, %v", list, err)
	}
	s = h.Reopen(t, s)
	wants(0, 6, 9, made[0], made[1], again, made[5])
	b.s = s
	b.check()
}
