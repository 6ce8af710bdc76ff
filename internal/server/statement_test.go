// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// gaussianDelta is the δ at ε of N(0,1) against N(μ,1) (Balle and Wang 2018, arXiv 1805.06530, Thm 8).
func gaussianDelta(mu, epsilon float64) float64 {
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	return phi(mu/2-epsilon/mu) - math.Exp(epsilon)*phi(-mu/2-epsilon/mu)
}

func wantIn(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in %q", part, text)
		}
	}
}

func sectionOf(t *testing.T, st *pb.Statement, title string) string {
	t.Helper()
	for _, s := range st.GetSections() {
		if s.GetTitle() == title {
			return strings.Join(s.GetPoints(), "\n")
		}
	}
	t.Errorf("no section %q in %v", title, st.GetSections())
	return ""
}

// A statement about training has the numbers that were reported, and says what would hold if
// the data had been shuffled and for several records together.
func TestStatementOfTraining(t *testing.T) {
	t.Parallel()
	// Each question of a statement has a share of its time, of which a slow machine needs more.
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{QuestionTime: 30 * time.Minute}})
	run := func(d *pb.DpSgd) []*pb.Event {
		return []*pb.Event{{Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_DpSgd{DpSgd: d}}, Count: 1}}
	}
	sized := &pb.DpSgd{NoiseMultiplier: proto.Float64(1.1), MaxGradNorm: proto.Float64(0.5),
		BatchSize: proto.Uint64(600), DatasetSize: proto.Uint64(60000), Epochs: proto.Float64(3)}
	s.NewLedger("sgd")
	s.Report("sgd", servertest.Writer(), 1, &pb.Charge{Events: run(sized)})
	rate := &pb.PoissonSampled{SamplingProbability: proto.Float64(0.01),
		Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_Gaussian{Gaussian: &pb.Gaussian{NoiseMultiplier: proto.Float64(
			1.1)}}}}
	s.NewLedger("rate")
	s.Report("rate", servertest.Writer(), 1,
		&pb.Charge{Events: []*pb.Event{
			{Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{PoissonSampled: rate}}, Count: 300}}})
	state := func(name string) *pb.Statement {
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Minute)
		defer cancel()
		a, err := s.Client.GetStatement(ctx,
			&pb.GetStatementRequest{Name: name, Deltas: []float64{1e-5}})
		if err != nil {
			t.Fatal(err)
		}
		return a.GetStatement()
	}
	st := state("sgd")
	wantIn(t, st.GetSummary(), "DP-SGD on 60,000 examples: batches of 600 on average, 3 epochs of training, which are "+
		"300 steps, noise multiplier 1.1, each gradient clipped to an ℓ2 norm of 0.5",
		"if neither what was run nor the moment of stopping depended on outputs")
	// Three passes of distance √5/1.1 each: docs/math/shuffling.md §1.8.5.
	e := st.GetPrivacy()[0].GetShuffled()
	if d := gaussianDelta(math.Sqrt(15)/1.1, e); !(d <= 1e-5*(1+1e-9) &&
		gaussianDelta(math.Sqrt(15)/1.1, e-1e-3) > 1e-5) {
		t.Errorf("shuffled: ε = %v has δ = %v", e, d)
	}
	lower := st.GetPrivacy()[0].GetShuffledLower()
	wantIn(t, sectionOf(t, st, "If the data were shuffled"), "would be proven at δ = 1e-05",
		"can prove less than ε = "+num.FormatDown(lower, 3))
	epochs := func(m *pb.Mechanism, count uint32) float64 {
		return atWorkload(t, s, []*pb.Event{{Mechanism: m, Count: count}})
	}
	noise := &pb.Mechanism{Kind: &pb.Mechanism_Gaussian{Gaussian: &pb.Gaussian{NoiseMultiplier: proto.Float64(1.1)}}}
	allocated := epochs(&pb.Mechanism{Kind: &pb.Mechanism_RandomAllocation{RandomAllocation: &pb.RandomAllocation{
		Steps: proto.Uint64(100), Mechanism: noise}}}, 3)
	wantNear(t, "ε of random allocation", st.GetPrivacy()[0].GetAllocated(), allocated)
	wantIn(t, sectionOf(t, st, "If the batches were drawn at random"), "(random allocation)", "for comparison")
	if st.GetPrivacy()[0].PoissonSampled != nil { // which is what was reported
		t.Errorf("%v", st.GetPrivacy())
	}
	// Of shuffled data it says what both would give.
	s.NewLedger("shuffled")
	s.Report("shuffled", servertest.Writer(), 1, &pb.Charge{Events: []*pb.Event{{Count: 3,
		Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_Shuffled{Shuffled: &pb.Shuffled{BatchSize: proto.Uint64(600),
			DatasetSize: proto.Uint64(60000), Mechanism: noise}}}}}})
	passes := state("shuffled")
	wantNear(t, "ε of shuffled data", passes.GetPrivacy()[0].GetEpsilon(), e)
	if lower != passes.GetPrivacy()[0].GetEpsilonLower() || !(lower > st.GetPrivacy()[0].GetEpsilon() && lower < e) {
		t.Errorf("ε of shuffled data is at least %v and at most %v; of Poisson samples %v", lower, e,
			st.GetPrivacy()[0].GetEpsilon())
	}
	wantIn(t, sectionOf(t, passes, "Shuffled batches"), "can prove less than ε = "+num.FormatDown(lower, 3))
	wantNear(t, "ε of random allocation", passes.GetPrivacy()[0].GetAllocated(), allocated)
	wantNear(t, "ε of Poisson samples", passes.GetPrivacy()[0].GetPoissonSampled(), st.GetPrivacy()[0].GetEpsilon())
	wantIn(t, sectionOf(t, passes, "If the batches were drawn at random"), "With Poisson samples of the reported size")
	// With a rate alone nothing is known of passes; all else is as before.
	other := state("rate")
	p := other.GetPrivacy()[0]
	if p.Shuffled != nil || p.Allocated != nil || math.Abs(p.GetEpsilon()-st.GetPrivacy()[0].GetEpsilon()) > 1e-9 {
		t.Errorf("%v", p)
	}
	wantIn(t, sectionOf(t, other, "If the data were shuffled"), "cannot be said here")
	// Each member of a group is in a batch of its own accord (Ganesh 2024, arXiv 2401.10294v2, Thm 3.2).
	const q = 0.99 // to be outside of a batch
	for i, binomial := range [][]float64{
		{q * q, 2 * q * 0.01, 1e-4},
		{q * q * q * q * q, 5 * q * q * q * q * 0.01, 10 * q * q * q * 1e-4, 10 * q * q * 1e-6, 5 * q * 1e-8, 1e-10},
	} {
		mixture := &pb.MixtureOfGaussians{StandardDeviation: proto.Float64(1.1),
			Sensitivities: []float64{0, 1, 2, 3, 4, 5}[:len(binomial)], Probabilities: binomial}
		want := atWorkload(t, s,
			[]*pb.Event{{Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_MixtureOfGaussians{MixtureOfGaussians: mixture}},
				Count: 300}})
		for _, g := range []*pb.GroupPrivacy{st.GetGroups()[i], other.GetGroups()[i]} {
			wantNear(t, "ε of a group", g.GetEpsilon(), want)
		}
	}
}
