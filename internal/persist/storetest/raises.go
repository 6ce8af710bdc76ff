// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// raises are what is written when ledgers below a dataset are raised: one that the dataset has adopted and one that
// was made below it. Each raise is written together with the dataset's new share, in place of the old one.
var raises = []func(f *shelf) write{
	func(f *shelf) write { return write{}.making(f, budgeted("l")) },
	func(f *shelf) write { // the dataset adopts the ledger
		g := dataset()
		l, d := f.books[0], f.unmade(&g)
		out := l.write(l.request(own("adopt"), ledger.Adopt{Dataset: d.name}))
		out.books, out.made = append(out.books, d), &g
		out.batches = append(out.batches, d.decide(
			d.request(own("allocate-l"), ledger.Reserve{Child: "l", Events: rho(4)}),
			d.request(own("adopted"), ledger.Adopt{Ledgers: 1})))
		return out
	},
	func(f *shelf) write { return f.books[0].write(f.books[0].charge(writer(0), 0, 2)) }, // ρ = 4, all there is
	func(f *shelf) write {
		l := f.books[0]
		return f.retake(l, l.raise(writer(1), 8), rho(8))
	},
	func(f *shelf) write { return f.books[0].write(f.books[0].charge(writer(0), 0, 2)) }, // by the new budget
	func(f *shelf) write { // a ledger with a plan, below the dataset
		g := Genesis("p")
		g.Spec.Parent, g.Spec.Policy = dataset().Spec.Name, ledger.Planned
		g.Spec.Plan.Events = []mechanism.Event{part(0, 2)}
		g.Resolution = resolved(g.Spec)
		d, share := f.books[1], ledger.Reserve{Child: "p", Events: g.Spec.Plan.Events}
		return d.write(d.request(own("allocate-p"), share)).making(f, g)
	},
	func(f *shelf) write {
		p, plan := f.books[2], []mechanism.Event{part(0, 2), part(1, 3)}
		return f.retake(p, p.raising(writer(0), ledger.Raise{Plan: ledger.Workload{Events: plan}, Reason: "r"}), plan)
	},
	func(f *shelf) write { return f.books[2].write(f.books[2].charge(writer(0), 1, 3)) },
	func(f *shelf) write { return f.books[0].write(f.books[0].request(writer(0), ledger.Close{})) },
	func(f *shelf) write {
		d := f.books[1]
		return d.write(d.request(own("settle-l"), ledger.Commit{Reservation: f.held("l"), Events: rho(8)}))
	},
}

// rho are events that cost this much of ρ.
func rho(rho float64) []mechanism.Event {
	return []mechanism.Event{{Mechanism: mechanism.ZeroConcentratedDP{Rho: rho}, Count: 1}}
}

// budgeted is the genesis of a ledger with a small budget.
func budgeted(name string) ledger.Genesis {
	g := limited(name)
	g.Spec.Budgets = zCDP(4)
	g.Resolution = resolved(g.Spec)
	return g
}

// dataset is the genesis of the dataset that the ledgers of these tests carry.
func dataset() ledger.Genesis {
	g := limited("")
	g.Spec.Name, g.Spec.Owner, g.Spec.Labels = ledger.DatasetName(g.Spec.DatasetID), "", nil
	g.Spec.Dataset = &ledger.Dataset{MaxRecords: 1, EnforcedBy: "a key"}
	return g
}

// held finds where the dataset holds a ledger's share.
func (f *shelf) held(name string) uint64 {
	f.t.Helper()
	for _, r := range f.books[1].state.Reservations() {
		if r.Child == name {
			return r.Position
		}
	}
	f.t.Fatalf("the dataset holds nothing for %s", name)
	return 0
}

// retake raises a ledger and takes its new share of the dataset in place of the old one.
func (f *shelf) retake(b *book, raise ledger.Request, share []mechanism.Event) write {
	f.t.Helper()
	d, old := f.books[1], f.held(b.name)
	out := b.write(raise)
	out.books = append(out.books, d)
	out.batches = append(out.batches, d.decide(
		d.request(own(fmt.Sprint("release-", old)), ledger.Release{Reservation: old}),
		d.request(own(fmt.Sprint("raise-", b.name)), ledger.Reserve{Child: b.name, Events: share})))
	return out
}
