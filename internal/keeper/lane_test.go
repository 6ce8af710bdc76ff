// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/dpaccountant/accountant/internal/ledger"
)

func open(t *testing.T, k *Keeper, writer string, wantLast uint64) *Lane {
	t.Helper()
	l, last, err := k.Open(t.Context(), "a", writerOf(writer))
	if err != nil || last != wantLast {
		t.Fatalf("Open: last %d, %v; want %d", last, err, wantLast)
	}
	return l
}

func send(t *testing.T, l *Lane, requests ...ledger.Request) {
	t.Helper()
	for _, r := range requests {
		if err := l.Send(t.Context(), r); err != nil {
			t.Fatalf("Send(%d): %v", r.Sequence, err)
		}
	}
}

// receive waits until everything is decided and returns the answers as text:
// "1 2r 3!": 1 written, 2 replayed, 3 refused.
func receive(t *testing.T, l *Lane) string {
	t.Helper()
	synctest.Wait()
	if len(l.results) == 0 {
		return ""
	}
	results, err := l.Receive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, r := range results {
		fmt.Fprintf(&b, " %d", r.Sequence)
		switch {
		case r.Err != nil:
			b.WriteByte('!')
			continue
		case r.Replayed:
			b.WriteByte('r')
		}
		if r.Receipt.Sequence != r.Sequence || r.Receipt.Position == 0 {
			t.Errorf("receipt of %d: %+v", r.Sequence, r.Receipt)
		}
	}
	return b.String()[1:]
}

func numbered(sequences ...uint64) (requests []ledger.Request) {
	for _, s := range sequences {
		requests = append(requests, charge("", s, uint32(s)+1))
	}
	return requests
}

// After a refusal the lane drops what comes, until that number, or a smaller
// one, comes again; in one batch and in several.
func TestGoBackN(t *testing.T) {
	for _, apart := range []bool{false, true} {
		for _, c := range []struct {
			name string
			send []ledger.Request
			want string
		}{
			{"in order", numbered(1, 2, 3), "1 2 3"},
			{"duplicates", numbered(1, 1, 2, 1, 3), "1 1r 2 1r 3"},
			{"gap, dropped until it comes again", numbered(1, 2, 4, 5, 6, 4, 5), "1 2 4! 4!"},
			{"a smaller number resumes", numbered(1, 2, 4, 5, 3, 4, 5), "1 2 4! 3 4 5"},
			{"reused, then right", append(append(numbered(1, 2), charge("", 2, 99)), numbered(3, 4, 2, 3, 4)...),
				"1 2 2! 2r 3 4"},
			{"number 0 is refused alone", numbered(1, 0, 2), "1 0! 2"},
			{"after a close", append(append(numbered(1), closing("", 2)), numbered(3, 4, 3, 2, 1)...),
				"1 2 3! 3! 2! 1r"},
		} {
			t.Run(fmt.Sprintf("%s/apart=%v", c.name, apart), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newTestStore("a")
					release := hold(s, "a", nil)
					if apart {
						release()
					}
					k := newKeeper(t, Config{Store: s})
					l := open(t, k, "w", 0)
					var got []string
					for _, r := range c.send {
						send(t, l, r)
						if apart {
							got = append(got, receive(t, l))
						}
					}
					if !apart {
						release()
						got = append(got, receive(t, l))
					}
					if text := strings.Join(strings.Fields(strings.Join(got, " ")), " "); text != c.want {
						t.Errorf("answers: %q; want %q", text, c.want)
					}
					l.Close()
					checkLedger(t, k, s, "a")
				})
			})
		}
	}
}

// A commit that fails is a refusal of the first request that needed it.
func TestGoBackNAfterFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStore("a")
		k := newKeeper(t, Config{Store: s})
		do(t, k, charge("w", 1, 2))
		release := hold(s, "a", func(int) fault { return fault{err: ledger.ErrUnknown, keep: true} })
		l := open(t, k, "w", 1)
		send(t, l, numbered(2)...)
		synctest.Wait()
		send(t, l, numbered(3, 1, 4, 5)...)
		release()
		// 2 is unknown, so 3 was dropped; 1 has come again, but 4 is a gap: the
		// unknown batch was kept, only 2 was in it.
		if got := receive(t, l); got != "2! 1r 4!" {
			t.Errorf("answers: %q", got)
		}
		s.fault = nil
		send(t, l, numbered(2, 3, 4, 5)...)
		if got := receive(t, l); got != "2r 3 4 5" {
			t.Errorf("answers: %q", got)
		}
		checkLedger(t, k, s, "a")
	})
}

