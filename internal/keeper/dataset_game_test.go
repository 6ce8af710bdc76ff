// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/record"
)

// tenthDP is a release of ε = 0.1, the unit of the game.
var tenthDP = mechanism.PureDP{Epsilon: 0.1}

func tenthsOf(n int) []mechanism.Event {
	return []mechanism.Event{{Mechanism: tenthDP, Count: uint32(n)}}
}

func pure(n int) []accountant.Budget {
	return []accountant.Budget{{Guard: accountant.GuardBasic, Epsilon: float64(n) / 10}}
}

// datasetSpec is a dataset with a budget of n tenths, or one that is derived from another.
func datasetSpec(id, version string, n int, from ...ledger.DatasetReference) ledger.Spec {
	s := ledger.Spec{Name: ledger.DatasetName(id), Adjacency: mechanism.AddOrRemoveOne, PrivacyUnit: "user",
		DatasetID:      id,
		DatasetVersion: version, Policy: ledger.Filtered, Budgets: pure(n),
		Dataset: &ledger.Dataset{MaxRecords: 1, EnforcedBy: "a key", DerivedFrom: from, Independence: "other people"}}
	if len(from) > 0 {
		s.Policy, s.Budgets, s.Dataset.Independence = ledger.Descriptive, nil, ""
	}
	return s
}

func rootSpec(name, id, version string, policy ledger.Policy, n int) ledger.Spec {
	s := ledger.Spec{Name: name, Adjacency: mechanism.AddOrRemoveOne, PrivacyUnit: "user", DatasetID: id,
		DatasetVersion: version, Policy: policy}
	switch policy {
	case ledger.Planned:
		s.Plan.Events = tenthsOf(n)
	case ledger.Filtered:
		s.Budgets = pure(n)
	}
	return s
}

// Adversaries create, re-version, rename and register datasets and ledgers, charge, reserve,
// raise, refund, close and adopt, all at once and in every order, on a store that fails now
// and then. In the end the sum of all that was charged to the ledgers of each budget, added
// up by hand from the stored entries, is within that budget, and so it stays with all that
// is still reserved; and every chain can be decided again, with all shares in place.
func TestDatasetGame(t *testing.T) {
	games := 60
	if testing.Short() {
		games = 12
	}
	var all gameTally
	for seed := range games {
		random := rand.New(rand.NewPCG(uint64(seed), 16))
		var mu sync.Mutex
		s := memory.New(memory.Config{Plan: func([]ledger.Proposal) memory.Failure {
			mu.Lock()
			defer mu.Unlock()
			if random.IntN(25) > 0 {
				return memory.None
			}
			return []memory.Failure{memory.FailAndKeep, memory.FailAndLose, memory.Unavailable}[random.IntN(3)]
		}})
		k := New(Config{Store: s, Digest: record.Digest, MaxLedgers: 3})
		var players sync.WaitGroup
		for player := range 6 {
			p := &adversary{k: k, s: s, random: rand.New(rand.NewPCG(uint64(seed), uint64(player))), player: player}
			players.Go(func() {
				for range 100 {
					p.play(t.Context())
				}
			})
		}
		players.Wait()
		if err := k.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		all.add(judge(t, s, seed))
		if t.Failed() {
			return
		}
	}
	t.Logf("%+v", all)
	if testing.Short() {
		return // twelve games may not come to everything
	}
	if all.budgets == 0 || all.adopted == 0 || all.charged == 0 || all.shared == 0 || all.full == 0 {
		t.Errorf("the game did not come to something of each kind: %+v", all)
	}
}

// gameTally is what has happened in games.
type gameTally struct{ budgets, shared, ledgers, adopted, charged, full int }

func (a *gameTally) add(b gameTally) {
	a.budgets += b.budgets
	a.shared += b.shared
	a.ledgers += b.ledgers
	a.adopted += b.adopted
	a.charged += b.charged
	a.full += b.full
}

type adversary struct {
	k      *Keeper
	s      ledger.Store
	random *rand.Rand
	player int
	writes int
}

func (a *adversary) pick(texts ...string) string { return texts[a.random.IntN(len(texts))] }

func (a *adversary) id() string {
	return a.pick("survey", "survey", "survey", "Survey", "sur vey", "ＳＵＲＶＥＹ", "census", "census", "poll")
}

