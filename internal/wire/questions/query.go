// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"cmp"
	"math"
	"slices"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
)

// Query is what a QueryPrivacyRequest asks.
type Query struct {
	Ledger   string                // its name, or "" where a workload is asked about
	Workload mechanism.Composition // where Ledger is ""
	Question accountant.Question
	Own      bool // the δ is the ledger's own, which the question does not have yet
}

// ToQuestion converts a query.
func ToQuestion(r *pb.QueryPrivacyRequest) (Query, error) {
	var q Query
	var err error
	switch s := r.GetSubject().(type) {
	case *pb.QueryPrivacyRequest_Ledger:
		q.Ledger, err = toLedger(s.Ledger)
	case *pb.QueryPrivacyRequest_Workload:
		q.Workload, err = toSubject(s.Workload)
	default:
		err = errNoSubject()
	}
	if err != nil {
		return Query{}, err
	}
	switch g := r.GetGiven().(type) {
	case *pb.QueryPrivacyRequest_Delta:
		q.Question = accountant.AtDelta(g.Delta)
	case *pb.QueryPrivacyRequest_Epsilon:
		q.Question = accountant.AtEpsilon(g.Epsilon)
	case nil:
		if q.Own = q.Ledger != ""; q.Own {
			q.Question = accountant.AtDelta(UsualDelta)
		}
	}
	if q.Question, err = withGap(q.Question, r.MaxGap); err != nil {
		return Query{}, err
	}
	return q, nil
}

// withGap adds the wanted gap to a question, which is then complete, and checks it.
func withGap(q accountant.Question, gap *float64) (accountant.Question, error) {
	q.MaxGap = gap
	if err := q.Check(); err != nil {
		return accountant.Question{}, wire.FromDomain(err)
	}
	return q, nil
}

func toLedger(name string) (string, error) { return name, CheckAsked("ledger", name) }

// CheckAsked accepts the names of ledgers. What is asked of a dataset rests on all that its
// ledgers rest on, which its own statement says.
func CheckAsked(field, name string) error {
	if ledger.IsDataset(name) {
		return wire.Invalid(field, wire.Quote(name), "a ledger; a dataset's answers are in its statement: accountctl "+
			"dataset statement")
	}
	return CheckStated(field, name)
}

// CheckStated accepts the names of what has a statement: ledgers and datasets' records. The daemon's own ledgers charge
// nothing, and "ε ≤ 0" of one of them would be read as the cost of what it lists.
func CheckStated(field, name string) error {
	if ledger.IsSystem(name) {
		return wire.Invalid(field, wire.Quote(name), "a ledger that charges of its own are made to; this one is the "+
			"daemon's own record, and accountctl ledger entries shows which ledgers it names")
	}
	return wire.CheckLedgerName(field, name)
}

func toSubject(w *pb.Workload) (mechanism.Composition, error) {
	_, c, err := wire.ToWorkload(w)
	if err != nil {
		return mechanism.Composition{}, wire.Under("workload", err)
	}
	return c, nil
}

func errNoSubject() error { return wire.Absent("ledger", "exactly one of ledger, workload") }

// Standing is what an answer rests on. The zero value is a workload's.
type Standing struct {
	Guarantee   string             // ledger.GuaranteeDescriptive if ""
	Position    *uint64            // of the ledger that was read
	Running     *accountant.Answer // of what was charged so far; nil: as the answer
	Assumptions []ledger.Assumption
	Mechanisms  mechanism.Composition // what there may be to warn about, and what the answer assumes of it
	Notes       []string              // further warnings
	Lost        Uncounted             // of several ledgers

	Acknowledged []ledger.Acknowledgement // warnings that the answer leaves out
}

func (s Standing) guarantee() string { return cmp.Or(s.Guarantee, ledger.GuaranteeDescriptive) }

// assumptions makes the API's view of what an answer rests on beyond the guarantee.
func (s Standing) assumptions() []*pb.Assumption {
	return append(wire.FromAssumptions(s.Assumptions), wire.MechanismAssumptions(s.Mechanisms)...)
}

// FromAnswer makes the API's view of the answer a to q, on what it rests.
//
// A positive δ stays positive: where it is below all float64 it is given as the
// least of them, an upper bound, and log_delta goes on.
func FromAnswer(q accountant.Question, a accountant.Answer, on Standing) *pb.QueryPrivacyResponse {
	r := &pb.QueryPrivacyResponse{
		Epsilon:  &a.Epsilon,
		Analysis: string(a.Analysis), Guarantee: on.guarantee(), Position: on.Position,
		Analyses:    make([]*pb.AnalysisResult, len(a.Analyses)),
		Assumptions: on.assumptions(),
	}
	running := a
	if on.Running != nil {
		running = *on.Running
	}
	if q.Delta != nil {
		r.Delta, r.EpsilonLower = &a.Delta, a.EpsilonLower
		r.Running = &running.Epsilon
	} else {
		delta, soFar := positiveDelta(a.Delta, a.LogDelta), positiveDelta(running.Delta, running.LogDelta)
		r.Delta, r.LogDelta, r.DeltaLower, r.LogDeltaLower = &delta, &a.LogDelta, a.DeltaLower, a.LogDeltaLower
		r.Running = &soFar
	}
	for i, result := range a.Analyses {
		r.Analyses[i] = fromResult(q, result)
	}
	r.Warnings = slices.Concat(NotCounted(on.Assumptions), on.Lost.Notes(),
		texts(warnings(on.Mechanisms, r.GetDelta()), names(on.Acknowledged)), on.Notes)
	if r.GetDelta() == 0 && q.Delta != nil && math.IsInf(a.Epsilon, 1) {
		r.Warnings = append(r.Warnings, "With δ = 0 no finite ε holds: some of the mechanisms may lose any amount, "+
			"though rarely, or fail. Ask at a δ above 0.")
	}
	r.Warnings = append(r.Warnings, timeNotes(a.Stopped || running.Stopped)...)
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
	out.Order = wire.Given(r.Order)
	return out
}

func positiveDelta(delta, logDelta float64) float64 {
	if delta == 0 && logDelta > math.Inf(-1) {
		return math.SmallestNonzeroFloat64
	}
	return delta
}
