// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

const (
	firstStore  = "00000000-0000-4000-8000-000000000001"
	secondStore = "00000000-0000-4000-8000-000000000002"
	thirdStore  = "00000000-0000-4000-8000-000000000003"
)

// life writes to one ledger, an entry a batch.
type life struct {
	*testing.T
	*State
	records  []Record
	approval *Approval
}

func begin(t *testing.T, base Snapshot) *life {
	base.Genesis.StoreID = firstStore
	return &life{T: t, State: NewState(base)}
}

func (l *life) decide(w Writer, v Action) (Decision, *Batch) {
	l.Helper()
	var lane Lane
	for _, r := range l.records {
		if r.Entry.Writer == w {
			lane = Lane{r.Entry.Sequence, r.Entry.Position}
		}
	}
	b := NewBatch(l.State)
	return b.Decide(Request{Writer: w, Sequence: lane.Sequence + 1, Action: v, Approval: l.approval}, lane, noon), b
}

func (l *life) take(w Writer, v Action) {
	l.Helper()
	d, b := l.decide(w, v)
	if d.Outcome != Accepted {
		l.Fatalf("%+v: %v", v, d.Err)
	}
	l.records = append(l.records, Record{Entry: b.Entries()[0], Hash: Hash{1}})
	l.Apply(b, Head{uint64(len(l.records)), Hash{1}})
}

func (l *life) refuse(w Writer, v Action, want error, says string) {
	l.Helper()
	if d, _ := l.decide(w, v); !errors.Is(d.Err, want) || !strings.Contains(d.Err.Error(), says) {
		l.Errorf("%+v: %v; want %v with %q", v, d.Err, want, says)
	}
}

func basic(epsilon float64) accountant.Budget {
	return accountant.Budget{Guard: accountant.GuardBasic, Epsilon: epsilon}
}

var (
	old, young = Writer{"p", "old"}, Writer{"p", "new"}
	restoring  = Writer{Daemon, "request/restore"}
	restored   = Restored{From: firstStore, StoreID: secondStore, Newest: noon}
	tenth      = func(n uint32) []mechanism.Event { return []mechanism.Event{pure(0.1, n)} }
)

// After a restore the ledger has spent what was reserved, for a child too, takes
// nothing until it is reconciled, and nothing of earlier writers ever.
func TestRestored(t *testing.T) {
	l := begin(t, resolved(t, filter(basic(2))))
	l.take(old, Charge{Events: tenth(3)})
	l.take(old, Reserve{Events: tenth(4), Lifetime: time.Hour})
	l.take(Writer{Daemon, "request/allocate"}, Reserve{Events: tenth(5), Child: "c"})
	l.refuse(old, restored, ErrReconcile, `by p; allowed: from "`+firstStore)
	l.refuse(restoring, Restored{From: secondStore, StoreID: thirdStore}, ErrReconcile, "from store")
	l.refuse(restoring, Restored{From: firstStore, StoreID: firstStore}, ErrReconcile, "to another")
	l.refuse(old, Reconcile{Events: tenth(1)}, ErrReconcile, "was not restored")
	l.take(restoring, restored)

	v := l.View()
	if !v.Unreconciled || v.Guarantee != "descriptive" || len(v.Reservations) != 0 || v.Total != 12 ||
		v.Balance.Budgets[0].Value.Remaining != 0.8 {
		t.Errorf("restored: %+v", v)
	}
	if len(v.Assumptions) != 1 || v.Assumptions[0].Kind != "restored" || !v.Assumptions[0].Descriptive {
		t.Errorf("assumptions: %+v", v.Assumptions)
	}
	for _, action := range []Action{Charge{Events: tenth(1)}, Reserve{Events: tenth(1), Lifetime: time.Hour},
		Commit{Reservation: 2, Events: tenth(1)},
		Release{Reservation: 2}, Expire{Reservation: 2}, Refund{Position: 1, Events: tenth(3)}, Raise{}, Close{}} {
		l.refuse(young, action, ErrUnreconciled, "accountctl ledger reconcile a (--charge FILE | --accept-loss REASON)")
		l.refuse(old, action, ErrEnded, "writer: old wrote up to entry 2, before entry 4 restored")
	}
	if d := NewBatch(l.State).Decide(Request{Writer: old, Sequence: 1}, Lane{2, 2}, noon); d.Outcome != Duplicate {
		t.Errorf("a duplicate: %+v", d)
	}
	if a, b := l.StoreOf(3), l.StoreOf(4); a != firstStore || b != secondStore {
		t.Errorf("entries 3 and 4 are of %s and %s", a, b)
	}

	l.take(young, Reconcile{Events: tenth(6)})
	l.refuse(old, Charge{Events: tenth(1)}, ErrEnded, "a new writer")
	l.take(young, Charge{Events: tenth(2)})
	l.refuse(young, Charge{Events: tenth(1)}, ErrBudget, "0 is left")
	if v := l.View(); v.Unreconciled || v.Guarantee != "filter" || len(v.Assumptions) != 2 ||
		v.Assumptions[0].Descriptive || v.Assumptions[1].Kind != "reconciled" {
		t.Errorf("reconciled: %+v", v)
	}
	l.refuse(young, Reconcile{}, ErrReconcile, "is reconciled; allowed: more events")
	l.take(young, Reconcile{Events: tenth(1)}) // found later
	if v := l.View(); v.Guarantee != "descriptive" || v.Balance.Budgets[0].Value.Spent != 2.1 ||
		v.Balance.Budgets[0].Value.Remaining != 0 {
		t.Errorf("over its budget: %+v", v)
	}
	// A copy of that is restored before it was reconciled, and again.
	l.take(Writer{Daemon, "request/restore-2"}, Restored{From: secondStore, StoreID: thirdStore, Newest: noon})
	l.take(Writer{Daemon, "request/restore-3"}, Restored{From: thirdStore, StoreID: firstStore, Newest: noon})
	l.refuse(young, Charge{Events: tenth(1)}, ErrEnded, "before entry 9")
	l.take(Writer{"p", "newest"}, Reconcile{AcceptLoss: true, Reason: "nobody knows"})
	v = l.View()
	if last := v.Assumptions[len(v.Assumptions)-1]; last.Kind != "loss" || !last.Descriptive ||
		!strings.Contains(last.Text, "not counted: the loss was accepted (reason given: nobody knows)") {
		t.Errorf("%+v", last)
	}
	if v.Unreconciled || l.StoreOf(7) != secondStore || l.StoreOf(8) != thirdStore || l.StoreOf(99) != firstStore {
		t.Errorf("%+v, %s", v.Summary, l.StoreOf(7))
	}
	again := after(resolvedAt(l), l.records)
	if !slices.Equal(again.View().Assumptions, v.Assumptions) || again.Summary().Total != v.Total {
		t.Errorf("read again: %+v; want %+v", again.View(), v)
	}
}

