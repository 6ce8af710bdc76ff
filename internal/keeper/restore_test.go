// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
)

// restoredStore is what a restore has made of a store.
type restoredStore struct{ *memory.Store }

const restoredID = "00000000-0000-4000-8000-0000000000ff"

func (restoredStore) ID() string { return restoredID }

// restoredFrom makes it.
func restoredFrom(t *testing.T, s *memory.Store, name string) restoredStore {
	t.Helper()
	snapshot, err := s.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	b := ledger.NewBatch(ledger.NewState(snapshot))
	v := ledger.Restored{From: s.ID(), StoreID: restoredID, Newest: time.Unix(1000, 0)}
	d := b.Decide(ledger.Request{Writer: ledger.Writer{Principal: ledger.Daemon, Name: "request/restore"}, Sequence: 1,
		Digest: wholeDigest(v), Action: v}, ledger.Lane{}, time.Unix(1000, 0))
	if d.Err != nil {
		t.Fatal(d.Err)
	}
	if _, err := s.Append([]ledger.Proposal{b.Proposal()}); err != nil {
		t.Fatal(err)
	}
	return restoredStore{s.Reopen()}
}

// A restored ledger answers what it knows with the first receipts, of the store that
// gave them, and takes nothing else of earlier writers, unary or in a stream; of
// others once it is reconciled.
func TestRestoredLedger(t *testing.T) {
	store := memory.New(memory.Config{})
	now := time.Unix(1000, 0)
	k, ask := asking(t, store, &now)
	if _, _, err := k.Create(t.Context(), budgeted()); err != nil {
		t.Fatal(err)
	}
	charge := ledger.Charge{Events: tenths(2)}
	first, err := ask("a", "w", charge)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask("a", "w", ledger.Reserve{Events: tenths(3), Lifetime: time.Second}); err != nil {
		t.Fatal(err)
	}
	k, ask = asking(t, restoredFrom(t, store, "a"), &now)
	again := func(sequence uint64) (Result, error) {
		return k.Do(t.Context(), "a",
			ledger.Request{Writer: lane("w"), Sequence: sequence, Digest: wholeDigest(charge), Action: charge})
	}
	if r, err := again(1); err != nil || !r.Replayed || r.Receipt != first.Receipt {
		t.Errorf("again: %+v, %v; want %+v", r, err, first.Receipt)
	}
	_, err = again(3)
	wantErr(t, err, ledger.ErrEnded)
	_, err = ask("a", "v", charge)
	wantErr(t, err, ledger.ErrUnreconciled)
	now = now.Add(time.Hour)
	if _, err := k.Expire(t.Context()); err != nil { // nothing is reserved any more
		t.Fatal(err)
	}
	l, last, err := k.Open(t.Context(), "a", lane("w"))
	if err != nil || last != 2 {
		t.Fatalf("%d, %v", last, err)
	}
	if err := l.Send(t.Context(),
		ledger.Request{Sequence: 3, Digest: wholeDigest(charge), Action: charge}); err != nil {
		t.Fatal(err)
	}
	answers, err := l.Receive(t.Context())
	if err != nil || len(answers) != 1 || !errors.Is(answers[0].Err, ledger.ErrEnded) {
		t.Errorf("in a stream: %+v, %v", answers, err)
	}
	l.Close()

	// Many charge while it is reconciled: what came before is refused, what came after
	// has its place behind it.
	var others sync.WaitGroup
	results := make([]Result, 3)
	errs := make([]error, len(results))
	for i := range results {
		others.Go(func() { results[i], errs[i] = ask("a", string(rune('a'+i)), ledger.Charge{Events: tenths(1)}) })
	}
	done, err := ask("a", "r", ledger.Reconcile{Events: tenths(1), Contribution: ledger.OverAll, Reason: "r"})
	others.Wait()
	if err != nil || done.Receipt.StoreID != restoredID {
		t.Fatalf("%+v, %v", done, err)
	}
	want := uint64(2 + 3 + 1)
	for i, r := range results {
		switch {
		case errs[i] == nil && r.Receipt.Position < done.Receipt.Position:
			t.Errorf("%d was charged before it was reconciled", r.Receipt.Position)
		case errs[i] == nil:
			want++
		case !errors.Is(errs[i], ledger.ErrUnreconciled):
			t.Error(errs[i])
		}
	}
	if _, err := ask("a", "z", ledger.Charge{Events: tenths(uint32(10 - want))}); err != nil {
		t.Errorf("after it was reconciled: %v", err)
	}
	if v, err := k.View(t.Context(), "a"); err != nil || v.Total != 10 || v.Guarantee != "filter" {
		t.Errorf("%+v, %v", v, err)
	}
	_, err = again(3)
	wantErr(t, err, ledger.ErrEnded)
}
