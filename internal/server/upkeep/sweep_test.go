// SPDX-License-Identifier: Apache-2.0

package upkeep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
)

// database is a store of four parts, which daemons sweep: the place is how many were read.
type database struct {
	kept
	reads *reads
}

// kept is what a memory store is, and another one beside it.
type kept interface {
	ledger.Store
	noting
}

// reads are what all daemons of a database have read of it.
type reads struct {
	mu      sync.Mutex
	parts   []int
	damaged map[int]bool
	err     error
	reading chan int // told of each part before it is read, if not nil
}

const parts = 4

func (d database) Sweep(ctx context.Context, place []byte) (next []byte, read int64, err error) {
	r := d.reads
	if r.reading != nil {
		select {
		case r.reading <- len(place):
		case <-ctx.Done():
			return place, 0, ctx.Err()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return place, 0, r.err
	}
	part := len(place)
	r.parts = append(r.parts, part)
	if r.damaged[part] {
		err = fmt.Errorf("%w: part %d", ledger.ErrDamaged, part)
	}
	if part+1 < parts {
		next = bytes.Repeat([]byte{1}, part+1)
	}
	return next, 5, err
}

func (r *reads) all() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.parts)
}

// daemon is one of those that sweep a database, with what it was told.
type daemon struct {
	*Upkeep
	log     safe
	whole   chan time.Time
	damaged chan bool
	stop    func()
}

// safe is a log that may be read while it is written.
type safe struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safe) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safe) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func sweepingDaemon(t *testing.T, d database, interval time.Duration, p pace) *daemon {
	t.Helper()
	told := &daemon{whole: make(chan time.Time, 1000), damaged: make(chan bool, 1000)}
	told.Upkeep = New(Config{Store: d, Place: Place{Kind: "database"}, Interval: interval,
		Logger: slog.New(slog.NewTextHandler(&told.log, nil)), Read: func(int64) {}, Damaged: func() {},
		Whole: func(at time.Time) { offer(told.whole, at) }, Found: func(is bool) { offer(told.damaged, is) }})
	told.pace = p
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); told.Run(ctx) }()
	told.stop = func() { cancel(); <-ended }
	t.Cleanup(told.stop)
	return told
}

// offer leaves out what nobody takes.
func offer[T any](c chan T, v T) {
	select {
	case c <- v:
	default:
	}
}

const never = 24 * time.Hour

// While one daemon is at a pass, another one lets it. When it stops, another one goes on where it ended.
func TestOneDaemonSweepsAtATime(t *testing.T) {
	made := memory.New(memory.Config{})
	store := database{made, &reads{reading: make(chan int)}}
	beside := database{made.Beside(memory.Config{}), store.reads}
	one := sweepingDaemon(t, store, never, pace{save: never, patience: never})
	if first, second := <-store.reads.reading, <-store.reads.reading; first != 0 || second != 1 {
		t.Fatalf("part %d, then part %d", first, second)
	}
	two := sweepingDaemon(t, beside, never, pace{save: never, patience: never})
	if third := <-store.reads.reading; third != 2 {
		t.Fatalf("part %d after two", third)
	}
	one.stop()
	if got := store.reads.all(); !slices.IsSorted(got) || len(got) < 2 || len(got) > 3 {
		t.Errorf("parts %v were read by the first", got)
	}
	two.stop() // it waits for the first one, of which it has seen that it was at work
	three := sweepingDaemon(t, beside, never, pace{save: never, patience: never})
	for at := len(store.reads.all()); at < parts; at++ {
		if part := <-store.reads.reading; part != at {
			t.Errorf("part %d; want %d, where the first daemon has ended", part, at)
		}
	}
	<-three.whole
	if got := store.reads.all(); !slices.Equal(got, []int{0, 1, 2, 3}) {
		t.Errorf("parts %v were read; want each once", got)
	}
	answer := status(t, three.Upkeep)
	if v := answer.GetLastVerification(); v.GetBytes() != 5*parts || v.GetDamage() != "" ||
		answer.GetVerificationIntervalSeconds() != uint64(never/time.Second) {
		t.Errorf("%v", answer)
	}
	// One that starts later knows of that pass, and begins none.
	four := sweepingDaemon(t, store, never, pace{patience: never})
	if at := <-four.whole; !at.Before(time.Now()) || <-four.damaged {
		t.Errorf("whole at %v", at)
	}
	if got := store.reads.all(); len(got) != parts {
		t.Errorf("parts %v were read; want each once", got)
	}
}

