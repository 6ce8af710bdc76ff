// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
)

// meanwhile is a store to which another daemon writes at a moment that a test chooses.
type meanwhile struct {
	memory.Shared
	mu        sync.Mutex
	afterHead func() // after the next reading of heads, before its answer
	atAppend  func() // before the next Append
	damaged   string // a ledger whose head cannot be read
}

func (m *meanwhile) take(f *func()) {
	m.mu.Lock()
	now := *f
	*f = nil
	m.mu.Unlock()
	if now != nil {
		now()
	}
}

func (m *meanwhile) Heads(names []string) ([]ledger.Head, error) {
	m.mu.Lock()
	damaged := m.damaged
	m.mu.Unlock()
	if slices.Contains(names, damaged) {
		return nil, ledger.ErrDamaged
	}
	heads, err := m.Shared.Heads(names)
	m.take(&m.afterHead)
	return heads, err
}

func (m *meanwhile) Append(proposals []ledger.Proposal) ([][]ledger.Hash, error) {
	m.take(&m.atAppend)
	return m.Shared.Append(proposals)
}

// InTurn decides on what it finds while others go on.
func (m *meanwhile) InTurn(t ledger.Turn) ([][]ledger.Hash, error) {
	m.mu.Lock()
	damaged := m.damaged
	m.mu.Unlock()
	if slices.Contains(t.Ledgers, damaged) {
		return nil, ledger.ErrDamaged
	}
	decide := t.Decide
	t.Decide = func(heads []ledger.Head, newer [][]ledger.Record) []ledger.Proposal {
		m.take(&m.afterHead)
		batch := decide(heads, newer)
		m.take(&m.atAppend)
		return batch
	}
	return m.Shared.InTurn(t)
}

// beside returns a keeper over a store with a hook, another one over the same ledgers, and two of these with a budget
// of one, which the first keeper has in memory as they are now.
func beside(t *testing.T) (k *Keeper, hook *meanwhile, other *Keeper, names []string) {
	t.Helper()
	store := memory.New(memory.Config{}).Shared()
	hook = &meanwhile{Shared: store.Beside(memory.Config{})}
	k = newKeeper(t, Config{Store: hook, Digest: wholeDigest})
	other, names = ledgersOf(t, store, 2)
	for _, name := range names {
		if _, err := k.View(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	return k, hook, other, names
}

// must has a keeper charge a set, or do something else.
func must(t *testing.T, k *Keeper, r SetRequest) SetResult {
	t.Helper()
	result, err := k.DoSet(t.Context(), r)
	if err != nil {
		t.Error(err)
	}
	return result
}

// refusing returns the names of the ledgers that refuse a set.
func refusing(err error) (names []string) {
	var refusal *ledger.SetRefusal
	if errors.As(err, &refusal) {
		for _, m := range refusal.Refused {
			names = append(names, m.Ledger)
		}
	}
	return names
}

// Another daemon charges a set after the heads of its ledgers were read, and before one of them, which was behind, is
// followed. The refusal names both ledgers: there was no moment at which one of them alone refused.
func TestRefusalOfOneMoment(t *testing.T) {
	t.Parallel()
	k, hook, other, names := beside(t)
	must(t, other, ofSet("behind", 1, names[1]))
	hook.afterHead = func() { must(t, other, ofSet("both", 7, names...)) }
	_, err := k.DoSet(t.Context(), ofSet("refused", 4, names...))
	if refused := refusing(err); !slices.Equal(refused, names) {
		t.Errorf("%v refuse; want %v", refused, names)
	}
}

// A check is not accepted if there was no moment at which both ledgers would have accepted it: the other daemon
// charges the first ledger before it releases what it held of the second.
func TestCheckOfOneMoment(t *testing.T) {
	t.Parallel()
	k, hook, other, names := beside(t)
	held := must(t, other, doneIn("hold", ledger.Reserve{Events: tenths(7), Lifetime: 1e12}, nil, names[1]))
	hook.afterHead = func() {
		must(t, other, ofSet("first", 7, names[0]))
		release := ledger.Release{Reservation: held.Members[0].Position}
		if _, err := other.Do(t.Context(), names[1], action("free", 1, release)); err != nil {
			t.Error(err)
		}
	}
	check := ofSet("check", 4, names...)
	check.CheckOnly = true
	_, err := k.DoSet(t.Context(), check)
	if refused := refusing(err); !slices.Equal(refused, names[:1]) {
		t.Errorf("%v, refused by %v; want %v", err, refused, names[:1])
	}
}

// A set that is refused because of one that was written in the same wave is decided on the other ledgers as they
// stood at that write.
func TestRefusalBesideAWrite(t *testing.T) {
	t.Parallel()
	k, hook, other, names := beside(t)
	all, err := k.hold(t.Context(), names...)
	if err != nil {
		t.Fatal(err)
	}
	hook.atAppend = func() { must(t, other, ofSet("second", 7, names[1])) }
	var calls sync.WaitGroup
	var errs [2]error
	for i, r := range []SetRequest{ofSet("written", 7, names[0]), ofSet("refused", 4, names...)} {
		calls.Go(func() { _, errs[i] = k.DoSet(t.Context(), r) })
		await(t, k, i+1)
	}
	k.free(all)
	calls.Wait()
	if refused := refusing(errs[1]); errs[0] != nil || !slices.Equal(refused, names) {
		t.Errorf("%v; %v refuse; want %v", errs[0], refused, names)
	}
}

// A ledger whose head cannot be read any more is refused, and does not keep the sets from going on that are decided
// at the same time.
func TestSetBesideDamage(t *testing.T) {
	t.Parallel()
	k, hook, _, names := beside(t)
	all, err := k.hold(t.Context(), names...)
	if err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	var errs [2]error
	for i, r := range []SetRequest{ofSet("damaged", 1, names...), ofSet("whole", 1, names[1])} {
		calls.Go(func() { _, errs[i] = k.DoSet(t.Context(), r) })
		await(t, k, i+1)
	}
	hook.mu.Lock()
	hook.damaged = names[0]
	hook.mu.Unlock()
	k.free(all)
	calls.Wait()
	if refused := refusing(errs[0]); !errors.Is(errs[0], ledger.ErrDamaged) || !slices.Equal(refused, names[:1]) {
		t.Errorf("%v; want it refused by %s", errs[0], names[0])
	}
	if errs[1] != nil {
		t.Errorf("the other set: %v", errs[1])
	}
}
