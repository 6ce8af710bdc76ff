// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/keeper/fleet"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
)

// budgetShares is the metric of how much of each budget is spent, reserved and left. A balance is read when the metrics
// are, if its ledger has changed since: the heads of all ledgers are compared, of a store with other daemons by one
// question. Closed ledgers are not shown, and of the open ones at most a configured number: the first.
type budgetShares struct {
	gauge   *prometheus.GaugeVec
	inquiry inquiry[struct{}]

	mu     sync.Mutex
	keeper *keeper.Keeper // nil: nothing is read
	shared fleet.Shared   // nil: nobody else writes
	most   int
	shown  map[string]*shownShares // by name
}

// shownShares is what is shown of a ledger.
type shownShares struct {
	changed bool // by this daemon, since it was read
	head    ledger.Head
}

func newBudgetShares() *budgetShares {
	return &budgetShares{shown: map[string]*shownShares{}, gauge: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "accountant_ledger_budget_share",
		Help: "Share of a budget, in [0, 1], that is spent, reserved or remaining, of open ledgers; budget is its " +
			"index, or plan (of all planned applications). Informative: rounded.",
	}, []string{"ledger", "budget", "state"})}
}

// read makes it read balances from k, of at most most ledgers, and heads from shared unless that is nil.
func (b *budgetShares) read(k *keeper.Keeper, shared fleet.Shared, most int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keeper, b.shared, b.most = k, shared, most
}

// found adds an open ledger with budgets, unless it is there.
func (b *budgetShares) found(l ledger.Summary) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := l.Genesis.Spec.Name
	if l.Genesis.Spec.Policy != ledger.Descriptive && !l.Closed && len(b.shown) < b.most && b.shown[name] == nil {
		b.shown[name] = &shownShares{changed: true}
	}
}

// changed notes that this daemon has changed a ledger.
func (b *budgetShares) changed(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if shown := b.shown[name]; shown != nil {
		shown.changed = true
	}
}

// Describe implements prometheus.Collector.
func (b *budgetShares) Describe(to chan<- *prometheus.Desc) { b.gauge.Describe(to) }

// Collect implements prometheus.Collector. A balance that cannot be read in time is shown as it was.
func (b *budgetShares) Collect(to chan<- prometheus.Metric) {
	b.mu.Lock()
	k := b.keeper
	b.mu.Unlock()
	if k == nil {
		return
	}
	b.inquiry.ask(func() (none struct{}) { b.follow(k); return none })
	b.gauge.Collect(to)
}

// sharesTime bounds how long balances are waited for, all together. A ledger that has to be read from the store first
// can take longer; it is looked at again for the next reading.
const sharesTime = time.Second

// follow reads the balances that have changed.
func (b *budgetShares) follow(k *keeper.Keeper) {
	ctx, cancel := context.WithTimeout(context.Background(), sharesTime)
	defer cancel()
	for name, head := range b.take(ctx) {
		v, err := k.ViewFrom(ctx, name, head)
		if err != nil { // too late, stopping, or damaged: it stays as it was
			b.changed(name)
			continue
		}
		b.show(name, v)
	}
}

// take returns the ledgers that have changed since the last take, with their newest heads where others write too.
func (b *budgetShares) take(ctx context.Context) map[string]ledger.Head {
	b.mu.Lock()
	names := slices.Collect(maps.Keys(b.shown))
	b.mu.Unlock()
	heads := b.heads(ctx, names)
	b.mu.Lock()
	defer b.mu.Unlock()
	changed := map[string]ledger.Head{}
	for i, name := range names {
		if shown := b.shown[name]; shown != nil && (shown.changed || heads != nil && shown.head != heads[i]) {
			head := ledger.Head{}
			if heads != nil {
				head = heads[i]
			}
			changed[name] = head
			shown.changed = false
		}
	}
	return changed
}

// heads returns the newest heads of a store to which others write. It returns nil for other stores, and where the store
// does not say in time: then only what this daemon has changed is looked at.
func (b *budgetShares) heads(ctx context.Context, names []string) []ledger.Head {
	if b.shared == nil || len(names) == 0 {
		return nil
	}
	answer := make(chan []ledger.Head, 1)
	go func() {
		heads, err := b.shared.Heads(names)
		if err != nil {
			heads = nil
		}
		answer <- heads
	}()
	select {
	case heads := <-answer:
		return heads
	case <-ctx.Done():
		return nil
	}
}

func (b *budgetShares) show(name string, v ledger.View) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if v.Closed {
		b.gauge.DeletePartialMatch(prometheus.Labels{"ledger": name})
		delete(b.shown, name)
		return
	}
	if shown := b.shown[name]; shown != nil {
		shown.head = v.Head
	}
	for budget, s := range shares(v.Balance) {
		for state, share := range map[string]float64{"spent": s.Spent, "reserved": s.Reserved,
			"remaining": s.Remaining} {
			b.gauge.WithLabelValues(name, budget, state).Set(share / s.Limit)
		}
	}
}

// shares returns the amounts of each budget: of the guard's own sum, or of δ if a smaller share
// of that is left; of a plan, of all its applications together.
func shares(balance ledger.Balance) map[string]budget.Amount {
	out := map[string]budget.Amount{}
	for i, b := range balance.Budgets {
		a := b.Value
		if b.Delta.Limit > 0 && b.Delta.Remaining/b.Delta.Limit < a.Remaining/a.Limit {
			a = b.Delta
		}
		out[strconv.Itoa(i)] = a
	}
	if len(balance.Plan) > 0 {
		var a budget.Amount
		for _, p := range balance.Plan {
			a.Limit += float64(p.Planned)
			a.Spent += float64(p.Spent)
			a.Reserved += float64(p.Reserved)
			a.Remaining += float64(p.Remaining)
		}
		out["plan"] = a
	}
	return out
}
