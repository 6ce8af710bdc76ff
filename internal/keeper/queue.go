package keeper

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dpaccountant/accountant/internal/keeper/rivals"
	"github.com/dpaccountant/accountant/internal/keeper/setlanes"
	"github.com/dpaccountant/accountant/internal/keeper/signals"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// queue holds a ledger in memory: its committed state, its lanes, and the requests that wait to be
// decided. While requests wait, one goroutine decides them.
type queue struct {
	k    *Keeper
	name string

	pins  int // by Keeper.mu, like the two below
	parts int // distinct mechanisms, while idle

	stateMu sync.RWMutex
	state   *ledger.State   // nil until read; only the deciding goroutine changes or forgets it
	loading *loading        // nil unless it is being read
	renewal *loading        // nil unless somebody waits for what other daemons have written
	changes signals.Changes // of state, by commits

	mu      sync.Mutex
	writers map[ledger.Writer]*writer
	batches []batch  // waiting; requests are added to the last, the first is decided next
	waiting int      // requests in batches
	bytes   int      // and their approximate bytes
	running bool     // somebody decides: the deciding goroutine, or who holds the queue
	held    bool     // it is who holds the queue
	claims  []*claim // waiting, in the order of their placing
	owes    bool     // a batch is decided before the next claim
	spare   []item   // an empty batch's array

	// Only the deciding goroutine uses these fields, or who holds the queue. There is at most one of them.
	epoch    uint64 // raised when the state and what writers knew is forgotten
	attempt  uint64 // raised with each try to decide a batch
	compared uint64 // the attempt whose state was compared with the store
	stale    bool   // and was not the newest
	verdicts []verdict
	begun    map[request]ledger.Entry // entries of the batch that are the first of their lanes
	touched  []*Lane
	setLanes setlanes.Lanes
	inRow    int           // batches that were written one after the other
	took     time.Duration // by the last write
}

// writer is the state of one lane: which call or stream sends in it, and which sequence number it has
// reached.
type writer struct {
	q   *queue
	key ledger.Writer

	// queue.mu guards these fields.
	call    *call // unary, in flight
	stream  *Lane // open, or ended with requests in the queue
	openers int   // calls of Open that wait for the lane
	ticket  uint64
	freed   signals.Signal // the lane came free, or has a newer opener

	// Only the deciding goroutine uses these fields. They say what is committed, as long as epoch is
	// that of the queue.
	epoch   uint64
	attempt uint64 // in which it was read
	last    uint64
	at      uint64  // the position of sequence number last
	first   receipt // of sequence number last
}

// receipt holds what is needed to answer a duplicate: the digest to compare it with, and the receipt
// that it is given.
type receipt struct {
	digest ledger.Digest
	ledger.Receipt
}

func (w *writer) busy() bool { return w.call != nil || w.stream != nil || w.openers > 0 }

// batch holds requests that are decided together.
type batch struct {
	items []item
	bytes int
}

// item is a request in the queue: of a unary call or of a stream.
type item struct {
	w       *writer
	call    *call
	lane    *Lane
	request ledger.Request
	refusal error // of Lane.Reject
	bytes   int
}

// call is a unary call in flight.
type call struct {
	done   chan struct{}   // takes one value without blocking
	origin context.Context // of timing.Observer
	result Result
	err    error
}

// Result is the answer to a request that was accepted now, or was accepted when it was sent before.
type Result struct {
	Receipt  ledger.Receipt // zero after CheckOnly, unless Replayed
	Replayed bool           // the first receipt of a duplicate
}

// Do decides one request and answers after the commit. It returns ErrBusy while the lane has a stream
// or another call in flight. If ctx ends first, Do returns ctx.Err(), but the request stays in the
// queue and will be decided: the lane is busy until then, and the same request gets its receipt when
// it is sent again.
//
// A refund's events and a raise's resolution need not be given: Do finds them.
//
// Errors of the request: ledger.ErrGap, ErrReused, ErrTaken, ErrClosed, ErrBudget,
// ErrReservation, ErrRefund, ErrRaise, ErrEnded, ErrUnreconciled, ErrReconcile, ErrOutOfRange,
// ErrTooLarge, or those of ledger.Resolve. Errors of the store: ledger.ErrUnavailable (nothing
// was written), ErrUnknown (send the request again to find out), ErrDamaged, ErrNotFound.
func (k *Keeper) Do(ctx context.Context, name string, r ledger.Request) (Result, error) {
	q, err := k.acquire(ctx, name)
	if err != nil {
		return Result{}, err
	}
	err = k.prepare(ctx, q, &r)
	var c *call
	if err == nil {
		c, err = q.call(k.config.Batch.Origin(ctx), r)
	}
	if err != nil {
		k.release(q, 1)
		return Result{}, err
	}
	result, err := c.wait(ctx)
	if errors.Is(err, ledger.ErrTogether) {
		return k.raiseUnder(ctx, name, r)
	}
	if r.Action.Details().Closes && err == nil && !r.CheckOnly {
		k.settleChild(ctx, name)
	}
	return result, err
}

