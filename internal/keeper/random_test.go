// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/memory"
)

// Clients that call, stream, go away, retry and take over their own lanes, on
// one or two keepers of a store that fails: in the end every request is in the
// log exactly once, as acknowledged, and the counts are the sum of the log.
func TestEveryRequestOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(rt)
		w.run()
		for _, err := range w.errs {
			rt.Error(err)
		}
		if len(w.errs) == 0 {
			w.check(rt)
		}
	})
}

// world is one random run.
type world struct {
	store   *memory.Store
	keepers []*Keeper
	clients []*client
	ledgers int

	mu      sync.Mutex
	plan    []memory.Failure // of the next appends
	hangUps []int            // after how many appends all clients hang up
	hangUp  chan struct{}    // closed when they do
	errs    []error
}

// client is one writer of one ledger: its requests 1 … len(counts) each charge
// a count, so that its content is frozen by its number.
type client struct {
	*world
	ledger string
	name   string
	counts []uint32
	moves  []int
	closes bool // its last request closes the ledger

	next    uint64 // the first not known to be durable
	refused bool   // the ledger was closed before next
	acked   map[uint64]ledger.Receipt
	last    error
}

func drawWorld(rt *rapid.T) *world {
	w := &world{hangUp: make(chan struct{}), ledgers: rapid.IntRange(1, 3).Draw(rt, "ledgers")}
	w.store = memory.New(memory.Config{
		MaxBatchBytes: rapid.SampledFrom([]int{0, 500, 2000}).Draw(rt, "max batch bytes"), // one entry has under 300
		Plan:          w.failure,
	})
	for i := range w.ledgers {
		spec := ledger.Spec{Name: fmt.Sprint("l", i), Adjacency: mechanism.AddOrRemoveOne}
		if _, _, err := w.store.Create(ledger.Genesis{Spec: spec, Principal: "p", Time: time.Unix(0, 0)}); err != nil {
			rt.Fatal(err)
		}
	}
	w.plan = rapid.SliceOfN(rapid.SampledFrom([]memory.Failure{
		memory.None, memory.None, memory.FailAndKeep, memory.FailAndLose, memory.Conflict,
		memory.TooLarge, memory.Unavailable,
	}), 0, 30).Draw(rt, "failures")
	w.hangUps = rapid.SliceOfN(rapid.IntRange(0, 5), 0, 5).Draw(rt, "hang up after")
	for range rapid.IntRange(1, 2).Draw(rt, "keepers") {
		w.keepers = append(w.keepers, New(Config{
			Store:         w.store,
			MaxLedgers:    rapid.IntRange(1, 3).Draw(rt, "max ledgers"),
			MaxWriters:    rapid.IntRange(1, 5).Draw(rt, "max writers"),
			Window:        rapid.IntRange(1, 6).Draw(rt, "window"),
			BatchRequests: rapid.IntRange(1, 8).Draw(rt, "batch requests"),
			QueueRequests: rapid.IntRange(1, 30).Draw(rt, "queue requests"),
		}))
	}
	for i := range rapid.IntRange(1, 6).Draw(rt, "clients") {
		w.clients = append(w.clients, &client{
			world:  w,
			ledger: fmt.Sprint("l", i%w.ledgers),
			name:   fmt.Sprintf("00000000-0000-4000-8000-%012d", i),
			counts: rapid.SliceOfN(rapid.Uint32Range(1, 9), 0, 20).Draw(rt, "counts"),
			moves:  rapid.SliceOfN(rapid.IntRange(0, 99), 1, 10).Draw(rt, "moves"),
			closes: rapid.IntRange(0, 9).Draw(rt, "closes") == 0,
			next:   1,
			acked:  map[uint64]ledger.Receipt{},
		})
	}
	return w
}

// failure is the store's plan: it also makes the clients hang up.
func (w *world) failure([]ledger.Proposal) memory.Failure {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.hangUps) > 0 {
		if w.hangUps[0]--; w.hangUps[0] < 0 {
			w.hangUps = w.hangUps[1:]
			close(w.hangUp)
			w.hangUp = make(chan struct{})
		}
	}
	if len(w.plan) == 0 {
		return memory.None
	}
	f := w.plan[0]
	w.plan = w.plan[1:]
	return f
}

// context ends when the clients hang up next.
func (w *world) context() (context.Context, context.CancelFunc) {
	w.mu.Lock()
	hangUp := w.hangUp
	w.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-hangUp:
		case <-ctx.Done():
		}
		cancel()
	}()
	return ctx, cancel
}

