// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"iter"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Given is the fixed side of a question, δ or ε: see Delta and Epsilon. The zero Given asks for ε at a ledger's own δ.
type Given struct {
	value float64
	kind  givenKind
	gap   *float64
}

type givenKind uint8

const (
	givenNothing givenKind = iota // of a ledger its own δ; of a workload refused by the daemon
	givenDelta
	givenEpsilon
)

// Delta asks for ε at the given δ, which must be in [0, 1). At 0 it is that of pure differential privacy.
func Delta(delta float64) Given { return Given{value: delta, kind: givenDelta} }

// Epsilon asks for δ at the given finite ε ≥ 0, in nats.
func Epsilon(epsilon float64) Given { return Given{value: epsilon, kind: givenEpsilon} }

// WithMaxGap asks the same question for bounds that are at most gap apart: in nats for ε, or of
// ln δ. This is best effort; the answer's bounds show what was reached.
func (g Given) WithMaxGap(gap float64) Given {
	g.gap = &gap
	return g
}

// Query asks what a ledger costs: the least upper bound on ε or δ that any analysis valid for
// the whole ledger proves.
func (c *Client) Query(ctx context.Context, ledger string, given Given) (*pb.QueryPrivacyResponse, error) {
	return c.query(ctx, "Query", ledger, given,
		&pb.QueryPrivacyRequest{Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: ledger}})
}

// Compute asks the same as Query about a workload, without a ledger.
func (c *Client) Compute(ctx context.Context, workload *pb.Workload, given Given) (*pb.QueryPrivacyResponse, error) {
	return c.query(ctx, "Compute", "", given,
		&pb.QueryPrivacyRequest{Subject: &pb.QueryPrivacyRequest_Workload{Workload: workload}})
}

func (c *Client) query(ctx context.Context, op, ledger string, given Given,
	request *pb.QueryPrivacyRequest) (*pb.QueryPrivacyResponse, error) {
	switch given.kind {
	case givenDelta:
		request.Given = &pb.QueryPrivacyRequest_Delta{Delta: given.value}
	case givenEpsilon:
		request.Given = &pb.QueryPrivacyRequest_Epsilon{Epsilon: given.value}
	}
	request.MaxGap = given.gap
	return ask[*pb.QueryPrivacyResponse](ctx, c, op, ledger, request)
}

// Curve asks for δ at many ε, of a ledger or a workload, and what that means for an attacker
// who tests whether a record is in the data.
func (c *Client) Curve(ctx context.Context,
	request *pb.QueryPrivacyCurveRequest) (*pb.QueryPrivacyCurveResponse, error) {
	return ask[*pb.QueryPrivacyCurveResponse](ctx, c, "Curve", request.GetLedger(), request)
}

// Calibrate asks for the smallest noise, the largest count or the largest
// sampling probability of one event with which it, a ledger and a workload
// together cost at most a target. It charges nothing.
func (c *Client) Calibrate(ctx context.Context, request *pb.CalibrateRequest) (*pb.CalibrateResponse, error) {
	return ask[*pb.CalibrateResponse](ctx, c, "Calibrate", request.GetLedger(), request)
}

// Overview goes through ledgers, or datasets, by name, with what each has spent. The request's page token is not
// looked at. It ends after the first error.
func (c *Client) Overview(ctx context.Context, request *pb.QueryOverviewRequest) iter.Seq2[*pb.OverviewRow, error] {
	return Pages[*pb.OverviewRow](ctx, c, request)
}

// History asks how a ledger's ε, and the used shares of its budgets, grew to what they are.
func (c *Client) History(ctx context.Context, request *pb.QueryHistoryRequest) (*pb.QueryHistoryResponse, error) {
	return ask[*pb.QueryHistoryResponse](ctx, c, "History", request.GetLedger(), request)
}

// Spending asks what each principal, label, mechanism or month has spent of a ledger.
func (c *Client) Spending(ctx context.Context, request *pb.QuerySpendingRequest) (*pb.QuerySpendingResponse, error) {
	return ask[*pb.QuerySpendingResponse](ctx, c, "Spending", request.GetLedger(), request)
}

// SpendingAnywhere goes through the ledgers, by name, of which a principal or another group of entries has spent. The
// request's page token is not looked at. It ends after the first error.
func (c *Client) SpendingAnywhere(ctx context.Context,
	request *pb.QuerySpendingAnywhereRequest) iter.Seq2[*pb.LedgerSpending, error] {
	return Pages[*pb.LedgerSpending](ctx, c, request)
}

// Refusals asks what the daemon has refused of a ledger since it was started, which it keeps in memory only. Other
// daemons of the same database know of their own refusals.
func (c *Client) Refusals(ctx context.Context, ledger string) (*pb.ListRefusalsResponse, error) {
	return ask[*pb.ListRefusalsResponse](ctx, c, "Refusals", ledger, &pb.ListRefusalsRequest{Ledger: ledger})
}

// Forecast guesses when a ledger's budget is used up, from how fast it was spent.
func (c *Client) Forecast(ctx context.Context, ledger string) (*pb.QueryForecastResponse, error) {
	return c.ForecastOf(ctx, &pb.QueryForecastRequest{Ledger: ledger})
}

// ForecastOf is Forecast with everything that can be asked, such as for progress.
func (c *Client) ForecastOf(ctx context.Context, request *pb.QueryForecastRequest) (*pb.QueryForecastResponse, error) {
	return ask[*pb.QueryForecastResponse](ctx, c, "Forecast", request.GetLedger(), request)
}
