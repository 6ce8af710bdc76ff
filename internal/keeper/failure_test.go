// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/dpaccountant/accountant/internal/keeper/fleet"
	"github.com/dpaccountant/accountant/internal/ledger"
)

var errDisk = errors.New("disk on fire")

// Every kind of failed append, with what the caller hears and what a retry with
// the same key finds.
func TestFailedAppend(t *testing.T) {
	for _, c := range []struct {
		name     string
		fault    fault
		want     error
		replayed bool // of the retry
		reload   bool // the state was forgotten
	}{
		{"unavailable", fault{err: ledger.ErrUnavailable}, ledger.ErrUnavailable, false, false},
		{"too large", fault{err: ledger.ErrTooLarge}, ledger.ErrTooLarge, false, false},
		{"unknown, lost", fault{err: ledger.ErrUnknown}, ledger.ErrUnknown, false, true},
		{"unknown, kept", fault{err: ledger.ErrUnknown, keep: true}, ledger.ErrUnknown, true, true},
		{"undocumented, lost", fault{err: errDisk}, ledger.ErrUnknown, false, true},
		{"undocumented, kept", fault{err: errDisk, keep: true}, ledger.ErrUnknown, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newTestStore("a")
			k := newKeeper(t, Config{Store: s})
			before := do(t, k, charge("w", 1, 1))
			s.fault = func(int, ledger.Proposal) fault { return c.fault }
			_, err := k.Do(t.Context(), "a", charge("w", 2, 2))
			wantErr(t, err, c.want)
			if c.fault.err == errDisk {
				wantErr(t, err, errDisk)
			}
			// What is committed is answered while nothing can be written.
			if again := do(t, k, charge("w", 1, 1)); again.Receipt != before.Receipt || !again.Replayed {
				t.Errorf("duplicate: %+v; want the first receipt %+v", again, before)
			}
			s.fault = nil
			if r := do(t, k, charge("w", 2, 2)); r.Replayed != c.replayed || r.Receipt.Position != 2 {
				t.Errorf("retry: %+v; want position 2, replayed %v", r, c.replayed)
			}
			if want := map[bool]int{false: 1, true: 2}[c.reload]; s.loads != want {
				t.Errorf("loads: %d; want %d", s.loads, want)
			}
			if n := len(checkLedger(t, k, s, "a")); n != 2 {
				t.Errorf("records: %d; want 2", n)
			}
		})
	}
}

// In a batch that fails, what was refused before anything was accepted keeps its
// reason; what came after an accepted one fell with it.
func TestRefusalsInFailedBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStore("a")
		release := hold(s, "a", func(n int) fault {
			if n > 1 {
				return fault{err: ledger.ErrUnavailable}
			}
			return fault{}
		})
		k := newKeeper(t, Config{Store: s})
		var calls []*pending
		for _, r := range []ledger.Request{
			charge("first", 1, 1), charge("gap", 2, 1), charge("second", 1, 1), charge("another gap", 2, 1),
		} {
			calls = append(calls, async(k, t.Context(), "a", r))
			synctest.Wait()
		}
		release()
		synctest.Wait()
		for i, want := range []error{nil, ledger.ErrGap, ledger.ErrUnavailable, ledger.ErrUnavailable} {
			wantErr(t, calls[i].err, want)
		}
	})
}

// A store that breaks its contract is not believed.
func TestWrongHashes(t *testing.T) {
	s := newTestStore("a")
	k := newKeeper(t, Config{Store: brokenStore{s}})
	_, err := k.Do(t.Context(), "a", charge("w", 1, 1))
	wantErr(t, err, ledger.ErrUnknown)
	if c, sum, err := k.Composition(t.Context(), "a"); sum.Head.Position != 1 || len(c.Parts) != 1 || err != nil {
		t.Errorf("afterwards: %+v, %v; want what the store says", sum, err)
	}
}

type brokenStore struct{ *testStore }

func (s brokenStore) Append(p []ledger.Proposal) ([][]ledger.Hash, error) {
	_, err := s.testStore.Append(p)
	return [][]ledger.Hash{nil}, err
}

// Two keepers on one store: each loses when the other was first, and decides
// again on what it finds.
func TestConflict(t *testing.T) {
	s := newTestStore("a")
	one, two := newKeeper(t, Config{Store: s}), newKeeper(t, Config{Store: s})
	for i := range uint64(20) {
		do(t, one, charge("w", 3*i+1, 1))
		do(t, two, charge("w", 3*i+2, 2))
		do(t, two, charge("v", i+1, 3))
		if r := do(t, one, charge("w", 3*i+2, 2)); !r.Replayed {
			t.Fatalf("%d: written twice: %+v", i, r)
		}
		do(t, one, charge("w", 3*i+3, 3))
	}
	checkLedger(t, one, s, "a")
	do(t, two, closing("closer", 1))
	refuses(t, one, charge("w", 61, 1), ledger.ErrClosed)
	checkLedger(t, two, s, "a")
}