func (w *world) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errs = append(w.errs, fmt.Errorf(format, args...))
}

func (w *world) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.errs) > 0
}

func (w *world) run() {
	var clients, readers sync.WaitGroup
	done := make(chan struct{})
	for _, k := range w.keepers {
		readers.Go(func() { w.watch(k, done) })
	}
	for _, c := range w.clients {
		clients.Go(c.run)
	}
	clients.Wait()
	close(done)
	readers.Wait()
	for _, k := range w.keepers {
		if err := k.Close(context.Background()); err != nil || k.pins != 0 ||
			len(k.queues) > max(k.config.MaxLedgers, 1) {
			w.fail("Close: %v, %d pins, %d ledgers", err, k.pins, len(k.queues))
		}
	}
}

// watch reads a ledger again and again: its total is the sum of its parts and
// its position never goes back.
func (w *world) watch(k *Keeper, done chan struct{}) {
	last := uint64(0)
	for {
		select {
		case <-done:
			return
		default:
		}
		c, s, err := k.Composition(context.Background(), "l0")
		total := uint64(0)
		for _, p := range c.Parts {
			total += p.Count
		}
		if err != nil || total != s.Total || len(c.Parts) != s.Distinct || s.Head.Position < last {
			w.fail("Composition: total %d of %+v after position %d: %v", total, s, last, err)
			return
		}
		last = s.Head.Position
		runtime.Gosched()
	}
}

func (c *client) request(sequence uint64) ledger.Request {
	if c.closes && sequence == uint64(len(c.counts)) {
		return closing(c.name, sequence)
	}
	return charge(c.name, sequence, c.counts[sequence-1])
}

// maxMoves is far more than any client needs while failures last.
const maxMoves = 5_000

func (c *client) run() {
	for i := 0; c.next <= uint64(len(c.counts)) && !c.refused && !c.failed(); i++ {
		move := c.moves[i%len(c.moves)]
		if i > maxMoves {
			c.fail("%s %s: stands at %d of %d after %d moves, last error: %w", c.ledger, c.name, c.next,
				len(c.counts), i, c.last)
			return
		}
		k := c.keepers[move%len(c.keepers)]
		switch {
		case move < 40:
			c.call(k, c.next)
		case move < 50 && c.next > 1:
			c.call(k, uint64(move)%(c.next-1)+1) // again
			c.call(k, c.next)
		default:
			c.open(k, move)
		}
		runtime.Gosched()
	}
}

// answered takes in the answer to a request and reports whether to go on.
func (c *client) answered(sequence uint64, result Result, err error) bool {
	for _, transient := range []error{ErrBusy, ledger.ErrUnavailable, ledger.ErrUnknown,
		ledger.ErrTooLarge, context.Canceled} {
		if errors.Is(err, transient) {
			c.last = err
			return false
		}
	}
	switch {
	case errors.Is(err, ledger.ErrClosed) && sequence == c.next:
		c.refused = true
		return false
	case err != nil:
		c.fail("%s %s: sequence %d after %d: %w", c.ledger, c.name, sequence, c.next-1, err)
		return false
	// On two keepers an earlier stream's requests may be written by the other one
	// meanwhile, and then what was sent as a gap is none.
	case sequence > c.next && len(c.keepers) == 1:
		c.fail("%s %s: sequence %d acknowledged after %d", c.ledger, c.name, sequence, c.next-1)
		return false
	}
	if first, ok := c.acked[sequence]; ok && (result.Receipt != first || !result.Replayed) {
		c.fail("%s %s: sequence %d: %+v; want the first receipt %+v", c.ledger, c.name, sequence, result, first)
	}
	if sequence < c.next && !result.Replayed {
		c.fail("%s %s: sequence %d written again: %+v", c.ledger, c.name, sequence, result)
	}
	c.acked[sequence] = result.Receipt
	c.next = max(c.next, sequence+1)
	return true
}

func (c *client) call(k *Keeper, sequence uint64) {
	ctx, cancel := c.context()
	defer cancel()
	result, err := k.Do(ctx, c.ledger, c.request(sequence))
	c.answered(sequence, result, err)
}

