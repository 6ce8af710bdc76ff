// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/server/turns"
)

// unmeasured is a meter that nobody reads.
type unmeasured struct{}

func (unmeasured) QuestionRefused()  {}
func (unmeasured) QuestionCut()      {}
func (unmeasured) LastCommit() int64 { return 0 }

// sized is a kept value of a known size.
type sized struct{ bytes int }

func (s *sized) Bytes() int   { return s.bytes }
func (s *sized) Read() uint64 { return 0 }

// However a question ends, its value is free afterwards: it is kept after success and when time ran out, before the
// first turn or after it, and forgotten when the computation failed or panicked.
func TestKeptValuesAreGivenBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		busy    bool // somebody else has the only turn
		compute func(*turns.Turn) (int, error)
		err     error
		kept    bool
	}{
		"success":         {compute: func(*turns.Turn) (int, error) { return 1, nil }, kept: true},
		"before its turn": {busy: true, err: accountant.ErrStopped, kept: true},
		"stopped": {compute: func(*turns.Turn) (int, error) { return 0, accountant.ErrStopped },
			err: accountant.ErrStopped, kept: true},
		"failed":   {compute: func(*turns.Turn) (int, error) { return 0, errBroken }, err: errBroken},
		"panicked": {compute: func(*turns.Turn) (int, error) { panic("broken") }, err: errBroken},
	} {
		synctest.Test(t, func(t *testing.T) {
			in := turns.NewInTime(turns.NewRotation(1, time.Hour, unmeasured{}),
				func(context.Context, any) error { return errBroken })
			end := make(chan struct{})
			if c.busy {
				if err := in.Admit(t.Context()); err != nil {
					t.Fatal(err)
				}
				go func() {
					_, _ = turns.Beside(t.Context(), in, turns.NothingYet,
						func(*turns.Turn) (int, error) { <-end; return 0, nil })
				}()
				synctest.Wait()
			}
			k := newKept[string, *sized](4, 1000)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			o, err := k.begin(ctx, in, "a", func() *sized { return &sized{bytes: 10} })
			if err != nil {
				t.Fatal(err)
			}
			if _, err := run(ctx, in, o, c.compute); !errors.Is(err, c.err) {
				t.Errorf("%s: %v; want %v", name, err, c.err)
			}
			close(end)
			synctest.Wait()
			now, ok := k.recent.Peek("a")
			if ok != c.kept || ok && now != o || len(o.turn) > 0 || in.Admitted() > 0 || (k.bytes > 0) != c.kept {
				t.Errorf("%s: kept %v of %d bytes, %d hold it, %d admitted", name, ok, k.bytes, len(o.turn),
					in.Admitted())
			}
		})
	}
}

var errBroken = fmt.Errorf("broken")

// No more values and bytes are kept than allowed, and the newest always is.
func TestKeptValuesAreBounded(t *testing.T) {
	t.Parallel()
	in := turns.NewInTime(turns.NewRotation(1, time.Hour, unmeasured{}), nil)
	k := newKept[int, *sized](8, 1000)
	for i := range 100 {
		o, err := k.begin(t.Context(), in, i, func() *sized { return new(sized) })
		if err != nil {
			t.Fatal(err)
		}
		size := 90 + 300*(i%5)
		_, err = run(t.Context(), in, o, func(*turns.Turn) (int, error) { o.value.bytes = size; return 0, nil })
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, o := range k.recent.Values() {
			sum += o.bytes
		}
		if now, ok := k.recent.Peek(i); sum != k.bytes || k.recent.Len() > 8 || !ok || now != o ||
			sum > 1000 && k.recent.Len() > 1 {
			t.Fatalf("after %d: %d values of %d bytes, counted as %d", i, k.recent.Len(), sum, k.bytes)
		}
	}
}

// entriesOf is a store of ledgers with one entry each; it counts how often entries are read.
type entriesOf struct {
	ledger.Store
	reads int
}

func (s *entriesOf) Records(string, uint64, int) ([]ledger.Record, error) {
	s.reads++
	return []ledger.Record{{Entry: ledger.Entry{Position: 1, Action: ledger.Close{}}}}, nil
}

// Whoever asks about the largest set again reads no entry of its ledgers again, also if others asked who has spent most
// in the meantime.
func TestLargestSetIsReadOnce(t *testing.T) {
	t.Parallel()
	store := &entriesOf{}
	in := turns.NewInTime(turns.NewRotation(1, time.Hour, unmeasured{}), nil)
	h := New(Config{Store: store, InTime: in})
	for range 2 {
		for i := range ledger.MaxMembers {
			v := ledger.View{}
			v.Genesis.Spec.Name, v.Head.Position = fmt.Sprint("days/", i), 1
			if _, _, err := h.Sharing(t.Context(), v); err != nil {
				t.Fatal(err)
			}
		}
	}
	if store.reads != ledger.MaxMembers {
		t.Errorf("entries of %d ledgers were read %d times", ledger.MaxMembers, store.reads)
	}
}

// tally is a value that has read so many entries.
type tally struct{ entries atomic.Uint64 }

func (*tally) Bytes() int     { return 0 }
func (c *tally) Read() uint64 { return c.entries.Load() }

// Nobody is told to wait for entries that are all read, however long their numbers take.
func TestAllEntriesAreRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct{ read, want uint64 }{{0, 0}, {1, 1}, {2, 0}} {
			h, of, value := &Handlers{beyond: newBeyond()}, newKept[string, *tally](1, 1), &tally{}
			of.recent.Add("a", &one[*tally]{value: value})
			slow := make(chan struct{})
			reading, err := soon(t.Context(), h, of, "a", 2, func(context.Context) error {
				value.entries.Store(c.read)
				<-slow
				return nil
			})
			if err != nil || (reading == nil) != (c.read == 2) || reading.GetEntriesRead() != c.want {
				t.Errorf("%d of 2 entries are read: %v, %v", c.read, reading, err)
			}
			close(slow)
			h.beyond.close()
		}
	})
}
