// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/server/sessions"
	"github.com/dpaccountant/accountant/internal/server/turns"
)

// Where the guarantee is descriptive, a reservation that is committed while a question
// about what was charged is answered is not missing from the answer.
func TestCommittedWhileAsked(t *testing.T) {
	digest := func(v ledger.Action) ledger.Digest { return sha256.Sum256(fmt.Appendf(nil, "%T %+v", v, v)) }
	k := keeper.New(keeper.Config{Store: memory.New(memory.Config{}), Digest: digest})
	spec := ledger.Spec{Name: "a", Adjacency: mechanism.AddOrRemoveOne, Policy: ledger.Filtered,
		Budgets: []accountant.Budget{{Guard: accountant.GuardBasic, Epsilon: 1}}}
	if _, _, err := k.Create(t.Context(), ledger.Genesis{Spec: spec, Principal: "p"}); err != nil {
		t.Fatal(err)
	}
	sequence := uint64(0)
	do := func(v ledger.Action) {
		sequence++
		r := ledger.Request{Writer: ledger.Writer{Principal: "p", Name: "00000000-0000-4000-8000-000000000000"},
			Sequence: sequence, Digest: digest(v), Action: v}
		if _, err := k.Do(t.Context(), "a", r); err != nil {
			t.Error(err)
		}
	}
	tenths := func(n uint32) []mechanism.Event {
		return []mechanism.Event{{Mechanism: mechanism.PureDP{Epsilon: 0.1}, Count: n}}
	}
	do(ledger.Charge{Events: tenths(1)})
	// descriptive from here on
	do(ledger.Raise{Budgets: []accountant.Budget{{Guard: accountant.GuardBasic, Epsilon: 2}}, Reason: "r"})
	do(ledger.Reserve{Events: tenths(4), Lifetime: time.Hour})
	s := &service{keeper: k, inTime: newTestInTime(), sessions: sessions.New(k, newTestInTime())}
	answer := s.sessions.Answer
	s.sessions.Answer = func(a *accountant.Session, c mechanism.Composition,
		q accountant.Question) (accountant.Answer, error) {
		do(ledger.Commit{Reservation: 3, Events: tenths(4)})
		return answer(a, c, q)
	}
	got, on, err := s.ask(t.Context(), "a", accountant.AtDelta(1e-9))
	if err != nil || math.Abs(got.Epsilon-0.5) > 1e-3 || on.Running.Epsilon > 0.501 || *on.Position != 4 {
		t.Errorf("ε = %v, running %+v at position %d, %v; want 0.5 at 4", got.Epsilon, on.Running, *on.Position, err)
	}
}

// newTestInTime answers up to two questions at once, and turns a panic into an error.
func newTestInTime() turns.InTime {
	return turns.NewInTime(turns.NewRotation(2, time.Hour, NewMetrics()),
		func(_ context.Context, p any) error { return fmt.Errorf("panic: %v", p) })
}