// open opens a stream and sends; on some moves a second stream takes over.
func (c *client) open(k *Keeper, move int) {
	ctx, cancel := c.context()
	defer cancel()
	l, last, err := k.Open(ctx, c.ledger, writerOf(c.name))
	for takeOver := move%7 == 0; err == nil; takeOver = false {
		var sending sync.WaitGroup
		sending.Go(func() { c.send(ctx, l, last+1, move) })
		var next *Lane
		nextLast := last
		err = io.EOF
		if takeOver {
			next, nextLast, err = k.Open(ctx, c.ledger, writerOf(c.name))
		}
		c.receive(ctx, l, last)
		sending.Wait()
		l, last = next, nextLast
	}
	if !errors.Is(err, io.EOF) {
		c.answered(c.next, Result{}, err)
	}
}

// send sends what is left, with a mistake in between on some moves.
func (c *client) send(ctx context.Context, l *Lane, from uint64, move int) {
	defer l.Close()
	for s := from; s <= uint64(len(c.counts)); s++ {
		switch {
		case move%5 == 1 && s%4 == 0:
			if l.Reject(ctx, s, errInvalid) != nil {
				return
			}
		case move%5 == 2 && s%4 == 0: // one is lost: a gap, and then again
			if l.Send(ctx, c.request(min(s+1, uint64(len(c.counts))))) != nil {
				return
			}
		}
		if l.Send(ctx, c.request(s)) != nil {
			return
		}
	}
}

var errInvalid = errors.New("not valid")

// receive takes in the answers of a stream that was opened after last.
func (c *client) receive(ctx context.Context, l *Lane, last uint64) {
	if last+1 < c.next || last > uint64(len(c.counts)) {
		c.fail("%s %s: opened after %d of %d; acknowledged before: %d", c.ledger, c.name, last, len(c.counts), c.next-1)
	}
	c.next = last + 1
	lost := false // a refusal by the store: what comes after is not looked at
	for {
		results, err := l.Receive(ctx)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, ErrReplaced) && !errors.Is(err, context.Canceled) {
				c.fail("Receive: %w", err)
			}
			return
		}
		for _, r := range results {
			if errors.Is(r.Err, errInvalid) || errors.Is(r.Err, ledger.ErrGap) {
				continue // our own mistakes; the right one comes behind them
			}
			if !lost {
				lost = !c.answered(r.Sequence, r.Result, r.Err)
			}
		}
	}
}

// check compares the log with what the clients were told, and the counts with
// the log.
func (w *world) check(rt *rapid.T) {
	k := New(Config{Store: w.store})
	defer func() { _ = k.Close(context.Background()) }()
	for i := range w.ledgers {
		name := fmt.Sprint("l", i)
		records, err := w.store.Records(name, 1, 1<<20)
		if err != nil {
			rt.Fatal(err)
		}
		counts, closed, err := count(records)
		if err != nil {
			rt.Fatal(err)
		}
		lanes := map[string][]ledger.Record{}
		for _, r := range records {
			lanes[r.Entry.Writer.Name] = append(lanes[r.Entry.Writer.Name], r)
		}
		for _, c := range w.clients {
			if c.ledger == name {
				c.check(rt, lanes[c.name])
				delete(lanes, c.name)
			}
		}
		if len(lanes) != 0 {
			rt.Errorf("%s: entries of nobody: %v", name, lanes)
		}
		comp, sum, err := k.Composition(context.Background(), name)
		if err != nil || sum.Closed != closed || len(comp.Parts) != len(counts) ||
			sum.Head.Position != uint64(len(records)) {
			rt.Fatalf("%s: %+v, %v; want %v", name, sum, err, counts)
		}
		for _, p := range comp.Parts {
			if counts[p.Mechanism] != p.Count {
				rt.Errorf("%s: %v: %d; the log has %d", name, p.Mechanism, p.Count, counts[p.Mechanism])
			}
		}
	}
}

func (c *client) check(rt *rapid.T, lane []ledger.Record) {
	if uint64(len(lane)) != c.next-1 || !c.refused && len(lane) != len(c.counts) {
		rt.Fatalf("%s %s: %d entries; want %d of %d, refused %v", c.ledger, c.name, len(lane), c.next-1,
			len(c.counts), c.refused)
	}
	for i, r := range lane {
		if r.Entry.Sequence != uint64(i+1) || r.Entry.Digest != c.request(uint64(i+1)).Digest {
			rt.Errorf("%s %s: entry %d: %+v", c.ledger, c.name, i+1, r.Entry)
		}
		if receipt, ok := c.acked[r.Entry.Sequence]; ok && receipt != r.Receipt(c.store.ID(), c.ledger) {
			rt.Errorf("%s %s: receipt %+v; the log has %+v", c.ledger, c.name, receipt,
				r.Receipt(c.store.ID(), c.ledger))
		}
	}
}
