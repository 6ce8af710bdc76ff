// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/server/turns"
)

// counted is a value that reads entries of which each takes a microsecond.
type counted struct {
	position uint64
	most     uint64 // that were read at once
}

func (c *counted) Bytes() int       { return 1 }
func (c *counted) Position() uint64 { return c.position }
func (c *counted) Read() uint64     { return 0 }

func (c *counted) readOn(to uint64, stop func() bool) error {
	c.most = max(c.most, to-c.position)
	for ; c.position < to; c.position++ {
		if stop() {
			return late(c.position, to)
		}
		time.Sleep(time.Microsecond)
	}
	return nil
}

// headed is a ledger that has so many entries.
type headed struct{ position atomic.Uint64 }

func (h *headed) View(context.Context, string) (v ledger.View, err error) { return v, nil }

func (h *headed) Summary(context.Context, string) (s ledger.Summary, err error) {
	s.Head.Position = h.position.Load()
	return s, nil
}

// What was asked about follows its ledger for a minute, a little at a time; a question about it goes first.
func TestKeptValuesFollowTheirLedgers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := turns.NewInTime(turns.NewRotation(1, time.Hour, unmeasured{}), nil)
		of, k := new(headed), newKept[string, *counted](4, 1000)
		of.position.Store(9_000)
		h := New(Config{Ledgers: of, InTime: in})
		value := new(counted)
		ask := func(compute func()) {
			t.Helper()
			o, err := k.begin(t.Context(), in, "a", func() *counted { return value })
			if err == nil {
				_, err = run(t.Context(), in, o, func(*turns.Turn) (int, error) { compute(); return 0, nil })
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		ask(func() {})
		follow(h, k, "a", "ledger")
		// now is where the value is when a question is answered.
		now := func() (position uint64) {
			ask(func() { position = value.position })
			return position
		}
		time.Sleep(10 * time.Second)
		ask(func() {
			if value.position != 9_000 || value.most != followStep {
				t.Errorf("after ten seconds %d entries are read, at most %d at once; want 9000, %d", value.position,
					value.most, followStep)
			}
		})
		of.position.Store(1 << 60) // it would be read for ever
		time.Sleep(10 * time.Second)
		before := now()
		if before == 9_000 {
			t.Error("what is new later is not read")
		}
		time.Sleep(2 * followTime)
		at := now()
		if time.Sleep(time.Minute); now() != at {
			t.Error("it follows its ledger for ever")
		}
		synctest.Wait()
		if h.following.running || len(h.following.of) > 0 || in.Admitted() > 0 {
			t.Errorf("%d values are followed, %d questions admitted", len(h.following.of), in.Admitted())
		}
	})
}

// A value that a question waits for is left to it.
func TestFollowingGivesWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := turns.NewInTime(turns.NewRotation(2, time.Hour, unmeasured{}), nil)
		k := newKept[string, *counted](4, 1000)
		of := new(headed)
		of.position.Store(followStep)
		h := New(Config{Ledgers: of, InTime: in})
		value := new(counted)
		o, err := k.begin(t.Context(), in, "a", func() *counted { return value })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run(t.Context(), in, o, func(*turns.Turn) (int, error) { return 0, nil }); err != nil {
			t.Fatal(err)
		}
		follow(h, k, "a", "ledger")
		time.Sleep(100 * time.Microsecond) // it is reading
		began := time.Now()
		if o, err = k.begin(t.Context(), in, "a", nil); err != nil { // from then on it is read by nobody else
			t.Fatal(err)
		}
		if waited := time.Since(began); waited > 5*time.Microsecond || value.position == followStep {
			t.Errorf("a question waits for %v, until %d entries are read", waited, value.position)
		}
		o.back(true)
		in.Leave(t.Context())
		time.Sleep(2 * followTime)
		synctest.Wait()
		if value.position != followStep {
			t.Errorf("after a question has gone first, %d entries are read; want %d", value.position, followStep)
		}
	})
}