func TestReject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStore("a")
		release := hold(s, "a", nil)
		k := newKeeper(t, Config{Store: s})
		l := open(t, k, "w", 0)
		invalid := errors.New("count: 0; allowed: ≥ 1")
		send(t, l, numbered(1)...)
		synctest.Wait()
		send(t, l, numbered(2)...)
		wantErr(t, l.Reject(t.Context(), 3, invalid), nil)
		send(t, l, numbered(4)...)
		wantErr(t, l.Reject(t.Context(), 5, invalid), nil) // dropped
		send(t, l, numbered(3)...)
		release()
		if got := receive(t, l); got != "1 2 3! 3" {
			t.Errorf("answers: %q", got)
		}
		wantErr(t, l.Reject(t.Context(), 4, invalid), nil)
		synctest.Wait()
		results, err := l.Receive(t.Context())
		if len(results) != 1 || results[0].Err != invalid || err != nil {
			t.Errorf("answers: %+v, %v; want the error as given", results, err)
		}
		if l.Reject(t.Context(), 4, nil) == nil {
			t.Error("a rejection without an error was taken")
		}
	})
}

func TestStreamAndCall(t *testing.T) {
	s := newTestStore("a")
	k := newKeeper(t, Config{Store: s})
	l := open(t, k, "w", 0)
	refuses(t, k, charge("w", 1, 1), ErrBusy)
	do(t, k, charge("v", 1, 1))
	l.Close()
	l.Close()
	_, err := l.Receive(t.Context())
	wantErr(t, err, io.EOF)
	wantErr(t, l.Send(t.Context(), charge("w", 1, 1)), io.EOF)
	do(t, k, charge("w", 1, 1))
	open(t, k, "w", 1).Close()
	if err := k.Close(t.Context()); err != nil || k.pins != 0 {
		t.Errorf("pins: %d, %v; want 0", k.pins, err)
	}
}

// A newer stream takes over after the older one's queue is decided.
func TestOpenReplaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStore("a")
		release := hold(s, "a", nil)
		k := newKeeper(t, Config{Store: s})
		old := open(t, k, "w", 0)
		send(t, old, numbered(1)...)
		synctest.Wait()
		send(t, old, numbered(2, 3)...)

		var waiting error
		given := make(chan *Lane, 1)
		go func() { _, _, waiting = k.Open(t.Context(), "a", writerOf("w")) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		var cancelled error
		go func() { _, _, cancelled = k.Open(ctx, "a", writerOf("w")) }()
		synctest.Wait()
		wantErr(t, waiting, ErrReplaced)
		wantErr(t, waiting, ErrBusy)
		cancel()
		synctest.Wait()
		wantErr(t, cancelled, context.Canceled)
		go func() {
			l, last, err := k.Open(t.Context(), "a", writerOf("w"))
			if last != 3 || err != nil {
				t.Errorf("Open: last %d, %v; want 3", last, err)
			}
			given <- l
		}()
		synctest.Wait()
		wantErr(t, old.Send(t.Context(), charge("w", 4, 5)), ErrReplaced)
		refuses(t, k, charge("w", 4, 5), ErrBusy)
		if len(given) != 0 {
			t.Fatal("a stream was opened while the older one's requests were in the queue")
		}
		release()
		l := <-given
		if got := receive(t, old); got != "1 2 3" {
			t.Errorf("the older stream's answers: %q", got)
		}
		_, err := old.Receive(t.Context())
		wantErr(t, err, ErrReplaced)
		old.Close() // does nothing to the newer
		send(t, l, numbered(4)...)
		if got := receive(t, l); got != "4" {
			t.Errorf("the newer stream's answers: %q", got)
		}
		l.Close()
		if checkLedger(t, k, s, "a"); k.pins != 0 {
			t.Errorf("pins: %d; want 0", k.pins)
		}
	})
}

// A unary call in flight is waited for.
func TestOpenWaitsForCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStore("a")
		release := hold(s, "a", nil)
		k := newKeeper(t, Config{Store: s})
		call := async(k, t.Context(), "a", charge("w", 1, 1))
		synctest.Wait()
		opened := false
		go func() {
			open(t, k, "w", 1).Close()
			opened = true
		}()
		synctest.Wait()
		if opened || call.done {
			t.Fatal("opened beside a call in flight")
		}
		release()
		synctest.Wait()
		if !opened || call.err != nil || k.pins != 0 {
			t.Errorf("opened %v, call %v, pins %d", opened, call.err, k.pins)
		}
	})
}

// A lane that somebody waits for, or uses, is not forgotten, however few are
// kept: two records of one lane would be two senders.
func TestLaneInUseIsKept(t *testing.T) {
	for range 30 { // of a race between the waiting and the forgetting
		synctest.Test(t, func(t *testing.T) {
			s := newTestStore("a")
			release := hold(s, "a", nil)
			k := newKeeper(t, Config{Store: s, MaxWriters: 1})
			async(k, t.Context(), "a", charge("first", 1, 1))
			synctest.Wait()
			async(k, t.Context(), "a", charge("w", 1, 1))
			synctest.Wait()
			async(k, t.Context(), "a", charge("v", 1, 1))
			var l *Lane
			go func() { l, _, _ = k.Open(t.Context(), "a", writerOf("w")) }()
			synctest.Wait()
			release()
			synctest.Wait()
			refuses(t, k, charge("w", 2, 1), ErrBusy)
			k.writers.drop(l.w) // as if it had come into use just now
			refuses(t, k, charge("w", 2, 1), ErrBusy)
			l.Close()
			do(t, k, charge("w", 2, 1))
		})
	}
}

