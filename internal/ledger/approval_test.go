// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// proposed is a batch on a filter with a charge at 1 and a proposal to refund it at 2, which is
// read back from the entries that amend the ledger, as after a restart.
func proposed(t *testing.T) (*Batch, Refund) {
	t.Helper()
	spec := resolved(t, filter(accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 1}))
	b := NewBatch(NewState(spec))
	refund := Refund{Position: 1, Reason: "it never ran"}
	propose := Propose{Action: refund, Lifetime: time.Hour, Person: "person:ann"}
	for i, v := range []Action{charge(pure(0.1, 7)), propose} {
		d := b.Decide(Request{Writer: Writer{"cn:ann", "w"}, Sequence: uint64(i) + 1, Action: v}, Lane{}, noon)
		if d.Outcome != Accepted {
			t.Fatal(d.Err)
		}
	}
	snapshot := spec
	snapshot.Head.Position, snapshot.Total, snapshot.Distinct = 2, 7, 1
	snapshot.Parts = []mechanism.Part{{Mechanism: pure(0.1, 7).Mechanism, Count: 7}}
	snapshot.Amended = []Entry{b.Entries()[1]}
	refund.Events = []mechanism.Event{pure(0.1, 7)}
	return NewBatch(NewState(snapshot)), refund
}

// An approval is refused unless it is exactly what is proposed, in time, by another proven person.
func TestApprovalIsOfWhatWasProposed(t *testing.T) {
	t.Parallel()
	good := Approval{Proposal: 2, Proposer: "cn:ann", Person: "cn:ben"}
	for _, c := range []struct {
		what   string
		by     string
		change func(*Approval, *Refund)
		after  time.Duration
		says   string // "": it is accepted
	}{
		{"as it should be", "cn:ben", nil, time.Hour, ""},
		{"too late", "cn:ben", nil, time.Hour + time.Second, "could be approved until"},
		{"by the proposer", "cn:ann", nil, 0, "another person"},
		{"by an alias", "cn:ann2", func(a *Approval, _ *Refund) { a.Person = "person:ann" }, 0, "another person"},
		{"by nobody", "cn:ben", func(a *Approval, _ *Refund) { a.Person = "" }, 0, "another person"},
		{"by somebody unproven", "unverified:ben", nil, 0, "nothing proves"},
		{"of another proposer", "cn:ben", func(a *Approval, _ *Refund) { a.Proposer = "cn:eve" }, 0, "not of cn:eve"},
		{"of another entry", "cn:ben", func(_ *Approval, v *Refund) { v.Position = 2 }, 0, "something else"},
		{"for another reason", "cn:ben", func(_ *Approval, v *Refund) { v.Reason = "x" }, 0, "something else"},
		{"of no proposal", "cn:ben", func(a *Approval, _ *Refund) { a.Proposal = 1 }, 0, "one that is open"},
		{"of proposal 0", "cn:ben", func(a *Approval, _ *Refund) { a.Proposal = 0 }, 0, "one that is open"},
	} {
		b, v := proposed(t)
		a := good
		if c.change != nil {
			c.change(&a, &v)
		}
		r := Request{Writer: Writer{c.by, "v"}, Sequence: 1, Action: v, Approval: &a}
		d := b.Decide(r, Lane{}, noon.Add(c.after))
		switch {
		case c.says == "":
			if d.Outcome != Accepted || len(b.amended.proposals) != 0 || b.total != 0 {
				t.Errorf("%s: %v, %v", c.what, d.Err, b.amended.proposals)
			}
		case !errors.Is(d.Err, ErrApproval) || !strings.Contains(d.Err.Error(), c.says):
			t.Errorf("%s: %v; want %q", c.what, d.Err, c.says)
		}
	}
}

// A proposal to reconcile says what one restore has lost. A backup keeps it open: who approves it in a store
// that was restored again would say the same of another loss, of which the proposer knew nothing.
func TestApprovalIsOfTheNewestLoss(t *testing.T) {
	t.Parallel()
	l := begin(t, resolved(t, filter(accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 1})))
	daemon, ann, ben := Writer{Daemon, "request/restore"}, Writer{"cn:ann", "a"}, Writer{"cn:ben", "b"}
	nothing := Reconcile{Reason: "nobody was at work"}
	propose := Propose{Action: nothing, Lifetime: time.Hour, Person: "cn:ann"}
	l.take(daemon, Restored{From: firstStore, StoreID: secondStore})
	l.take(ann, propose)
	l.take(daemon, Restored{From: secondStore, StoreID: thirdStore})
	l.approval = &Approval{Proposal: 2, Proposer: "cn:ann", Person: "cn:ben"}
	l.refuse(ben, nothing, ErrApproval, "an earlier loss")
	l.approval = nil
	ann.Name = "c" // the restore has ended every lane
	l.take(ann, propose)
	l.approval = &Approval{Proposal: 4, Proposer: "cn:ann", Person: "cn:ben"}
	l.take(ben, nothing)
}

