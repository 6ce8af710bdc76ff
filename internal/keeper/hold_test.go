// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/memory"
)

// Workers that charge, reserve, commit, release, refund, raise, and create, use and
// close children, while commits conflict, fail before or after they are written, and
// the keeper is thrown away: at no entry of any log is more spent and held than its
// budget, every child is covered by its parent, and no request is there twice.
func TestBudgetsHold(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := &holding{rt: rt, now: time.Unix(1000, 0)}
		h.store = memory.New(memory.Config{Plan: h.failure})
		h.plan = rapid.SliceOfN(rapid.SampledFrom([]memory.Failure{
			memory.None, memory.None, memory.None, memory.FailAndKeep, memory.FailAndLose,
			memory.Conflict, memory.Unavailable,
		}), 0, 60).Draw(rt, "failures")
		h.restart()
		if _, _, err := h.keeper().Create(rt.Context(), budgeted()); err != nil {
			rt.Fatal(err)
		}
		h.on = true
		for range rapid.IntRange(1, 3).Draw(rt, "rounds") {
			var workers sync.WaitGroup
			for i := range rapid.IntRange(1, 4).Draw(rt, "workers") {
				w := &worker{holding: h, name: fmt.Sprintf("00000000-0000-4000-8000-%012d", i),
					moves: rapid.SliceOfN(rapid.Uint16(), 1, 20).Draw(rt, "moves")}
				workers.Go(w.run)
			}
			workers.Wait()
			h.restart()
		}
		h.on = false
		h.now = h.now.Add(1000 * time.Hour)
		h.restart()
		if _, err := h.keeper().Expire(rt.Context()); err != nil {
			rt.Fatal(err)
		}
		h.check()
	})
}

type holding struct {
	rt    *rapid.T
	store *memory.Store

	mu   sync.Mutex
	k    *Keeper
	now  time.Time
	plan []memory.Failure
	on   bool
}

// failure is the store's plan. A Create cannot conflict.
func (h *holding) failure(batch []ledger.Proposal) memory.Failure {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.on || len(h.plan) == 0 || batch == nil && h.plan[0] == memory.Conflict {
		return memory.None
	}
	f := h.plan[0]
	h.plan = h.plan[1:]
	return f
}

func (h *holding) keeper() *Keeper {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.k
}

// restart is what a process does that exits and is started again.
func (h *holding) restart() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.store = h.store.Reopen()
	now := h.now
	h.k = New(Config{Store: h.store, Digest: wholeDigest, Now: func() time.Time { return now }, MaxLedgers: 2})
}

// worker makes moves, one after the other, each again while nobody knows what has
// become of it.
type worker struct {
	*holding
	name  string
	moves []uint16
}

func (w *worker) run() {
	for _, m := range w.moves {
		w.move(int(m))
	}
}

func (w *worker) move(m int) {
	children := []string{"c0", "c1", "c2"}
	child := children[m/16%3]
	on := append(children, "a", "a", "a")[m/64%6]
	some := func(n int) uint32 { return uint32(1 + m/1024%n) }
	position := uint64(1 + m/512%24)
	switch m % 16 {
	case 0:
		w.create(plannedChild(child, some(4)))
	case 1:
		w.create(filteredChild(child, float64(some(4))/10))
	case 2, 3:
		w.write(on, ledger.Reserve{Events: tenths(some(4)), Lifetime: time.Hour})
	case 4, 5:
		w.write(on, ledger.Commit{Reservation: position, Events: tenths(some(3))})
	case 6:
		w.write(on, ledger.Release{Reservation: position})
	case 7, 8:
		w.write("a", refundOf(position))
	case 9:
		w.write("a", ledger.Raise{Budgets: []accountant.Budget{{Guard: accountant.GuardBasic,
			Epsilon: 1 + float64(some(5))/10}}, Reason: "r"})
	case 10:
		w.write(child, ledger.Close{})
	default:
		w.write(on, ledger.Charge{Events: tenths(some(3))})
	}
}

// again reports whether to ask again.
func again(err error) bool {
	return errors.Is(err, ledger.ErrUnknown) || errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, ErrBusy)
}

func (w *worker) write(name string, v ledger.Action) {
	var last uint64
	for {
		var err error
		if last, _, err = w.keeper().Writer(w.rt.Context(), name, writerOf(w.name)); err == nil {
			break
		}
		if errors.Is(err, ledger.ErrNotFound) {
			return // there is no such child yet
		}
	}
	r := ledger.Request{Writer: writerOf(w.name), Sequence: last + 1, Digest: wholeDigest(v), Action: v}
	for {
		_, err := w.keeper().Do(w.rt.Context(), name, r)
		if !again(err) {
			return
		}
		if errors.Is(err, ledger.ErrUnknown) {
			w.restart() // as a process that exits
		}
	}
}

func (w *worker) create(g ledger.Genesis) {
	for {
		_, _, err := w.keeper().Create(w.rt.Context(), g)
		if !again(err) {
			return
		}
	}
}

// tally is one ledger, replayed entry by entry in tenths.
type tally struct {
	budget, spent uint64
	held          map[uint64]uint64
	charged       map[uint64]uint64 // by entries that can be refunded
	child         map[uint64]string // of reservations
	closed        bool
}