// A value of which nothing is new is seldom looked at, one that fails or is forgotten not again, and however long
// each reading takes, four fifths of the time are left to others.
func TestFollowingIsModest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := following{beyond: newBeyond()}
		var idle, failing, busy, left int
		add := func(key string, n *int, moved bool, err error, takes time.Duration) {
			f.add(key, func(context.Context) (bool, error) {
				*n++
				time.Sleep(takes)
				return moved, err
			})
		}
		add("idle", &idle, false, nil, 0)
		add("failing", &failing, false, errBroken, 0)
		add("forgotten", &left, false, errForgotten, 0)
		add("busy", &busy, true, nil, time.Second)
		for i := range 2 * followMost {
			f.add(i, func(context.Context) (bool, error) { return false, nil })
		}
		f.mu.Lock()
		if len(f.of) > followMost {
			t.Errorf("%d values are followed; want at most %d", len(f.of), followMost)
		}
		f.mu.Unlock()
		time.Sleep(2 * followTime)
		synctest.Wait()
		if idle > 20 || failing != 1 || left != 1 || busy < 10 || busy > 13 || f.running {
			t.Errorf("in a minute: idle %d, failing %d, forgotten %d, busy %d times", idle, failing, left, busy)
		}
	})
}

// A question that begins a value again while its reading fails is not undone by that failure.
func TestFollowingForgetsOnlyWhatFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := following{beyond: newBeyond()}
		again := 0
		f.add("key", func(context.Context) (bool, error) {
			f.add("key", func(context.Context) (bool, error) { again++; return true, nil }) // a question, meanwhile
			return false, errBroken
		})
		time.Sleep(10 * time.Second)
		if f.beyond.close(); again < 10 {
			t.Errorf("what a question has begun again was read %d times in ten seconds", again)
		}
	})
}

// A daemon that is full for a moment does not end the following. What follows is nobody's question: it counts neither
// for those who prove who they are nor for those who do not.
func TestFollowingOutlastsRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := turns.NewInTime(turns.NewRotation(1, time.Hour, unmeasured{}), nil)
		of, k := new(headed), newKept[string, *counted](4, 1000)
		of.position.Store(9_000)
		h := New(Config{Ledgers: of, InTime: in})
		value := new(counted)
		if o, err := k.begin(t.Context(), in, "a", func() *counted { return value }); err != nil {
			t.Fatal(err)
		} else {
			o.back(true)
			in.Leave(t.Context())
		}
		admitted := 0
		for in.Caller = func(context.Context) string { return fmt.Sprint(admitted) }; ; admitted++ {
			if in.Admit(t.Context()) != nil {
				break
			}
		}
		follow(h, k, "a", "ledger")
		time.Sleep(15 * time.Second) // it is refused again and again
		for admitted--; admitted >= 0; admitted-- {
			in.Leave(t.Context())
		}
		nobody := in
		nobody.Caller = nil
		if err := nobody.Admit(t.Context()); err != nil {
			t.Fatal(err)
		}
		nobody.Leave(t.Context())
		time.Sleep(30 * time.Second)
		if h.beyond.close(); value.position != 9_000 {
			t.Errorf("after a refusal %d entries are read; want 9000", value.position)
		}
	})
}

// When the server stops, what follows ends at once, also amid a reading, and nothing new begins.
func TestFollowingEndsWithTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := New(Config{})
		ended := false
		h.following.add("key", func(ctx context.Context) (bool, error) {
			<-ctx.Done()
			ended = true
			return false, ctx.Err()
		})
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		h.Background(ctx)
		if took := time.Since(began); !ended || took > 0 || len(h.following.of) > 0 {
			t.Errorf("it ended: %v, after %v; %d values are followed", ended, took, len(h.following.of))
		}
		h.following.add("key", func(context.Context) (bool, error) {
			t.Error("something is read after the end")
			return false, nil
		})
		synctest.Wait()
	})
}
