// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/record"
)

// slow are events whose costs of a Rényi budget take far longer to find than what is done at once.
func slow(noises ...float64) (events []mechanism.Event) {
	for _, sigma := range noises {
		events = append(events, mechanism.Event{Count: 1, Mechanism: mechanism.Group{Size: 255,
			Mechanism: mechanism.PoissonSampled{SamplingProbability: 0.003,
				Mechanism: mechanism.Gaussian{NoiseMultiplier: sigma}}}})
	}
	return events
}

// What the share of a ledger costs of its dataset's budget may take long to find. It is found before the ledger and
// the dataset are held, in turns with other computations, and others charge and create ledgers meanwhile.
func TestSharesArePricedBeforeOthersWait(t *testing.T) {
	t.Parallel()
	dataset := datasetSpec("survey", "1", 1)
	dataset.Budgets = []accountant.Budget{{Guard: accountant.GuardRDP, Epsilon: 1e6, Delta: 1e-6, Order: 40}}
	planned := func(name string, events ...mechanism.Event) ledger.Genesis {
		spec := rootSpec(name, "survey", "1", ledger.Planned, 0)
		spec.Plan.Events = append(tenths(9), events...)
		return ledger.Genesis{Principal: "uid:1", Spec: spec}
	}
	register := func(ctx context.Context, k *Keeper) error {
		_, _, _, err := k.Register(ctx, Registration{Genesis: ledger.Genesis{Spec: dataset, Principal: "uid:1"}})
		return err
	}
	create := func(ctx context.Context, k *Keeper, g ledger.Genesis) error {
		_, created, err := k.Create(ctx, g)
		if err == nil && !created {
			err = errors.New("it was there")
		}
		return err
	}
	raise := ledger.Raise{Reason: "r", Plan: ledger.Workload{Events: append(tenths(9), slow(30, 32, 34, 36)...)}}
	for what, c := range map[string]struct {
		before, write, meanwhile func(context.Context, *Keeper) error
	}{
		"creation": {
			register,
			func(ctx context.Context, k *Keeper) error {
				return create(ctx, k, planned("a", slow(30, 32, 34, 36)...))
			},
			func(ctx context.Context, k *Keeper) error {
				other := datasetSpec("other", "1", 1)
				_, _, _, err := k.Register(ctx, Registration{Genesis: ledger.Genesis{Spec: other, Principal: "uid:1"}})
				return errors.Join(err, create(ctx, k, planned("b")))
			},
		},
		"raise": {
			func(ctx context.Context, k *Keeper) error {
				return errors.Join(register(ctx, k), create(ctx, k, planned("a")))
			},
			func(ctx context.Context, k *Keeper) error {
				_, err := k.Do(ctx, "a", ledger.Request{Writer: ledger.Writer{Principal: "uid:1", Name: "request/r"},
					Sequence: 1, Digest: record.Digest(raise), Action: raise})
				return err
			},
			func(ctx context.Context, k *Keeper) error {
				_, err := k.Do(ctx, "a", action("w", 1, ledger.Charge{Events: tenths(1)}))
				return errors.Join(err, create(ctx, k, planned("b")))
			},
		},
		"registration": {
			func(ctx context.Context, k *Keeper) error {
				return create(ctx, k, planned("a", slow(30, 32, 34, 36)...))
			},
			register,
			func(ctx context.Context, k *Keeper) error {
				_, err := k.Do(ctx, "a", action("w", 1, ledger.Charge{Events: tenths(1)}))
				return errors.Join(err, create(ctx, k, planned("b")))
			},
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			var meanwhile atomic.Pointer[func() error]
			var late atomic.Bool
			k := newKeeper(t, Config{Store: memory.New(memory.Config{}), Digest: record.Digest,
				Compute: func(_ context.Context, compute func(stop func() bool) error) error {
					if do := meanwhile.Swap(nil); do != nil {
						done := make(chan error, 1)
						go func() { done <- (*do)() }()
						select {
						case err := <-done:
							if err != nil {
								t.Errorf("while the share is priced: %v", err)
							}
						case <-ctx.Done():
							t.Error("others wait until the share is priced")
						}
					}
					return compute(late.Load)
				}})
			if err := c.before(ctx, k); err != nil {
				t.Fatal(err)
			}
			late.Store(true)
			if err := c.write(ctx, k); !errors.Is(err, ErrLate) {
				t.Errorf("without time to price the share: %v; want ErrLate", err)
			}
			late.Store(false)
			others := func() error { return c.meanwhile(ctx, k) }
			meanwhile.Store(&others)
			if err := c.write(ctx, k); err != nil {
				t.Fatal(err)
			}
			if meanwhile.Load() != nil {
				t.Error("the share was priced while others waited")
			}
			v, err := k.View(ctx, ledger.DatasetName("survey"))
			shares := map[string]int{}
			for _, r := range v.Reservations {
				shares[r.Child] += len(r.Rest)
			}
			if err != nil || shares["a"] != 5 || shares["b"] != 1 {
				t.Errorf("the dataset holds %v distinct mechanisms, %v; want 5 for a, and 1 for b", shares, err)
			}
		})
	}
}
