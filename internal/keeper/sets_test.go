// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/memory"
)

// ofSet is a request for tenths of a budget from each of several ledgers.
func ofSet(key string, n uint32, names ...string) SetRequest {
	return doneIn(key, ledger.Charge{Events: tenths(n)}, nil, names...)
}

func doneIn(key string, v ledger.Action, reservations []uint64, names ...string) SetRequest {
	slices.Sort(names)
	var of []ledger.Member
	for _, name := range names {
		of = append(of, ledger.Member{Ledger: name})
	}
	together := ledger.Together{Members: of, Action: v, Contribution: ledger.OverAll}
	if reservations != nil {
		together.Journal = "system:sets/0"
	}
	return SetRequest{
		Request: ledger.Request{Writer: writerOf("request/" + key), Sequence: 1, Digest: wholeDigest(together),
			Action: together},
		Members: func(context.Context) (_ ledger.Together, list []SetMember, _ error) {
			for i, name := range names {
				m := SetMember{Ledger: name, Action: v}
				if reservations != nil {
					m.Reservation = reservations[i]
					m.Action = together.In(ledger.Member{Reservation: reservations[i]})
				}
				list = append(list, m)
			}
			return together, list, nil
		},
	}
}

// ledgersOf makes ledgers with a budget of one, and a keeper.
func ledgersOf(t testing.TB, store ledger.Store, n int) (*Keeper, []string) {
	t.Helper()
	var names []string
	for i := range n {
		g := budgeted()
		g.Spec.Name = fmt.Sprintf("d/%02d", i)
		if _, _, err := New(Config{Store: store}).Create(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		names = append(names, g.Spec.Name)
	}
	return New(Config{Store: store, Digest: wholeDigest}), names
}

func TestSet(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Config{})
	k, names := ledgersOf(t, store, 4)
	first, err := k.DoSet(t.Context(), ofSet("x", 4, names[:3]...))
	if err != nil || len(first.Members) != 3 || first.Replayed || first.Members[0].Head == (ledger.Hash{}) {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := k.DoSet(t.Context(), ofSet("x", 4, names[:3]...))
	if err != nil || !again.Replayed || again.Receipt != first.Receipt || !slices.Equal(again.Members, first.Members) {
		t.Errorf("again: %+v, %v; want %+v", again, err, first)
	}
	if r, err := k.DoSet(t.Context(), ofSet("x", 4, names[3])); !errors.Is(err, ledger.ErrReused) {
		t.Errorf("the same key with a disjoint set: %+v, %v", r, err)
	}
	if _, err := k.DoSet(t.Context(), ofSet("y", 7, names...)); !errors.Is(err, ledger.ErrBudget) {
		t.Errorf("over three budgets: %v", err)
	} else if set := (*ledger.SetRefusal)(nil); !errors.As(err, &set) || len(set.Refused) != 3 || len(set.Set) != 4 ||
		len(set.Fits) != 1 || set.Fits[0].Count != 6 || !strings.Contains(err.Error(), names[2]) {
		t.Errorf("%v: %+v", err, set)
	}
	check := ofSet("z", 6, names...)
	check.CheckOnly = true
	if r, err := k.DoSet(t.Context(), check); err != nil || len(r.Members) != 4 || r.Receipt.Position != 0 {
		t.Errorf("check: %+v, %v", r, err)
	}
	if _, err := k.DoSet(t.Context(), ofSet("z", 1, names[0], "d/none")); !errors.Is(err, ledger.ErrNotFound) ||
		strings.Count(err.Error(), "d/none") != 1 {
		t.Errorf("a ledger that is not there: %v", err)
	}
	if _, err := k.DoSet(t.Context(), ofSet("z", 6, names...)); err != nil {
		t.Errorf("what was checked and refused before: %v", err)
	}
	for i, name := range names {
		v, err := k.View(t.Context(), name)
		if want := []float64{1, 1, 1, 0.6}[i]; err != nil || v.Budgets[0].Value.Spent != want {
			t.Errorf("%s: %v, %v; want %v", name, v.Budgets, err, want)
		}
	}
	checkSets(t, store, names)
}

// A reservation over a set is committed and released in all members, or in none of them.
func TestReservedSet(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Config{})
	k, names := ledgersOf(t, store, 3)
	if _, err := k.DoSet(t.Context(), ofSet("x", 1, names[1])); err != nil {
		t.Fatal(err)
	}
	r, err := k.DoSet(t.Context(), doneIn("r", ledger.Reserve{Events: tenths(5), Lifetime: time.Hour}, nil, names...))
	if err != nil {
		t.Fatal(err)
	}
	v, who, err := k.Reserved(t.Context(), r.Receipt.Ledger, r.Receipt.Position)
	if err != nil || who != writerOf("").Principal || len(v.Members) != 3 {
		t.Fatalf("%+v by %s, %v", v, who, err)
	}
	var at []uint64
	for _, m := range v.Members {
		at = append(at, m.Position)
	}
	if _, err := k.DoSet(t.Context(), doneIn("c", ledger.Commit{Reservation: r.Receipt.Position,
		Events: tenths(2)}, at, names...)); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Do(t.Context(), names[2], ledger.Request{Writer: writerOf("request/one"), Sequence: 1,
		Action: ledger.Release{Reservation: at[2]}}); err != nil {
		t.Fatal(err)
	}
	release := ledger.Release{Reservation: r.Receipt.Position}
	_, err = k.DoSet(t.Context(), doneIn("l", release, at, names...))
	if r := (*ledger.SetRefusal)(nil); !errors.As(err, &r) || len(r.Refused) != 1 || r.Refused[0].Ledger != names[2] ||
		!errors.Is(err, ledger.ErrReservation) {
		t.Errorf("%v", err)
	}
	checkSets(t, store, names)
}

