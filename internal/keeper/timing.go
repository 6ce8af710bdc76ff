// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"time"
)

// Batch is what is told of requests that were decided together.
type Batch struct {
	Ledger   string // the first of them
	Ledgers  int    // how many ledgers the requests are about
	Requests int
	Entries  int   // how many entries were to be written
	Err      error // why nothing was written

	Began, Decided, Ended time.Time

	Callers []context.Context // of up to maxCallers of its unary requests
}

// maxCallers bounds Batch.Callers.
const maxCallers = 8

// Observer is called after each batch. It must be quick. A nil Observer costs nothing.
type Observer func(Batch)

// origin returns ctx if the observer is to be told of the batch that the call will be in, otherwise nil.
func (o Observer) origin(ctx context.Context) context.Context {
	if o == nil {
		return nil
	}
	return ctx
}

// begin notes that a batch begins.
func (o Observer) begin(ledger string, requests int) *timing {
	if o == nil {
		return nil
	}
	return &timing{Batch{Ledger: ledger, Ledgers: 1, Requests: requests, Began: time.Now()}, o}
}

// timing is a batch under way. A nil timing notes nothing.
type timing struct {
	batch Batch
	tell  Observer
}

// caller notes a unary request's context, as origin returned it.
func (t *timing) caller(ctx context.Context) {
	if t != nil && ctx != nil && len(t.batch.Callers) < maxCallers {
		t.batch.Callers = append(t.batch.Callers, ctx)
	}
}

// decided notes that the batch is decided, and is to be written now if it has entries.
func (t *timing) decided(ledgers, entries int) {
	if t != nil {
		t.batch.Ledgers, t.batch.Entries, t.batch.Decided = ledgers, entries, time.Now()
	}
}

// end tells the observer of the batch. The error says why nothing was written.
func (t *timing) end(err error) {
	if t == nil {
		return
	}
	t.batch.Err, t.batch.Ended = err, time.Now()
	if t.batch.Decided.IsZero() {
		t.batch.Decided = t.batch.Ended
	}
	t.tell(t.batch)
}