func (a *adversary) version() string { return a.pick("", "1", "2") }

func (a *adversary) ledger() string { return fmt.Sprintf("l%d", a.random.IntN(12)) }

// do writes an action in a lane of its own, now and then a second time.
func (a *adversary) do(ctx context.Context, name string, v ledger.Action) {
	a.writes++
	r := ledger.Request{
		Writer:   ledger.Writer{Principal: "uid:1", Name: fmt.Sprintf("request/%d-%d", a.player, a.writes)},
		Sequence: 1, Digest: record.Digest(v), Action: v}
	for range 1 + a.random.IntN(2) {
		_, _ = a.k.Do(ctx, name, r)
	}
}

func (a *adversary) play(ctx context.Context) {
	r := a.random
	switch r.IntN(18) {
	case 0, 1:
		policy := []ledger.Policy{ledger.Planned, ledger.Filtered, ledger.Filtered, ledger.Descriptive}[r.IntN(4)]
		spec := rootSpec(a.ledger(), a.id(), a.version(), policy, 1+r.IntN(8))
		if r.IntN(6) == 0 && policy != ledger.Descriptive {
			spec.Parent = a.ledger()
		}
		g := ledger.Genesis{Spec: spec, Principal: "uid:1"}
		for range 1 + r.IntN(2) {
			_, _, _ = a.k.Create(ctx, g)
		}
	case 2:
		spec := datasetSpec(a.id(), a.version(), 3+r.IntN(10))
		if r.IntN(2) == 0 {
			spec = datasetSpec(a.id(), a.version(), 0, ledger.DatasetReference{ID: a.id(), Version: a.version()})
		}
		for _, version := range []string{"", "1", "2"} { // one of them is mostly there
			if r.IntN(2) == 0 {
				derived := datasetSpec("poll", a.version(), 0, ledger.DatasetReference{ID: "survey", Version: version})
				_, _, _, _ = a.k.Register(ctx, Registration{Genesis: ledger.Genesis{Spec: derived, Principal: "uid:1"}})
			}
		}
		_, _, _, _ = a.k.Register(ctx, Registration{Genesis: ledger.Genesis{Spec: spec, Principal: "uid:1"},
			Independent: r.IntN(2) == 0, Reason: "r"})
	case 3:
		v := ledger.AmendDataset{Reason: "r"}
		switch r.IntN(3) {
		case 0:
			v.Budgets = pure(5 + r.IntN(20))
		case 1:
			v.AddVersion = &ledger.DatasetVersion{Of: ledger.DatasetReference{ID: a.id(), Version: a.version()}}
		default:
			v.Caps = &ledger.Caps{Ledger: float64(r.IntN(3)) / 2, Charge: float64(r.IntN(3)) / 2}
		}
		a.do(ctx, ledger.DatasetName(a.id()), v)
	case 4:
		a.do(ctx, a.ledger(), ledger.Reserve{Events: tenthsOf(1 + r.IntN(3)), Lifetime: 3600e9})
	case 5:
		a.do(ctx, a.ledger(), ledger.Commit{Reservation: uint64(1 + r.IntN(6)), Events: tenthsOf(1)})
	case 6:
		v := ledger.Raise{Reason: "r", Budgets: pure(1 + r.IntN(20))}
		if r.IntN(2) == 0 {
			v = ledger.Raise{Reason: "r", Plan: ledger.Workload{Events: tenthsOf(1 + r.IntN(20))}}
		}
		a.do(ctx, a.ledger(), v)
	case 7:
		if r.IntN(6) == 0 {
			a.do(ctx, a.ledger(), ledger.Close{Reason: "r"})
		} else {
			a.do(ctx, a.ledger(), ledger.Refund{Position: uint64(1 + r.IntN(6)), Reason: "r"})
		}
	case 8:
		_, _ = a.k.Expire(ctx)
	case 9: // what nobody may do
		a.do(ctx, ledger.DatasetName(a.id()), []ledger.Action{ledger.Charge{Events: tenthsOf(1)},
			ledger.Refund{Position: 1, Reason: "r"}, ledger.Release{Reservation: 1}, ledger.Raise{Reason: "r",
				Budgets: pure(99)}, ledger.Adopt{Ledgers: 1}}[r.IntN(5)])
	default:
		a.do(ctx, a.ledger(), ledger.Charge{Events: tenthsOf(1 + r.IntN(3))})
	}
}