func (c *call) wait(ctx context.Context) (Result, error) {
	select {
	case <-c.done:
		return c.result, c.err
	case <-ctx.Done():
	}
	select {
	case <-c.done: // both: the answer is the better news
		return c.result, c.err
	default:
		return Result{}, ctx.Err()
	}
}

// call queues a unary request. The caller has a pin on the queue, which is released when the request is
// answered.
func (q *queue) call(origin context.Context, r ledger.Request) (*call, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w := q.writers[r.Writer]; w != nil && w.busy() {
		return nil, fmt.Errorf("%w: writer %s of %s", ErrBusy, r.Writer.Name, q.name)
	}
	if limit := q.k.config; q.waiting >= limit.QueueRequests || q.bytes >= limit.QueueBytes {
		return nil, fmt.Errorf("%w: %d requests wait in %s", ledger.ErrUnavailable, q.waiting, q.name)
	}
	w := q.writer(r.Writer)
	w.call = &call{done: make(chan struct{}, 1), origin: origin}
	q.add(item{w: w, call: w.call, request: r, bytes: r.Weight()})
	return w.call, nil
}

// writer returns the lane of a writer. The caller must make the lane busy. The caller of this function
// and of those below holds mu.
func (q *queue) writer(key ledger.Writer) *writer {
	w, ok := q.writers[key]
	if !ok {
		w = &writer{q: q, key: key}
		q.writers[key] = w
	} else if !w.busy() {
		q.k.writers.remove(w)
	}
	return w
}

// cameFree is called when w may have come free. It returns the idle writer that
// makes room for it, if any, to be dropped when mu is released.
func (q *queue) cameFree(w *writer) *writer {
	w.freed.Wake()
	if w.busy() {
		return nil
	}
	return q.k.writers.add(w)
}

// add puts a request into the last batch, or a new one.
func (q *queue) add(it item) {
	n := len(q.batches)
	limit := q.k.config
	if n == 0 || len(q.batches[n-1].items) >= limit.BatchRequests ||
		q.batches[n-1].bytes+it.bytes > limit.BatchBytes {
		q.batches = append(q.batches, batch{items: q.spare})
		q.spare = nil
		n = len(q.batches)
	}
	b := &q.batches[n-1]
	b.items = append(b.items, it)
	b.bytes += it.bytes
	q.waiting++
	q.k.waiting.Add(1)
	q.bytes += it.bytes
	if !q.running {
		q.running = true
		q.k.start(q)
	}
}

// maxIdleWorkers bounds the deciding goroutines that wait for a ledger.
const maxIdleWorkers = 256

// start hands the queue to an idle worker, or starts a new one. A new worker would first have to grow
// its stack, which costs more than deciding a request.
func (k *Keeper) start(q *queue) {
	select {
	case k.work <- q:
	default:
		go k.decide(q)
	}
}

func (k *Keeper) decide(q *queue) {
	for ok := true; ok; {
		q.run()
		if k.idleWorkers.Add(1) > maxIdleWorkers {
			k.idleWorkers.Add(-1)
			return
		}
		q, ok = <-k.work
		k.idleWorkers.Add(-1)
	}
}

// run decides batches until none waits, or somebody else holds the queue.
func (q *queue) run() {
	for {
		q.mu.Lock()
		switch {
		case q.claimed():
			q.yield()
			q.mu.Unlock()
			return
		case len(q.batches) == 0:
			q.rewind()
			q.mu.Unlock()
			return
		}
		q.owes = false
		b := q.batches[0]
		q.batches[0] = batch{}
		q.batches = q.batches[1:]
		q.waiting -= len(b.items)
		q.k.waiting.Add(-int64(len(b.items)))
		q.bytes -= b.bytes
		q.mu.Unlock()

		q.decide(b.items)

		clear(b.items)
		q.mu.Lock()
		if q.spare == nil {
			q.spare = b.items[:0]
		}
		q.mu.Unlock()
	}
}

// rewind ends the deciding goroutine. Large scratch space does not outlive it:
// there may be many idle ledgers.
func (q *queue) rewind() {
	const small = 16
	q.running, q.owes = false, false
	q.batches, q.claims = nil, nil
	if cap(q.spare) > small {
		q.spare = nil
	}
	if cap(q.verdicts) > small {
		q.verdicts = nil
	}
	q.begun = nil
	if cap(q.touched) > small {
		q.touched = nil
	}
}

// leaveRoom makes room for other daemons where this one writes one batch after the other.
func (q *queue) leaveRoom() {
	if q.k.heads == nil {
		return
	}
	q.mu.Lock()
	more := len(q.batches) > 0
	q.mu.Unlock()
	if q.inRow++; !more {
		q.inRow = 0
	}
	if q.inRow >= rivals.RoomAfter {
		q.inRow = 0
		time.Sleep(rivals.Room(q.took))
	}
}
