// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"errors"
	"path/filepath"
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

// A file in which somebody did what the access policy of that time did not let them do is found,
// though every chain in it is whole and every entry decided as it should be.
func TestVerifyFindsWhatThePolicyForbids(t *testing.T) {
	const policy = `version: 1
grants:
  - {roles: [officer, manager], to: ['cn:ann', 'cn:ben'], on: everything}
  - {roles: reporter, to: 'cn:job', on: 'prefix:team/'}
two_people: {within: 72h}
`
	raise := ledger.Raise{Budgets: []accountant.Budget{{Guard: accountant.GuardBasic, Epsilon: 2000}}, Reason: "r"}
	charge := ledger.Charge{Events: []mechanism.Event{{Mechanism: mechanism.PureDP{Epsilon: 1}, Count: 1}}}
	proposed := ledger.Propose{Action: raise, Lifetime: 3600e9, Person: "cn:ann"}
	for _, c := range []struct {
		name string
		did  []written
		says string // "" where all is allowed
	}{
		{"allowed", []written{{"team/a", "cn:job", charge, nil}, {"team/a", "cn:ann", proposed, nil}, {"team/a",
			"cn:ben",
			raise, &ledger.Approval{Proposal: 2, Proposer: "cn:ann", Person: "cn:ben"}}}, ""},
		{"raised alone", []written{{"team/a", "cn:ann", raise, nil}},
			"ledger team/a: entry 1: two people: raise by cn:ann alone"},
		{"charged elsewhere", []written{{"team/a", "cn:job", charge, nil}, {"other", "cn:job", charge, nil}},
			"ledger other: entry 1: charge: by cn:job, to whom no grant gives it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db")
			s := mustOpen(t, Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
			for _, name := range []string{"team/a", "other"} {
				audittest.Fill(t, s, audittest.Spec(name, 0), 0, 0)
			}
			audittest.Fill(t, s, ledger.Spec{Name: ledger.AccessLedger, Adjacency: mechanism.AddOrRemoveOne}, 0, 0)
			written{ledger.AccessLedger, ledger.Daemon, ledger.AccessPolicy{Text: []byte(policy)}, nil}.to(t, s, 0)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			kept := keepOf(t, path, nil)
			s = mustOpen(t, Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
			for i, w := range c.did {
				w.to(t, s, i+1)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			for _, since := range []*verify.Kept{nil, kept} {
				_, err := verified(t, path, since)
				var found *audit.Finding
				if c.says == "" && err != nil ||
					c.says != "" && (!errors.As(err, &found) || !strings.HasPrefix(err.Error(), c.says)) {
					t.Errorf("verify: %v; want %q", err, c.says)
				}
			}
		})
	}
}

// written is an action that somebody writes into a store, past the daemon.
type written struct {
	ledger, by string
	action     ledger.Action
	approval   *ledger.Approval
}

func (w written) to(t *testing.T, s *Store, i int) {
	t.Helper()
	snapshot, err := s.Load(w.ledger)
	if err != nil {
		t.Fatal(err)
	}
	state := ledger.NewState(snapshot)
	switch v := w.action.(type) { // as the keeper completes it
	case ledger.Raise:
		v.Resolution, err = state.Raising(v).Resolve(nil)
		w.action = v
	}
	if err != nil {
		t.Fatal(err)
	}
	writer := audittest.Writer(1000 + i)
	writer.Principal = w.by
	b := ledger.NewBatch(state)
	request := ledger.Request{Writer: writer, Sequence: 1, Digest: record.DigestOf(w.action, w.approval),
		Action: w.action, Approval: w.approval}
	if w.by != ledger.Daemon {
		request.Policy = 1
	}
	d := b.Decide(request, ledger.Lane{}, audittest.Time(100*i))
	if d.Err != nil {
		t.Fatal(d.Err)
	}
	if _, err := s.Append([]ledger.Proposal{b.Proposal()}); err != nil {
		t.Fatal(err)
	}
}

// An entry that was made up with the policy and the time of an earlier one is judged by the newest policy, as the
// ledger has a later time: also where that is of an entry which was verified before.
func TestVerifySinceKnowsLatestTime(t *testing.T) {
	const job, eve = "  - {roles: reporter, to: 'cn:job', on: everything}\n",
		"  - {roles: reporter, to: 'cn:eve', on: everything}\n"
	charge := ledger.Charge{Events: []mechanism.Event{{Mechanism: mechanism.PureDP{Epsilon: 1}, Count: 1}}}
	path := filepath.Join(t.TempDir(), "a.db")
	write := func(what written, i int) {
		s := mustOpen(t, Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
		what.to(t, s, i)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := mustOpen(t, Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
	audittest.Fill(t, s, audittest.Spec("team/a", 0), 0, 0)
	audittest.Fill(t, s, ledger.Spec{Name: ledger.AccessLedger, Adjacency: mechanism.AddOrRemoveOne}, 0, 0)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for i, grants := range []string{job + eve, job} {
		write(written{ledger.AccessLedger, ledger.Daemon,
			ledger.AccessPolicy{Text: []byte("version: 1\ngrants:\n" + grants)}, nil}, i)
	}
	write(written{"team/a", "cn:job", charge, nil}, 50)
	kept := keepOf(t, path, nil)
	kept = keepOf(t, path, kept)
	write(written{"team/a", "cn:eve", charge, nil}, 1)
	for _, since := range []*verify.Kept{nil, kept} {
		_, err := verified(t, path, since)
		if err == nil || !strings.HasPrefix(err.Error(), "ledger team/a: entry 2: charge: by cn:eve") {
			t.Errorf("since %t: %v; want that cn:eve may not", since != nil, err)
		}
	}
}