func TestConflictsAreBounded(t *testing.T) {
	s := newTestStore("a")
	k := newKeeper(t, Config{Store: s})
	s.fault = func(int, ledger.Proposal) fault { return fault{err: ledger.ErrConflict} }
	refuses(t, k, charge("w", 1, 1), ledger.ErrUnavailable)
	if s.appends != fleet.MaxAttempts {
		t.Errorf("appends: %d; want %d", s.appends, fleet.MaxAttempts)
	}
	s.fault = func(n int, _ ledger.Proposal) fault {
		if n < 2*fleet.MaxAttempts {
			return fault{err: ledger.ErrConflict}
		}
		return fault{}
	}
	do(t, k, charge("w", 1, 1)) // the last attempt succeeds
	checkLedger(t, k, s, "a")
}

// A batch over the store's limit is halved until it fits.
func TestTooLargeIsHalved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStore("a")
		release := hold(s, "a", nil)
		k := newKeeper(t, Config{Store: s})
		first := async(k, t.Context(), "a", charge("first", 1, 1))
		synctest.Wait()
		var calls []*pending
		for i := range 20 {
			calls = append(calls, async(k, t.Context(), "a", charge(fmt.Sprint(i), 1, 1)))
		}
		calls = append(calls, async(k, t.Context(), "a", charge("gap", 2, 1)))
		l, _, err := k.Open(t.Context(), "a", writerOf("stream"))
		wantErr(t, err, nil)
		for i := range uint64(20) {
			wantErr(t, l.Send(t.Context(), charge("", i+1, 1)), nil)
			wantErr(t, l.Send(t.Context(), charge("", i+1, 1)), nil)
		}
		synctest.Wait()
		s.limit = 3
		release()
		synctest.Wait()
		wantErr(t, first.err, nil)
		for i, c := range calls[:20] {
			if c.err != nil || c.result.Replayed {
				t.Errorf("call %d: %+v", i, c)
			}
		}
		wantErr(t, calls[20].err, ledger.ErrGap)
		results, err := l.Receive(t.Context())
		if len(results) != 40 || err != nil {
			t.Fatalf("results: %d, %v; want 40", len(results), err)
		}
		for i, r := range results {
			if r.Err != nil || r.Sequence != uint64(i/2+1) || r.Replayed != (i%2 == 1) ||
				r.Receipt.Sequence != r.Sequence || r.Receipt != results[i/2*2].Receipt {
				t.Errorf("result %d: %+v", i, r)
			}
		}
		if n := len(checkLedger(t, k, s, "a")); n != 41 {
			t.Errorf("records: %d; want 41", n)
		}
	})
}

// One request that the store never takes is refused alone; in a stream those
// behind it are dropped, in other lanes they are not.
func TestOneTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStore("a")
		held := make(chan struct{})
		s.fault = func(n int, p ledger.Proposal) fault {
			<-held
			for _, e := range p.Entries {
				if e.Writer.Name == "stream" && e.Sequence == 4 {
					return fault{err: ledger.ErrTooLarge}
				}
			}
			return fault{}
		}
		k := newKeeper(t, Config{Store: s})
		l, _, err := k.Open(t.Context(), "a", writerOf("stream"))
		wantErr(t, err, nil)
		wantErr(t, l.Send(t.Context(), charge("", 1, 1)), nil)
		synctest.Wait()
		var calls []*pending
		for i := range uint64(8) {
			wantErr(t, l.Send(t.Context(), charge("", i+2, 1)), nil)
			calls = append(calls, async(k, t.Context(), "a", charge(fmt.Sprint(i), 1, 1)))
			synctest.Wait()
		}
		close(held)
		synctest.Wait()
		for _, c := range calls {
			wantErr(t, c.err, nil)
		}
		results, err := l.Receive(t.Context())
		if len(results) != 4 || err != nil {
			t.Fatalf("results: %+v, %v; want four, the last a refusal", results, err)
		}
		wantErr(t, results[3].Err, ledger.ErrTooLarge)
		if n := len(checkLedger(t, k, s, "a")); n != 11 {
			t.Errorf("records: %d; want 8 calls and 3 of the stream", n)
		}
	})
}
