// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/blobs/blobstest"
	"github.com/dpaccountant/accountant/internal/persist/cold"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/persist/verify"
)

// An object store serves as a directory does. Wherever it fails, nothing is lost, and the next time goes on.
func TestColdBucket(t *testing.T) {
	b := blobstest.New(t)
	key := keyFile(t)
	path := fill(t)
	s := mustOpen(t, Config{Path: path, hooks: hooks{noSync: true}})
	dealAll(t, s)
	says := mustRead(t, s)
	if err := s.Retain(rows.Retention{Place: cold.Place{Dir: b.Place, Key: key}}); err != nil {
		t.Fatal(err)
	}
	few := everyPack
	few.segment = 1 << 10
	failures := 0
	for step := int64(1); ; step += 3 {
		b.Fail.Store(step)
		_, err := s.retire(t.Context(), later, few)
		b.Fail.Store(0)
		if now := mustRead(t, s); now != says {
			t.Fatalf("step %d: it says something else", step)
		}
		if err == nil {
			break
		}
		failures++
	}
	if failures < 5 {
		t.Errorf("%d failures; want more", failures)
	}
	b.Fail.Store(1)
	if _, err := readAll(s); !errors.Is(err, ledger.ErrAway) || errors.Is(err, ledger.ErrDamaged) {
		t.Errorf("an object store that is away: %v", err)
	}
	if _, err := s.Append([]ledger.Proposal{propose(t, s, "l", lane1(0))}); err != nil {
		t.Errorf("a charge without the object store: %v", err)
	}
	b.Fail.Store(0)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := verify.File(t.Context(), verify.Config{Path: path}); err != nil {
		t.Error(err)
	}
	s = mustOpen(t, Config{Path: path, hooks: hooks{noSync: true}})
	defer s.Close()
	var one cold.Name
	if err := s.eachElsewhere(func(ref cold.Ref) error { one = ref.Segment; return nil }); err != nil {
		t.Fatal(err)
	}
	b.Fail.Store(1)
	if _, err := s.Scrub(t.Context(), 0); err != nil {
		t.Errorf("a scrub reads the object store: %v", err)
	}
	b.Fail.Store(0)
	b.Remove(t, one.String()+".cold")
	if _, err := readAll(s); !errors.Is(err, ledger.ErrAway) || errors.Is(err, ledger.ErrDamaged) ||
		!strings.Contains(err.Error(), one.String()) || !strings.Contains(err.Error(), "is missing in s3://kept/") {
		t.Errorf("an object that is missing: %v", err)
	}
}

// While a bucket hangs, nobody who waits for it holds a transaction, in which the file would grow, or keeps others from
// writing; and a stop ends all that waits.
func TestHangingBucket(t *testing.T) {
	b := blobstest.New(t)
	stop, end := context.WithCancel(t.Context())
	path := filepath.Join(t.TempDir(), "s.db")
	s := mustOpen(t, Config{Path: path, Stop: stop, hooks: hooks{noSync: true, patience: time.Hour}})
	defer s.Close()
	audittest.Fill(t, s, audittest.Spec("l", 0), 700, 1)
	list, err := s.Records("l", 1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	single := list[slices.IndexFunc(list, func(r ledger.Record) bool { return r.Entry.Writer.Single() })].Entry.Writer
	dealAll(t, s)
	if err := shred(s); err != nil {
		t.Fatal(err)
	}
	if err := s.Retain(rows.Retention{Place: cold.Place{Dir: b.Place}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.retire(t.Context(), later, everyPack); err != nil {
		t.Fatal(err)
	}
	snapshot, err := s.Load("l")
	if err != nil {
		t.Fatal(err)
	}
	again := proposeOn(ledger.NewState(snapshot), single, 0) // a second time, which the store has to find out
	mustCreate(t, s, "m")
	for range 50 {
		if _, err := s.Append([]ledger.Proposal{propose(t, s, "m", lane1(0))}); err != nil {
			t.Fatal(err)
		}
	}
	dealAll(t, s)
	if err := shred(s); err != nil {
		t.Fatal(err)
	}
	b.Hang.Store(true)
	calls := map[string]func() error{
		"entries":    func() error { _, err := s.Records("l", 1, 1); return err },
		"request ID": func() error { _, _, err := s.Writer("l", single); return err },
		"charge":     func() error { _, err := s.Append([]ledger.Proposal{again}); return err },
		"retirement": func() error { _, err := s.retire(stop, later, everyPack); return err },
	}
	type ended struct {
		what string
		err  error
	}
	ends := make(chan ended)
	asked := b.Asked.Load()
	for what, call := range calls {
		go func() { ends <- ended{what, call()} }()
	}
	for b.Asked.Load() < asked+int64(len(calls)) { // all of them wait
		time.Sleep(time.Millisecond)
	}
	if n := s.db.Stats().OpenTxN; n > 0 {
		t.Errorf("%d transactions are open", n)
	}
	if _, err := s.Append([]ledger.Proposal{propose(t, s, "m", lane1(0))}); err != nil {
		t.Error(err)
	}
	end()
	for range calls {
		if e := <-ends; !errors.Is(e.err, context.Canceled) ||
			!errors.Is(e.err, ledger.ErrAway) && e.what != "retirement" {
			t.Errorf("%s: %v", e.what, e.err)
		}
	}
	// An archive is completed after the stop, also of entries that have left the file.
	b.Hang.Store(false)
	entries := 0
	if _, err := s.Since(t.Context(), nil, func(string) (Seen, bool) { return Seen{}, false }, func(w Written) error {
		entries += len(w.Entries)
		return nil
	}); err != nil || entries <= len(list) {
		t.Errorf("%d entries for an archive, %v", entries, err)
	}
}

// After one has waited in vain for a place that hangs, others are told at once for a while, as they would hold up what
// needs no segment. Then it is asked again.
func TestHungBucketIsLeftAlone(t *testing.T) {
	b := blobstest.New(t)
	path := fill(t)
	s := mustOpen(t, Config{Path: path, hooks: hooks{noSync: true, patience: time.Second}})
	defer s.Close()
	dealAll(t, s)
	says := mustRead(t, s)
	if err := s.Retain(rows.Retention{Place: cold.Place{Dir: b.Place}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.retire(t.Context(), later, everyPack); err != nil {
		t.Fatal(err)
	}
	b.Hang.Store(true)
	if _, err := s.Records("l", 1, 1); !errors.Is(err, ledger.ErrAway) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the first: %v", err)
	}
	asked := b.Asked.Load()
	for _, name := range []string{"l", "m"} {
		if _, err := s.Records(name, 1, 1); !errors.Is(err, ledger.ErrAway) || b.Asked.Load() > asked ||
			!strings.Contains(err.Error(), "of ledger "+name+", cannot be read now: its place has not answered") {
			t.Errorf("another: %v, after %d requests", err, b.Asked.Load()-asked)
		}
	}
	// Nor does an archive wait, which reads all in one transaction.
	if _, err := s.Since(t.Context(), nil, func(string) (Seen, bool) { return Seen{}, false },
		func(Written) error { return nil }); !errors.Is(err, ledger.ErrAway) || b.Asked.Load() > asked {
		t.Errorf("an archive: %v, after %d requests", err, b.Asked.Load()-asked)
	}
	b.Hang.Store(false)
	now, err := readAll(s)
	for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); now, err = readAll(s) {
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil || now != says {
		t.Errorf("once it answers: %v, or it says something else", err)
	}
}