// Sending waits while too much is unanswered or unread.
func TestWindow(t *testing.T) {
	for _, c := range []struct {
		name   string
		config Config
	}{
		{"requests", Config{Window: 3}},
		{"bytes", Config{WindowBytes: 3 * charge("", 1, 1).Weight()}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTestStore("a")
				release := hold(s, "a", nil)
				c.config.Store = s
				k := newKeeper(t, c.config)
				l := open(t, k, "w", 0)
				send(t, l, numbered(1, 2, 3)...)
				ctx, cancel := context.WithCancel(t.Context())
				var cancelled, fourth error
				go func() { cancelled = l.Send(ctx, charge("", 4, 5)) }()
				synctest.Wait()
				if l.undecided != 3 {
					t.Fatalf("undecided: %d; allowed: 3", l.undecided)
				}
				cancel()
				synctest.Wait()
				wantErr(t, cancelled, context.Canceled)
				sent := false
				go func() {
					fourth = l.Send(t.Context(), charge("", 4, 5))
					sent = true
				}()
				release()
				synctest.Wait()
				if byBytes := c.config.WindowBytes > 0; sent != byBytes {
					t.Fatalf("sent before anything was received: %v; want %v", sent, byBytes)
				}
				got := receive(t, l) + " " + receive(t, l)
				if strings.TrimSpace(got) != "1 2 3 4" || !sent || fourth != nil {
					t.Errorf("answers: %q, sent %v, %v", got, sent, fourth)
				}
				l.Close()
				if l.undecided != 0 || l.bytes != 0 || len(l.results) != 0 {
					t.Errorf("in the end: %d undecided, %d bytes, %d results", l.undecided, l.bytes, len(l.results))
				}
				checkLedger(t, k, s, "a")
			})
		})
	}
}

// Where all streams together have too much in their queues, each has its share of it, and at least one request: none
// fills the memory, and none waits for others.
func TestStreamsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStore("a")
		release := hold(s, "a", nil)
		k := newKeeper(t, Config{Store: s, LaneBytes: 4 * charge("", 1, 1).Weight()})
		first, second, third := open(t, k, "v", 0), open(t, k, "w", 0), (*Lane)(nil)
		sendAll := func(l *Lane) {
			for n := range uint64(8) {
				if err := l.Send(t.Context(), charge("", n+1, 1)); err != nil {
					t.Error(err)
				}
			}
		}
		queued := func(want ...int) {
			t.Helper()
			synctest.Wait()
			for i, l := range []*Lane{first, second, third} {
				if l != nil && l.undecided != want[i] {
					t.Errorf("stream %d has %d in the queue; want %d", i+1, l.undecided, want[i])
				}
			}
		}
		go sendAll(first)
		queued(4, 0)
		go sendAll(second)
		queued(4, 2)
		third = open(t, k, "x", 0)
		go sendAll(third)
		queued(4, 2, 1)
		release()
		queued(0, 0, 0)
		for _, l := range []*Lane{first, second, third} {
			var got string
			for n := 0; n < 8; n = len(strings.Fields(got)) {
				got += receive(t, l) + " "
			}
			if got := strings.TrimSpace(got); got != "1 2 3 4 5 6 7 8" {
				t.Errorf("answers: %q", got)
			}
			l.Close()
		}
		if lanes, bytes := k.lanes.Load(), k.laneBytes.Load(); lanes != 0 || bytes != 0 {
			t.Errorf("in the end: %d streams with %d bytes", lanes, bytes)
		}
		checkLedger(t, k, s, "a")
	})
}

// A request larger than the window goes alone, and one that waits for room is
// told when the lane ends.
func TestWindowEdges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStore("a")
		release := hold(s, "a", nil)
		k := newKeeper(t, Config{Store: s, WindowBytes: 1, BatchBytes: 1})
		l := open(t, k, "w", 0)
		send(t, l, numbered(1)...)
		var sent error
		go func() { sent = l.Send(t.Context(), charge("", 2, 3)) }()
		synctest.Wait()
		l.Close()
		synctest.Wait()
		wantErr(t, sent, io.EOF)
		release()
		if got := receive(t, l); got != "1" {
			t.Errorf("answers: %q", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		l = open(t, k, "w", 1)
		_, err := l.Receive(ctx)
		wantErr(t, err, context.Canceled)
		l.Close()
	})
}