// judge adds up what was charged from the stored entries alone.
func judge(t *testing.T, s ledger.Store, seed int) (found gameTally) {
	t.Helper()
	summaries, err := s.List("", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	type budget struct{ limit, used, held int }
	budgets := map[string]*budget{} // by the folded identifier of the first dataset
	belongs := map[string]*budget{} // by any folded identifier
	var families audit.Families
	entries := map[string][]ledger.Record{}
	for _, sum := range summaries {
		name := sum.Genesis.Spec.Name
		records, err := s.Records(name, 1, math.MaxInt32)
		if err != nil {
			t.Fatal(err)
		}
		entries[name] = records
		replay(t, s, name, records, &families)
		if sum.Genesis.Spec.Dataset == nil || sum.Genesis.Spec.Dataset.BudgetOf != "" {
			continue
		}
		b := &budget{limit: int(math.Round(10 * sum.Genesis.Spec.Budgets[0].Epsilon))}
		for _, r := range records {
			if v, ok := r.Entry.Action.(ledger.AmendDataset); ok && len(v.Budgets) > 0 {
				b.limit = int(math.Round(10 * v.Budgets[0].Epsilon))
			}
		}
		budgets[name], belongs[fold(sum.Genesis.Spec.DatasetID)] = b, b
		found.budgets++
	}
	if err := families.Check(); err != nil {
		t.Errorf("game %d: %v", seed, err)
		for name, records := range entries {
			for _, r := range records {
				t.Logf("%s: %d: %T %+v", name, r.Entry.Position, r.Entry.Action, r.Entry.Action)
			}
		}
	}
	for _, sum := range summaries {
		if d := sum.Genesis.Spec.Dataset; d != nil && d.BudgetOf != "" {
			belongs[fold(sum.Genesis.Spec.DatasetID)] = budgets[d.BudgetOf]
			found.shared++
		}
	}
	for _, sum := range summaries {
		spec := sum.Genesis.Spec
		b := belongs[fold(spec.DatasetID)]
		if spec.Dataset != nil || b == nil {
			continue
		}
		found.ledgers++
		open := map[uint64]int{}
		for _, r := range entries[spec.Name] {
			switch v := r.Entry.Action.(type) {
			case ledger.Charge:
				b.used += totalOf(v.Events)
			case ledger.Commit:
				b.used += totalOf(v.Events)
				open[v.Reservation] -= totalOf(v.Events)
			case ledger.Reserve:
				if v.Child == "" { // a child adds up what it charges itself
					open[r.Entry.Position] = totalOf(v.Events)
				}
			case ledger.Release:
				delete(open, v.Reservation)
			case ledger.Expire:
				b.used += open[v.Reservation]
				delete(open, v.Reservation)
			case ledger.Refund:
				b.used -= totalOf(v.Events)
			case ledger.Close:
				for _, n := range open {
					b.used += n
				}
				clear(open)
			case ledger.Adopt:
				found.adopted++
			}
		}
		for _, n := range open {
			b.held += n
		}
	}
	for name, b := range budgets {
		found.charged += b.used
		if b.used+b.held > b.limit {
			t.Errorf("game %d: %s: %d tenths charged and %d reserved of %d", seed, name, b.used, b.held, b.limit)
		}
		if 10*b.used >= 7*b.limit {
			found.full++
		}
	}
	return found
}

// fold is a dumb version of what counts as the same identifier here.
func fold(id string) string {
	id = strings.NewReplacer(" ", "", "ＳＵＲＶＥＹ", "survey").Replace(id)
	return strings.ToLower(id)
}

func totalOf(events []mechanism.Event) (n int) {
	for _, e := range events {
		n += int(e.Count)
	}
	return n
}

// replay decides a chain again.
func replay(t *testing.T, s ledger.Store, name string, records []ledger.Record, families *audit.Families) {
	t.Helper()
	raw, _, err := s.GenesisRecord(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := audit.Begin(raw, nil)
	for _, e := range records {
		if err == nil {
			_, err = r.NextRaw(e.Raw)
		}
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	families.Add(r)
}
