// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/verify"
	"github.com/dpaccountant/accountant/internal/record"
)

// A store checks the sums of what it appends, not the rules by which a ledger decides.
// An entry that only the rules forbid is found when the file is verified.
func TestVerifyFindsWhatTheRulesForbid(t *testing.T) {
	one := func(i int) []mechanism.Event { return []mechanism.Event{{Mechanism: audittest.Mechanism(i), Count: 9}} }
	refund := func(position uint64, i int) ledger.Refund {
		return ledger.Refund{Position: position, Events: one(i), Reason: "r"}
	}
	for _, c := range []struct {
		name    string
		honest  func(s *ledger.State) ledger.Action // what the ledger accepts as entry 5
		written func(ledger.Action) ledger.Action   // what stands there instead
		finding string                              // none if empty
	}{
		{"honest", func(*ledger.State) ledger.Action { return refund(2, 2) },
			func(a ledger.Action) ledger.Action { return a }, ""},
		{"a second refund", func(*ledger.State) ledger.Action { return refund(2, 2) },
			func(ledger.Action) ledger.Action { return refund(1, 2) }, "entry 5: action"},
		{"a refund of itself", func(*ledger.State) ledger.Action { return refund(2, 2) },
			func(ledger.Action) ledger.Action { return refund(5, 2) }, "entry 5: action"},
		{"a refund of what another entry charged", func(*ledger.State) ledger.Action { return refund(2, 2) },
			func(ledger.Action) ledger.Action { return refund(2, 1) }, "entry 5: refund of entry 2"},
		{"a charge of another mechanism", func(*ledger.State) ledger.Action { return ledger.Charge{Events: one(2)} },
			func(ledger.Action) ledger.Action { return ledger.Charge{Events: one(3)} }, "mechanism"},
		{"a charge over the budget", func(*ledger.State) ledger.Action { return ledger.Charge{Events: one(2)} },
			func(ledger.Action) ledger.Action {
				return ledger.Charge{Events: []mechanism.Event{{Mechanism: mechanism.PureDP{Epsilon: 1e9}, Count: 9}}}
			}, "entry 5: budget"},
		{"a raise to less", raiseTo(2000), func(a ledger.Action) ledger.Action {
			v := a.(ledger.Raise)
			v.Budgets = []accountant.Budget{{Guard: accountant.GuardBasic, Epsilon: 500}}
			v.Resolution = ledger.Resolution{Limits: []accountant.Limit{{Guard: accountant.GuardBasic, Value: 500}}}
			return v
		}, "entry 5: action"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db")
			s, err := Open(Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
			if err != nil {
				t.Fatal(err)
			}
			spec := audittest.Spec("a", 0)
			audittest.Fill(t, s, spec, 0, 0)
			snapshot, err := s.Load("a")
			if err != nil {
				t.Fatal(err)
			}
			state := ledger.NewState(snapshot)
			position := uint64(0)
			write := func(a ledger.Action, written func(ledger.Action) ledger.Action) error {
				b := ledger.NewBatch(state)
				r := ledger.Request{Writer: audittest.Writer(0), Sequence: position + 1,
					Digest: record.Digest(a), Action: a}
				if d := b.Decide(r, ledger.Lane{Sequence: position, Position: position},
					audittest.Time(0)); d.Outcome != ledger.Accepted {
					t.Fatal(d.Err)
				}
				p := b.Proposal()
				p.Entries = slices.Clone(p.Entries)
				p.Entries[0].Action = written(p.Entries[0].Action)
				p.Entries[0].Digest = record.Digest(p.Entries[0].Action)
				hashes, err := s.Append([]ledger.Proposal{p})
				if err == nil {
					position++
					state.Apply(b, ledger.Head{Position: position, Hash: hashes[0][0]})
				}
				return err
			}
			same := func(a ledger.Action) ledger.Action { return a }
			for _, a := range []ledger.Action{ledger.Charge{Events: one(1)}, ledger.Charge{Events: one(2)},
				ledger.Charge{Events: one(1)}, refund(1, 1)} {
				if err := write(a, same); err != nil {
					t.Fatal(err)
				}
			}
			if err := write(c.honest(state), c.written); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			_, err = verify.File(context.Background(), verify.Config{Path: path})
			var found *audit.Finding
			switch {
			case c.finding == "":
				if err != nil {
					t.Error(err)
				}
			case !errors.As(err, &found) || !strings.Contains(err.Error(), c.finding):
				t.Errorf("verify: %v; want a finding with %q", err, c.finding)
			}
		})
	}
}

// raiseTo raises the one budget of a ledger.
func raiseTo(epsilon float64) func(*ledger.State) ledger.Action {
	return func(s *ledger.State) ledger.Action {
		v := ledger.Raise{Budgets: []accountant.Budget{{Guard: accountant.GuardBasic, Epsilon: epsilon}}, Reason: "r"}
		v.Resolution, _ = s.Raising(v).Resolve(nil) // the decision refuses an empty one
		return v
	}
}
