// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// byDaemon is a parent's log, written by the daemon.
func byDaemon(t *testing.T, name string, actions ...ledger.Action) log {
	t.Helper()
	spec := audittest.Spec(name, 0)
	spec.Budgets[0].Epsilon = 10
	return byDaemonTo(t, spec, actions...)
}

func byDaemonTo(t *testing.T, spec ledger.Spec, actions ...ledger.Action) log {
	t.Helper()
	l := writtenTo(t, spec, actions...)
	for i, v := range actions {
		e := entry(uint64(i+1), v)
		e.Writer.Principal = ledger.Daemon
		l.entries[i] = encode(t, e)
	}
	return l
}

// A parent that does not hold, or has not spent, what its child may or did is named
// with the child; one that holds more is not.
func TestFamilies(t *testing.T) {
	e := func(epsilon float64, count uint32) mechanism.Event { return charge(epsilon, count).Events[0] }
	reserve := func(child string, events ...mechanism.Event) ledger.Reserve {
		return ledger.Reserve{Events: events, Child: child}
	}
	commit := func(events ...mechanism.Event) ledger.Commit {
		return ledger.Commit{Reservation: 1, Events: events}
	}
	plan := ledger.Spec{Name: "c", Adjacency: mechanism.AddOrRemoveOne, Policy: ledger.Planned, Parent: "p",
		Plan: ledger.Workload{Events: []mechanism.Event{e(0.1, 3), e(0.2, 1)}}}
	filter := ledger.Spec{Name: "c", Adjacency: mechanism.AddOrRemoveOne, Policy: ledger.Filtered, Parent: "p",
		Budgets: []accountant.Budget{{Guard: accountant.GuardBasic, Epsilon: 1}}}
	share := []mechanism.Event{e(0.1, 3), e(0.2, 1)}
	open, closed := []ledger.Action{charge(0.1, 2)}, []ledger.Action{charge(0.1, 2), ledger.Close{}}
	release := ledger.Release{Reservation: 1}
	const wrong = "ledger c: share in its parent p: less, or none"
	for _, c := range []struct {
		name   string
		spec   ledger.Spec
		child  []ledger.Action
		parent []ledger.Action
		says   string
	}{
		{"held", plan, open, []ledger.Action{reserve("c", share...)}, ""},
		{"held in another order", plan, open, []ledger.Action{reserve("c", e(0.2, 1), e(0.1, 1), e(0.1, 2))}, ""},
		{"after an attempt that was given back", plan, open,
			[]ledger.Action{reserve("c", e(0.1, 1)), release, reserve("c", share...)}, ""},
		{"not held", plan, open, nil, wrong},
		{"held for another", plan, open, []ledger.Action{reserve("d", share...)}, wrong},
		{"too little held", plan, open, []ledger.Action{reserve("c", e(0.1, 3))}, wrong},
		{"given back", plan, open, []ledger.Action{reserve("c", share...), release}, wrong},
		{"settled while it is open", plan, open,
			[]ledger.Action{reserve("c", share...), commit(e(0.1, 2)), release}, wrong},
		{"the parent was closed", plan, open, []ledger.Action{reserve("c", share...), ledger.Close{}}, ""},
		{"settled", plan, closed, []ledger.Action{reserve("c", share...), commit(e(0.1, 2)), release}, ""},
		{"not settled yet", plan, closed, []ledger.Action{reserve("c", share...)}, ""},
		{"half settled", plan, closed, []ledger.Action{reserve("c", share...), commit(e(0.1, 2))}, ""},
		{"settled for less", plan, closed, []ledger.Action{reserve("c", share...), commit(e(0.1, 1)), release}, wrong},
		{"settled for something else", plan, closed,
			[]ledger.Action{reserve("c", share...), commit(e(0.2, 1), e(0.1, 1)), release}, wrong},
		{"a filter's bound", filter, open, []ledger.Action{reserve("c", e(1, 1))}, ""},
		{"less than a filter's bound", filter, open, []ledger.Action{reserve("c", e(0.5, 1))}, wrong},
		{"a filter settled", filter, closed, []ledger.Action{reserve("c", e(1, 1)), commit(e(1, 1))}, ""},
		{"a filter given back", filter, closed, []ledger.Action{reserve("c", e(1, 1)), release}, wrong},
	} {
		t.Run(c.name, func(t *testing.T) {
			var f audit.Families
			for _, l := range []log{byDaemon(t, "p", c.parent...), writtenTo(t, c.spec, c.child...)} {
				r, err := l.replay()
				if err != nil {
					t.Fatal(err)
				}
				f.Add(r)
			}
			if err := f.Check(); c.says == "" && err != nil ||
				c.says != "" && (err == nil || !strings.HasPrefix(err.Error(), c.says)) {
				t.Errorf("found: %v; want: %s", err, c.says)
			}
		})
	}
}

