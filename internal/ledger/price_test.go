package ledger

import (
	"testing"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// A ledger whose costs take long to find is not read when nobody may wait for it any more;
// otherwise it is the same as ever.
func TestReadingCanBeStopped(t *testing.T) {
	step := mechanism.PoissonSampled{SamplingProbability: 0.003, Mechanism: mechanism.Gaussian{NoiseMultiplier: 30}}
	s := resolved(t, filter(accountant.Budget{Guard: accountant.GuardRDP, Epsilon: 1e6, Delta: 1e-6, Order: 3.5}))
	s.Genesis.Spec.Adjacency = mechanism.AddOrRemoveOne
	s.Parts = []mechanism.Part{{Mechanism: mechanism.Group{Size: 255, Mechanism: step}, Count: 2}}
	if st, ok := NewStateWithin(s, nil, func() bool { return true }); ok || st != nil {
		t.Errorf("stopped: %v, %v", st, ok)
	}
	st, ok := NewStateWithin(s, nil, func() bool { return false })
	if want := NewState(s, nil); !ok || st.account.used[0] != want.account.used[0] || want.account.used[0] == (usage{}) {
		t.Errorf("%v, used %v; want %v", ok, st.account.used, want.account.used)
	}
}