// resolvedAt is the ledger before its first entry.
func resolvedAt(l *life) Snapshot {
	return Snapshot{Summary: Summary{Genesis: l.Summary().Genesis}}
}

// What was lost is charged although the plan does not have it, or the guard cannot
// charge it; then the balance shows no less than was spent.
func TestReconcileBeyondPlanAndGuard(t *testing.T) {
	l := begin(t, resolved(t, plan(pure(0.1, 5))))
	l.take(old, Charge{Events: tenth(4)})
	l.take(restoring, restored)
	l.take(young, Reconcile{Events: []mechanism.Event{pure(0.1, 3), pure(0.2, 1)}})
	v := l.View()
	if p := v.Plan[0]; p.Spent != 7 || p.Remaining != 0 || v.Guarantee != "descriptive" || v.Total != 8 {
		t.Errorf("%+v", v)
	}
	l.refuse(young, Charge{Events: tenth(1)}, ErrBudget, "plan")

	l = begin(t, resolved(t, filter(basic(2))))
	l.take(restoring, restored)
	l.take(young, Reconcile{Events: []mechanism.Event{{Mechanism: noise(1), Count: 1}}}) // no pure ε
	if b := l.View().Balance.Budgets[0].Value; !math.IsInf(b.Spent, 1) || b.Remaining != 0 {
		t.Errorf("%+v", b)
	}
	l = begin(t, resolved(t, filter(basic(1e-3))))
	l.take(restoring, restored)
	l.take(young, Reconcile{Events: []mechanism.Event{pure(5, 1)}}) // 5,000 times the budget
	if b := l.View().Balance.Budgets[0].Value; b.Spent < 5 || b.Remaining != 0 {
		t.Errorf("%+v", b)
	}
	if l.View().Guarantee != "descriptive" {
		t.Error("not descriptive")
	}
}

// A child's parent answers for the child's budget only.
func TestReconcileChild(t *testing.T) {
	spec := filter(basic(1))
	spec.Parent = "parent"
	base := resolved(t, spec)
	l := begin(t, base)
	l.take(old, Charge{Events: tenth(6)})
	l.take(restoring, restored)
	l.refuse(young, Reconcile{Events: tenth(5)}, ErrReconcile,
		"has a parent, parent, which answers for no more than its budget")
	if l.View().Total != 6 {
		t.Error("a refusal was counted")
	}
	l.take(young, Reconcile{Events: tenth(4)})
	if v := l.View(); v.Guarantee != "filter" || v.Balance.Budgets[0].Value.Remaining != 0 {
		t.Errorf("%+v", v)
	}
}

// Nothing was lost: that keeps the guarantee.
func TestReconcileNothing(t *testing.T) {
	l := begin(t, resolved(t, filter(basic(1))))
	l.take(restoring, restored)
	d, b := l.decide(young, Reconcile{Over: true}) // for the decision to find
	if d.Outcome != Accepted || b.Entries()[0].Action.(Reconcile).Over {
		t.Fatalf("%+v", d)
	}
	l.take(young, Reconcile{Reason: "it was stopped first"})
	if v := l.View(); v.Guarantee != "filter" ||
		!strings.Contains(v.Assumptions[1].Text, "is nothing (reason given: it was stopped first)") {
		t.Errorf("%+v", v)
	}
	// A raise after a restore may depend on outputs that were lost.
	raise := Raise{Budgets: filter(basic(2)).Budgets, Reason: "r"}
	var err error
	if raise.Resolution, err = l.Raising(raise).Resolve(nil); err != nil {
		t.Fatal(err)
	}
	l.take(young, raise)
	if g := l.View().Guarantee; g != "descriptive" {
		t.Error(g)
	}
}
