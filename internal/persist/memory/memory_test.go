// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"errors"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
	"github.com/dpaccountant/accountant/internal/record"
)

func TestContract(t *testing.T) {
	for name, c := range map[string]memory.Config{
		"plain":       {},
		"tiny limits": {MaxBatchBytes: 1500},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, storetest.Harness{
				Open:   func(*testing.T) ledger.Store { return memory.New(c) },
				Reopen: func(_ *testing.T, s ledger.Store) ledger.Store { return s.(*memory.Store).Reopen() },
				Faults: []storetest.Fault{
					{Name: "kept", Kept: true, Arm: failing(memory.FailAndKeep)},
					{Name: "lost", Arm: failing(memory.FailAndLose)},
				},
				MaxBatchBytes: c.MaxBatchBytes,
			})
		})
	}
}

// failing makes a write fail, which has one step.
func failing(f memory.Failure) func(*testing.T, ledger.Store, int) func() bool {
	return func(_ *testing.T, s ledger.Store, step int) func() bool {
		if step == 1 {
			s.(*memory.Store).FailNext(f)
		}
		return func() bool { return step == 1 }
	}
}

// proposal charges one event on top of a summary.
func proposal(s ledger.Summary, sequence uint64) ledger.Proposal {
	v := ledger.Charge{Events: []mechanism.Event{{Mechanism: mechanism.PureDP{Epsilon: 1}, Count: 1}}}
	b := ledger.NewBatch(ledger.NewState(ledger.Snapshot{Summary: s}))
	b.Decide(ledger.Request{
		Writer:   ledger.Writer{Principal: "p", Name: "00000000-0000-4000-8000-000000000001"},
		Sequence: sequence, Digest: record.Digest(v), Action: v}, ledger.Lane{Sequence: sequence - 1},
		storetest.Genesis("l").Time)
	return b.Proposal()
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name     string
		failure  memory.Failure
		want     error
		position uint64 // afterwards
	}{
		{"fail and keep", memory.FailAndKeep, ledger.ErrUnknown, 1},
		{"fail and lose", memory.FailAndLose, ledger.ErrUnknown, 0},
		{"conflict", memory.Conflict, ledger.ErrConflict, 0},
		{"too large", memory.TooLarge, ledger.ErrTooLarge, 0},
		{"unavailable", memory.Unavailable, ledger.ErrUnavailable, 0},
		{"none", memory.None, nil, 1},
	} {
		for _, stop := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				s := memory.New(memory.Config{StopOnUnknown: stop})
				sum, _, err := s.Create(storetest.Genesis("l"))
				if err != nil {
					t.Fatal(err)
				}
				s.FailNext(c.failure)
				if _, err := s.Append([]ledger.Proposal{proposal(sum, 1)}); !errors.Is(err, c.want) {
					t.Fatalf("Append = %v, want %v", err, c.want)
				}
				_, err = s.Load("l")
				if refuses := stop && c.want == ledger.ErrUnknown; refuses != errors.Is(err, ledger.ErrUnknown) {
					t.Fatalf("Load afterwards = %v; stops after an unknown outcome: %v", err, stop)
				}
				s = s.Reopen()
				snapshot, err := s.Load("l")
				if err != nil || snapshot.Head.Position != c.position {
					t.Fatalf("afterwards at %d, %v; want %d", snapshot.Head.Position, err, c.position)
				}
				if snapshot.Head.Position == 0 {
					if _, err := s.Append([]ledger.Proposal{proposal(sum, 1)}); err != nil {
						t.Errorf("the next Append = %v", err)
					}
				}
			})
		}
	}
}

func TestPlanAndFailingCreates(t *testing.T) {
	var asked []int
	s := memory.New(memory.Config{Plan: func(batch []ledger.Proposal) memory.Failure {
		asked = append(asked, len(batch))
		if len(asked) == 3 {
			return memory.FailAndKeep
		}
		return memory.None
	}})
	s.FailNext(memory.FailAndLose, memory.None)
	if _, _, err := s.Create(storetest.Genesis("l")); !errors.Is(err, ledger.ErrUnknown) {
		t.Fatalf("Create = %v, want ErrUnknown", err)
	}
	if _, err := s.Load("l"); !errors.Is(err, ledger.ErrNotFound) {
		t.Fatalf("Load = %v, want ErrNotFound", err)
	}
	sum, created, err := s.Create(storetest.Genesis("l"))
	if err != nil || !created {
		t.Fatalf("Create = %v, %v", created, err)
	}
	if _, err := s.Append([]ledger.Proposal{proposal(sum, 1)}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Create(storetest.Genesis("m")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Create(storetest.Genesis("n")); !errors.Is(err, ledger.ErrUnknown) {
		t.Fatalf("Create = %v, want ErrUnknown", err)
	}
	if _, created, err := s.Create(storetest.Genesis("n")); err != nil || created {
		t.Fatalf("Create after it was kept = %v, %v", created, err)
	}
	if len(asked) != 3 || asked[0] != 1 || asked[1] != 0 || asked[2] != 0 {
		t.Errorf("the plan was asked for batches of %v; want [1 0 0]", asked)
	}
}
