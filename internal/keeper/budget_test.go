package keeper

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/memory"
)

// budgeted is a ledger in which ten times ε = 0.1 fit.
func budgeted() ledger.Genesis {
	return ledger.Genesis{Principal: "p", Time: time.Unix(0, 0), Spec: ledger.Spec{
		Name: "a", Adjacency: mechanism.AddOrRemoveOne, Policy: ledger.Filtered,
		Budgets: []accountant.Budget{{Guard: accountant.GuardBasic, Epsilon: 1}},
	}}
}

func tenth(writer string, sequence uint64) ledger.Request {
	return ledger.Request{
		Writer: writerOf(writer), Sequence: sequence,
		Verb: ledger.Charge{Events: []mechanism.Event{{Mechanism: mechanism.PureDP{Epsilon: 0.1}, Count: 1}}},
	}
}

// A ledger is resolved when it is created, and never again.
func TestCreateResolves(t *testing.T) {
	k := newKeeper(t, Config{Store: memory.New(memory.Config{})})
	sum, created, err := k.Create(t.Context(), budgeted())
	if err != nil || !created || len(sum.Genesis.Resolution.Limits) != 1 {
		t.Fatalf("%+v, %v, %v", sum, created, err)
	}
	again, created, err := k.Create(t.Context(), budgeted())
	if err != nil || created || !again.Genesis.Resolution.Equal(sum.Genesis.Resolution) {
		t.Errorf("again: %+v, %v, %v", again, created, err)
	}
	other := budgeted()
	other.Spec.Budgets[0].Epsilon = 2
	_, _, err = k.Create(t.Context(), other)
	wantErr(t, err, ledger.ErrExists)
	other.Spec.Name, other.Spec.Budgets[0].Guard = "b", accountant.GuardGDP
	var pe *mechanism.ParameterError
	if _, _, err := k.Create(t.Context(), other); !errors.As(err, &pe) || pe.Field != "budgets[0].bound" {
		t.Errorf("a budget that is not allowed: %v", err)
	}
}

// Writers that charge at the same time get exactly what fits, through conflicts,
// lost answers and retries; what was refused leaves its sequence number free.
func TestConcurrentChargesKeepTheBudget(t *testing.T) {
	store := memory.New(memory.Config{})
	if _, _, err := newKeeper(t, Config{Store: store}).Create(t.Context(), budgeted()); err != nil {
		t.Fatal(err)
	}
	store.FailNext(memory.Conflict, memory.FailAndKeep, memory.Unavailable, memory.FailAndLose, memory.Conflict)
	keepers := []*Keeper{newKeeper(t, Config{Store: store}), newKeeper(t, Config{Store: store})}
	var accepted atomic.Int64
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			k, w := keepers[i%2], fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
			for sequence := uint64(1); ; {
				_, err := k.Do(t.Context(), "a", tenth(w, sequence))
				switch {
				case err == nil:
					accepted.Add(1)
					sequence++
				case errors.Is(err, ledger.ErrBudget):
					if last, _, err := k.Writer(t.Context(), "a", writerOf(w)); err != nil || last != sequence-1 {
						t.Errorf("%s stands at %d, %v; acknowledged: %d", w, last, err, sequence-1)
					}
					return
				case !errors.Is(err, ledger.ErrUnavailable) && !errors.Is(err, ledger.ErrUnknown):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	_, sum, err := keepers[0].Composition(t.Context(), "a")
	if err != nil || sum.Total != 10 || accepted.Load() != 10 {
		t.Errorf("%d acknowledged, %d charged, %v; want 10", accepted.Load(), sum.Total, err)
	}
}
