package wire

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/internal/ledger"
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

// fullView is a ledger with as much of everything as there can be.
func fullView() ledger.View {
	v := ledger.View{Summary: ledger.Summary{Genesis: ledger.Genesis{Spec: ledger.Spec{Name: strings.Repeat("n", 60),
		Adjacency: mechanism.AddOrRemoveOne,
		Plan:      ledger.Workload{Name: strings.Repeat("p", 500<<10)}}}}}
	for i := range 1000 {
		v.Assumptions = append(v.Assumptions,
			ledger.Assumption{Position: uint64(i + 1), Kind: "refund",
				Text: strings.Repeat("ä", 4000), Descriptive: true})
		numbers := make([]float64, 4000)
		numbers[0] = float64(i)
		table := mechanism.BandedMatrix{NoiseMultiplier: 1, Coefficients: mechanism.NumbersOf(numbers...)}
		v.Reservations = append(v.Reservations,
			ledger.Reservation{Position: uint64(3*i + 1), Deadline: time.Unix(2e9, 0),
				Principal: strings.Repeat("p", 256),
				Rest:      []mechanism.Part{{Mechanism: table, Count: 7}}})
	}
	return v
}

// Whatever a ledger has, an answer about it is below what clients take.
func TestAnswersFit(t *testing.T) {
	const clientsTake = 4 << 20
	v := fullView()
	whole := map[uint64]bool{}
	for from, calls := uint64(0), 0; calls == 0 || from > 0; calls++ {
		l := FromViewAfter(v, from)
		if n := proto.Size(l); n > clientsTake {
			t.Fatalf("from %d: %d bytes", from, n)
		}
		if calls == 0 && len(l.GetReservations()) != 1000 || l.GetReservations()[0].GetRestOmitted() {
			t.Fatalf("from %d: %d reservations, first %v", from, len(l.GetReservations()), l.GetReservations()[0])
		}
		from = 0
		for _, r := range l.GetReservations() {
			if !r.GetRestOmitted() {
				whole[r.GetPosition()] = true
			} else if from == 0 {
				from = r.GetPosition()
			}
		}
	}
	if len(whole) != 1000 {
		t.Errorf("%d reservations can be read in full; want 1000", len(whole))
	}
	var stated []mechanism.Part
	for _, r := range v.Reservations {
		stated = append(stated, r.Rest...)
	}
	s := FromStatement(Statement{View: v, Stated: stated})
	if n := proto.Size(s); n > clientsTake || len(s.GetMechanisms())+int(s.GetMechanismsOmitted()) != 1000 ||
		len(s.GetLedger().GetReservations()) != 1000 {
		t.Errorf("statement: %d bytes, %d mechanisms and %d omitted, %d reservations", n, len(s.GetMechanisms()),
			s.GetMechanismsOmitted(), len(s.GetLedger().GetReservations()))
	}
	for _, a := range s.GetLedger().GetAssumptions() {
		if !utf8.ValidString(a.GetText()) || !strings.HasSuffix(a.GetText(), "…") {
			t.Fatalf("assumption %q", a.GetText())
		}
	}
	few := v
	few.Assumptions, few.Reservations = v.Assumptions[:50], v.Reservations[:50]
	if l := FromView(few); l.GetAssumptions()[0].GetText() != v.Assumptions[0].Text ||
		l.GetReservations()[49].GetRestOmitted() {
		t.Error("what fits was cut")
	}
}

// A refusal fits into headers, with the numbers first.
func TestRefusalFits(t *testing.T) {
	e := &ledger.BudgetError{}
	for i := range 100 {
		e.Broken = append(e.Broken,
			ledger.Shortfall{Index: i, Unit: strings.Repeat("ü", 5000), Reason: strings.Repeat("r", 5000)})
		e.Fits = append(e.Fits, mechanism.Part{Mechanism: mechanism.PureDP{Epsilon: float64(i + 1)}, Count: 3})
	}
	out := FromBudgetError(e)
	if n := proto.Size(out); n > maxExceededBytes || len(out.GetShortfalls()) == 0 ||
		!utf8.ValidString(out.GetShortfalls()[0].GetUnit()) {
		t.Errorf("%d bytes, %d shortfalls", n, len(out.GetShortfalls()))
	}
	if fits := FromBudgetError(&ledger.BudgetError{Fits: e.Fits}); len(fits.GetFits()) != maxShortfalls {
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
