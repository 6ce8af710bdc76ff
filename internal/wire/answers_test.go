// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

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
		l := wire.FromViewAfter(v, from)
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
	s := questions.FromStatement(questions.Statement{View: v, Stated: stated})
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
	if l := wire.FromView(few); l.GetAssumptions()[0].GetText() != v.Assumptions[0].Text ||
		l.GetReservations()[49].GetRestOmitted() {
		t.Error("what fits was cut")
	}
}