// A daemon that was killed in the middle of a pass has left a note. Another one, after some patience, goes on.
func TestAnotherDaemonTakesOver(t *testing.T) {
	store := database{memory.New(memory.Config{}), &reads{}}
	note := fmt.Sprintf(`{"store":%q,"by":"killed","saved":7,"began":"2026-01-02T03:04:05Z","place":"AQE=","read":10}`,
		store.ID())
	if err := store.Note(sweepNote, []byte(note)); err != nil {
		t.Fatal(err)
	}
	u := sweepingDaemon(t, store, never, pace{patience: time.Millisecond})
	<-u.whole
	if got := store.reads.all(); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("parts %v were read; want 2 and 3", got)
	}
	if v := status(t, u.Upkeep).GetLastVerification(); v.GetBytes() != 20 || v.GetStartTime().AsTime().Year() != 2026 {
		t.Errorf("%v", v)
	}
	// A note that is none, or another store's, costs a pass.
	for _, text := range []string{"", "{", strings.Replace(note, store.ID(), "another", 1)} {
		if err := store.Note(sweepNote, []byte(text)); err != nil {
			t.Fatal(err)
		}
		before := len(store.reads.all())
		again := sweepingDaemon(t, store, never, pace{patience: time.Millisecond})
		<-again.whole
		again.stop()
		if n := len(store.reads.all()) - before; n != parts {
			t.Errorf("with the note %q %d parts were read; want all", text, n)
		}
	}
}

// Damage is told when it is found, by each daemon, and the pass goes on; the next pass that finds none takes it back.
func TestSweepTellsDamage(t *testing.T) {
	made := memory.New(memory.Config{})
	store := database{made, &reads{damaged: map[int]bool{1: true, 3: true}, reading: make(chan int)}}
	u := sweepingDaemon(t, store, time.Nanosecond, pace{})
	beside := newUpkeep(database{made.Beside(memory.Config{}), store.reads}, &bytes.Buffer{})
	for part := range 3 {
		if got := <-store.reads.reading; got != part {
			t.Fatalf("part %d; want %d", got, part)
		}
	}
	told := false
	for range len(u.damaged) {
		told = <-u.damaged
	}
	if !told {
		t.Error("nothing is told while the pass goes on")
	}
	for _, of := range []*Upkeep{u.Upkeep, beside} {
		warns(t, status(t, of), "part 1", "No backup")
	}
	<-store.reads.reading
	<-store.reads.reading // of the next pass
	for _, of := range []*Upkeep{u.Upkeep, beside} {
		if d := status(t, of).GetLastVerification().GetDamage(); !strings.Contains(d, "part 1") ||
			!strings.Contains(d, "part 3") {
			t.Errorf("%q", d)
		}
	}
	if n := strings.Count(u.log.String(), "the database is damaged"); n != 2 {
		t.Errorf("%d messages: %s", n, u.log.String())
	}
	store.reads.mu.Lock()
	store.reads.damaged = nil // it was mended
	store.reads.mu.Unlock()
	go func() {
		for {
			select {
			case <-store.reads.reading:
			case <-t.Context().Done():
				return
			}
		}
	}()
	<-u.whole
	for is := range u.damaged {
		if !is {
			break
		}
	}
	u.stop()
	warns(t, status(t, u.Upkeep), "No backup")
}

// A pass that cannot go on is no verification, and is said once.
func TestSweepThatCannotGoOn(t *testing.T) {
	store := database{memory.New(memory.Config{}), &reads{err: errors.New("the database is away")}}
	u := sweepingDaemon(t, store, time.Millisecond, pace{})
	for !strings.Contains(u.log.String(), "the database is away") {
		time.Sleep(time.Millisecond)
	}
	warns(t, status(t, u.Upkeep), "No verification", "No backup")
	store.reads.mu.Lock()
	store.reads.err = nil
	store.reads.mu.Unlock()
	<-u.whole
	if n := strings.Count(u.log.String(), "could not be verified"); n != 1 {
		t.Errorf("%d warnings: %s", n, u.log.String())
	}
}
