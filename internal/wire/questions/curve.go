// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"math"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
)

// CurveQuery is what a QueryPrivacyCurveRequest asks.
type CurveQuery struct {
	Ledger   string                // its name, or "" where a workload is asked about
	Workload mechanism.Composition // where Ledger is ""
	Question accountant.CurveQuestion
}

// ToCurveQuestion converts a query of a curve.
func ToCurveQuestion(r *pb.QueryPrivacyCurveRequest) (CurveQuery, error) {
	var q CurveQuery
	var err error
	switch s := r.GetSubject().(type) {
	case *pb.QueryPrivacyCurveRequest_Ledger:
		q.Ledger, err = toLedger(s.Ledger)
	case *pb.QueryPrivacyCurveRequest_Workload:
		q.Workload, err = toSubject(s.Workload)
	default:
		err = errNoSubject()
	}
	if err != nil {
		return CurveQuery{}, err
	}
	if len(r.Epsilons) > 0 && r.EpsilonMin != nil { // also a 0 that is given
		return CurveQuery{}, wire.Invalid("epsilons", "given together with epsilon_min",
			"epsilons alone, or epsilon_min, epsilon_max and points")
	}
	q.Question = accountant.CurveQuestion{
		Epsilons: r.Epsilons, Min: r.GetEpsilonMin(), Max: r.EpsilonMax,
		Points: int(min(r.Points, math.MaxInt32)), Alphas: r.Alphas, MaxGap: r.MaxGap,
		GaussianDP: r.GaussianDp, Orders: r.Orders, Xi: r.Xi, Priors: r.Priors, Baselines: r.Baselines,
	}
	if c := r.GetCanaries(); c != nil {
		q.Question.Canaries = &accountant.CanaryRun{Inserted: int(c.GetInserted()), Guesses: int(c.GetGuesses()),
			Correct: int(c.GetCorrect()), Delta: c.GetDelta(), Confidence: c.Confidence}
	}
	if err := q.Question.Check(); err != nil {
		return CurveQuery{}, wire.FromDomain(err)
	}
	return q, nil
}

// FromCurve makes the API's view of a curve, on what it rests.
func FromCurve(c accountant.Curve, on Standing) *pb.QueryPrivacyCurveResponse {
	r := &pb.QueryPrivacyCurveResponse{
		Points: make([]*pb.CurvePoint, len(c.Points)), TradeOff: fromTradeOff(c.TradeOff),
		Advantage: &c.Advantage, AdvantageLower: &c.AdvantageLower,
		EqualErrorRate: &c.EqualError, EqualErrorRateUpper: &c.EqualErrorUpper,
		Guarantee: on.guarantee(), Position: on.Position,
		Warnings: append(NotCounted(on.Assumptions), timeNotes(c.Stopped)...), Assumptions: on.assumptions(),
	}
	if g := c.GaussianDP; g != nil {
		r.GaussianDp = &pb.GaussianDpBound{Mu: &g.Mu, MuLower: &g.MuLower, Reason: g.Reason}
	}
	for _, p := range c.Renyi {
		r.Renyi = append(r.Renyi,
			&pb.RenyiDivergence{Order: p.Order, Divergence: &p.Divergence, DivergenceLower: p.Lower})
	}
	if z := c.Concentrated; z != nil {
		r.Concentrated = &pb.ConcentratedBound{Xi: z.Xi, Rho: &z.Rho, RhoLower: z.RhoLower}
	}
	for _, b := range c.BayesRisks {
		r.BayesRisks = append(r.BayesRisks, &pb.BayesRisk{Prior: b.Prior, Risk: b.Risk, RiskUpper: b.RiskUpper})
	}
	for _, b := range c.Reconstructions {
		r.Reconstructions = append(r.Reconstructions,
			&pb.Reconstruction{Baseline: b.Baseline, Success: b.Success, SuccessLower: b.SuccessLower})
	}
	if f := c.Canaries; f != nil {
		if text := contradicted(f, ""); text != "" {
			r.Warnings = append(r.Warnings, text)
		}
		r.Canaries = &pb.CanaryFinding{EpsilonObserved: f.Observed, Epsilon: f.Epsilon, EpsilonLower: f.EpsilonLower,
			PValue: f.PValue, Contradicts: f.Contradicts(), MuObserved: f.ObservedMu, Confidence: f.Confidence}
	}
	for i, p := range c.Points {
		r.Points[i] = &pb.CurvePoint{
			Epsilon: p.Epsilon, Delta: positiveDelta(p.Delta, p.LogDelta), LogDelta: p.LogDelta,
			DeltaLower: p.DeltaLower, LogDeltaLower: p.LogDeltaLower, Analysis: string(p.Analysis),
		}
	}
	return r
}

func fromTradeOff(list []accountant.TradeOffPoint) []*pb.TradeOffPoint {
	out := make([]*pb.TradeOffPoint, len(list))
	for i, p := range list {
		out[i] = &pb.TradeOffPoint{Alpha: p.Alpha, Beta: p.Beta, BetaUpper: p.BetaUpper}
	}
	return out
}
