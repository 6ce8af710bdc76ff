// Package timing notes how long requests that a keeper decides together take.
package timing

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

// Origin returns ctx if the observer is to be told of the batch that the call will be in, otherwise nil.
func (o Observer) Origin(ctx context.Context) context.Context {
	if o == nil {
		return nil
	}
	return ctx
}

// Begin notes that a batch begins.
func (o Observer) Begin(ledger string, requests int) *Timing {
	if o == nil {
		return nil
	}
	return &Timing{Batch{Ledger: ledger, Ledgers: 1, Requests: requests, Began: time.Now()}, o}
}

// Timing is a batch under way. A nil Timing notes nothing.
type Timing struct {
	batch Batch
	tell  Observer
}

// Caller notes a unary request's context, as Origin returned it.
func (t *Timing) Caller(ctx context.Context) {
	if t != nil && ctx != nil && len(t.batch.Callers) < maxCallers {
		t.batch.Callers = append(t.batch.Callers, ctx)
	}
}

// Decided notes that the batch is decided, and is to be written now if it has entries.
func (t *Timing) Decided(ledgers, entries int) {
	if t != nil {
		t.batch.Ledgers, t.batch.Entries, t.batch.Decided = ledgers, entries, time.Now()
	}
}

// End tells the observer of the batch. The error says why nothing was written.
func (t *Timing) End(err error) {
	if t == nil {
		return
	}
	t.batch.Err, t.batch.Ended = err, time.Now()
	if t.batch.Decided.IsZero() {
		t.batch.Decided = t.batch.Ended
	}
	t.tell(t.batch)
}
