// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Whoever is not the creator reserves at most half of a plan at once, and what is refused
// uses nothing up.
func TestHalfOfAPlan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		planned := [2]uint32{rapid.Uint32Range(1, 50).Draw(t, "planned a"),
			rapid.Uint32Range(1, 50).Draw(t, "planned b")}
		asked := [2]uint32{rapid.Uint32Range(1, planned[0]).Draw(t, "a"), rapid.Uint32Range(0, planned[1]).Draw(t, "b")}
		snapshot := resolved(t, plan(pure(0.1, planned[0]), pure(0.2, planned[1])))
		snapshot.Genesis.Principal = "cn:ann"
		b := NewBatch(NewState(snapshot))
		events := []mechanism.Event{pure(0.1, asked[0])}
		if asked[1] > 0 {
			events = append(events, pure(0.2, asked[1]))
		}
		r := reserving(1, events...)
		r.Caller = "cn:bob"
		d := b.Decide(r, Lane{}, noon)
		if most := 2*(asked[0]+asked[1]) > planned[0]+planned[1]; errors.Is(d.Err, ErrNotCreator) != most ||
			(d.Err != nil) != most {
			t.Fatalf("%v of %v: %+v", asked, planned, d)
		}
		rest := [2]uint32{planned[0], planned[1]}
		if d.Err == nil {
			rest = [2]uint32{planned[0] - asked[0], planned[1] - asked[1]}
		}
		for i, epsilon := range []float64{0.1, 0.2} {
			if d := b.Decide(check(request("v", 1, pure(epsilon, rest[i]+1))), Lane{},
				noon); !errors.Is(d.Err, ErrBudget) {
				t.Fatalf("one more than is left: %+v", d)
			}
			if rest[i] > 0 {
				if d := b.Decide(check(request("v", 1, pure(epsilon, rest[i]))), Lane{}, noon); d.Err != nil {
					t.Fatalf("all that is left does not fit: %v", d.Err)
				}
			}
		}
	})
}

// Half of a filter is half of any of its budgets, of ε or of δ.
func TestHalfOfAFilter(t *testing.T) {
	t.Parallel()
	basic := accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 1, Delta: 1e-6}
	approximate := func(delta float64, n uint32) mechanism.Event {
		return mechanism.Event{Mechanism: mechanism.ApproximateDP{Epsilon: 0.125, Delta: delta}, Count: n}
	}
	for _, c := range []struct {
		event mechanism.Event
		most  bool
	}{
		{pure(0.125, 4), false},
		{pure(0.125, 5), true},
		{pure(0.75, 1), true},
		{approximate(0x1p-23, 4), false}, // 2⁻²³ = 1.19e-7, 4 of them are 4.8e-7
		{approximate(0x1p-20, 1), true},  // 9.5e-7
		{pure(0.01, 1), false},
	} {
		snapshot := resolved(t, filter(basic, accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 8, Delta: 1e-3}))
		for caller, want := range map[string]bool{"cn:bob": c.most, "unverified:ann": c.most,
			"cn:ann": false, "": false} {
			snapshot.Genesis.Principal = "cn:ann"
			r := reserving(1, c.event)
			r.Caller = caller
			if d := NewBatch(NewState(snapshot)).Decide(r, Lane{}, noon); errors.Is(d.Err,
				ErrNotCreator) != want || (d.Err != nil) != want {
				t.Errorf("%v by %q: %+v; want refused: %v", c.event, caller, d, want)
			}
		}
	}
}

// Who may close a ledger. Entries that are decided again have no caller: what earlier
// versions let anybody close stays closed.
func TestMayClose(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		creator, caller, says string
	}{
		{"cn:ann", "cn:ann", ""},
		{"cn:ann", "", ""},
		{"unverified:ann", "unverified:bob", ""},
		{"cn:ann", "cn:bob", "you are cn:bob and may not close it: ledger a was created by cn:ann; only cn:ann may, " +
			"or the daemon's owner with --server unix:"},
		{"uid:1000", "unverified:ann", "only uid:1000 may"},
		{"unverified:ann", "cn:ann",
			"as nobody can prove to be that, only the daemon's owner may, with --server unix:"},
	} {
		snapshot := resolved(t, Spec{Adjacency: mechanism.AddOrRemoveOne})
		snapshot.Genesis.Principal = c.creator
		b := NewBatch(NewState(snapshot))
		d := b.Decide(Request{Writer: Writer{"p", "w"}, Sequence: 1, Action: Close{}, Caller: c.caller}, Lane{}, noon)
		if errors.Is(d.Err, ErrNotCreator) != (c.says != "") ||
			d.Err != nil && !strings.Contains(d.Err.Error(), c.says) || b.closed != (c.says == "") {
			t.Errorf("%s closes what %s created: %+v, closed %v; want %q", c.caller, c.creator, d, b.closed, c.says)
		}
	}
}

// A warning is acknowledged once, by those who may close the ledger, with who, when and why.
// It changes no guarantee, also of a ledger that has something charged.
func TestAcknowledge(t *testing.T) {
	t.Parallel()
	snapshot := resolved(t, filter(accountant.Budget{Guard: accountant.GuardBasic, Epsilon: 1}))
	snapshot.Genesis.Principal = "cn:ann"
	b := NewBatch(NewState(snapshot))
	accept(t, b, charge(pure(0.1, 3)))
	known := Acknowledge{Warning: "large-delta", Reason: "it is public"}
	ask := func(by, caller string, v Action) Decision {
		w := Writer{by, "ack"}
		r := Request{Writer: w, Sequence: b.Lane(w, Lane{}).Sequence + 1, Action: v, Caller: caller}
		return b.Decide(r, Lane{}, noon)
	}
	if d := ask("cn:bob", "cn:bob", known); !errors.Is(d.Err, ErrNotCreator) ||
		!strings.Contains(d.Err.Error(), "you are cn:bob and may not acknowledge its warnings: ledger a was created "+
			"by cn:ann") {
		t.Errorf("another than the creator: %+v", d)
	}
	if d := ask("cn:ann", "cn:ann", known); d.Outcome != Accepted {
		t.Fatalf("%+v", d)
	}
	again := Acknowledge{Warning: "large-delta", Reason: "another"}
	const says = "the warning large-delta was acknowledged by cn:ann in entry 2, for this reason: it is public"
	if d := ask("cn:ann", "", again); !errors.Is(d.Err, ErrAcknowledged) || !strings.Contains(d.Err.Error(), says) {
		t.Errorf("in the same batch: %+v", d)
	}
	b = applied(b)
	if d := ask("cn:ann", "", again); !errors.Is(d.Err, ErrAcknowledged) {
		t.Errorf("in another batch: %+v", d)
	}
	v := b.state.View()
	want := Acknowledgement{known, 2, "cn:ann", noon}
	if len(v.Acknowledged) != 1 || v.Acknowledged[0] != want || len(v.Assumptions) != 0 ||
		v.Guarantee != GuaranteeFilter {
		t.Errorf("%+v; want %+v", v, want)
	}
}