// A dataset's record and its ledgers are written together: whichever side says something else is
// named, with its entry.
func TestFamiliesOfDatasets(t *testing.T) {
	e := func(epsilon float64) mechanism.Event { return charge(epsilon, 1).Events[0] }
	reserve := func(child string, epsilon float64) ledger.Reserve {
		return ledger.Reserve{Events: []mechanism.Event{e(epsilon)}, Child: child}
	}
	release := func(position uint64) ledger.Release { return ledger.Release{Reservation: position} }
	adopted := func(n uint32) ledger.Adopt { return ledger.Adopt{Ledgers: n} }
	record := audittest.Spec("dataset:d", 0)
	record.Budgets[0].Epsilon = 10
	record.DatasetID, record.Dataset = "d", &ledger.Dataset{MaxRecords: 1, EnforcedBy: "a key"}
	root := ledger.Spec{Name: "c", Adjacency: mechanism.AddOrRemoveOne, Policy: ledger.Filtered, DatasetID: "d",
		Budgets: []accountant.Budget{{Guard: accountant.GuardBasic, Epsilon: 1}}}
	below := root
	below.Parent = "dataset:d"
	adopts := []ledger.Action{ledger.Adopt{Dataset: "dataset:d"}}
	for name, c := range map[string]struct {
		spec   ledger.Spec
		ledger []ledger.Action
		record []ledger.Action
		says   string
	}{
		"created":  {below, nil, []ledger.Action{reserve("c", 1)}, ""},
		"adopted":  {root, adopts, []ledger.Action{reserve("c", 1), adopted(1)}, ""},
		"retaken":  {below, nil, []ledger.Action{reserve("c", 0.5), release(1), reserve("c", 1)}, ""},
		"no share": {below, nil, nil, "ledger c: share in its parent dataset:d: less, or none"},
		"a smaller share": {below, nil, []ledger.Action{reserve("c", 0.5)},
			"ledger c: share in its parent dataset:d: less, or none"},
		"a larger share": {below, nil, []ledger.Action{reserve("c", 2)},
			"ledger c: share in its parent dataset:d"},
		"a share given back": {below, nil, []ledger.Action{reserve("c", 1), release(1)},
			"ledger c: share in its parent dataset:d"},
		"two shares": {below, nil, []ledger.Action{reserve("c", 1), reserve("c", 1)},
			"ledger dataset:d: entry 2: share of ledger c: a second one"},
		"a share of no ledger": {below, nil, []ledger.Action{reserve("c", 1), reserve("gone", 1)},
			"ledger dataset:d: entry 2: share of ledger gone: none of that name"},
		"not adopted": {root, nil, []ledger.Action{reserve("c", 1), adopted(1)},
			"ledger c: dataset: an open ledger without one"},
		"adopted by nobody": {root, adopts, []ledger.Action{reserve("c", 1)},
			"ledger dataset:d: ledgers that were adopted: 0; expected: 1"},
		"adopted more than there are": {below, nil, []ledger.Action{reserve("c", 1), adopted(1)},
			"ledger dataset:d: ledgers that were adopted: 1; expected: 0"},
	} {
		t.Run(name, func(t *testing.T) {
			var f audit.Families
			for _, l := range []log{byDaemonTo(t, record, c.record...), byDaemonTo(t, c.spec, c.ledger...)} {
				r, err := l.replay()
				if err != nil {
					t.Fatal(err)
				}
				f.Add(r)
			}
			if err := f.Check(); c.says == "" && err != nil ||
				c.says != "" && (err == nil || !strings.HasPrefix(err.Error(), c.says)) {
				t.Errorf("found: %v; want: %s", err, c.says)
			}
		})
	}
}