// checkSets goes through all journals and all members, and compares both sides. It returns what each set
// has charged to each of its members, by the set's key.
func checkSets(t rapid.TB, store ledger.Store, names []string) map[string][]string {
	t.Helper()
	type part struct {
		journal  string
		position uint64
		ledger   string
		at       uint64
	}
	sets, said := map[string][]string{}, map[part]ledger.Action{}
	for i := range uint8(ledger.Journals) {
		records, err := store.Records(ledger.JournalName(i), 1, 1<<20)
		if errors.Is(err, ledger.ErrNotFound) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			v := r.Entry.Action.(ledger.Together)
			for _, m := range v.Members {
				said[part{ledger.JournalName(i), r.Entry.Position, m.Ledger, m.Position}] = v.In(m)
				sets[r.Entry.Writer.Name] = append(sets[r.Entry.Writer.Name], m.Ledger)
			}
		}
	}
	for _, name := range names {
		records, err := store.Records(name, 1, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		spent := uint64(0)
		for _, r := range records {
			if d := r.Entry.Action.Details(); d.To == ledger.PotCharged {
				spent += tenthsIn(d.Events)
			}
			if r.Entry.Set == nil {
				continue
			}
			key := part{ledger.JournalName(r.Entry.Set.Journal), r.Entry.Set.Position, name, r.Entry.Position}
			if fmt.Sprintf("%+v", said[key]) != fmt.Sprintf("%+v", r.Entry.Action) {
				t.Errorf("%+v: its journal says %+v", r.Entry, said[key])
			}
			delete(said, key)
		}
		if spent > 10 {
			t.Errorf("%s: %d tenths are charged", name, spent)
		}
	}
	for p := range said {
		t.Errorf("%+v is in its journal alone", p)
	}
	return sets
}

// Workers that charge overlapping sets and single ledgers, call again, go away while a call is in flight
// and start the keeper anew, on a store that fails: every set is in all of its ledgers or in none, once,
// as acknowledged, and no budget is overrun.
func TestSetsGame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		h := &holding{rt: rt, now: time.Unix(1000, 0)}
		h.store = memory.New(memory.Config{Plan: h.failure})
		h.restart()
		var names []string
		for i := range 5 {
			g := budgeted()
			g.Spec.Name = fmt.Sprintf("d/%d", i)
			names = append(names, g.Spec.Name)
			if _, _, err := h.keeper().Create(rt.Context(), g); err != nil {
				rt.Fatal(err)
			}
		}
		h.plan, h.on = rapid.SliceOfN(rapid.SampledFrom([]memory.Failure{
			memory.None, memory.None, memory.None, memory.FailAndKeep, memory.FailAndLose,
			memory.Conflict, memory.Unavailable, memory.TooLarge,
		}), 0, 40).Draw(rt, "failures"), true
		var mu sync.Mutex
		acknowledged := map[string]SetResult{}
		var workers sync.WaitGroup
		for i := range rapid.IntRange(1, 5).Draw(rt, "workers") {
			moves := rapid.SliceOfN(rapid.Uint32(), 1, 15).Draw(rt, "moves")
			workers.Go(func() {
				for j, move := range moves {
					var of []string
					for n, name := range names {
						if move>>n&1 == 1 {
							of = append(of, name)
						}
					}
					key := fmt.Sprintf("w%d-%d", i, j)
					if len(of) == 0 {
						h.single(names[move>>8%5], key)
						continue
					}
					r := ofSet(key, 1+move>>6&3, of...)
					for {
						ctx, cancel := context.WithCancel(rt.Context())
						if move>>10&3 == 0 {
							cancel() // the caller goes away at once, and comes back
							_, _ = h.keeper().DoSet(ctx, r)
							ctx, cancel = context.WithCancel(rt.Context())
						}
						result, err := h.keeper().DoSet(ctx, r)
						cancel()
						if err == nil {
							mu.Lock()
							acknowledged[r.Writer.Name] = result
							mu.Unlock()
						}
						if !again(err) && !errors.Is(err, ledger.ErrTooLarge) {
							break
						}
					}
				}
			})
		}
		workers.Wait()
		h.on = false
		sets := checkSets(rt, h.store, names)
		for key, result := range acknowledged {
			var of []string
			for _, m := range result.Members {
				of = append(of, m.Ledger)
			}
			if !slices.Equal(sets[key], of) {
				rt.Errorf("%s was acknowledged for %v; its journal says %v", key, of, sets[key])
			}
			delete(sets, key)
		}
		for key := range sets {
			rt.Errorf("%s was refused and is in the journal", key)
		}
	})
}

