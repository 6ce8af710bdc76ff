// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
)

// Size is at least what a mechanism takes in an answer, of each kind, and not very much
// more: it bounds memory and messages.
func TestMechanismSize(t *testing.T) {
	long := mechanism.NumbersOf(make([]float64, 4096)...)
	lists := []mechanism.Mechanism{
		mechanism.PrivacyLossTable{Losses: long, Masses: long},
		mechanism.RenyiDP{Orders: long, Epsilons: long},
		mechanism.MixtureOfGaussians{StandardDeviation: 1, Sensitivities: long, Probabilities: long},
		mechanism.BandedMatrix{NoiseMultiplier: 1, Coefficients: long},
	}
	all := append(append([]mechanism.Mechanism{}, wiretest.EveryMechanism...), lists...)
	for _, m := range lists { // within whatever can hold them
		event := mechanism.Event{Mechanism: m, Count: 1 << 30}
		all = append(all, wiretest.ComposedOf(event, event, event), mechanism.Parallel{Parts: mechanism.ListOf(m, m)},
			mechanism.Group{Size: 3, Mechanism: m},
			mechanism.PoissonSampled{SamplingProbability: 0.5, Mechanism: m},
			mechanism.FixedSizeSampled{BatchSize: 3, DatasetSize: 9, Mechanism: m},
			mechanism.TruncatedPoissonSampled{BatchSize: 3, DatasetSize: 9, MaximumBatchSize: 5, Mechanism: m},
			mechanism.Shuffled{BatchSize: 3, DatasetSize: 9, Mechanism: m},
			mechanism.RepeatAndSelect{Mean: 3, Mechanism: m})
	}
	for _, m := range all {
		wired, size := proto.Size(FromMechanism(m)), mechanism.Size(m)
		if size < wired || size > 4*wired+600 {
			t.Errorf("Size(%v) = %d, as a message %d bytes", m, size, wired)
		}
	}
}

// A refusal fits into headers, with the numbers first.
func TestRefusalFits(t *testing.T) {
	e := &budget.Error{}
	for i := range 100 {
		e.Broken = append(e.Broken,
			budget.Shortfall{Index: i, Unit: strings.Repeat("ü", 5000), Reason: strings.Repeat("r", 5000)})
		e.Fits = append(e.Fits, mechanism.Part{Mechanism: mechanism.PureDP{Epsilon: float64(i + 1)}, Count: 3})
	}
	out := FromBudgetError(e)
	if n := proto.Size(out); n > maxExceededBytes || len(out.GetShortfalls()) == 0 ||
		!utf8.ValidString(out.GetShortfalls()[0].GetUnit()) {
		t.Errorf("%d bytes, %d shortfalls", n, len(out.GetShortfalls()))
	}
	if fits := FromBudgetError(&budget.Error{Fits: e.Fits}); len(fits.GetFits()) != maxShortfalls {
		t.Errorf("%d of what fits are listed; want %d", len(fits.GetFits()), maxShortfalls)
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct{ in, want string }{{"", ""}, {"abcdefgh", "abcdefgh"}, {"abcdefghi", "abcd …"},
		{"äöüäöü", "äö …"}, {"xäöüäöü", "xä …"}} {
		if got := Cut(c.in, 8); got != c.want {
			t.Errorf("Cut(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}
