package wire

import (
	"math"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Query is what a QueryPrivacyRequest asks.
type Query struct {
	Ledger   string                // its name, or "" where a workload is asked about
	Workload mechanism.Composition // where Ledger is ""
	Question accountant.Question
}

// ToQuestion converts a query.
func ToQuestion(r *pb.QueryPrivacyRequest) (Query, error) {
	var q Query
	switch s := r.GetSubject().(type) {
	case *pb.QueryPrivacyRequest_Ledger:
		if err := CheckLedgerName("ledger", s.Ledger); err != nil {
			return Query{}, err
		}
		q.Ledger = s.Ledger
	case *pb.QueryPrivacyRequest_Workload:
		var err error
		if _, q.Workload, err = ToWorkload(s.Workload); err != nil {
			return Query{}, under("workload", err)
		}
	default:
		return Query{}, absent("ledger", "exactly one of ledger, workload")
	}
	switch g := r.GetGiven().(type) {
	case *pb.QueryPrivacyRequest_Delta:
		q.Question = accountant.AtDelta(g.Delta)
	case *pb.QueryPrivacyRequest_Epsilon:
		q.Question = accountant.AtEpsilon(g.Epsilon)
	}
	if err := q.Question.Check(); err != nil {
		return Query{}, fromDomain(err)
	}
	return q, nil
}

// guaranteeDescriptive is what an answer without a budget means.
const guaranteeDescriptive = "descriptive"

// FromAnswer makes the API's view of the answer a to q. position is that of the
// ledger that was read, nil for a workload.
//
// A positive δ stays positive: where it is below all float64 it is given as the
// least of them, an upper bound, and log_delta goes on.
func FromAnswer(q accountant.Question, a accountant.Answer, position *uint64) *pb.QueryPrivacyResponse {
	r := &pb.QueryPrivacyResponse{
		Epsilon:  &a.Epsilon,
		Analysis: string(a.Analysis), Guarantee: guaranteeDescriptive, Position: position,
		Analyses: make([]*pb.AnalysisResult, len(a.Analyses)),
	}
	if q.Delta != nil {
		r.Delta, r.EpsilonLower = &a.Delta, a.EpsilonLower
		r.Running = &a.Epsilon
	} else {
		delta := positiveDelta(a.Delta, a.LogDelta)
		r.Delta, r.LogDelta, r.DeltaLower = &delta, &a.LogDelta, a.DeltaLower
		r.Running = &delta
	}
	for i, result := range a.Analyses {
		r.Analyses[i] = fromResult(q, result)
	}
	return r
}

// fromResult leaves out all numbers of an analysis that does not apply.
func fromResult(q accountant.Question, r accountant.Result) *pb.AnalysisResult {
	out := &pb.AnalysisResult{Analysis: string(r.Analysis)}
	switch {
	case r.Unsupported != "":
		out.Unsupported = &r.Unsupported
		return out
	case q.Delta != nil:
		out.Epsilon = &r.Epsilon
	default:
		delta := positiveDelta(r.Delta, r.LogDelta)
		out.Delta, out.LogDelta = &delta, &r.LogDelta
	}
	out.Order = given(r.Order)
	return out
}

func positiveDelta(delta, logDelta float64) float64 {
	if delta == 0 && logDelta > math.Inf(-1) {
		return math.SmallestNonzeroFloat64
	}
	return delta
}