// A proposal can be made while a ledger needs reconciling if it is to reconcile it, and only then.
func TestProposeToReconcile(t *testing.T) {
	t.Parallel()
	for _, v := range []Propose{{Action: Reconcile{}}, {Action: Refund{}}} {
		if got, want := reconciles(v), v.Action.Kind() == "reconcile"; got != want {
			t.Errorf("%s: %v", v.Action.Kind(), got)
		}
	}
}

// A ledger takes so many proposals and no more; nobody who proves nothing proposes. Entries that were
// made before there were bounds for each person are decided again as they were.
func TestProposalsAreBounded(t *testing.T) {
	t.Parallel()
	b, _ := proposed(t)
	if err := propose(b, "unverified:ann", noon); !errors.Is(err, ErrApproval) {
		t.Errorf("unproven: %v", err)
	}
	for range maxProposals - 1 {
		if err := propose(b, "cn:ann", noon); err != nil {
			t.Fatal(err)
		}
	}
	if err := propose(b, "cn:ann", noon); !errors.Is(err, ErrOutOfRange) {
		t.Errorf("one too many: %v", err)
	}
}

// propose makes a proposal of a principal for an hour.
func propose(b *Batch, by string, at time.Time) error {
	w := Writer{by, "x"}
	return b.Decide(Request{Writer: w, Sequence: b.Lane(w, Lane{}).Sequence + 1, Action: Propose{
		Action: Reconcile{}, Lifetime: time.Hour, Person: by}}, Lane{}, at).Err
}

// withdraw takes back the newest proposal.
func withdraw(b *Batch, by string, at time.Time) error {
	w, open := Writer{by, "x"}, b.amended.proposals
	return b.Decide(Request{Writer: w, Sequence: b.Lane(w, Lane{}).Sequence + 1, Action: Withdraw{
		Proposal: open[len(open)-1].Position, Reason: "r"}}, Lane{}, at).Err
}

// One officer cannot keep another from proposing, by proposals that wait or by proposals that were taken
// back. Who takes one back, has one approved or waits until its time is over can propose again.
func TestNobodyUsesUpTheProposalsOfOthers(t *testing.T) {
	t.Parallel()
	b, refund := proposed(t)
	b.Bound()
	for range maxOpenProposals - 1 { // and the one that proposed has made as person:ann
		if err := propose(b, "person:ann", noon); err != nil {
			t.Fatal(err)
		}
	}
	full := func(what string, at time.Time) {
		t.Helper()
		err := propose(b, "person:ann", at)
		if !errors.Is(err, ErrOutOfRange) || !strings.Contains(err.Error(), "approvals withdraw a --proposal") {
			t.Errorf("%s: %v", what, err)
		}
		if err := propose(b, "cn:ben", at); err != nil {
			t.Errorf("%s: another person: %v", what, err)
		}
		if err := withdraw(b, "cn:ben", at); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	again := func(what string, at time.Time) {
		t.Helper()
		if err := propose(b, "person:ann", at); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		full(what, at)
	}
	full("so many wait", noon)
	if err := withdraw(b, "person:ann", noon); err != nil {
		t.Fatal(err)
	}
	again("one was taken back", noon)
	approval := Approval{Proposal: 2, Proposer: "cn:ann", Person: "cn:ben"}
	r := Request{Writer: Writer{"cn:ben", "v"}, Sequence: 1, Action: refund, Approval: &approval}
	if d := b.Decide(r, Lane{}, noon); d.Err != nil {
		t.Fatal(d.Err)
	}
	again("one was approved", noon)
	full("the last moment", noon.Add(time.Hour))
	later := noon.Add(time.Hour + time.Second)
	for range maxOpenProposals {
		if err := propose(b, "person:ann", later); err != nil {
			t.Errorf("their time is over: %v", err)
		}
	}
	full("as many again wait", later)
}

// Nobody makes so many proposals, one after the other, that a ledger takes none of others.
func TestProposalsThatAreTakenBackAreCounted(t *testing.T) {
	t.Parallel()
	b, _ := proposed(t)
	b.Bound()
	for n := range maxProposalsOf + 1 {
		err := propose(b, "cn:eve", noon)
		if n == maxProposalsOf && errors.Is(err, ErrOutOfRange) && strings.Contains(err.Error(), "another officer") {
			break
		}
		if err == nil {
			err = withdraw(b, "cn:eve", noon)
		}
		if err != nil || n == maxProposalsOf {
			t.Fatalf("proposal %d: %v", n+1, err)
		}
	}
	if err := propose(b, "cn:ben", noon); err != nil {
		t.Error(err)
	}
}
