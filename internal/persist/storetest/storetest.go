// SPDX-License-Identifier: Apache-2.0

// Package storetest is the contract of ledger.Store as tests. Every store runs it: bbolt, also opened anew before
// each call, memory, also with tiny limits, and PostgreSQL, also through two handles in turns.
package storetest

import (
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// Harness makes the stores under test.
type Harness struct {
	// Open makes a new, empty store, which the suite closes.
	Open func(t *testing.T) ledger.Store
	// Reopen closes a store and opens it again: what was durable is there.
	Reopen func(t *testing.T, s ledger.Store) ledger.Store
	// Faults are what can go wrong while the store writes.
	Faults []Fault
	// FindsOut says that the store finds out what became of a write that met a fault: its answer is success, or
	// that nothing was written, and the store goes on. Without it the answer is ledger.ErrUnknown, and what
	// became of the write is seen once the store is opened again.
	FindsOut bool
	// Look returns a handle on what a store keeps through which no fault is made, and which the suite does not
	// close. Nil: the store itself.
	Look func(t *testing.T, s ledger.Store) ledger.Store
	// MaxBatchBytes is the store's limit of stored bytes for one Append, at least
	// 1,500; 0 if it is over 1 MiB.
	MaxBatchBytes int
	// WithoutModel leaves out the random calls, where another harness of the same
	// store makes them.
	WithoutModel bool
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Harness)
	}{
		{"Create", testCreate},
		{"CreateEqualSpec", testCreateEqualSpec},
		{"CreateConcurrently", testCreateConcurrently},
		{"Budgets", testBudgets},
		{"NotFound", testNotFound},
		{"Append", testAppend},
		{"AppendConflict", testConflict},
		{"AppendIsAtomic", testAtomic},
		{"AppendCreates", testCreatesInAppend},
		{"Sets", testSets},
		{"Faults", RunFaults},
		{"AppendRefusesWrongProposals", testWrongProposals},
		{"AppendTooLarge", testTooLarge},
		{"Counts", testCounts},
		{"Closing", testClosing},
		{"Reservations", testReservations},
		{"AppendRefusesWrongReservations", testWrongReservations},
		{"Amendments", testAmendments},
		{"AppendRefusesWrongAmendments", testWrongAmendments},
		{"Restored", testRestored},
		{"AppendRefusesWrongRestores", testWrongRestores},
		{"Durable", testDurable},
		{"OldDuplicates", testOldDuplicates},
		{"ManyWriters", testManyWriters},
		{"Namesakes", testNamesakes},
		{"Notes", testNotes},
		{"Checkpoints", testCheckpoints},
		{"CheckpointFaults", testCheckpointFaults},
		{"Paging", testPaging},
		{"List", testList},
		{"Isolation", testIsolation},
		{"SameHeadConcurrently", testSameHead},
		{"ManyLedgersConcurrently", testManyLedgers},
		{"Model", testModel},
	} {
		t.Run(c.name, func(t *testing.T) {
			if h.WithoutModel && c.name == "Model" {
				t.Skip("run with another harness")
			}
			c.run(t, h)
		})
	}
}

// open makes a store for one test.
func (h Harness) open(t *testing.T) ledger.Store {
	t.Helper()
	s := h.Open(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}
