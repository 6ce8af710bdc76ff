// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// lossless is a mechanism that passes Check and has no privacy loss: a kind that somebody added
// without one, or let stand where nothing is proven.
type lossless struct{ mechanism.Gaussian }

func (lossless) Kind() string { return "lossless" }

// What could never be answered about is refused, whatever it is in and whether it was looked at
// before the decision or not: a ledger with it would have no answer ever after.
func TestWhatHasNoLossIsRefused(t *testing.T) {
	unknown := mechanism.Event{Mechanism: lossless{mechanism.Gaussian{NoiseMultiplier: 1}}, Count: 1}
	known := mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}, Count: 1}
	for policy, spec := range map[string]Spec{"descriptive": {}, "planned": plan(known)} {
		s := NewState(resolved(t, spec))
		for name, action := range map[string]Action{
			"a charge":      Charge{Events: []mechanism.Event{known, unknown}},
			"a reservation": Reserve{Events: []mechanism.Event{known, unknown}, Lifetime: time.Hour},
			"within a list": Charge{Events: []mechanism.Event{known,
				{Mechanism: mechanism.Group{Size: 2, Mechanism: unknown.Mechanism}, Count: 1}}},
		} {
			if _, reserves := action.(Reserve); reserves && policy == "descriptive" {
				continue // it has no budget to reserve of
			}
			for _, before := range []bool{false, true} {
				b := NewBatch(s)
				b.Bound()
				r := Request{Writer: Writer{"p", name}, Sequence: 1, Action: action}
				if before {
					if r.Prices = s.Unpriced(action.Details()); !r.Prices.Find(nil) {
						t.Fatal("stopped")
					}
				}
				d := b.Decide(r, Lane{}, noon)
				var wrong *mechanism.ParameterError
				if !errors.As(d.Err, &wrong) || wrong.Field != "events[1].mechanism" || d.Outcome != Refused ||
					len(b.Entries()) > 0 {
					t.Errorf("%s of a %s ledger, looked at before: %v: %+v, %d entries", name, policy, before, d,
						len(b.Entries()))
				}
			}
		}
	}
}
