// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

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

// testCheckpointFaults: whatever goes wrong while a checkpoint is written, it is there or not, the ledger stays as it
// is, and it can be written again.
func testCheckpointFaults(t *testing.T, h Harness) {
	for _, fault := range h.Faults {
		t.Run(fault.Name, func(t *testing.T) {
			t.Parallel()
			for step, came := 1, true; came && !t.Failed(); step++ {
				came = h.mark(t, fault, step)
			}
		})
	}
}

// mark writes a checkpoint, which meets a fault at a step, and reports whether it came to that.
func (h Harness) mark(t *testing.T, fault Fault, step int) (came bool) {
	f := &shelf{t: t, s: h.Open(t)}
	if h.Look != nil {
		f.look = h.Look(t, f.s)
	}
	defer func() {
		if err := f.s.Close(); err != nil {
			t.Error(err)
		}
	}()
	b := create(t, f.s, "l")
	b.append(b.charge(writer(0), 0, 5), b.charge(writer(1), 1, 6))
	f.add(b)
	c := b.state.Checkpoint()
	c.Earliest = timeOf(0)
	there := func() bool {
		t.Helper()
		list, err := f.reads().Checkpoints("l", 0, math.MaxUint64, 9)
		if err != nil || len(list) > 1 || len(list) == 1 && !reflect.DeepEqual(list[0], c) {
			t.Errorf("step %d: %+v, %v; want %+v or none", step, list, err, c)
		}
		return len(list) == 1
	}
	disarm := fault.Arm(t, f.s, step)
	err := f.s.Mark("l", []ledger.Checkpoint{c})
	if came = disarm(); !came && err != nil && !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("step %d met no fault: %v", step, err)
	}
	if came && !h.FindsOut {
		f.s = h.Reopen(t, f.s)
	}
	f.check()
	if !there() && err == nil {
		t.Errorf("step %d: it was written, and is not there", step)
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if err = f.s.Mark("l", []ledger.Checkpoint{c}); err == nil || time.Since(began) > patience {
			break
		}
	}
	if err != nil || !there() {
		t.Errorf("step %d: written again: %v", step, err)
	}
	f.check()
	verified(t, f.reads())
	return came
}
