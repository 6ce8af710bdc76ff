// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// fileStore is a bbolt store with ledgers of each kind, open reservations, lanes that end in the head
// and elsewhere, and more distinct mechanisms than a head has room for.
func fileStore(t testing.TB, n int) (s *persist.Store, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), persist.FileName)
	s, err := persist.Open(persist.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n * audittest.Kinds {
		audittest.Fill(t, s, audittest.Spec(fmt.Sprintf("open/%d", i), i%audittest.Kinds), 150, uint64(5*i+1))
	}
	audittest.Fill(t, s, audittest.Spec("closed", 0), 30, 5)
	audittest.Fill(t, s, audittest.Spec("empty", 0), 0, 5)
	if err := s.BindKey(rows.BoundKey{Fingerprint: [32]byte{1, 2}, Since: time.Unix(5, 6).UTC()}); err != nil {
		t.Fatal(err)
	}
	return s, path
}

// sameStore compares everything that two stores say.
func sameStore(t *testing.T, a, b interface {
	ledger.Store
	Keys() ([]rows.BoundKey, error)
}) {
	t.Helper()
	equal := func(what string, x any, errX error, y any, errY error) {
		t.Helper()
		if errX != nil || errY != nil || !reflect.DeepEqual(x, y) {
			t.Errorf("%s: %+v, %v; and %+v, %v", what, x, errX, y, errY)
		}
	}
	if a.ID() != b.ID() {
		t.Errorf("store %s and %s", a.ID(), b.ID())
	}
	list, err := a.List("", "", 10_000)
	other, errOther := b.List("", "", 10_000)
	equal("List", list, err, other, errOther)
	keys, err := a.Keys()
	otherKeys, errOther := b.Keys()
	equal("Keys", keys, err, otherKeys, errOther)
	holding, err := a.Reserving()
	otherHolding, errOther := b.Reserving()
	slices.Sort(holding)
	slices.Sort(otherHolding)
	equal("Reserving", holding, err, otherHolding, errOther)
	for _, sum := range list {
		name := sum.Genesis.Spec.Name
		snapshot, err := a.Load(name)
		state := ledger.NewState(snapshot)
		snapshotB, errB := b.Load(name)
		stateB := ledger.NewState(snapshotB)
		equal("Load "+name, state.Summary(), err, stateB.Summary(), errB)
		equal("Load "+name, state.Parts(), nil, stateB.Parts(), nil)
		equal("Load "+name, state.Reservations(), nil, stateB.Reservations(), nil)
		records, err := a.Records(name, 1, 100_000)
		recordsB, errB := b.Records(name, 1, 100_000)
		if equal("Records "+name, len(records), err, len(recordsB), errB); len(recordsB) < len(records) {
			continue
		}
		for i, r := range records {
			if got := recordsB[i]; got.Hash != r.Hash || got.Previous != r.Previous || !bytes.Equal(got.Raw, r.Raw) {
				t.Errorf("%s: entry %d differs", name, i+1)
			}
			one, err := b.RecordOf(name, r.Entry.Writer, r.Entry.Sequence)
			if err != nil || one.Hash != r.Hash {
				t.Errorf("%s: RecordOf %v %d: %v", name, r.Entry.Writer, r.Entry.Sequence, err)
			}
			sequence, position, err := a.Writer(name, r.Entry.Writer)
			sequenceB, positionB, errB := b.Writer(name, r.Entry.Writer)
			equal("Writer", []uint64{sequence, position}, err, []uint64{sequenceB, positionB}, errB)
		}
	}
}

// proposal decides a charge on what a store has.
func proposal(t testing.TB, s ledger.Store, name string, w ledger.Writer) ledger.Proposal {
	t.Helper()
	snapshot, err := s.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	last, _, err := s.Writer(name, w)
	if err != nil {
		t.Fatal(err)
	}
	v := ledger.Charge{Events: []mechanism.Event{{Mechanism: mechanism.PureDP{Epsilon: 1}, Count: 1}}}
	b := ledger.NewBatch(ledger.NewState(snapshot))
	r := ledger.Request{Writer: w, Sequence: last + 1, Digest: record.Digest(v), Action: v}
	if d := b.Decide(r, ledger.Lane{Sequence: last}, audittest.Time(9)); d.Err != nil {
		t.Fatal(d.Err)
	}
	return b.Proposal()
}

// A database that is filled from a file has all that the file's store has, and goes on.
func TestFill(t *testing.T) {
	t.Parallel()
	file, path := fileStore(t, 1)
	config := Config{URL: database(t)}
	next := proposal(t, file, "empty", audittest.Writer(900))
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	var done, total uint64
	progress := func(n, of uint64) {
		if done, total = n, of; n > of {
			t.Errorf("%d of %d", n, of)
		}
	}
	if _, _, err := Fill(context.Background(), config, path, progress); err != nil {
		t.Fatal(err)
	}
	if done != total || total == 0 {
		t.Errorf("%d of %d", done, total)
	}
	if _, _, err := Fill(context.Background(), config, path, nil); err != nil {
		t.Errorf("once more: %v", err)
	}
	other, otherPath := fileStore(t, 1)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Fill(context.Background(), config, otherPath, nil); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("another store: %v; want ErrNotEmpty", err)
	}
	file, err := persist.Open(persist.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := mustOpen(t, config)
	defer mustClose(t, s)
	sameStore(t, file, s)
	if _, err := s.Append([]ledger.Proposal{next}); err != nil {
		t.Error(err)
	}
	for i := range audittest.Kinds {
		audittest.Append(t, s, fmt.Sprintf("open/%d", i), 40, uint64(77+i))
	}
}

// Cut off at any moment, Fill has left nothing, or all of it.
func TestFillCutOff(t *testing.T) {
	t.Parallel()
	file, path := fileStore(t, 1)
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	config := Config{URL: database(t)}
	for cut := 4 * time.Millisecond; cut < time.Minute; cut += cut / 5 {
		ctx, cancel := context.WithTimeout(context.Background(), cut)
		_, _, err := Fill(ctx, config, path, nil)
		late := ctx.Err() != nil
		cancel()
		if err == nil {
			break
		}
		// Dialing and reading have the context's deadline as their own, and may notice it before the context does.
		if !late && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("after %v: %v", cut, err)
		}
	}
	if _, _, err := Fill(context.Background(), config, path, nil); err != nil {
		t.Fatal(err)
	}
}