func tenthsIn(events []mechanism.Event) (n uint64) {
	for _, e := range events {
		p, _ := e.Mechanism.(mechanism.PureDP)
		n += uint64(e.Count) * uint64(p.Epsilon*10+0.5)
	}
	return n
}

func (h *holding) replay(name string) (*tally, error) {
	sum, err := h.keeper().Summary(h.rt.Context(), name)
	if err != nil {
		return nil, err
	}
	records, err := h.store.Records(name, 1, 1<<20)
	if err != nil {
		return nil, err
	}
	y := &tally{held: map[uint64]uint64{}, charged: map[uint64]uint64{}, child: map[uint64]string{}}
	for _, p := range sum.Genesis.Resolution.Plan {
		y.budget += p.Count
	}
	for _, l := range sum.Genesis.Resolution.Limits {
		y.budget = uint64(l.Value*10 + 0.5)
	}
	seen := map[ledger.Writer]uint64{}
	for _, r := range records {
		e := r.Entry
		if seen[e.Writer]++; seen[e.Writer] != e.Sequence || y.closed {
			return nil, fmt.Errorf("entry %d: sequence %d of %v; closed: %v", e.Position,
				e.Sequence, e.Writer, y.closed)
		}
		switch v := e.Action.(type) {
		case ledger.Charge:
			y.spent += tenthsIn(v.Events)
			y.charged[e.Position] = tenthsIn(v.Events)
		case ledger.Reserve:
			y.held[e.Position], y.child[e.Position] = tenthsIn(v.Events), v.Child
		case ledger.Commit:
			if y.held[v.Reservation] < tenthsIn(v.Events) {
				return nil, fmt.Errorf("entry %d commits %d of %d", e.Position,
					tenthsIn(v.Events), y.held[v.Reservation])
			}
			y.held[v.Reservation] -= tenthsIn(v.Events)
			y.spent += tenthsIn(v.Events)
			y.charged[e.Position] = tenthsIn(v.Events)
		case ledger.Release:
			delete(y.held, v.Reservation)
		case ledger.Expire:
			y.spent += y.held[v.Reservation]
			y.charged[e.Position] = y.held[v.Reservation]
			delete(y.held, v.Reservation)
		case ledger.Refund:
			if n := y.charged[v.Position]; n == 0 || n != tenthsIn(v.Events) {
				return nil, fmt.Errorf("entry %d refunds %d of %d", e.Position, tenthsIn(v.Events), n)
			}
			y.spent -= y.charged[v.Position]
			delete(y.charged, v.Position)
		case ledger.Raise:
			if n := uint64(v.Budgets[0].Epsilon*10 + 0.5); n <= y.budget {
				return nil, fmt.Errorf("entry %d raises %d to %d", e.Position, y.budget, n)
			}
			y.budget = uint64(v.Budgets[0].Epsilon*10 + 0.5)
		case ledger.Close:
			y.spent += y.open()
			clear(y.held)
			y.closed = true
		}
		if y.spent+y.open() > y.budget {
			return nil, fmt.Errorf("entry %d: %d spent and %d held of %d", e.Position, y.spent, y.open(), y.budget)
		}
	}
	return y, nil
}

func (y *tally) open() (n uint64) {
	for _, held := range y.held {
		n += held
	}
	return n
}

// check replays all ledgers, and compares children with their parent.
func (h *holding) check() {
	parent, err := h.replay("a")
	if err != nil {
		h.rt.Fatalf("a: %v", err)
	}
	view, err := h.keeper().View(h.rt.Context(), "a")
	if err != nil || view.Budgets[0].Value.Spent != float64(parent.spent)/10 ||
		view.Budgets[0].Value.Reserved != float64(parent.open())/10 {
		h.rt.Fatalf("%+v, %v; the log has %d spent, %d held", view, err, parent.spent, parent.open())
	}
	for _, name := range []string{"c0", "c1", "c2"} {
		child, err := h.replay(name)
		if errors.Is(err, ledger.ErrNotFound) {
			continue // what a failed attempt has set aside may stay, until the next attempt
		}
		if err != nil {
			h.rt.Fatalf("%s: %v", name, err)
		}
		held := uint64(0)
		for position, n := range parent.held {
			if parent.child[position] == name {
				held += n
			}
		}
		if !child.closed && held != child.budget || child.closed && held != 0 {
			h.rt.Fatalf("%s: closed %v, its budget is %d; its parent holds %d", name, child.closed, child.budget, held)
		}
		if child.closed {
			h.checkSettled(name, child)
		}
	}
}

// checkSettled: a closed child was charged to its parent, once.
func (h *holding) checkSettled(name string, child *tally) {
	sum, _ := h.keeper().Summary(h.rt.Context(), name)
	want := child.spent
	if sum.Genesis.Spec.Policy == ledger.Filtered {
		want = child.budget
	}
	records, err := h.store.Records("a", 1, 1<<20)
	if err != nil {
		h.rt.Fatal(err)
	}
	of, settled := map[uint64]bool{}, uint64(0)
	for _, r := range records {
		switch v := r.Entry.Action.(type) {
		case ledger.Reserve:
			of[r.Entry.Position] = v.Child == name
		case ledger.Commit:
			if of[v.Reservation] {
				settled += tenthsIn(v.Events)
			}
		}
	}
	if settled != want {
		h.rt.Fatalf("%s: settled with %d; want %d", name, settled, want)
	}
}
