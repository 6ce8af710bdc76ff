// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"sync/atomic"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// operation is one Create, Append or InTurn on its way through the committer.
type operation struct {
	create *creation         // or
	turn   *ledger.Turn      // which finds the batch once its ledgers are locked, or nil
	batch  []ledger.Proposal // to append

	hashes [][]ledger.Hash
	err    error
	done   chan struct{} // closed when the results are set
	state  atomic.Int32
}

// creation is a Create with its results.
type creation struct {
	genesis ledger.Genesis
	summary ledger.Summary
	created bool
}

const (
	waits int32 = iota
	taken
	withdrawn
)

func newOperation() *operation { return &operation{done: make(chan struct{})} }

// take makes the operation part of a commit. It returns false if nobody waits for it any more.
func (o *operation) take() bool {
	return o.state.CompareAndSwap(waits, taken) || o.state.Load() == taken
}

// withdraw returns true if no commit has taken the operation, and none will.
func (o *operation) withdraw() bool { return o.state.CompareAndSwap(waits, withdrawn) }

func (o *operation) answered() { close(o.done) }

// answer gives all of ops the same error.
func answer(ops []*operation, err error) {
	for _, o := range ops {
		o.hashes, o.err = nil, err
	}
}