func (h *holding) single(name, key string) {
	v := ledger.Charge{Events: tenths(1)}
	for {
		_, err := h.keeper().Do(h.rt.Context(), name, ledger.Request{Writer: writerOf("request/" + key), Sequence: 1,
			Digest: wholeDigest(v), Action: v})
		if !again(err) && !errors.Is(err, ledger.ErrTooLarge) {
			return
		}
	}
}

// Sets that name the same ledgers in any order, registrations of their dataset, creations and closings
// below it, and single charges: all of them come to an end.
func TestSetsNeverWaitInACircle(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Config{})
	k := New(Config{Store: store, Digest: wholeDigest})
	var names []string
	for i := range 6 {
		g := budgeted()
		g.Spec.Name, g.Spec.DatasetID = fmt.Sprintf("d/%d", i), fmt.Sprintf("data-%d", i%2)
		g.Spec.PrivacyUnit = "user"
		names = append(names, g.Spec.Name)
		if _, _, err := k.Create(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	small := []mechanism.Event{{Mechanism: mechanism.PureDP{Epsilon: 1e-6}, Count: 1}}
	var workers sync.WaitGroup
	for i := range 6 {
		workers.Go(func() {
			for j := range 60 {
				of := []string{names[(i+j)%6], names[(i+2*j+1)%6], names[(i+j+3)%6]}
				slices.Sort(of)
				r := doneIn(fmt.Sprintf("s%d-%d", i, j), ledger.Charge{Events: small}, nil, slices.Compact(of)...)
				if _, err := k.DoSet(ctx, r); ctx.Err() != nil {
					t.Errorf("a set waits: %v", err)
				}
			}
		})
		workers.Go(func() {
			for j := range 60 {
				v := ledger.Charge{Events: small}
				_, _ = k.Do(ctx, names[(i*j)%6], ledger.Request{Writer: writerOf(fmt.Sprintf("request/%d-%d", i, j)),
					Sequence: 1, Digest: wholeDigest(v), Action: v})
			}
		})
	}
	workers.Go(func() {
		for i := range 2 {
			spec := datasetSpec(fmt.Sprintf("data-%d", i), "", 100)
			g := ledger.Genesis{Spec: spec, Principal: "p"}
			if _, _, _, err := k.Register(ctx, Registration{Genesis: g, Independent: true, Reason: "r"}); err != nil {
				t.Errorf("registration: %v", err)
			}
			for j := range 5 {
				g := budgeted()
				g.Spec.Name, g.Spec.DatasetID = fmt.Sprintf("e/%d-%d", i, j), fmt.Sprintf("data-%d", i)
				g.Spec.PrivacyUnit = "user"
				if _, _, err := k.Create(ctx, g); err != nil {
					t.Errorf("creation: %v", err)
				}
			}
		}
		closing := ledger.Close{}
		_, _ = k.Do(ctx, names[5], ledger.Request{Writer: writerOf("request/close"), Sequence: 1,
			Digest: wholeDigest(closing), Action: closing})
	})
	workers.Wait()
	if err := k.Close(ctx); err != nil || k.pins != 0 {
		t.Errorf("Close: %v, %d pins", err, k.pins)
	}
}
